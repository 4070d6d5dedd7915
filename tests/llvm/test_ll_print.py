"""Printing: round trips, floats, names, typed pointers, metadata."""

from __future__ import annotations

import math
import struct as binary

import llvmlite.binding as llvm
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nvir
from nvir.ir import Module, constant
from nvir.ir.equal import difference
from nvir.ir.nvvm import Builder, const, function, variable
from nvir.ir.types import (
    BFLOAT,
    DOUBLE,
    FLOAT,
    FP128,
    HALF,
    I32,
    VOID,
    named_struct,
    pointer,
    struct,
)
from nvir.llvm.floats import double_to, float_bits, to_double
from nvir.llvm.spell import float_text
from tests.llvm.ll_modules import SNIPPETS, module_of, random_module


@pytest.mark.parametrize("seed", range(8))
def test_what_is_printed_is_read_as_the_same_module(seed):
    """Structurally: blocks, instructions, names, types, attributes, places in the module."""
    module = random_module(seed)
    text = nvir.print_ll(module, "llvm20")
    again = nvir.read_ll(text)
    again.aux = None  # the data layout
    assert difference(nvir.read_ll(nvir.print_ll(again, "llvm20")), nvir.read_ll(text)) is None
    for f, g in zip(module.functions, again.functions, strict=True):
        from nvir.ir.equal import equal_up_to_renaming

        if not f.is_declaration:
            assert equal_up_to_renaming(f, g) is None


@pytest.mark.parametrize("name", SNIPPETS)
def test_both_dialects_of_a_construct_read_as_one(name):
    module = nvir.read_ll(module_of(SNIPPETS[name]))
    try:
        nvir.run_passes(module, "legalize<dialect=llvm7>")
        typed = nvir.print_ll(module, "llvm7")
    except nvir.Unsupported:
        pytest.skip("an LLVM 7 has no such construct")
    opaque = nvir.print_ll(module, "llvm20")
    if name in ("flags", "select fmf"):  # promises that an LLVM 7 does not know are left out
        changed = typed.partition("\n")[2]  # no more as it was printed
        assert opaque != nvir.print_ll(nvir.read_ll(changed), "llvm20")
    reread = nvir.read_ll(typed)
    nvir.run_passes(reread, "legalize<dialect=llvm7>")  # what stood for another is read as that
    again = nvir.print_ll(reread, "llvm20")
    assert again == opaque


# ------------------------------------------------------------------- floats


@given(st.integers(0, (1 << 32) - 1))
def test_floats_and_doubles(bits):
    double = to_double(FLOAT, bits)
    assert double_to(FLOAT, double) == bits
    x = binary.unpack("<f", bits.to_bytes(4, "little"))[0]
    y = binary.unpack("<d", double.to_bytes(8, "little"))[0]
    assert x == y or (math.isnan(x) and math.isnan(y))


@pytest.mark.parametrize("t", [HALF, BFLOAT])
def test_every_narrow_float_is_a_double(t):
    for bits in range(1 << 16):
        assert double_to(t, to_double(t, bits)) == bits


@given(st.sampled_from([HALF, BFLOAT, FLOAT, DOUBLE, FP128]), st.integers(0, (1 << 128) - 1))
def test_the_text_of_a_float_is_that_float(t, bits):
    bits &= (1 << t.bits) - 1
    assert float_bits(t, float_text(t, bits)) == bits


@given(st.floats(width=32))
def test_llvm_reads_the_text_of_a_float_as_that_float(x):
    bits = int.from_bytes(binary.pack("<f", x), "little")
    text = f"@x = global float {float_text(FLOAT, bits)}\n"
    printed = str(llvm.parse_assembly(text))
    assert nvir.read_ll(printed).globals[0].init is constant(FLOAT, bits)


# -------------------------------------------------------------------- names


@given(st.text(min_size=1, max_size=8).filter(lambda s: "\0" not in s and s.isprintable()))
def test_any_name_survives(name):
    m = Module(level="nvvm")
    f = function(m, "f", I32, [(name, I32)])
    b = Builder(f.block(name))
    b.ret(b.add(f.arguments[0], 1, name))
    text = nvir.print_ll(m, "llvm20")
    llvm.parse_assembly(text)
    assert nvir.print_ll(nvir.read_ll(text), "llvm20") == text


