"""What real producers write: Numba's quotes, Triton's newest literals, line breaks anywhere."""

from __future__ import annotations

import pathlib
import struct

import numpy as np
import pytest

import nvir
from nvir.ir.errors import ParseError
from nvir.ir.types import FLOAT, HALF
from nvir.llvm.floats import float_bits
from nvir.llvm.printer import print_ll
from nvir.llvm.reader import read_ll
from nvir.passes.driver import run_passes
from nvir.passes.presets import preset
from nvir.toolchain import available, ptxas


def variable(module, name):
    return next(v for v in module.globals if v.name == name)


def lowered(text: str) -> str:
    """PTX of a module at -O1."""
    module = read_ll(text)
    nvir.verify(module)
    run_passes(module, preset(1))
    return nvir.print_ptx(module)


def test_quoted_names_are_the_same_names():
    m = read_ll('define i32 @"f"(i32 %"x")\n{\n"entry":\n  br label %"B8"\nB8:\n'
                '  %".3" = add i32 %x, 1\n  ret i32 %.3\n}\n')
    assert [b.name for b in m["f"].blocks] == ["entry", "B8"]


def test_a_quoted_number_is_a_name_of_its_own():
    with pytest.raises(ParseError, match="undefined value"):
        read_ll('define i32 @f() {\n  %"0" = add i32 1, 2\n  ret i32 %1\n}\n')
    m = read_ll('define i32 @f() {\n  %"1" = add i32 1, 2\n'
                '  %1 = add i32 %"1", 3\n  ret i32 %1\n}\n')
    assert print_ll(m, "llvm20").count("add") == 2


def test_line_breaks_are_no_syntax():
    text = ("@x = global i32\n  7\n!n = !{\n!0 }\n!0 = !{\n i32 1\n}\n"
            "define i32 @f() #0 { %a = load i32,\n ptr\n@x ret i32\n%a }\n")
    m = read_ll(text)
    assert variable(m, "x").init.value == 7
    assert len([*m["f"].instructions()]) == 2


def test_a_string_may_hold_a_line_break():
    m = read_ll('@x = constant [3 x i8] c"a\nb"\n@y = global i32 1 foo\n'.replace(" foo", ""))
    assert [v.value for v in variable(m, "x").init.value] == [97, 10, 98]


def test_a_group_of_attributes_that_is_not_there_is_empty():
    m = read_ll("declare void @g() #7\ndefine void @f() #8 {\n  call void @g() #9\n  ret void\n}\n")
    assert m["f"].aux is None


def test_other_names_of_types():
    m = read_ll("%t = type i32\n%u = type [2 x %t]\n@x = global %u zeroinitializer\n")
    assert variable(m, "x").value_type.name == "[2 x i32]"
    with pytest.raises(ParseError, match="used before it is defined"):
        read_ll("@x = global %t 0\n%t = type i32\n")


@pytest.mark.parametrize(("token", "value"), [("u0xFF", 255), ("s0x8000", -32768), ("s0x12", -14)])
def test_hexadecimal_integers(token, value):
    assert variable(read_ll(f"@x = global i16 {token}\n"), "x").init.value == value


@pytest.mark.parametrize("text", ["1.000000e-01", "1.002960e+00", "1.401298e-45", "-9.999946e-41",
                                  "0.5", "16777216.0", "0.10000000149011612"])
def test_decimals_that_are_exact_or_printed_by_llvm_round_to_their_type(text):
    wanted = struct.unpack("<I", struct.pack("<f", float(text)))[0]
    assert float_bits(FLOAT, text) == wanted


@pytest.mark.parametrize("text", ["0.1", "-0.1", "1.0e-45", "3.4028235e38", "16777217.0",
                                  "1.00000e-01", "1.000000e+39"])
def test_other_decimals_must_be_exact(text):
    assert float_bits(FLOAT, text) is None


@pytest.mark.parametrize(("text", "bits"), [
    ("+inf", 0x7C00), ("-inf", 0xFC00), ("+qnan", 0x7E00), ("-nan(0x1)", 0xFC01),
    ("+snan(0x3)", 0x7C03), ("+nan(0x400)", None), ("+inf(0x1)", None), ("inf", None),
    ("70000.0", None),
])
def test_words_for_what_is_not_finite(text, bits):
    assert float_bits(HALF, text) == bits


@pytest.mark.parametrize(("decl", "call", "made"), [
    ("i64 @llvm.nvvm.match.any.sync.i64(i32, i64)",
     "%r = call i64 @llvm.nvvm.match.any.sync.i64(i32 -1, i64 %n)",
     "call i32 @llvm.nvvm.match.any.sync.i64(i32 -1, i64 %n)"),  # up to LLVM 15
    ("i32 @llvm.nvvm.match.any.sync.i64(i32, i64)",
     "%r = call i32 @llvm.nvvm.match.any.sync.i64(i32 -1, i64 %n)",
     "%r = call i32 @llvm.nvvm.match.any.sync.i64(i32 -1, i64 %n)"),
    ("void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i32, i1)",
     "call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %p, i64 %n, i32 4, i1 false)",
     "call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %p, i64 %n, i1 false)"),  # up to LLVM 6
])
def test_intrinsics_as_older_versions_had_them(decl, call, made):
    text = f"declare {decl}\ndefine void @f(ptr %p, i64 %n) {{\n  {call}\n  ret void\n}}\n"
    m = read_ll(text)
    nvir.verify(m)
    assert made in print_ll(m, "llvm20")


