"""Copies of memory become loads and stores: right for every overlap, in the real tool's form."""

from __future__ import annotations

import itertools
import random
import re

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import nvir
from nvir import toolchain
from nvir.ir.clone import clone_module
from nvir.ir.errors import ParseError, PassError, VerifyError
from nvir.ir.nvvm import Builder, function
from nvir.ir.text.trace import Trace
from nvir.ir.types import I8, I32, I64, VOID, array, pointer, vector
from nvir.ir.values import constant
from nvir.passes.aggregate import lower_aggr_copies
from nvir.passes.aggregate.copies import nonzero
from nvir.passes.aggregate.func_args import flatten_parameters
from nvir.passes.aggregate.lower_aggr_copies import Options, lower_copies
from nvir.passes.aggregate.objects import (
    STEPS,
    ObjectPlace,
    address_space,
    alignment,
    bytes_left,
    order,
    place,
    raise_alignment,
)
from nvir.passes.aggregate.plan import CopyLimits, make_plan
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs
from nvir.passes.registry import all_passes
from nvir.passes.select import select_module
from nvir.passes.select.spaces import CONST, GENERIC, LOCAL, PARAM
from nvir.toolchain import libnvvm
from tests.aggregates import (
    apply,
    check_dynamic,
    check_moves,
    launch,
    memory_call,
    moved,
    mover,
    names,
)
from tests.effort import effort
from tests.selection import assembles, read

SIZES = (0, 1, 2, 3, 5, 8, 13, 16, 17, 31, 63, 64, 65, 100, 127, 130, 255, 300)
ALIGNS = (1, 2, 4, 8, 16)
POLICIES = ("observed", "documented")


def body(text: str, policy: str = "observed", **settings):
    """The kernel `k(a, b, n, c)` with that body, lowered."""
    m = read(f"""define ptx_kernel void @k(ptr %a, ptr %b, i64 %n, ptr %c) {{
entry:
{text}
  ret void
}}
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memmove.p1.p3.i64(ptr addrspace(1), ptr addrspace(3), i64, i1)
declare void @llvm.memmove.p0.p3.i64(ptr, ptr addrspace(3), i64, i1)
declare void @llvm.memmove.p0.p0.i32(ptr, ptr, i32, i1)
@tile = internal addrspace(3) global [64 x i8] undef, align 16
@other = internal addrspace(3) global [64 x i8] undef, align 16
@table = internal addrspace(4) constant [64 x i8] zeroinitializer, align 16
""")
    m.remarks = apply(m, policy=policy, **settings)  # type: ignore[attr-defined]
    return m


def move(size: str, align: int = 4, kind: str = "memmove", volatile: str = "false") -> str:
    return (f"  call void @llvm.{kind}.p0.p0.i64(ptr align {align} %a, ptr align {align} %b, "
            f"i64 {size}, i1 {volatile})")


def accesses(block):
    """('load' or 'store', first index, type, alignment) in order."""
    out = []
    for i in block:
        if i.form.name in ("load", "store"):
            p = i.operands[-1]
            at = p.operands[1].value if p.definer and p.definer.form.name == "getelementptr" else 0
            t = i.type if i.form.name == "load" else i.operands[0].type
            out.append((i.form.name, at, t, i.aux))
    return out


@pytest.mark.seed("MEM-08")
@pytest.mark.parametrize(("bits", "made"), [
    (32, ["zext"]), (63, ["zext"]), (64, []), (65, ["trunc"]), (128, ["trunc"])])
def test_a_length_of_run_time_counts_in_64_bits(bits, made):
    m = read(f"""define ptx_kernel void @k(ptr %a, ptr %b, i{bits} %n) {{
  call void @llvm.memcpy.p0.p0.i{bits}(ptr align 4 %a, ptr align 4 %b, i{bits} %n, i1 false)
  ret void
}}
declare void @llvm.memcpy.p0.p0.i{bits}(ptr, ptr, i{bits}, i1)
""")
    apply(m, policy="documented")
    assert [i.form.name for i in m["k"].entry if i.form.name in ("zext", "trunc")] == made


# ------------------------------------------------------------ right bytes


@pytest.mark.seed("MEM-04", "MEM-14", "MEM-20", "MEM-25", "GAP-01", "GAP-03")
@settings(max_examples=12, deadline=None)
@given(st.sampled_from(("memmove", "memcpy")), st.integers(0, 300), st.sampled_from(ALIGNS),
       st.sampled_from(POLICIES))
def test_known_sizes_at_every_distance(kind, size, align, policy):
    check_moves(kind, size, align, policy=policy)


@pytest.mark.seed("MEM-12", "MEM-13")
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("align", ALIGNS)
def test_sizes_of_run_time_at_many_distances(align, policy):
    rng = random.Random(align)
    sizes = [0, 1, 2, 7, 129, *(rng.randrange(301) for _ in range(2))]
    check_dynamic(align, sizes, policy=policy)


def test_a_length_of_32_bits_has_no_sign():
    check_dynamic(4, (0, 3, 40), length=I32)
    m = body("  call void @llvm.memmove.p0.p0.i32(ptr %a, ptr %b, i32 -4, i1 false)")
    assert "memmove of 4294967292 bytes" in m.remarks.to_text()


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("align", ALIGNS)
def test_all_sizes_at_every_distance(align, policy):
    for size in range(301):
        check_moves("memmove", size, align, policy=policy)
    check_dynamic(align, range(0, 301, 1 if align > 2 else 7), policy=policy)


@pytest.mark.parametrize("align", [1, 4, 16])
def test_the_selected_code_moves_the_same_bytes(align):
    for size in (13, 70, None):
        m = mover("memmove", size, align, 256)
        apply(m)
        ori = select_module(clone_module(m))
        nvir.verify(ori)
        assembles(ori)
        rows = np.random.default_rng(1).integers(0, 256, (9, 256), np.uint8)
        to = [16 * k for k in (0, 1, 2, 3, 4, 0, 0, 1, 5)]
        source = [16 * k for k in (0, 0, 0, 4, 5, 1, 4, 2, 5)]
        sizes = [70 if size is None else size] * 9
        assert np.array_equal(launch(ori, rows, to, source, sizes),
                              moved(rows, to, source, sizes))


@settings(max_examples=25, deadline=None)
@example(4, 4, 7, True, False)  # one element
@example(3, 4, 7, True, False)  # none
@given(st.integers(0, 200), st.sampled_from(ALIGNS), st.integers(0, 255), st.booleans(),
       st.booleans())
def test_fills(size, align, byte, known_size, known_byte):
    m = nvir.ir.Module("sm_80", level="nvvm")
    f = function(m, "k", VOID, [("p", pointer(1)), ("x", I8), ("n", I64)], kind="entry")
    p, x, n = f.params
    b = Builder(f.block("entry"))
    length = nvir.ir.nvvm.const(I64, size) if known_size else n
    value = nvir.ir.nvvm.const(I8, byte) if known_byte else x
    memory_call(b, "memset", b.gep(p, [16], I8), value, length, (align, align))
    b.ret_void()
    apply(m)
    given_ = np.arange(256, dtype=np.uint8)
    expected = given_.copy()
    expected[16 : 16 + size] = byte
    nvir.launch(m, "k", 1, 1, [given_, np.uint8(byte), np.uint64(size)])
    assert np.array_equal(given_, expected)


# ------------------------------------------------------------------ shape