def test_two_structs_of_one_name_are_told_apart():
    m = Module(level="nvvm")
    for k, body in enumerate(([I32], [FLOAT])):
        t = named_struct("S")
        t.set_body(body)
        variable(m, f"v{k}", t, init=const(t, None))
    text = nvir.print_ll(m)
    assert "%S = type { i32 }" in text
    assert "%S.1 = type { float }" in text


# --------------------------------------------------------- typed pointers


def test_a_pointer_has_one_printed_type_and_casts_where_it_is_used():
    m = nvir.read_ll(
        "define float @f(ptr %p, i1 %c) {\ne:\n  %a = load float, ptr %p\n"
        "  %b = load float, ptr %p\n  %q = getelementptr float, ptr %p, i64 1\n"
        "  br i1 %c, label %x, label %y\nx:\n  br label %y\ny:\n"
        "  %r = phi ptr [ %q, %e ], [ %p, %x ]\n  %d = load float, ptr %r\n"
        "  ret float %d\n}\n"
    )
    lines = nvir.print_ll(m, "llvm7").split("\n")
    casts = [line.strip() for line in lines if "bitcast" in line]
    assert casts == [
        "%cast.2 = bitcast i8* %p to float*",  # once for the block's two loads and the gep
        "%cast.1 = bitcast float* %q to i8*",  # at the end of the block that the phi names
        "%cast.3 = bitcast i8* %r to float*",
    ]
    assert "  %r = phi i8* [ %cast.1, %e ], [ %p, %x ]" in lines


def test_functions_as_values():
    m = nvir.read_ll(
        "@t = addrspace(1) global [1 x ptr] [ptr @g]\ndeclare i32 @g(ptr, float)\n"
        "define i32 @f(ptr %h, ptr %x) {\n  %r = call i32 %h(ptr %x, float 1.0)\n"
        "  store ptr @g, ptr %x\n  ret i32 %r\n}\n"
    )
    text = nvir.print_ll(m, "llvm7")
    assert "[1 x i8*] [i8* bitcast (i32 (i8*, float)* @g to i8*)]" in text
    assert "%cast.1 = bitcast i8* %h to i32 (i8*, float)*" in text
    assert "call i32 %cast.1(i8* %x, float 1.000000e+00)" in text


def test_byval_takes_its_type_from_the_pointer():
    m = nvir.read_ll("define void @f(ptr byval({i32, i8}) align 4 %s) {\n  ret void\n}\n")
    assert "@f({ i32, i8 }* byval align 4 %s)" in nvir.print_ll(m, "llvm7")
    assert "@f(ptr byval({ i32, i8 }) align 4 %s)" in nvir.print_ll(m, "llvm20")


def test_metadata_is_kept():
    m = nvir.read_ll(
        "@x = addrspace(1) global i32 0\n!foo = !{!0, !1}\n!0 = !{i32 5, !\"a\\22b\", null, !1}\n"
        "!1 = !{ptr addrspace(1) @x, i64 7}\n!llvm.module.flags = !{!2}\n"
        '!2 = !{i32 1, !"nvvm-reflect-ftz", i32 1}\n'
    )
    for dialect in ("llvm7", "llvm20"):
        text = nvir.print_ll(m, dialect)
        assert nvir.read_ll(text).aux["metadata"].keys() == {"foo", "llvm.module.flags"}
        first = nvir.read_ll(text).aux["metadata"]["foo"][0]
        assert first[1] == 'a"b'
        assert first[2] is None
        assert first[3][0].name == "x"


def test_latches_of_one_loop_share_its_node():
    m = nvir.read_ll(
        "define void @f(i1 %a, i1 %b) {\ne:\n  br label %l\nl:\n  br i1 %a, label %l, label %m, "
        "!llvm.loop !0\nm:\n  br i1 %b, label %l, label %x, !llvm.loop !0\nx:\n  ret void\n}\n"
        '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.disable"}\n'
    )
    text = nvir.print_ll(m, "llvm20")
    nodes = {line.split("!llvm.loop ")[1] for line in text.split("\n") if "!llvm.loop " in line}
    assert len(nodes) == 1


def test_arguments_of_the_printer():
    m = Module(level="nvvm")
    with pytest.raises(ValueError, match="llvm7 or llvm20"):
        nvir.print_ll(m, "llvm9")
    with pytest.raises(TypeError, match="not str"):
        nvir.print_ll("x")
    with pytest.raises(nvir.NvirError, match="level nvvm"):
        nvir.print_ll(Module())
    assert VOID.name == "void"
    assert pointer().name == "ptr"
    assert struct([I32]).name == "{ i32 }"