def test_intrinsics_as_no_version_had_them():
    with pytest.raises(ParseError, match=r"3:17: error: a call of llvm.nvvm.match.* gives i16"):
        read_ll("declare i16 @llvm.nvvm.match.any.sync.i64(i32, i64)\ndefine void @f() {\n"
                "  %r = call i16 @llvm.nvvm.match.any.sync.i64(i32 -1, i64 1)\n  ret void\n}\n")


def test_a_variable_alias_is_the_variable():
    m = read_ll("@b = alias i32, ptr @a\n@a = alias i32, ptr @x\n@x = global i32 1\n"
                "define i32 @f() {\n  %v = load i32, ptr @b\n  ret i32 %v\n}\n")
    assert next(m["f"].instructions()).operands[0] is variable(m, "x")


def test_a_function_alias_keeps_its_name_in_ptx():
    text = ("@g = alias i32 (i32), ptr @f\ndefine i32 @f(i32 %x) {\n  ret i32 %x\n}\n"
            "define i32 @h() {\n  %r = call i32 @g(i32 3)\n  ret i32 %r\n}\n")
    assert ".alias g, f;" in lowered(text)
    assert "@g = alias i32 (i32), ptr @f" in print_ll(read_ll(text), "llvm20")


def test_a_call_of_another_type_goes_through_a_pointer():
    text = ("declare void @g(i32)\ndefine void @f() {\n  call void @g(i64 3)\n  ret void\n}\n")
    call = next(read_ll(text)["f"].instructions())
    assert call.aux.callee is None
    assert call.operands[0].name == "g"
    with pytest.raises(ParseError, match="takes i32"):
        read_ll(text.replace("()", "(i8* %p)", 1).replace("declare void @g", "declare void @g"))


def test_assembly_at_module_level_is_part_of_the_module():
    ptx = lowered('module asm ".global .u32 counter = 4;"\n'
                  "@counter = external addrspace(1) global i32\n"
                  "define i32 @f() {\n  %v = load i32, ptr addrspace(1) @counter\n"
                  "  ret i32 %v\n}\n")
    assert ".global .align 4 .u32 counter = 4;" in ptx or ".global .u32 counter = 4;" in ptx
    assert ".extern" not in ptx


def test_unused_external_variables_are_left_out():
    text = "@x = extern_weak global i32\n@y = external global i32\n" \
           "define ptr @f() {\n  ret ptr @y\n}\n"
    ptx = lowered(text)
    assert " y;" in ptx or " y" in ptx
    assert "x;" not in ptx.replace("ext", "")


def test_parameters_without_a_name_have_none_in_llvm_7():
    text = print_ll(read_ll("define i32 @f(i32 %0, i32 %x) {\n  ret i32 %0\n}\n"), "llvm7")
    assert "define i32 @f(i32, i32 %x) {" in text
    assert "ret i32 %0" in text


def test_debug_calls_may_have_attachments():
    text = ("declare void @llvm.dbg.declare(metadata, metadata, metadata)\n"
            "define void @f(ptr %p) {\n"
            "  call void @llvm.dbg.declare(metadata ptr %p, metadata !0, metadata !0), !dbg !1\n"
            "  ret void\n}\n!0 = !{}\n!1 = !DILocation(line: 1, scope: !0)\n")
    assert len([*read_ll(text)["f"].instructions()]) == 1


def test_every_alloca_of_a_block_is_split():
    body = "".join(
        f"  %a{k} = alloca {{ i32, i32 }}\n  %p{k} = getelementptr i8, ptr %a{k}, i64 4\n"
        f"  store i32 %x, ptr %a{k}\n  store i32 %x, ptr %p{k}\n" for k in range(4)
    )
    m = read_ll(f"define void @f(i32 %x) {{\n{body}  ret void\n}}\n")
    run_passes(m, "sroa")
    assert all(i.aux[0].name == "i32" for i in m["f"].instructions() if i.form.name == "alloca")


FIXTURES = sorted((pathlib.Path(__file__).parent / "fixtures").glob("*.ll"))


@pytest.mark.parametrize("file", FIXTURES, ids=lambda p: p.stem)
def test_text_of_a_producer_goes_through(file):
    """Made by benchmarks/producers/make.py."""
    module = read_ll(file)
    nvir.verify(module)
    opaque = print_ll(module, "llvm20")
    run_passes(module, preset(3), verify=True)
    ptx = nvir.print_ptx(module)
    assert any(f.is_kernel for f in module.functions)
    if available("ptxas"):
        assert ptxas(ptx, "sm_80").cubin is not None
    again = read_ll(opaque)
    run_passes(again, preset(3))
    assert nvir.print_ptx(again) == ptx


def test_numbas_kernel_computes():
    module = read_ll(next(f for f in FIXTURES if f.stem == "numba_saxpy"))
    run_passes(module, preset(3))
    name = next(str(f.name) for f in module.functions if f.is_kernel)
    x = np.arange(64, dtype=np.float32)
    y = np.ones(64, dtype=np.float32)

    def array(a):
        return [np.uint64(0), np.uint64(0), np.int64(64), np.int64(4), a, np.int64(64), np.int64(4)]

    nvir.launch(module, name, 2, 32, [np.float32(3), *array(x), *array(y)])
    assert (y == 3 * x + 1).all()


def test_what_copies_leave_of_a_struct_can_be_printed():
    m = read_ll("%S = type { i32, [2 x i64] }\ndeclare %S @g(%S)\n"
                "define %S @f(%S %x, ptr %p) {\n  %y = call %S @g(%S %x)\n"
                "  store %S %y, ptr %p\n  ret %S %y\n}\n")
    run_passes(m, "lower-aggr-copies", verify=True)
    for dialect in ("llvm20", "llvm7"):
        text = print_ll(m, dialect)
        assert "extractvalue %S %y, 1, 1" in text
        nvir.verify(read_ll(text))