@pytest.mark.seed("MEM-01", "MEM-18")
def test_no_intrinsic_is_left():
    m = body("\n".join((move("8"), move("%n", kind="memcpy"), move("300"))))
    assert not any(i.form.is_call for i in m["k"].instructions())
    assert not any(str(f.name).startswith("llvm.mem") and "p0.p0.i64" in f.name
                   for f in m.functions)


@pytest.mark.seed("MEM-01")
def test_other_calls_stay():
    m = read("""define ptx_kernel void @k(ptr %a) {
entry:
  call void @memmove(ptr %a)
  ret void
}
define void @memmove(ptr %a) {
entry:
  ret void
}""")
    text = str(m)
    assert len(apply(m)) == 0
    assert str(m) == text
    ctx = Context(m, Knobs())
    ctx.pass_ = all_passes()["lower-aggr-copies"]
    what = CopyLimits(16, False, True, True)
    assert not any(lower_copies(f, what, ctx) for f in m.functions)
    ctx.options = Options()
    assert not lower_aggr_copies.run(m, ctx)
    m = read(f"define void @k(ptr %a, ptr %b) {{\n{move('4')}\n{move('8')}\n  ret void\n}}\n"
             "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)\n")
    ctx.module = m
    assert lower_aggr_copies.run(m, ctx)
    assert ctx.counters == {"lower-aggr-copies.memmove": 2}


@pytest.mark.seed("MEM-02")
def test_the_pipeline_text_of_the_notes():
    """It splits structs, lowers copies, and takes parameters apart where that is asked for."""
    text = "lower-aggr-copies<lower-aggr-func-args>"
    assert str(nvir.passes.pipeline.parse_pipeline(text)) == text
    source = """define internal void @f({i32, i32} %v, ptr %p, ptr %q) {
  %w = load {i32, i32}, ptr %p
  store {i32, i32} %w, ptr %q
  %x = extractvalue {i32, i32} %v, 1
  store i32 %x, ptr %p
  call void @llvm.memmove.p0.p0.i64(ptr %q, ptr %p, i64 8, i1 false)
  ret void
}
define void @g(ptr %p, ptr %q) {
  call void @f({i32, i32} {i32 1, i32 2}, ptr %p, ptr %q)
  ret void
}
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
"""
    by_knob = {"lower-aggr-func-args": True}
    for pipeline, knobs, parameters in (
        ("lower-aggr-copies", {}, 3), (text, {}, 4), ("lower-aggr-copies", by_knob, 4),
    ):
        m = read(source)
        with Trace() as trace:
            nvir.run_passes(m, pipeline, policy="documented", knobs=knobs)
        first, *of_functions = trace.of("MEM-02")
        assert first.inputs["lower_aggr_func_args"] == bool(of_functions) == (parameters == 4)
        assert [e.function for e in trace.of("MEM-01")] == ["f", "g"]
        assert [(e.inputs["function"], e.outcome) for e in of_functions] == [
            ("f", "one for each leaf, in 1 calls, too")][: len(of_functions)]
        assert len(m["f"].params) == parameters
        assert "split" in names(m["f"])
        assert not any(str(i.type).startswith("{") for i in m["f"].instructions())


@pytest.mark.seed("MEM-02")
@pytest.mark.parametrize(("kind", "flat"), [("internal", True), ("weak", False)])
def test_struct_parameters_that_are_taken_apart_change_the_module(kind, flat):
    m = read(f"define {kind} void @f({{i32, i32}} %v) {{\n  ret void\n}}\n"
             "define internal void @g(i32 %v) {\n  call void @f({i32, i32} undef)\n  ret void\n}")
    ctx = Context(m, Knobs(policy="documented"))
    ctx.pass_ = all_passes()["lower-aggr-copies"]
    assert flatten_parameters(m, ctx) is flat
    assert len(m["f"].params) == 1 + flat
    m.functions.remove(m["f"])
    assert not flatten_parameters(m, ctx)  # there is none


FLATTENED = """\
internal func @g(reg %arg.0: i32, reg %arg.1: i8, reg %arg.2: i8, reg %0: i32, reg %v.0: float, \
reg %p: ptr attributes (("align", 8))) returns_type i32 address ptr {
bb2:
  %y: i32 = zext %arg.2
  %v: {float} = insertvalue type {float} undef, %v.0  !aux (0)
  call %v  !aux CallInfo(1, -1, (), @h, (), none)
  ret %y
}
func @f(reg %p: ptr, reg %v: {float}) returns_type i32 address ptr {
bb0:
  %v.0: float = splitStruct %v  !aux (type {float}, type {float})
  %split: i32 = load %p  !aux 4
  %ptr: ptr = getelementptr %p, i64 4  !aux i8
  %split~2: i8 = load %ptr  !aux 4
  %ptr~2: ptr = getelementptr %p, i64 5  !aux i8
  %split~3: i8 = load %ptr~2  !aux 1
  %r: i32 = call %split, %split~2, %split~3, i32 3, %v.0, %p  !aux NvvmCall(6, -1, (), @g, (), \
none, (), ((), (), (), ("signext"), (), (("align", 8))), (), (), ())
  %s: i32 = call i32 0, i8 0, i8 0, %r, %v.0, %p  !aux CallInfo(6, -1, (), @g, (), none)
  ret %s
}
"""


@pytest.mark.seed("MEM-02", "STR-19")
def test_parameters_and_arguments_that_are_taken_apart_word_by_word():
    m = read("""define internal i32 @g({i32, [2 x i8]} %0, i32 %1, {float} %v, ptr align 8 %p) {
  %x = extractvalue {i32, [2 x i8]} %0, 1, 1
  %y = zext i8 %x to i32
  call void @h({float} %v)
  ret i32 %y
}
define i32 @f(ptr %p, {float} %v) {
  %w = load {i32, [2 x i8]}, ptr %p
  %r = call i32 @g({i32, [2 x i8]} %w, i32 signext 3, {float} %v, ptr align 8 %p)
  %s = call i32 @g({i32, [2 x i8]} zeroinitializer, i32 %r, {float} %v, ptr %p)
  ret i32 %s
}
declare void @h({float})
""")
    remarks = apply(m, "lower-aggr-copies<lower-aggr-func-args>").to_text()
    assert FLATTENED in str(m)
    for told in ("8 bytes of %? are passed as 3 parameters", "4 bytes of %v are passed as 1 param",
                 "missed: struct parameters of @f stay: it can be called from elsewhere"):
        assert told in remarks


@pytest.mark.seed("MEM-03", "MEM-07")
def test_the_four_blocks_of_an_unrolled_copy():
    m = body(move("8", 1), policy="documented")
    assert names(m["k"]) == ["entry", "split", "forward.for", "reverse.for", "nonzerotrip"]
    assert not any(i.is_phi for i in m["k"].instructions())
    m = body("\n".join([move("8", 1)] * 2), policy="documented")
    second = names(m["k"])[5:]
    assert [n.rsplit(".", 1)[0] for n in second] == ["split", "forward.for", "reverse.for",
                                                     "nonzerotrip"]


@pytest.mark.seed("MEM-04", "MEM-05", "GAP-02")
def test_the_direction_is_an_unsigned_comparison_of_addresses():
    f = body(move("8"))["k"]
    test, branch = f.blocks[1].instructions
    assert test.form.spelling == "icmp ult"
    assert test.operands == (f.params[0], f.params[1])
    assert [b.name for b in branch.aux] == ["forward.for", "reverse.for"]
    assert test.operands[0].type.bits == 64