def test_launch_bounds_are_printed_as_llvm_19_and_as_newer_ones_read_them():
    text = """define ptx_kernel void @k() { ret void }
!nvvm.annotations = !{!0}
!0 = !{ptr @k, !"maxntidx", i32 64, !"minctasm", i32 2}
"""
    printed = nvir.print_ll(nvir.read_ll(text))
    assert '"nvvm.maxntid"="64"' in printed
    assert '!{ptr @k, !"maxntidx", i32 64, !"minctasm", i32 2}' in printed
    assert nvir.print_ll(nvir.read_ll(printed)) == printed
    assert "annotations" not in nvir.print_ll(nvir.read_ll(text.splitlines()[0] + "\n"))


def test_a_unit_of_debug_directives_alone_stays_one():
    text = """define void @f() !dbg !1 {
  ret void, !dbg !4
}
!llvm.dbg.cu = !{!0}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !2, emissionKind: KIND)
!1 = distinct !DISubprogram(name: "f", scope: !2, file: !2, line: 1, unit: !0)
!2 = !DIFile(filename: "a.cu", directory: "/")
!4 = !DILocation(line: 2, column: 1, scope: !1)
"""
    kinds = {"DebugDirectivesOnly": "DebugDirectivesOnly", "FullDebug": "LineTablesOnly"}
    for kind, told in kinds.items():
        printed = nvir.print_ll(nvir.read_ll(text.replace("KIND", kind)))
        assert f"emissionKind: {told}" in printed


def test_a_mark_of_a_lifetime_gets_the_size_that_llvm_had():
    text = """define void @f() {
  %a = alloca i32
  call void @llvm.lifetime.start.p0(ptr %a)
  ret void
}
declare void @llvm.lifetime.start.p0(ptr)
"""
    printed = nvir.print_ll(nvir.read_ll(text))
    assert "@llvm.lifetime.start.p0(i64 -1, ptr %a)" in printed
    assert "@llvm.lifetime.start.p0(i64, ptr)" in printed


@pytest.mark.parametrize("dialect", ["llvm20", "llvm7"])
def test_what_libnvvm_takes_of_no_function_is_not_printed(dialect):
    m = nvir.read_ll("define void @f(ptr align 4 %p) nounwind uwtable align 2 {\n  ret void\n}\n")
    text = nvir.print_ll(m, dialect)
    assert "align 2" not in text
    assert "uwtable" not in text
    assert "align 4" in text


def _llvm7(body: str) -> str:
    m = nvir.read_ll(f"define i64 @f(i32 %x, i32 %y, i64 %z) {{\n{body}}}\n")
    text = nvir.print_ll(m, "llvm7")
    assert nvir.print_ll(nvir.read_ll(text), "llvm7") == text
    return text


def test_promises_that_llvm7_lacks_are_kept_by_rows_that_are_equal():
    assert "add nuw nsw i64 %z, 3" in _llvm7("  %a = or disjoint i64 %z, 3\n  ret i64 %a\n")
    assert "%b = sext i32 %y to i64" in _llvm7(
        "  %a = sext i32 %x to i64\n  %b = zext nneg i32 %y to i64\n"
        "  %c = mul i64 %a, %b\n  ret i64 %c\n")


def test_promises_that_llvm7_finds_out_or_does_not_need_leave_the_row():
    assert "or i64 %s, 3" in _llvm7(
        "  %s = shl i64 %z, 2\n  %a = or disjoint i64 %s, 3\n  ret i64 %a\n")
    assert "or i64 %z, 3" in _llvm7("  %a = or i64 %z, 3\n  ret i64 %a\n")
    assert "%b = zext i32 %y to i64" in _llvm7(
        "  %a = zext i32 %x to i64\n  %b = zext nneg i32 %y to i64\n"
        "  %c = mul i64 %a, %b\n  ret i64 %c\n")


@pytest.mark.parametrize(("kind", "flagged"), [("float", True), ("half", False)])
def test_calls_that_give_halves_have_no_flags_in_llvm_7(kind, flagged):
    m = nvir.read_ll(f"""declare {kind} @g({kind})
define {kind} @f({kind} %x) {{
  %r = call contract {kind} @g({kind} %x)
  ret {kind} %r
}}""")
    nvir.run_passes(m, "legalize<dialect=llvm7>")
    assert ("call contract" in nvir.print_ll(m, "llvm7")) is flagged