@pytest.mark.seed("MEM-09", "MEM-10")
def test_order_of_unrolled_elements():
    f = body(move("4", 1), policy="documented")["k"]
    forward, reverse = accesses(f.blocks[2]), accesses(f.blocks[3])
    assert [a[:2] for a in forward] == [(k, n) for n in range(4) for k in ("load", "store")]
    assert [a[:2] for a in reverse] == [(k, n) for n in (3, 2, 1, 0) for k in ("load", "store")]


@pytest.mark.seed("MEM-11", "STR-21")
def test_the_comma_in_a_name():
    f = body(move("4", 1))["k"]
    found = {i.name for i in f.instructions() if i.form.name == "getelementptr"}
    assert found == {"src.memmove.gep.unroll", "dst.memmove.gep,unroll"}
    f = body(move("4", 1), pipeline="lower-aggr-copies<plain-names>")["k"]
    found = {i.name for i in f.instructions() if i.form.name == "getelementptr"}
    assert found == {"src.memmove.gep.unroll", "dst.memmove.gep.unroll"}
    if toolchain.available("libnvvm"):
        m = body(move("4", 1))
        nvir.run_passes(m, "legalize<dialect=llvm7>")
        assert '%"dst.memmove.gep,unroll"' in nvir.print_ll(m, dialect="llvm7")


@pytest.mark.seed("MEM-08", "MEM-12", "MEM-13")
def test_loops_have_one_phi_in_each_direction():
    f = body(move("%n", 1))["k"]
    assert names(f) == ["entry", "split", "forward.for", "reverse.for", "nonzerotrip"]
    assert [len(list(b.phis)) for b in f.blocks] == [0, 0, 1, 1, 0]
    up, down = next(f.blocks[2].phis), next(f.blocks[3].phis)
    (zero, before), (step, again) = up.incoming
    assert (zero.value, before.name, again.name) == (0, "split", "forward.for")
    assert step.form.name == "add"
    (start, _), (step, _) = down.incoming
    assert (start.form.name, start.operands[1].value) == ("sub", 1)
    assert f.blocks[3].terminator.operands[0].operands[1].value == -1


@pytest.mark.seed("MEM-25", "GAP-03")
def test_a_length_of_zero():
    assert [i.form.name for i in body(move("0"))["k"].instructions()] == ["ret"]
    far = body("  %t = addrspacecast ptr addrspace(3) @tile to ptr\n"  # nor is its space looked for
               "  %u = getelementptr i8, ptr %t, i64 %n\n" + "\n".join(
                   f"  call void @llvm.memmove.p0.p0.i64(ptr {p}, ptr {q}, i64 0, i1 false)"
                   for p, q in (("%a", "%u"), ("%u", "%a"))))["k"]
    assert [i.form.name for i in far.instructions()] == ["addrspacecast", "getelementptr", "ret"]
    guard = body(move("%n", 1))["k"].entry.terminator
    assert [b.name for b in guard.aux] == ["nonzerotrip", "split"]
    f = body("  %m = or i64 %n, 1\n" + move("%m", 1))["k"]
    assert [b.name for b in f.entry.terminator.aux] == ["split"]


@pytest.mark.parametrize(("align", "element"), [
    (1, I8), (2, nvir.ir.types.I16), (4, I32), (8, vector(I32, 2)), (16, vector(I32, 4)),
    (64, vector(I32, 4)),
])
def test_elements_are_as_wide_as_the_alignment(align, element):
    f = body(move("64", align, "memcpy"), knobs={"memmove-unroll-threshold": 64,
             "lower-aggr-unrolled-stores-limit": 64})["k"]
    assert {a[2] for a in accesses(f.entry)} == {element}
    f = body(move("64", align), policy="documented")["k"]
    assert {a[2] for a in accesses(f.blocks[2])} == {I8}


def test_the_smaller_alignment_counts_and_objects_tell_theirs():
    text = "  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %a, ptr align 4 %b, i64 8, i1 false)"
    assert {a[2] for a in accesses(body(text)["k"].entry)} == {I32}
    text = "  %s = alloca [4 x double]\n  call void @llvm.memcpy.p0.p0.i64(ptr align 8 %a, " \
        "ptr %s, i64 8, i1 false)"
    assert {a[2] for a in accesses(body(text)["k"].entry)} == {vector(I32, 2)}
    m = mover("memcpy", 4, 4, 16)
    (call,) = [i for i in m["k"].entry if lower_aggr_copies.copy_kind(i)]
    call.aux.arguments = ()  # an access of a byte each, then
    apply(m)
    assert [i.type for i in m["k"].entry if i.form.name == "load"][-4:] == [I8] * 4


@pytest.mark.seed("MEM-15")
@pytest.mark.parametrize(("memory", "align", "raised"), [
    ("[0 x i8]", 1, 1), ("i8", 1, 1), ("[2 x i8]", 1, 2), ("[3 x i8]", 1, 2), ("[4 x i8]", 1, 4),
    ("[15 x i8]", 1, 8), ("[16 x i8]", 1, 16), ("[64 x i8]", 1, 16), ("[64 x i8]", 32, 32),
    ("i64", 4, 8), ("<8 x i32>", 4, 32),
])
def test_stack_memory_of_a_copy_is_aligned_as_wide_as_it_is(memory, align, raised):
    f = read(f"""define void @f(ptr %p) {{
  %a = alloca {memory}, align {align}
  ret void
}}""")["f"]
    a = f.entry.first
    raise_alignment(f.params[0])  # not of the stack
    assert alignment(a) == align
    raise_alignment(a)
    assert alignment(a) == raised


@pytest.mark.seed("MEM-15", "MEM-17")
@pytest.mark.parametrize("call", [
    "memcpy.p0.p0.i64(ptr %s, ptr %a", "memcpy.p0.p0.i64(ptr %a, ptr %s",
    "memset.p0.i64(ptr %s, i8 1",
])
def test_only_the_real_tool_aligns_the_stack_memory_of_a_copy(call):
    text = f"  %s = alloca [16 x i8]\n  call void @llvm.{call}, i64 16, i1 false)"
    assert alignment(body(text)["k"].entry.first) == 16
    assert alignment(body(text, "documented")["k"].entry.first) == 1


def object_of(text: str, function: str = "define void @f"):
    """The function with that parameter, and the first of its instructions or else the parameter."""
    params, _, inside = text.partition(":")
    f = read(f"{function}({params}) {{\n{inside}\n  ret void\n}}\n"
             "@v = global [12 x i8] zeroinitializer, align 2\n@w = global [3 x i32] zeroinitializer"
             "\n@x = external global [12 x i8]\n@y = weak global [12 x i8] zeroinitializer\n"
             "@c = addrspace(4) constant i32 1\n")["f"]
    at = f.entry.first
    return f.params[0] if at.form.terminator else [*f.instructions()][-2]


@pytest.mark.seed("MEM-15")
@pytest.mark.parametrize(("text", "align", "left"), [
    ("ptr %p:", 1, None), ("ptr %p:%q = load ptr, ptr %p", 1, None),
    ("ptr align 8 %p:", 8, None), ("ptr byval({i8, i32}) %p:", 4, None),
    ("ptr byval({i8, i32}) align 16 %p:", 16, None),
    ("ptr %p:%a = alloca i32, align 16", 16, 4), ("ptr %p:%a = alloca i64", 8, 8),
    ("i32 %p:%a = alloca i32, i32 3", 4, 12), ("i32 %p:%a = alloca i32, i32 %p", 4, None),
    ("i64 %p:%a = alloca [8 x i8], align 8\n%b = getelementptr i8, ptr %a, i64 5", 1, 3),
    ("i64 %p:%a = alloca [8 x i8], align 8\n%b = getelementptr i8, ptr %a, i64 4", 4, 4),
    ("i64 %p:%a = alloca [8 x i8], align 8\n%b = getelementptr i8, ptr %a, i64 8", 8, 0),
    ("i64 %p:%a = alloca [8 x i8], align 8\n%b = getelementptr i8, ptr %a, i64 9", 1, 0),
    ("i64 %p:%a = alloca [8 x i8], align 8\n%b = getelementptr i8, ptr %a, i64 -1", 1, 0),
    ("i64 %p:%a = alloca [8 x i8], align 8\n%b = getelementptr i16, ptr %a, i64 %p", 2, None),
    ("i64 %p:%b = getelementptr i8, ptr @v, i64 4", 2, 8),
    ("i64 %p:%b = getelementptr i8, ptr @w, i64 8", 4, 4),
    ("i64 %p:%b = getelementptr i8, ptr @x, i64 4", 1, None),
    ("i64 %p:%b = getelementptr i8, ptr @y, i64 4", 1, None),
])
def test_what_an_object_says_of_an_address(text, align, left):
    at = object_of(text)
    assert (alignment(at), bytes_left(at)) == (align, left)
    assert alignment(at, 64) == 64


@pytest.mark.seed("MEM-21", "MEM-23")
@pytest.mark.parametrize(("text", "function", "space", "elsewhere"), [
    ("ptr %p:", "define void @f", GENERIC, GENERIC),
    ("ptr addrspace(1) %p:", "define void @f", 1, 1),
    ("ptr byval(i32) %p:", "define void @f", LOCAL, GENERIC),
    ("ptr byval(i32) %p:", "define ptx_kernel void @f", PARAM, PARAM),
    ("ptr %p:%a = alloca i32", "define void @f", LOCAL, LOCAL),
    ("ptr %p:%a = getelementptr i8, ptr addrspacecast (ptr addrspace(4) @c to ptr), i64 1",
     "define void @f", CONST, CONST),
])
def test_the_space_that_an_object_tells(text, function, space, elsewhere):
    at = object_of(text, function)
    assert address_space(at) == space
    assert address_space(at, params_are_local=False) == elsewhere


@pytest.mark.seed("MEM-04", "MEM-06", "MEM-20")
def test_the_order_of_two_places_of_one_object_is_that_of_their_bytes():
    near = range(-3, 4)
    f = read("define void @f(ptr %p, i64 %n) {\n" + "".join(
        f"  %g{k + 3} = getelementptr i8, ptr %p, i64 {k}\n" for k in near)
        + "  %v = getelementptr i8, ptr %p, i64 %n\n  ret void\n}")["f"]
    *places, variable, _ = f.instructions()
    for (a, p), (b, q) in itertools.product(zip(near, places, strict=True), repeat=2):
        direction = "forward" if a <= b else "reverse"
        assert order(p, q, None, True) == direction
        for size in range(5):
            apart = {*range(a, a + size)}.isdisjoint(range(b, b + size))
            assert order(p, q, size, True) == ("disjoint" if apart else direction)
        assert {order(p, variable, 1, True), order(variable, p, 1, True)} == {"unknown"}


@pytest.mark.seed("MEM-04", "MEM-06", "MEM-23")
def test_which_objects_are_surely_different():
    """Those that nobody else can name; two variables; what lies in two spaces."""
    f = read("""define void @f(ptr %p, ptr noalias %q, ptr byval(i32) %r, ptr addrspace(1) %g,
    ptr addrspace(3) %s) {
  %a = alloca i32
  %b = alloca i32
  %l = load ptr, ptr %p
  %h = load ptr addrspace(1), ptr %p
  %v = getelementptr i8, ptr @v, i64 0
  %w = getelementptr i8, ptr @w, i64 0
  %c = getelementptr i8, ptr addrspace(4) @c, i64 0
  ret void
}
@v = global i32 1
@w = global i32 1
@c = addrspace(4) constant i32 1
""")["f"]
    named = {v.name: v for v in (*f.arguments, *f.instructions()) if v.name}
    pairs = "al bl gh gl gp gv gw hl hp hq hv hw lp lq lr ls lv lw ps pv pw sv sw"
    for local, more in ((True, []), (False, ["hr"])):
        for x, y in itertools.permutations(named, 2):
            found = order(named[x], named[y], 4, local)
            assert (found == "unknown") is ("".join(sorted(x + y)) in [*pairs.split(), *more])
            assert found in ("unknown", "disjoint")


@pytest.mark.seed("MEM-15")
def test_a_place_is_looked_for_some_steps_back():
    text = "".join(f"  %g{k} = getelementptr i8, ptr %{f'g{k - 1}' if k else 'p'}, i64 3\n"
                   for k in range(STEPS + 1))
    f = read(f"define void @f(ptr %p) {{\n{text}  ret void\n}}")["f"]
    first, *_, last, beyond, _ = f.instructions()
    assert STEPS == 64
    assert place(last) == ObjectPlace(f.params[0], 3 * 64, 0)
    assert place(beyond) == ObjectPlace(first, 3 * 64, 0)


@pytest.mark.seed("MEM-15", "GAP-05")
def test_alignments_by_offset():
    f = body(move("23", 16))["k"]
    loads = [a[1:] for a in accesses(f.blocks[2]) if a[0] == "load"]
    assert loads == [(0, vector(I32, 4), 16), (4, I32, 16), (10, nvir.ir.types.I16, 4),
                     (22, I8, 2)]
    f = body(move("200", 16))["k"]
    assert {a[3] for a in accesses(f.blocks[2])} <= {16, 4, 8}
    f = body("  %b4 = getelementptr i8, ptr %b, i64 4\n  call void @llvm.memcpy.p0.p0.i64("
             "ptr align 16 %a, ptr align 4 %b4, i64 8, i1 false)")["k"]
    assert [a[3] for a in accesses(f.entry)] == [4, 4, 16, 4]


@pytest.mark.seed("MEM-16")
def test_volatile():
    for kind in ("memmove", "memcpy"):
        m = body(move("32", 4, kind, "true"))
        found = [i for i in m["k"].instructions() if i.form.name in ("load", "store")]
        assert all(i.form.volatile for i in found)
        assert len(found) == (32 if kind == "memmove" else 16)
    order = [a[0] for a in accesses(body(move("8", 4, "memcpy", "true"))["k"].entry)]
    assert order == ["load", "store"] * 2
    assert assembles(select_module(m)).count("volatile") == 16


@pytest.mark.seed("MEM-17")
def test_aligned_copies_are_vector_accesses_of_ptx():
    text = assembles(select_module(body(move("16", 16, "memcpy"))))
    assert text.count("ld.global.v4") == text.count("st.global.v4") == 1


@pytest.mark.seed("MEM-19", "GAP-12")
def test_memcpy_goes_both_ways_by_the_notes_and_forward_as_observed():
    f = body(move("8", 1, "memcpy"), policy="documented")["k"]
    assert names(f)[1:4] == ["split", "forward.for", "reverse.for"]
    f = body(f"{FILLED.replace('%n, i1', '9, i1')}\n{move('8', 1, 'memcpy')}", "documented")["k"]
    assert {i.name for i in f.instructions() if i.form.name == "getelementptr"} == {
        "dst.memset.gep.unroll", "src.memmove.gep.unroll", "dst.memmove.gep,unroll"}
    f = body(move("8", 4, "memcpy"))["k"]
    assert [a[0] for a in accesses(f.entry)] == ["load", "load", "store", "store"]
    assert names(f) == ["entry"]
    assert {i.name for i in f.instructions() if i.form.name == "getelementptr"} == {
        "src.memcpy.gep.unroll", "dst.memcpy.gep.unroll"}
    assert "loadstoreloop" in names(body(move("%n", 4, "memcpy"))["k"])


@pytest.mark.seed("MEM-22", "MEM-07", "GAP-04")
@pytest.mark.parametrize("knob", ["memmove-unroll-threshold", "lower-aggr-unrolled-stores-limit"])
def test_limits_count_elements(knob):
    def phis(size, align, policy, **knobs):
        f = body(move(str(size), align), policy=policy, knobs=knobs)["k"]
        return sum(i.is_phi for i in f.instructions())

    assert (phis(64, 4, "observed"), phis(68, 4, "observed")) == (0, 2)
    assert (phis(67, 4, "observed"), phis(272, 16, "observed")) == (0, 2)
    assert (phis(128, 4, "documented"), phis(129, 4, "documented")) == (0, 2)
    assert (phis(8, 4, "observed", **{knob: 2}), phis(8, 4, "observed", **{knob: 1})) == (0, 2)


@pytest.mark.seed("STR-15")
def test_names_of_the_remainder():
    f = body(move("13", 4))["k"]
    forward = [i.name for i in f.blocks[2] if i.form.name == "getelementptr"]
    reverse = [i.name for i in f.blocks[3] if i.form.name == "getelementptr"]
    assert forward[-2:] == ["remsrc", "i8dst"]
    assert reverse[:2] == ["remsrc", "i8dst"]
    assert len(forward) == 8
    f = body(move("%n", 4))["k"]
    assert {"remsrc", "remdst", "i8dst"} <= {i.name for i in f.instructions()}
    f = body(move("12", 16))["k"]
    assert any(i.name == "vld" for i in f.instructions())


@pytest.mark.seed("STR-15", "MEM-06", "MEM-19", "GAP-12")
@pytest.mark.parametrize(("options", "size", "rest"), [
    ("", "13", []), ("<wide>", "12", []), ("<wide>", "13", ["[byte 12]"]),
    ("<wide>", "%n", ["less than 4 bytes"]), ("<forward>", "13", []),
])
def test_the_notes_tell_the_spaces_first_and_the_remainder(options, size, rest):
    m = read(f"define void @f(ptr %a, ptr %b, i64 %n) {{\n{move(size, 4, 'memcpy')}\n  ret void\n}}"
             "\ndeclare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n")
    with Trace() as trace:
        nvir.run_passes(m, f"lower-aggr-copies{options}", policy="documented")
    told = [e.row for e in trace]
    assert told.index("MEM-06") < told.index("MEM-07")
    assert [e.text.partition("): ")[2] for e in trace.of("STR-15")] == rest
    both = ["forward" if "forward" in options else "both"]
    assert [e.outcome["paths"] for e in trace.of("MEM-07")] == both


# ------------------------------------------------------- where things lie


@pytest.mark.seed("MEM-06")
def test_different_spaces_are_not_compared():
    f = body("  %g = addrspacecast ptr %a to ptr addrspace(1)\n"
             "  call void @llvm.memmove.p1.p3.i64(ptr addrspace(1) align 4 %g, ptr addrspace(3) "
             "align 4 @tile, i64 8, i1 false)")
    assert names(f["k"]) == ["entry"]
    assert [i.operands[-1].type.space for i in f["k"].instructions()
            if i.form.name in ("load", "store")] == [3, 1] * 2
    text = assembles(select_module(f))
    assert text.count("ld.shared") == 1 or text.count("ld.shared") == 2
    assert "st.global" in text


def test_a_generic_target_is_compared_as_generic():
    f = body("  call void @llvm.memmove.p0.p3.i64(ptr align 4 %a, ptr addrspace(3) align 4 @tile, "
             "i64 8, i1 false)")["k"]
    test = next(i for i in f.instructions() if i.form.name == "icmp")
    assert {v.type for v in test.operands} == {pointer()}
    assert any(i.type is I32 and i.operands[0].type is pointer(3) for i in f.instructions()
               if i.form.name == "load")


def test_a_cast_tells_the_space():
    """A generic pointer to a shared variable is read and written as shared."""
    m = body("  %t = addrspacecast ptr addrspace(3) @tile to ptr\n"
             "  %u = addrspacecast ptr addrspace(3) @other to ptr\n"
             "  %v = getelementptr i8, ptr %u, i64 %n\n"
             "  call void @llvm.memmove.p0.p0.i64(ptr align 4 %t, ptr align 4 %v, i64 8, "
             "i1 false)")
    found = [i for i in m["k"].instructions() if i.form.name in ("load", "store")]
    assert {i.operands[-1].type for i in found} == {pointer(3)}
    assert names(m["k"]) == ["entry"]  # two variables do not overlap


@pytest.mark.parametrize(("distance", "blocks"), [
    (4, ["entry"]), (-4, ["entry"]), (64, ["entry"]), (0, ["entry"]),
])
def test_a_known_distance_needs_one_direction(distance, blocks):
    m = body(f"  %d = getelementptr i8, ptr %b, i64 {distance}\n"
             "  call void @llvm.memmove.p0.p0.i64(ptr align 4 %d, ptr align 4 %b, i64 12, "
             "i1 false)")
    assert names(m["k"]) == blocks
    ups = [a[1] for a in accesses(m["k"].entry) if a[0] == "load"]
    assert ups == ([2, 1, 0] if distance == 4 else [0, 1, 2])


def test_a_variable_distance_needs_both():
    m = body("  %d = getelementptr i8, ptr %b, i64 %n\n"
             "  call void @llvm.memmove.p0.p0.i64(ptr align 4 %d, ptr align 4 %b, i64 12, "
             "i1 false)")
    assert len(names(m["k"])) == 5


@pytest.mark.parametrize(("size", "volatile", "held"), [
    (64, "false", True), (13, "true", True), (72, "false", False)])
def test_what_registers_hold_is_read_before_it_is_written(size, volatile, held):
    """64 bytes need no direction then; more would take too many registers. Notes have no such."""
    m = body(move(str(size), 8, volatile=volatile), pipeline="lower-aggr-copies<held>")
    assert (names(m["k"]) == ["entry"]) is held
    order = [a[0] for a in accesses(m["k"].blocks[0 if held else 2])]
    assert (order == sorted(order)) is held
    documented = body(move("8"), "documented", pipeline="lower-aggr-copies<held>")
    assert len(names(documented["k"])) == 5


@pytest.mark.parametrize("distance", [-9, -4, 0, 4, 8, 40])
def test_a_held_move_is_right_where_it_overlaps(distance):
    m = read("""define ptx_kernel void @k(ptr %a, i64 %n) {
  %s = getelementptr i8, ptr %a, i64 64
  %d = getelementptr i8, ptr %s, i64 %n
  call void @llvm.memmove.p0.p0.i64(ptr %d, ptr %s, i64 15, i1 false)
  ret void
}
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)""")
    given = np.arange(128, dtype=np.uint8)
    wanted = given.copy()
    wanted[64 + distance : 79 + distance] = given[64:79]
    nvir.run_passes(m, "default<O2>")
    nvir.launch(m, "k", 1, 1, [given, np.int64(distance)])
    assert given.tobytes() == wanted.tobytes()


@pytest.mark.seed("MEM-21")
def test_constant_memory_is_no_target():
    message = "memmove/memcpy cannot target constant address space"
    with pytest.raises((ParseError, VerifyError), match=message):
        read("""define void @k(ptr addrspace(4) %a, ptr %b) {
entry:
  call void @llvm.memmove.p4.p0.i64(ptr addrspace(4) %a, ptr %b, i64 4, i1 false)
  ret void
}
declare void @llvm.memmove.p4.p0.i64(ptr addrspace(4), ptr, i64, i1)""")
    with pytest.raises(PassError, match=message):
        body("  %t = addrspacecast ptr addrspace(4) @table to ptr\n"
             "  %u = getelementptr i8, ptr %t, i64 %n\n"
             "  call void @llvm.memmove.p0.p0.i64(ptr %u, ptr %b, i64 4, i1 false)")


# --------------------------------------------------------- around the copy


@pytest.mark.seed("MEM-24")
def test_what_follows_and_phis_and_places():
    m = read("""define ptx_kernel void @k(ptr %a, ptr %b, i64 %n) !dbg !3 {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  call void @llvm.memmove.p0.p0.i64(ptr %a, ptr %b, i64 %n, i1 false), !dbg !4
  %j = add i64 %i, 1
  %c = icmp ult i64 %j, %n
  br i1 %c, label %loop, label %done, !llvm.loop !5
done:
  %r = phi i64 [ %j, %loop ]
  store i64 %r, ptr %a
  ret void
}
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!6}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "x.cu", directory: "")
!2 = !DISubroutineType(types: !7)
!3 = distinct !DISubprogram(name: "k", file: !1, line: 1, type: !2, unit: !0)
!4 = !DILocation(line: 7, column: 3, scope: !3)
!5 = distinct !{!5, !8}
!6 = !{i32 2, !"Debug Info Version", i32 3}
!7 = !{null}
!8 = !{!"llvm.loop.unroll.disable"}""")
    apply(m)
    f = m["k"]
    by_name = {b.name: b for b in f.blocks}
    last = by_name["nonzerotrip"]
    assert last.first.name == "j"
    assert {b for phi in by_name["loop"].phis for b in phi.aux} == {by_name["entry"], last}
    assert next(by_name["done"].phis).aux == (last,)
    assert "llvm.loop" in last.aux
    assert by_name["loop"].aux is None
    made = [i for n in ("split", "forward.for", "reverse.for") for i in by_name[n]]
    assert {i.loc.line for i in made if i.loc} == {7}
    assert all(i.loc for i in made)


def test_a_module_without_copies_is_left_alone():
    m = read("define void @f(ptr %p) {\nentry:\n  store i32 1, ptr %p\n  ret void\n}")
    text = str(m)
    assert len(apply(m)) == 0
    assert str(m) == text


def test_a_second_run_finds_nothing():
    m = body(move("13"))
    text = str(m)
    assert len(apply(m)) == 0
    assert str(m) == text


def test_remarks_say_bytes_elements_path_and_reason():
    (r,) = body(move("13"))["k"].module.remarks
    assert r.args["bytes"] == 13
    assert r.args["count"] == 3
    assert r.args["rest"] == 1
    assert r.args["form"] == "unrolled"
    assert r.args["paths"] == "both directions"
    assert r.args["why"] == "the operands may overlap"
    (r,) = body(move("%n", 4, "memcpy"))["k"].module.remarks
    assert (r.args["form"], r.args["paths"]) == ("a loop", "forward")


@pytest.mark.seed("MEM-07", "MEM-08", "MEM-22")
@pytest.mark.parametrize(("size", "align", "told"), [
    ("13", 1, "13 bytes: 13 elements of 1 byte and a rest of 0, unrolled"),
    ("15", 4, "15 bytes: 3 elements of 4 bytes and a rest of 3, unrolled"),
    ("70", 2, "70 bytes: 35 elements of 2 bytes and a rest of 0, a loop"),
    ("%n", 8, "a number of bytes: all whole elements of 8 bytes and a rest of less than 8, a loop"),
])
def test_remarks_word_by_word(size, align, told):
    for kind, paths in (("memmove", "both directions: the operands may overlap"),
                        ("memcpy", "forward: memcpy's operands do not overlap")):
        (r,) = body(move(size, align, kind)).remarks
        assert f"remark: {kind} of {told}, {paths} [" in str(r)


@pytest.mark.oracle
@pytest.mark.parametrize(("dialect", "arch"), [("llvm7", "sm_80"), ("llvm20", "sm_100")])
def test_libnvvm_takes_the_result(dialect, arch):
    calls = [move(n, a, kind) for n in ("13", "%n") for a in (1, 16)
             for kind in ("memmove", "memcpy")]
    for policy in POLICIES:
        m = body("\n".join(calls), policy=policy)
        assembles(select_module(clone_module(m)))
        m.target = arch
        nvir.run_passes(m, f"legalize<dialect={dialect}>", verify=True)
        result = libnvvm.compile(nvir.print_ll(m, dialect=dialect), arch)
        assert result.ok, result.log


@pytest.mark.oracle
@pytest.mark.parametrize("kind", ["memcpy", "memmove"])
def test_libnvvm_unrolls_the_same_copies_into_the_same_elements(kind):
    """The real lowering's limits and widths, up to 16 bytes (it has vectors of 32 above)."""
    for align, size in ((16, 256), (16, 272), (8, 128), (8, 136), (4, 64), (4, 68), (1, 17)):
        m = body(move(str(size), align, kind))
        ours = any(i.is_phi for i in m["k"].instructions())
        widths = {i.type.name for i in m["k"].instructions() if i.form.name == "load"}
        plain = read(f"""define ptx_kernel void @k(ptr %a, ptr %b) {{
entry:
{move(str(size), align, kind)}
  ret void
}}
declare void @llvm.{kind}.p0.p0.i64(ptr, ptr, i64, i1)""")
        nvir.run_passes(plain, "legalize<dialect=llvm7>")
        text = nvir.print_ll(plain, dialect="llvm7")
        shown = libnvvm.compile(text, "sm_80", ["-Xllc", "-print-isel-input"]).output
        shown = shown[shown.index("define ") :]
        assert (" phi " in shown) == ours, (align, size)
        assert set(re.findall(r"= load ([^,]+),", shown)) == widths, (align, size)


def test_many_copies_in_one_block_are_linear():
    """Twice the copies take about twice the time: no block is moved again for each."""

    def work(n):
        m = nvir.ir.Module("sm_80", level="nvvm")
        f = function(m, "k", VOID, [("a", pointer()), ("b", pointer())], kind="entry")
        a, b = f.params
        at = Builder(f.block("entry"))
        for k in range(n):
            memory_call(at, "memmove", at.gep(a, [k], array(I8, 64)), b, const(k), (4, 4))
        at.ret_void()
        spent = effort(lambda: apply(m))
        assert len(f.blocks) == 4 * n + 1
        return spent

    def const(k):
        return nvir.ir.nvvm.const(I64, 8 + k % 3)

    assert work(120) < 4 * 1.5 * work(30)




# -------------------------------------------------------------- single decisions

FILLED = """  %l = trunc i64 %n to i8
  call void @llvm.memset.p0.i64(ptr align 8 %a, i8 %l, i64 %n, i1 false)"""
LOOP_OF_THE_NOTES = """\
entry:
  %0: i1 = icmp eq %n, i64 0
  br %0 -> nonzerotrip, split
split:
  %1: i1 = icmp ult %a, %b
  %count.minus1: i64 = sub %n, i64 1
  br %1 -> forward.for, reverse.for
forward.for:
  %iv: i64 = phi [i64 0, split], [%iv.next, forward.for]
  %src.memmove.gep: ptr = getelementptr %b, %iv  !aux i8
  %val: i8 = load %src.memmove.gep  !aux 1
  %dst.memmove.gep: ptr = getelementptr %a, %iv  !aux i8
  store %val, %dst.memmove.gep  !aux 1
  %iv.next: i64 = add %iv, i64 1
  %done: i1 = icmp eq %iv.next, %n
  br %done -> nonzerotrip, forward.for
reverse.for:
  %iv~2: i64 = phi [%count.minus1, split], [%iv.next~2, reverse.for]
  %src.memmove.gep~2: ptr = getelementptr %b, %iv~2  !aux i8
  %val~2: i8 = load %src.memmove.gep~2  !aux 1
  %dst.memmove.gep~2: ptr = getelementptr %a, %iv~2  !aux i8
  store %val~2, %dst.memmove.gep~2  !aux 1
  %iv.next~2: i64 = sub %iv~2, i64 1
  %done~2: i1 = icmp eq %iv.next~2, i64 -1
  br %done~2 -> nonzerotrip, reverse.for
nonzerotrip:
  ret
"""
LOOPS_OF_WORDS = """\
entry:
  %elements: i64 = lshr %n, i64 2
  %rest: i64 = and %n, i64 3
  br -> split
split:
  %body: i64 = and %n, i64 -4
  %remdst: ptr = getelementptr %a, %body  !aux i8
  %remsrc: ptr = getelementptr %b, %body  !aux i8
  %0: i1 = icmp ult %a, %b
  br %0 -> forward, reverse
forward:
  %1: i1 = icmp eq %elements, i64 0
  br %1 -> forward.next, forward.for
forward.for:
  %iv: i64 = phi [i64 0, forward], [%iv.next, forward.for]
  %src.memmove.gep: ptr = getelementptr %b, %iv  !aux i32
  %val: i32 = load %src.memmove.gep  !aux 4
  %dst.memmove.gep: ptr = getelementptr %a, %iv  !aux i32
  store %val, %dst.memmove.gep  !aux 4
  %iv.next: i64 = add %iv, i64 1
  %done: i1 = icmp eq %iv.next, %elements
  br %done -> forward.next, forward.for
forward.next:
  %2: i1 = icmp eq %rest, i64 0
  br %2 -> nonzerotrip, forward.for.rem
forward.for.rem:
  %iv~2: i64 = phi [i64 0, forward.next], [%iv.next~2, forward.for.rem]
  %i8src: ptr = getelementptr %remsrc, %iv~2  !aux i8
  %val~2: i8 = load %i8src  !aux 1
  %i8dst: ptr = getelementptr %remdst, %iv~2  !aux i8
  store %val~2, %i8dst  !aux 1
  %iv.next~2: i64 = add %iv~2, i64 1
  %done~2: i1 = icmp eq %iv.next~2, %rest
  br %done~2 -> nonzerotrip, forward.for.rem
reverse:
  %count.minus1: i64 = sub %rest, i64 1
  %3: i1 = icmp eq %rest, i64 0
  br %3 -> reverse.next, reverse.for.rem
reverse.for.rem:
  %iv~3: i64 = phi [%count.minus1, reverse], [%iv.next~3, reverse.for.rem]
  %i8src~2: ptr = getelementptr %remsrc, %iv~3  !aux i8
  %val~3: i8 = load %i8src~2  !aux 1
  %i8dst~2: ptr = getelementptr %remdst, %iv~3  !aux i8
  store %val~3, %i8dst~2  !aux 1
  %iv.next~3: i64 = sub %iv~3, i64 1
  %done~3: i1 = icmp eq %iv.next~3, i64 -1
  br %done~3 -> reverse.next, reverse.for.rem
reverse.next:
  %count.minus1~2: i64 = sub %elements, i64 1
  %4: i1 = icmp eq %elements, i64 0
  br %4 -> nonzerotrip, reverse.for
reverse.for:
  %iv~4: i64 = phi [%count.minus1~2, reverse.next], [%iv.next~4, reverse.for]
  %src.memmove.gep~2: ptr = getelementptr %b, %iv~4  !aux i32
  %val~4: i32 = load %src.memmove.gep~2  !aux 4
  %dst.memmove.gep~2: ptr = getelementptr %a, %iv~4  !aux i32
  store %val~4, %dst.memmove.gep~2  !aux 4
  %iv.next~4: i64 = sub %iv~4, i64 1
  %done~4: i1 = icmp eq %iv.next~4, i64 -1
  br %done~4 -> nonzerotrip, reverse.for
nonzerotrip:
  ret
"""
FILL = """\
entry:
  %l: i8 = trunc %n
  %0: i32 = zext %l
  %splat: i32 = mul %0, i32 16843009
  %1: <2 x i32> = insertelement type <2 x i32> {i32 0, i32 0}, %splat, i32 0
  %2: <2 x i32> = insertelement %1, %splat, i32 1
  %elements: i64 = lshr %n, i64 3
  %rest: i64 = and %n, i64 7
  %body: i64 = and %n, i64 -8
  %remdst: ptr = getelementptr %a, %body  !aux i8
  %3: i1 = icmp eq %elements, i64 0
  br %3 -> loadstoreloop, loadstoreloop.1
loadstoreloop.1:
  %iv: i64 = phi [i64 0, entry], [%iv.next, loadstoreloop.1]
  %dst.memset.gep: ptr = getelementptr %a, %iv  !aux type <2 x i32>
  store %2, %dst.memset.gep  !aux 8
  %iv.next: i64 = add %iv, i64 1
  %done: i1 = icmp eq %iv.next, %elements
  br %done -> loadstoreloop, loadstoreloop.1
loadstoreloop:
  %4: i1 = icmp eq %rest, i64 0
  br %4 -> nonzerotrip, loadstoreloop.rem
loadstoreloop.rem:
  %iv~2: i64 = phi [i64 0, loadstoreloop], [%iv.next~2, loadstoreloop.rem]
  %i8dst: ptr = getelementptr %remdst, %iv~2  !aux i8
  store %l, %i8dst  !aux 1
  %iv.next~2: i64 = add %iv~2, i64 1
  %done~2: i1 = icmp eq %iv.next~2, %rest
  br %done~2 -> nonzerotrip, loadstoreloop.rem
nonzerotrip:
  ret
"""


@pytest.mark.seed("MEM-03", "MEM-05", "MEM-08", "MEM-12", "MEM-13", "MEM-25", "STR-15")
@pytest.mark.parametrize(("text", "policy", "code"), [
    (move("%n", 1), "documented", LOOP_OF_THE_NOTES),
    (move("%n"), "observed", LOOPS_OF_WORDS),
    (FILLED, "observed", FILL),
])
def test_copies_of_run_time_instruction_by_instruction(text, policy, code):
    """The notes' blocks; wider elements have their rest behind them going up, before going down."""
    made = str(body(text, policy))
    assert made[made.index("entry:") : made.index("}\n", made.index("entry:"))] == code


CARRIED = """\
loadstoreloop.1:
  %dst.memset.gep: ptr = phi [%a, entry], [%dst.memset.gep.next, loadstoreloop.1]
  %left: i32 = phi [i32 17, entry], [%left.next, loadstoreloop.1]
  store i16 1542, %dst.memset.gep  !aux 2
  %dst.memset.gep.next: ptr = getelementptr %dst.memset.gep, i64 1  !aux i16
  %left.next: i32 = sub %left, i32 1
  %done: i1 = icmp eq %left.next, i32 0
  br %done -> loadstoreloop, loadstoreloop.1
"""


def test_a_fill_of_known_size_carries_its_address():
    """Registers for one address, not for a base, an index and their sum."""
    def fill(n):
        return str(body(f"  call void @llvm.memset.p0.i64(ptr align 2 %a, i8 6, i64 {n}, i1 0)"))

    assert CARRIED in fill(35)
    assert "phi" not in fill(32)  # 16 elements are straight code


def test_a_copy_has_few_loads_under_way():
    """Four; all of them would keep the registers of the whole object."""
    f = body(move("40", 4, kind="memcpy"))["k"]
    order = "".join(i.form.name[0] for i in f.instructions() if i.form.name in ("load", "store"))
    assert order == "llllssss" * 2 + "llss"


@pytest.mark.seed("MEM-25")
def test_lengths_that_are_surely_not_zero():
    m = read("""define void @f(i64 %n, i32 %m) {
entry:
  %a = or i64 %n, 1
  %b = add nuw i64 %n, 1
  %c = add i64 %n, 1
  %d = mul nuw i64 %n, 3
  %e = or i64 %n, %n
  %g = or i32 %m, 8
  %h = zext i32 %g to i64
  %i = zext i32 %m to i64
  %j = add nuw i64 %n, 0
  %k = and i64 %n, 1
  ret void
}""")
    found = {i.name: nonzero(i) for i in m["f"].instructions() if i.name}
    assert {k for k, yes in found.items() if yes} == {"a", "b", "h", "g"}
    assert [nonzero(constant(I64, k)) for k in (0, 1, 5)] == [False, True, True]
    assert not nonzero(m["f"].params[0])


@pytest.mark.seed("MEM-07", "MEM-22")
@pytest.mark.parametrize(("kind", "size", "align", "order", "limits", "plan"), [
    ("memmove", 64, 4, "unknown", (16, False, True), (4, True, "both", False, ())),
    ("memmove", 68, 4, "unknown", (16, False, True), (4, False, "both", False, ())),
    ("memmove", 67, 4, "unknown", (16, False, True), (4, True, "both", False, ((64, 2), (66, 1)))),
    ("memmove", None, 4, "unknown", (16, False, True), (4, False, "both", False, ())),
    ("memmove", 8, 4, "forward", (16, False, True), (4, True, "forward", False, ())),
    ("memmove", 8, 4, "reverse", (16, False, True), (4, True, "reverse", False, ())),
    ("memmove", 8, 4, "disjoint", (16, False, True), (4, True, "forward", False, ())),
    ("memmove", 8, 4, "reverse", (128, True, False), (1, True, "both", False, ())),
    ("memmove", 128, 4, "disjoint", (128, True, False), (1, True, "forward", False, ())),
    ("memmove", 129, 4, "disjoint", (128, True, False), (1, False, "forward", False, ())),
    ("memcpy", 8, 32, "unknown", (16, False, True), (16, True, "forward", True, ((0, 8),))),
    ("memcpy", 31, 48, "unknown", (16, False, True),
     (16, True, "forward", True, ((16, 8), (24, 4), (28, 2), (30, 1)))),
    ("memcpy", 8, 4, "unknown", (128, True, False), (1, True, "both", False, ())),
    ("memcpy", 8, 4, "disjoint", (128, True, True), (1, True, "forward", False, ())),
    ("memcpy", None, 8, "unknown", (16, False, True), (8, False, "forward", False, ())),
    ("memset", 6, 2, "disjoint", (16, False, True), (2, True, "forward", False, ())),
    ("memset", 6, 4, "unknown", (128, True, False), (1, True, "forward", False, ())),
])
def test_plans(kind, size, align, order, limits, plan):
    made = make_plan(kind, size, align, order, CopyLimits(*limits, True))
    assert (made.unit, made.unrolled, made.paths, made.loads_first, made.tail) == plan
    assert made.size == size
    assert made.count == (None if size is None else size // plan[0])
    assert made.form == ("unrolled" if plan[1] else "a loop")
    why = {
        "memset": "a fill reads nothing",
        "memcpy": "memcpy's operands do not overlap",
    }.get(kind, "the operands lie in different memory" if order == "disjoint"
          else "the operands may overlap" if plan[2] == "both"
          else f"the target lies {'above' if order == 'reverse' else 'at or below'} the source")
    if kind != "memcpy" or limits[2]:
        assert made.why == why


@pytest.mark.seed("MEM-08")
@pytest.mark.parametrize(("kind", "size", "bytewise", "carried"), [
    ("memset", (1 << 31) - 1, False, True), ("memset", 1 << 31, False, False),
    ("memset", 16, False, False), ("memset", 17, False, True), ("memset", 17, True, False),
    ("memcpy", 17, False, False), ("memset", None, False, False),
])
def test_a_fill_of_a_known_size_counts_in_32_bits(kind, size, bytewise, carried):
    limits = CopyLimits(16, bytewise, True, True)
    assert make_plan(kind, size, 1, "disjoint", limits).carried == carried


@pytest.mark.seed("MEM-14", "MEM-15", "STR-15")
def test_straight_code_of_a_volatile_copy():
    """One access after the other, in the order of their addresses, each with its alignment."""
    f = body(move("7", 4, "memcpy", "true"))["k"]
    found = [(i.form.spelling, i.operands[-1].name, i.aux)
             for i in f.instructions() if i.form.name in ("load", "store")]
    assert found == [(f"{what} volatile", name, align) for what, name, align in (
        ("load", "src.memcpy.gep.unroll", 4), ("store", "dst.memcpy.gep.unroll", 4),
        ("load", "remsrc", 4), ("store", "remdst", 4),
        ("load", "remsrc", 2), ("store", "i8dst", 2),
    )]
    wide = body(move("24", 16, "memcpy"))["k"]
    assert [i.name for i in wide.instructions() if i.form.name == "load"] == ["val", "vld"]
    ends = body(move("200", 4), "documented")["k"]
    starts = [p.operands[0].value for b in ends.blocks for p in b.phis]
    assert starts == [0, 199]


@pytest.mark.seed("MEM-17")
def test_noted_copies_are_as_wide_as_their_alignment_where_that_is_asked_for():
    def made(options):
        m = read("""define void @f(ptr %p, ptr %q) {
  call void @llvm.memmove.p0.p0.i64(ptr align 16 %p, ptr align 16 %q, i64 16, i1 false)
  ret void
}
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
""")
        nvir.run_passes(m, f"lower-aggr-copies{options}", policy="documented")
        return nvir.print_ptx(select_module(m))

    assert made("<wide>").count("ld.v4.u32") == made("<wide>").count("st.v4.u32") == 2
    assert "v4" not in made("")
