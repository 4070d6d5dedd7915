"""Struct values become scalars: what stays whole, what is copied, types and alignments."""

from __future__ import annotations

import numpy as np
import pytest

import nvir
from nvir.ir.clone import clone_module
from nvir.ir.errors import Unsupported
from nvir.ir.layout import align_of
from nvir.ir.nvvm_values import Poison
from nvir.ir.text.trace import Trace
from nvir.ir.types import (
    BFLOAT,
    DOUBLE,
    FLOAT,
    FP128,
    HALF,
    I1,
    I8,
    I16,
    I32,
    I64,
    VOID,
    array,
    int_type,
    pointer,
    struct,
    vector,
)
from nvir.ir.values import Undef
from nvir.passes.aggregate.copies import aligned_at
from nvir.passes.aggregate.leaves import (
    composite,
    decode_alignment,
    encode_alignment,
    gaps,
    holds_union,
    leaf_count,
    leaf_range,
    leaves,
    size_in_bits,
    type_id,
)
from nvir.passes.aggregate.split import SplitLimits, _pieces, _Splitter, split_values
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs
from nvir.passes.registry import all_passes
from nvir.passes.select import select_module
from nvir.toolchain import libnvvm
from tests.aggregates import aggregates_left, apply
from tests.effort import effort
from tests.selection import assembles, read, run, same

SAMPLE = """%Result = type { float, i32, float }
define internal %Result @compute(ptr %data, i32 %tid) {attributes} {
entry:
  %r = alloca %Result, align 4
  %i = sext i32 %tid to i64
  %p = getelementptr float, ptr %data, i64 %i
  %x = load float, ptr %p
  %y = fmul float %x, 2.0
  %f0 = getelementptr %Result, ptr %r, i32 0, i32 0
  store float %y, ptr %f0
  %f1 = getelementptr %Result, ptr %r, i32 0, i32 1
  store i32 %tid, ptr %f1
  %f2 = getelementptr %Result, ptr %r, i32 0, i32 2
  store float 0x3FEE666660000000, ptr %f2
  %v = load %Result, ptr %r
  ret %Result %v
}
define ptx_kernel void @k(ptr %in, ptr %val, ptr %idx, ptr %conf, i32 %n) {
entry:
  %r = alloca %Result, align 4
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %out = icmp sge i32 %tid, %n
  br i1 %out, label %done, label %body
body:
  %c = call %Result @compute(ptr %in, i32 %tid)
  store %Result %c, ptr %r
  %k = sext i32 %tid to i64
  %f0 = getelementptr %Result, ptr %r, i32 0, i32 0
  %v = load float, ptr %f0
  %pv = getelementptr float, ptr %val, i64 %k
  store float %v, ptr %pv
  %f1 = getelementptr %Result, ptr %r, i32 0, i32 1
  %w = load i32, ptr %f1
  %pi = getelementptr i32, ptr %idx, i64 %k
  store i32 %w, ptr %pi
  %f2 = getelementptr %Result, ptr %r, i32 0, i32 2
  %z = load float, ptr %f2
  %pc = getelementptr float, ptr %conf, i64 %k
  store float %z, ptr %pc
  br label %done
done:
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
"""


def body(text: str, params: str = "ptr %p, ptr %q", **settings):
    """The function `f` with that body, split. `remarks` are on the module."""
    m = read(f"""define {'' if 'ret {' in text else 'void'}@f({params}) {{
entry:
{text}
}}""".replace("define @f", "define void @f").replace("define void@f", "define void @f"))
    m.remarks = apply(m, **settings)  # type: ignore[attr-defined]
    return m


def forms(f):
    return [i.form.name for i in f.instructions()]


# ---------------------------------------------------------------- the types


@pytest.mark.seed("STR-03", "STR-14")
def test_leaves_of_the_notes_example():
    t = struct([I32, struct([FLOAT, DOUBLE]), I16])
    assert [(x.offset, x.type) for x in leaves(t)] == [(0, I32), (8, FLOAT), (16, DOUBLE),
                                                       (24, I16)]
    assert [x.path for x in leaves(t)] == [(0,), (1, 0), (1, 1), (2,)]
    assert size_in_bits(struct([I8, I32])) == 64


@pytest.mark.seed("STR-04", "GAP-10")
def test_arrays_are_flat():
    assert [x.offset for x in leaves(array(I32, 4))] == [0, 4, 8, 12]
    t = struct([I8, array(struct([I16, I8]), 2)])
    assert [x.offset for x in leaves(t)] == [0, 2, 4, 6, 8]
    assert [leaf_range(t, p) for p in ((), (0,), (1,), (1, 1), (1, 1, 1))] == [
        (0, 5), (0, 1), (1, 5), (3, 5), (4, 5)]


@pytest.mark.seed("STR-06")
def test_the_composite_is_aligned_to_its_widest_member():
    t = struct([I8, struct([I64, I16])])
    assert composite(t) is struct([I8, I64, I16])
    assert align_of(composite(t)) == 8


@pytest.mark.seed("STR-10", "GAP-08")
def test_alignment_fields():
    assert [decode_alignment(k) for k in range(14)] == [0, 0, 1, 1, 2, 2, 4, 4, 8, 8, 16, 16, 32,
                                                        32]
    for k in range(30):
        for flag in (False, True):
            assert decode_alignment(encode_alignment(1 << k, flag)) == 1 << k
            assert encode_alignment(1 << k, flag) & 1 == flag
    assert decode_alignment(encode_alignment(0, False)) == 0
    for wrong in (6, 1 << 30, -1, -8):
        with pytest.raises(ValueError, match="no alignment"):
            encode_alignment(wrong, False)


@pytest.mark.seed("STR-04")
def test_more_leaves_than_any_registers_could_hold_are_refused(monkeypatch):
    with pytest.raises(Unsupported, match="of 65537 elements: use memory"):
        leaves(struct([array(I8, 1 << 16), I8]))
    monkeypatch.setattr("nvir.passes.aggregate.leaves.MOST_LEAVES", 5)
    assert len(leaves(array(int_type(7), 5))) == 5
    with pytest.raises(Unsupported, match="of 6 elements"):
        leaves(array(int_type(7), 6))


@pytest.mark.seed("STR-11", "GAP-06")
def test_alignment_of_a_leaf_is_never_zero():
    assert aligned_at(8, 4) == 4
    assert aligned_at(4, 8) == 4
    assert aligned_at(16, 0) == 16
    assert aligned_at(1, 8) == 1


@pytest.mark.seed("STR-13", "GAP-07")
@pytest.mark.parametrize(("t", "number", "bits"), [
    (HALF, 1, 16), (BFLOAT, 1, 16), (FLOAT, 2, 32), (DOUBLE, 3, 64), (FP128, 5, 128),
    (I64, 11, 64), (int_type(24), 11, 24), (struct([I8, I32]), 13, 64),
    (array(struct([I16, I8]), 3), 14, 96), (pointer(3), 15, 64), (vector(I32, 2), 16, 64),
])
def test_type_numbers_and_sizes(t, number, bits):
    assert (type_id(t), size_in_bits(t)) == (number, bits)


def test_a_type_without_a_number():
    with pytest.raises(Unsupported, match="void"):
        type_id(VOID)


def test_padding():
    assert gaps(struct([I8, I32, I8])) == ((1, 3), (9, 3))
    assert gaps(struct([I8, I32], packed=True)) == ()
    assert gaps(struct([int_type(24), I32])) == ((3, 1),)


# ------------------------------------------------------------------- memory


@pytest.mark.seed("STR-08", "STR-09")
def test_a_load_is_one_of_each_leaf():
    with Trace() as trace:
        body("""  %v = load {i32, float}, ptr %p
  store {i32, float} %v, ptr %q
  store volatile {i32, float} %v, ptr %q
  ret void""")
    assert [(e.inputs["names"], e.outcome) for e in trace.of("STR-08")] == [
        ("ptr", ["i32", "float"])] * 3
    made = [e.row for e in trace if e.row in ("STR-05", "STR-08", "STR-09")]
    assert made[:3] == ["STR-09", "STR-05", "STR-08"]  # the loads first (GAP-09)
    f = body("""  %v = load {i32, float, [2 x i16]}, ptr %p, align 8
  %x = extractvalue {i32, float, [2 x i16]} %v, 0
  %y = extractvalue {i32, float, [2 x i16]} %v, 2, 1
  store i32 %x, ptr %q
  store i16 %y, ptr %q
  ret void""")["f"]
    loads = [i for i in f.instructions() if i.form.name == "load"]
    assert [(i.name, i.type, i.aux) for i in loads] == [
        ("split", I32, 8), ("split", FLOAT, 4), ("split", I16, 8), ("split", I16, 2)]
    assert {i.name for i in f.instructions() if i.form.name == "getelementptr"} == {"ptr"}
    stores = [i for i in f.instructions() if i.form.name == "store"]
    assert [s.operands[0] for s in stores] == [loads[0], loads[3]]


@pytest.mark.seed("STR-07")
def test_a_vector_stays_one():
    f = body("""  %v = load {<2 x i32>, i8}, ptr %p
  %x = extractvalue {<2 x i32>, i8} %v, 0
  store <2 x i32> %x, ptr %q
  ret void""")["f"]
    assert [i.type for i in f.instructions() if i.form.name == "load"] == [vector(I32, 2), I8]


@pytest.mark.seed("STR-16", "STR-17")
def test_a_load_that_is_stored_is_a_copy_with_its_padding():
    m = body("""  %v = load {i8, i32, [3 x i8]}, ptr %p
  store {i8, i32, [3 x i8]} %v, ptr %q
  ret void""")
    f = m["f"]
    assert forms(f)[: forms(f).index("store")].count("load") == 8  # all loads come first
    assert {i.name for i in f.instructions() if i.form.name == "getelementptr"} == {
        "srcptr", "dstptr"}
    a, b = np.arange(1, 25, dtype=np.uint8), np.zeros(24, np.uint8)
    out, _ = run(as_kernel(m), [a, b], block=1)
    assert out[1][:12].tolist() == list(range(1, 13))
    assert not out[1][12:].any()


def as_kernel(m):
    f = m["f"]
    f.kind, f.name = "entry", "k"
    return m


@pytest.mark.seed("STR-17")
def test_a_union_keeps_all_its_bytes():
    """A union's type is its widest member's; the other members' bytes are that one's padding."""
    m = body("""  %v = load {{i8, i64}}, ptr %p
  store {{i8, i64}} %v, ptr %q
  ret void""")
    a, b = np.arange(1, 17, dtype=np.uint8), np.zeros(16, np.uint8)
    out, _ = run(as_kernel(m), [a, b], block=1)
    assert np.array_equal(out[1], a)


@pytest.mark.seed("STR-03", "STR-17")
@pytest.mark.parametrize(("type_", "loads"), [
    ("{i32, {float, double}, i16}", ["i32", "float", "double", "i16"]),
    ("%union.u", ["i8", "i8", "i16", "i32", "i64"]),
    ("{i64, [1 x %union.u]}", ["i64", "i8", "i8", "i16", "i32", "i64"]),
])
def test_the_noted_copy_goes_by_scalars_and_leaves_padding_out_but_in_unions(type_, loads):
    m = read(f"""%union.u = type {{ i8, i64 }}
define void @f(ptr %p, ptr %q) {{
  %v = load {type_}, ptr %p
  store {type_} %v, ptr %q
  ret void
}}""")
    apply(m, policy="documented")
    made = [i for i in m["f"].instructions() if i.form.name == "load"]
    assert [str(i.type) for i in made] == loads
    assert forms(m["f"]).count("store") == len(loads)


@pytest.mark.seed("MEM-23")
def test_a_write_between_is_no_copy():
    text = """  %v = load {i8, i32}, ptr %p
  store i32 7, ptr %p
  store {i8, i32} %v, ptr %q
  ret void"""
    m = body(text)
    assert "copy" not in m.remarks.to_text()
    assert forms(m["f"]).count("load") == 2
    m = body(text, knobs={"skiploweraggcopysafechk": True})
    assert "copy" in m.remarks.to_text()


def test_a_value_with_another_use_is_no_copy():
    m = body("""  %v = load {i32, i32}, ptr %p
  store {i32, i32} %v, ptr %q
  %x = extractvalue {i32, i32} %v, 1
  store i32 %x, ptr %q
  ret void""")
    assert "copy" not in m.remarks.to_text()


@pytest.mark.seed("STR-04", "MEM-22")
def test_large_copies_are_loops():
    text = """  %v = load [N x i32], ptr %p
  store [N x i32] %v, ptr %q
  ret void"""
    m = body(text.replace("N", "1000"))
    assert any(i.is_phi for i in m["f"].instructions())
    assert "4000 bytes are loaded and stored as a copy of memory" in m.remarks.to_text()
    small = body(text.replace("N", "32"))
    assert not any(i.is_phi for i in small["f"].instructions())
    changed = body(text.replace("N", "32"), knobs={"max-aggr-copy-size": 127})
    assert any(i.is_phi for i in changed["f"].instructions())
    data = [np.arange(1000, dtype=np.int32), np.zeros(1000, np.int32)]
    out, _ = run(as_kernel(m), data, block=1)
    assert np.array_equal(out[1], data[0])


@pytest.mark.seed("STR-04", "MEM-22")
@pytest.mark.parametrize(("knobs", "why"), [
    ({}, "by element"),
    ({"max-aggr-copy-size": 19}, "of memory: more than 19 bytes"),
    ({"large-aggr-store-limit": 5}, "by element"),
    ({"large-aggr-store-limit": 4}, "of memory: more than 4 elements"),
])
def test_either_limit_makes_a_copy_one_of_memory(knobs, why):
    text = """  %v = load {i32, [4 x i32]}, ptr %p, align 4
  store {i32, [4 x i32]} %v, ptr %q, align 4
  ret void"""
    with Trace() as trace:
        m = body(text, knobs=knobs, policy="documented")
    (event,) = trace.of("STR-04")
    assert event.outcome.startswith(why)
    assert (event.inputs["elements"], event.inputs["bytes"]) == (5, 20)
    typed = [i for i in m["f"].instructions() if i.form.name == "load" and i.type is I32]
    assert len(typed) == (5 if why.startswith("by element") else 0)


@pytest.mark.seed("MEM-22")
def test_large_constants_are_filled_or_copied():
    text = "  store [8 x i32] {}, ptr %p\n  ret void"
    numbers = "[" + ", ".join(f"i32 {k}" for k in range(8)) + "]"
    for value, how in (("zeroinitializer", "filled with zeros"), (numbers, "constant variable")):
        given = text.replace("{}", value)
        assert forms(body(given)["f"]).count("store") == 8
        m = body(given, knobs={"large-aggr-store-limit": 7})
        assert how in m.remarks.to_text()
        start = np.full(8, 99, np.int32)
        out, _ = run(as_kernel(m), [start, start], block=1)
        assert out[0].tolist() == ([0] * 8 if value[0] == "z" else list(range(8)))


@pytest.mark.seed("GAP-50")
def test_packed_structs_are_read_as_they_lie():
    m = body("""  %v = load <{i8, i32, i24}>, ptr %p
  %w = insertvalue <{i8, i32, i24}> %v, i8 5, 0
  store <{i8, i32, i24}> %w, ptr %q, align 1
  ret void""")
    loads = [i for i in m["f"].instructions() if i.form.name == "load"]
    assert [i.aux for i in loads] == [1, 1, 1]
    a = np.arange(1, 9, dtype=np.uint8)
    k = as_kernel(m)
    out, _ = run(k, [a, np.zeros(9, np.uint8)], block=1)
    assert out[1].tolist() == [5, 2, 3, 4, 5, 6, 7, 8, 0]
    ori = select_module(k)
    assembles(ori)
    same(out, run(ori, [a, np.zeros(9, np.uint8)], block=1)[0])


@pytest.mark.seed("GAP-50")
def test_volatile_aggregates_are_split_in_order():
    f = body("""  %v = load volatile {i32, float}, ptr %p
  store volatile {i32, float} %v, ptr %q
  ret void""")["f"]
    found = [i for i in f.instructions() if i.form.name in ("load", "store")]
    assert [i.form.spelling for i in found] == ["load volatile"] * 2 + ["store volatile"] * 2


def test_undef_members_are_not_stored():
    f = body("""  %v = insertvalue {i32, float, i8} undef, i32 3, 0
  store {i32, float, i8} %v, ptr %p
  ret void""")["f"]
    assert forms(f) == ["store", "ret"]


# ------------------------------------------------------------------ values


@pytest.mark.seed("STR-23")
def test_chains_of_insert_and_extract_vanish():
    f = body("""  %a = insertvalue {i32, [2 x i8]} undef, i32 %x, 0
  %b = insertvalue {i32, [2 x i8]} %a, i8 %y, 1, 1
  %c = insertvalue {{i32, [2 x i8]}, i1} poison, {i32, [2 x i8]} %b, 0
  %d = extractvalue {{i32, [2 x i8]}, i1} %c, 0
  %e = extractvalue {i32, [2 x i8]} %d, 0
  %g = extractvalue {{i32, [2 x i8]}, i1} %c, 0, 1, 1
  store i32 %e, ptr %p
  store i8 %g, ptr %p
  ret void""", "ptr %p, i32 %x, i8 %y")["f"]
    assert forms(f) == ["store", "store", "ret"]
    assert [i.operands[0] for i in f.instructions() if i.operands] == f.params[1:]


def test_a_value_that_is_named_twice_is_not_changed_in_place():
    f = body("""  %a = insertvalue {i32, i32} undef, i32 %x, 0
  %b = insertvalue {i32, i32} %a, i32 1, 0
  %c = extractvalue {i32, i32} %a, 0
  %d = extractvalue {i32, i32} %b, 0
  store i32 %c, ptr %p
  store i32 %d, ptr %p
  ret void""", "ptr %p, i32 %x")["f"]
    stored = [i.operands[0] for i in f.instructions() if i.form.name == "store"]
    assert stored[0] is f.params[1]
    assert stored[1].value == 1


@pytest.mark.seed("STR-18")
def test_a_phi_becomes_one_of_each_leaf():
    m = read("""define ptx_kernel void @k(ptr %p, i32 %n) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %s = phi {i32, [2 x float]} [ zeroinitializer, %entry ], [ %t, %loop ]
  %x = extractvalue {i32, [2 x float]} %s, 0
  %y = add i32 %x, %i
  %t = insertvalue {i32, [2 x float]} %s, i32 %y, 0
  %j = add i32 %i, 1
  %c = icmp ult i32 %j, %n
  br i1 %c, label %loop, label %done
done:
  %r = extractvalue {i32, [2 x float]} %t, 0
  store i32 %r, ptr %p
  ret void
}""")
    before, _ = run(m, [np.zeros(1, np.int32), np.int32(5)], block=1)
    apply(m)
    assert [p.type for p in m["k"].blocks[1].phis] == [I32, I32, FLOAT, FLOAT]
    assert not aggregates_left(m)
    same(before, run(m, [np.zeros(1, np.int32), np.int32(5)], block=1)[0])


def test_blocks_that_are_never_reached():
    """Even a value that is used before it is made there."""
    m = read("""define void @f(ptr %p) {
entry:
  ret void
dead:
  %x = extractvalue {i32, i8} %w, 0
  store i32 %x, ptr %p
  %v = load {i32, i8}, ptr %p
  %w = insertvalue {i32, i8} %v, i32 %x, 0
  store {i32, i8} %w, ptr %p
  br label %dead
}""")
    apply(m)
    assert not aggregates_left(m)


def test_select_and_freeze():
    f = body("""  %s = select i1 %c, {i32, i8} zeroinitializer, {i32, i8} %v
  %t = freeze {i32, i8} %s
  %x = extractvalue {i32, i8} %t, 1
  store i8 %x, ptr %p
  ret void""", "ptr %p, i1 %c, {i32, i8} %v")["f"]
    assert forms(f).count("select") == forms(f).count("freeze") == 2
    assert forms(f)[0] == "splitStruct"


# ------------------------------------------------------------------- edges


@pytest.mark.seed("STR-05", "GAP-09", "GAP-02")
def test_what_arrives_whole_is_taken_apart_by_split_struct():
    m = read("""define {i32, float} @g({i32, float} %v) {
entry:
  %r = call {i32, float} @h({i32, float} %v)
  %x = extractvalue {i32, float} %r, 0
  %y = extractvalue {i32, float} %v, 0
  %z = add i32 %x, %y
  %s = insertvalue {i32, float} %r, i32 %z, 0
  ret {i32, float} %s
}
declare {i32, float} @h({i32, float})""")
    apply(m)
    g = m["g"]
    assert forms(g) == ["splitStruct", "call", "splitStruct", "add", "insertvalue", "insertvalue",
                        "ret"]
    split = g.entry.first
    t = struct([I32, FLOAT])
    assert split.aux == (t, t)
    assert [r.type for r in split.results] == [I32, FLOAT]
    nested = read("""define i32 @n({i32, {float, i32}} %v) {
  %y = extractvalue {i32, {float, i32}} %v, 1, 1
  ret i32 %y
}""")
    apply(nested)
    whole = nested["n"].params[0].type
    assert nested["n"].entry.first.aux == (whole, struct([I32, FLOAT, I32]))
    assert g.entry.instructions[1].operands == (g.params[0],)  # passed on as it came
    assert not aggregates_left(m)
    text = str(m)
    again = nvir.parse_ir(text)
    nvir.verify(again)
    assert str(again) == text
    assert str(clone_module(m)) == text


def test_what_only_passes_through_is_left_alone():
    m = read("""define {i32, float} @g({i32, float} %v) {
entry:
  %r = call {i32, float} @g({i32, float} %v)
  ret {i32, float} %r
}""")
    text = str(m)
    assert len(apply(m)) == 0
    assert str(m) == text


def test_cmpxchg():
    f = body("""  %r = cmpxchg ptr %p, i32 1, i32 2 seq_cst seq_cst
  %x = extractvalue {i32, i1} %r, 0
  %y = extractvalue {i32, i1} %r, 1
  store i32 %x, ptr %q
  store i1 %y, ptr %q
  ret void""")["f"]
    assert forms(f) == ["cmpxchg", "splitStruct", "store", "store", "ret"]
    assert [r.type for r in f.entry.instructions[1].results] == [I32, I1]


@pytest.mark.seed("STR-19")
@pytest.mark.parametrize(("option", "linkage", "flat"), [
    (True, "internal", True), (True, "", False), (False, "internal", False),
])
def test_parameters_of_functions_that_only_this_module_calls(option, linkage, flat):
    m = read(f"""define {linkage} i32 @g(i32 %a, {{i32, float}} %v, ptr align 8 %p) {{
entry:
  %x = extractvalue {{i32, float}} %v, 0
  %y = add i32 %x, %a
  ret i32 %y
}}
define ptx_kernel void @k(ptr %p) {{
entry:
  %v = load {{i32, float}}, ptr %p
  %r = call i32 @g(i32 3, {{i32, float}} %v, ptr align 8 %p)
  store i32 %r, ptr %p
  ret void
}}""")
    data = [np.array([4, 0], np.int32)]
    before, _ = run(m, data, block=1)
    text = "lower-aggr-copies<lower-aggr-func-args>" if option else "lower-aggr-copies"
    remarks = apply(m, text)
    g = m["g"]
    wanted = [I32, I32, FLOAT, pointer()] if flat else [I32, struct([I32, FLOAT]), pointer()]
    assert [a.type for a in g.params] == wanted
    assert [a.index for a in g.params] == list(range(len(wanted)))
    assert ("passed as 2 parameters" in remarks.to_text()) == flat
    assert ("can be called from elsewhere" in remarks.to_text()) == (option and not flat)
    same(before, run(m, data, block=1)[0])
    ori = select_module(m)
    assembles(ori)
    same(before, run(ori, data, block=1)[0])


@pytest.mark.seed("MEM-02", "STR-19")
@pytest.mark.parametrize(("work", "variable"), [
    ("store ptr @g, ptr %p", "null"), ("store [1 x ptr] [ptr @g], ptr %p", "null"),
    ("store ptr getelementptr (i8, ptr @g, i64 1), ptr %p", "null"),
    ("", "@g"), ("", "getelementptr (i8, ptr @g, i64 1)"),
])
def test_a_function_whose_address_is_taken_keeps_its_parameters(work, variable):
    m = read(f"""define internal void @g({{i32, float}} %v) {{
entry:
  ret void
}}
define void @k(ptr %p) {{
entry:
  {work}
  ret void
}}
@v = global ptr {variable}
""")
    remarks = apply(m, "lower-aggr-copies<lower-aggr-func-args>")
    assert "its address is taken" in remarks.to_text()
    assert len(m["g"].params) == 1


# ---------------------------------------------------------------- constants


def test_members_of_constants():
    f = body("""  %s = select i1 %c, {i32, {ptr, float}} {i32 4, {ptr, float} zeroinitializer},
              {i32, {ptr, float}} poison
  %t = select i1 %c, {i32, {ptr, float}} undef, {i32, {ptr, float}} %s
  store {i32, {ptr, float}} %t, ptr %p
  ret void""".replace("},\n            ", "},"), "ptr %p, i1 %c")["f"]
    first, second = [i for i in f.instructions() if i.form.name == "select"][::3][:2]
    assert first.operands[1].value == 4
    assert isinstance(first.operands[2], Poison)
    assert isinstance(second.operands[1], Undef)
    null = [i for i in f.instructions() if i.form.name == "select"][1].operands[1]
    assert null.value is None


# ---------------------------------------------------------------- the whole


@pytest.mark.seed("STR-22", "STR-19", "STR-21")
@pytest.mark.parametrize("attributes", ["", "noinline"])
def test_the_sample_kernel_uses_no_local_memory(attributes):
    m = read(SAMPLE.replace("{attributes}", attributes))
    data = [np.arange(32, dtype=np.float32), np.zeros(32, np.float32), np.zeros(32, np.int32),
            np.zeros(32, np.float32), np.int32(20)]
    before, _ = run(m, data)
    nvir.run_passes(m, "lower-struct-args<opt-byval>,lower-aggr-copies,sroa,mem2reg", verify=True)
    assert not aggregates_left(m)
    assert not any(i.form.name == "alloca" for f in m.functions for i in f.instructions())
    ori = select_module(m)
    same(before, run(ori, data)[0])
    text = assembles(ori)
    assert ".local" not in text
    body_ = text[text.index(".entry") :]
    assert body_.count("st.global.f32") == 2
    assert body_.count("st.global.u32") + body_.count("st.global.b32") == 1
    assert "%h" not in text


@pytest.mark.seed("STR-22")
def test_the_sample_kernel_without_passes_goes_through_parameters():
    text = assembles(select_module(read(SAMPLE.replace("{attributes}", "noinline"))))
    assert "st.param.f32" in text
    assert "ld.param.f32" in text


@pytest.mark.seed("STR-02")
@pytest.mark.parametrize("text", [
    SAMPLE.replace("{attributes}", "noinline"),
    """define void @f(ptr %p, ptr %q) {
entry:
  %v = load {i8, [3 x i32]}, ptr %p
  store {i8, [3 x i32]} %v, ptr %q
  ret void
}""",
    """define {i32, float} @g({i32, float} %v, ptr %p) {
entry:
  %r = call {i32, float} @g({i32, float} %v, ptr %p)
  %x = extractvalue {i32, float} %r, 0
  %s = insertvalue {i32, float} %v, i32 %x, 0
  store volatile {i32, float} %s, ptr %p
  ret {i32, float} %s
}""",
])
@pytest.mark.parametrize("policy", ["observed", "documented"])
def test_the_two_instances_do_the_same(text, policy):
    one, two, alone = read(text), read(text), read(text)
    apply(one, "lower-aggr-copies", policy=policy)
    apply(two, "split-structs,lower-aggr-copies", policy=policy)
    assert str(one) == str(two)
    apply(alone, "split-structs", policy=policy)
    assert str(alone) != str(read(text))
    assert not [x for x in aggregates_left(alone) if "call" not in x]


@pytest.mark.seed("STR-20", "LSA-01", "GAP-53")
def test_order_of_the_passes():
    from nvir.passes.pipeline import check_order, parse_pipeline

    right = parse_pipeline("lower-struct-args<opt-byval>,lower-aggr-copies")
    wrong = parse_pipeline("lower-aggr-copies,lower-struct-args")
    assert check_order(right) == []
    assert len(check_order(wrong)) == 1


def test_what_stays_in_local_memory_and_why():
    m = body("""  %a = alloca [4 x i32]
  %b = alloca i32
  %c = alloca i64
  %d = alloca i32
  %x = getelementptr [4 x i32], ptr %a, i64 0, i32 %n
  store i32 1, ptr %x
  store ptr %b, ptr %p
  store volatile i64 0, ptr %c
  store i32 1, ptr %d
  ret void""", "ptr %p, i32 %n")
    found = {r.args["name"]: (r.args["bytes"], r.args["why"]) for r in m.remarks
             if r.name == "LocalMemory"}
    assert found == {
        "%a": (16, "it is indexed by a value that is not constant"),
        "%b": (4, "its address is stored"),
        "%c": (8, "a store of it is volatile"),
    }


@pytest.mark.oracle
@pytest.mark.parametrize(("dialect", "arch"), [("llvm7", "sm_80"), ("llvm20", "sm_100")])
def test_libnvvm_takes_the_sample(dialect, arch):
    m = read(SAMPLE.replace("{attributes}", "noinline"), arch)
    nvir.run_passes(m, f"lower-aggr-copies,legalize<dialect={dialect}>", verify=True)
    assert not any(i.form.name == "splitStruct" for i in m["k"].instructions())
    result = libnvvm.compile(nvir.print_ll(m, dialect=dialect), arch)
    assert result.ok, result.log


def test_building_a_large_array_is_linear():
    """A chain of insertvalues changes one list of leaves."""

    from nvir.ir.nvvm import Builder, function

    def work(n):
        t = array(I32, n)
        m = nvir.ir.Module("sm_80", level="nvvm")
        f = function(m, "f", VOID, [("p", pointer()), ("x", I32)])
        b = Builder(f.block("entry"))
        v = nvir.ir.values.undef(t)
        for k in range(n):
            v = b.insert_value(v, f.params[1], k)
        b.store(v, f.params[0])
        b.ret_void()
        spent = effort(lambda: nvir.run_passes(m, "lower-aggr-copies"))
        assert len(list(f.instructions())) == 2 * n
        return spent

    assert work(800) < 4 * 1.5 * work(200)


@pytest.mark.seed("STR-23")
@pytest.mark.parametrize("again", [False, True])
def test_what_an_insertion_alone_reads_keeps_its_leaves_in_place(again):
    """The list of a value that nobody else reads is taken over, that of another copied."""
    m = read(f"""define void @f({{i32, i32}} %v, ptr %p, i32 %x) {{
entry:
  %a = insertvalue {{i32, i32}} %v, i32 %x, 0
  %b = insertvalue {{i32, i32}} %a, i32 %x, 1
  store {{i32, i32}} %{"a" if again else "b"}, ptr %p
  store {{i32, i32}} %b, ptr %p
  ret void
}}""")
    ctx = Context(m, Knobs())
    ctx.pass_, ctx.function = all_passes()["lower-aggr-copies"], m["f"]
    first, second = [i for i in m["f"].instructions() if i.form.name == "insertvalue"]
    work = _Splitter(m["f"], SplitLimits(), ctx)
    work.run()
    assert (work.parts[first] is work.parts[second]) is not again
    x = m["f"].arguments[2]
    assert work.parts[second] == [x, x]
    assert (work.parts[first] == [x, x]) is not again


# -------------------------------------------------------------- single decisions


COPIES = "lower-aggr-copies.copied"


def split_alone(text: str, limits: SplitLimits | None = None):
    """(whether anything was split, the function, the remarks) of struct splitting by itself."""
    m = read(text)
    ctx = Context(m, Knobs())
    ctx.pass_, ctx.function = all_passes()["lower-aggr-copies"], m.functions[0]
    f = ctx.function
    return split_values(f, limits or SplitLimits(), ctx), f, ctx


@pytest.mark.seed("STR-01", "STR-12")
@pytest.mark.parametrize(("params", "text", "splits"), [
    ("i32 %x, ptr %p", "store i32 %x, ptr %p\n  ret void", False),
    ("{i32, i8} %v, ptr %p", "ret void", False),
    ("{i32, i8} %v, ptr %p", "call void @h({i32, i8} %v)\n  ret void", True),
    ("{i32, i8} %v, ptr %p", "store {i32, i8} %v, ptr %p\n  ret void", True),
    ("ptr %p", "%r = call {i32, i8} @g()\n  ret void", False),
    ("ptr %p", "%r = call {i32, i8} @g()\n  call void @h({i32, i8} %r)\n  ret void", False),
    ("ptr %p", "%r = call {i32, i8} @g()\n  store {i32, i8} %r, ptr %p\n  ret void", True),
    ("ptr %p", "store {i32, i8} zeroinitializer, ptr %p\n  ret void", True),
    ("ptr %p", "%v = load {i32, i8}, ptr %p\n  ret void", True),
])
def test_whether_there_is_anything_to_split(params, text, splits):
    made, f, ctx = split_alone(f"""define void @f({params}) {{
entry:
  {text}
}}
declare void @h({{i32, i8}})
declare {{i32, i8}} @g()""")
    assert made is splits
    assert params != "ptr %p" or not split_values(f, SplitLimits(), ctx)  # it was taken apart
    assert f.cfg_state == "fresh" or not splits


@pytest.mark.seed("STR-01", "STR-09", "STR-18", "STR-19")
def test_what_is_told_of_each_kind():
    made, f, ctx = split_alone("""define {i32, i8} @f(ptr %p, ptr %q, i1 %c, {i32, i8} %v) {
entry:
  %a = load {i32, i8}, ptr %p
  br i1 %c, label %one, label %two
one:
  br label %two
two:
  %s = phi {i32, i8} [ %a, %entry ], [ %v, %one ]
  %t = select i1 %c, {i32, i8} %s, {i32, i8} %a
  %u = freeze {i32, i8} %t
  store {i32, i8} %u, ptr %q
  %r = call {i32, i8} @g()
  %x = extractvalue {i32, i8} %r, 0
  %m = call {i32, i8} %q()
  %y = extractvalue {i32, i8} %m, 0
  %z = cmpxchg ptr %p, i32 %x, i32 %y seq_cst seq_cst
  %w = extractvalue {i32, i1} %z, 0
  store i32 %w, ptr %q
  ret {i32, i8} %u
}
declare {i32, i8} @g()""")
    why = "splitStruct takes it apart behind"
    assert made
    assert sorted((r.name, r.args["what"], r.args["bytes"], r.args.get("count"), r.args["why"])
                  for r in ctx.remarks) == sorted([
        ("AggregateSplit", "a load", 8, 2, "each leaf is loaded by itself"),
        ("AggregateSplit", "a phi", 8, 2, "one phi a leaf"),
        ("AggregateSplit", "a select", 8, 2, "one select a leaf"),
        ("AggregateSplit", "a freeze", 8, 2, "one freeze a leaf"),
        ("AggregateSplit", "a store", 8, 2, "each leaf is stored by itself"),
        ("AggregateAtEdge", "the result of @g", 8, None, why),
        ("AggregateAtEdge", "the result of a call", 8, None, why),
        ("AggregateAtEdge", "the result of cmpxchg", 8, None, why),
        ("AggregateAtEdge", "a result", 8, None,
         "the function returns it; it is put together before"),
    ])
    assert ctx.counters["lower-aggr-copies.split"] == 5
    named = [(i.form.name, i.name.split("~")[0]) for i in f.instructions()
             if i.form.name in ("phi", "select", "freeze", "insertvalue")]
    assert named == [("phi", "s.0"), ("phi", "s.1"), *[("select", "t")] * 2,
                     *[("freeze", "u")] * 2, *[("insertvalue", "u")] * 2]


@pytest.mark.seed("STR-10", "STR-11", "STR-16")
@pytest.mark.parametrize(("load", "store", "reads", "writes"), [
    ("", "", [8, 4, 8], [8, 4, 8]), (", align 4", ", align 2", [4, 4, 4], [2, 2, 2]),
    (", align 16", "", [16, 4, 8], [8, 4, 8]), (", align 1", ", align 32", [1, 1, 1], [32, 4, 8]),
    (f", align {1 << 30}", "", [1 << 29, 4, 8], [8, 4, 8]),  # the most that a field has
])
def test_alignments_of_what_is_read_and_written(load, store, reads, writes):
    """The whole's own where none is said; a copy has one on each side."""
    t = "{i32, i32, i64}"
    for other in ("", f"\n  %x = extractvalue {t} %v, 0\n  store i32 %x, ptr %p"):
        _, f, _ = split_alone(f"""define void @f(ptr %p, ptr %q) {{
entry:
  %v = load {t}, ptr %p{load}
  store {t} %v, ptr %q{store}{other}
  ret void
}}""")
        found = [i for i in f.instructions() if i.form.name in ("load", "store")]
        assert [i.aux for i in found if i.form.name == "load"] == reads
        assert [i.aux for i in found if i.form.name == "store"][:3] == writes
        addresses = {"srcptr", "dstptr"} if not other else {"ptr"}
        assert {i.name.split("~")[0] for i in f.instructions()
                if i.form.name == "getelementptr"} == addresses


@pytest.mark.seed("STR-16", "MEM-23")
def test_a_copy_is_one_load_and_one_store_without_a_write_between():
    text = """define void @f(ptr %p, ptr %q, ptr %r) {
entry:
  WORK
  ret void
}
declare void @h()"""
    pair = "%v = load {i32, i8}, ptr %p\n{}\n  store {i32, i8} %v, ptr %q"
    for between, copied in (("", 1), ("  store i32 1, ptr %r", 0), ("  %x = load i32, ptr %r", 1),
                            ("  call void @h()", 0), ("  fence seq_cst", 0)):
        _, _, ctx = split_alone(text.replace("WORK", pair.replace("{}\n", between + "\n")))
        assert ctx.counters.get(COPIES, 0) == copied
    two = "\n  ".join([pair.replace("{}\n", ""), pair.replace("{}\n", "").replace("%v", "%w")])
    assert split_alone(text.replace("WORK", two))[2].counters[COPIES] == 2
    volatile = pair.replace("{}\n", "").replace("load", "load volatile")
    assert not split_alone(text.replace("WORK", volatile))[2].counters.get(COPIES)


@pytest.mark.seed("STR-16", "STR-17")
def test_a_copy_by_element_or_of_memory():
    def told(count, **limits):
        _, f, ctx = split_alone(f"""define void @f(ptr %p, ptr %q) {{
entry:
  %v = load [{count} x i32], ptr %p, align 8
  store [{count} x i32] %v, ptr %q, align 4
  ret void
}}""", SplitLimits(**limits))
        (r,) = ctx.remarks
        return f, r.args["how"], r.args["bytes"], r.args["why"]

    assert told(32)[1:] == ("by element", 128, "its elements keep their types, padding comes along")
    f, *words = told(33)
    assert words == ["of memory", 132, "more than 128 bytes"]
    (call,) = [i for i in f.instructions() if i.form.is_call]
    assert (call.aux.callee.name, [v.value for v in call.operands[2:]]) == (
        "llvm.memmove.p0.p0.i64", [132, 0])
    assert call.operands[:2] == (f.params[1], f.params[0])
    assert call.aux.arguments == ((("align", 4),), (("align", 8),), (), ())
    assert (len(call.operands), call.aux.n_sources) == (4, 4)
    assert told(8, copy_bytes=31)[1] == "of memory"
    assert told(8, copy_bytes=32)[1] == "by element"
    assert SplitLimits() == SplitLimits(128, 10000, False)


@pytest.mark.seed("MEM-22")
def test_a_large_constant_has_more_elements_than_the_limit():
    def stored(value, limit, flags="", align=8):
        _, f, ctx = split_alone(f"""define void @f(ptr %p) {{
entry:
  store {flags} [4 x i32] {value}, ptr %p, align {align}
  ret void
}}""", SplitLimits(store_elements=limit))
        return f, [(r.name, r.args.get("how"), r.args["why"]) for r in ctx.remarks]

    why = "it has more than 3 elements"
    numbers = "[i32 1, i32 2, i32 3, i32 4]"
    split = [("AggregateSplit", None, "each leaf is stored by itself")]
    for value in ("zeroinitializer", numbers):
        assert stored(value, 4)[1] == split
        assert stored(value, 3, "volatile")[1] == split
    f, told = stored("zeroinitializer", 3)
    assert told == [("AggregateCopied", "filled with zeros", why)]
    assert forms(f) == ["call", "ret"]
    call = f.entry.first
    assert (call.aux.callee.name, [v.value for v in call.operands[1:]]) == (
        "llvm.memset.p0.i64", [0, 16, 0])
    assert call.aux.arguments == ((("align", 8),), (), (), ())
    assert call.aux.n_sources == 4
    f, told = stored(numbers, 3)
    assert told == [("AggregateCopied", "from a constant variable", why)]
    assert forms(f) == ["call", "ret"]
    (v,) = f.module.globals
    assert (v.name, v.type.space, v.linkage, v.align, v.attributes) == (
        "__const.f.0", 1, "private", 8, {"constant": ""})
    assert stored(numbers, 3, align=1)[0].module.globals[0].align == 1
    call = f.entry.first
    assert call.operands[1] is v
    assert [x.value for x in call.operands[2:]] == [16, 0]
    assert call.aux.arguments[:2] == ((("align", 8),), (("align", 8),))


@pytest.mark.seed("STR-05", "STR-12")
def test_a_split_struct_that_is_there():
    """Of a value that arrives it says the leaves; of one that was split, or known, it goes."""
    text = str(body("""  %x = extractvalue {i32, i8} %v, 0
  store i32 %x, ptr %p
  ret void""", "ptr %p, {i32, i8} %v"))
    (line,) = [x for x in text.splitlines() if "splitStruct" in x]
    twice = line.replace("%v.0", "%w.0").replace("%v.1", "%w.1").replace("~", "")
    m = nvir.parse_ir(text.replace(line, f"{line}\n{twice}").replace(
        "store %v.0", "store %w.0"))
    f = m["f"]
    apply(m)
    assert forms(f) == ["splitStruct", "store", "ret"]
    assert f.entry.instructions[1].operands[0] is f.entry.first.results[0]
    other = line.replace("%v.0", "%y.0").replace("%v.1", "%y.1").replace(" %v ", " %u ")
    for made, first in ((f"{line}\n  %u: {{i32, i8}} = freeze %v", ["splitStruct", "freeze"]),
                        ("  %u: {i32, i8} = load %p", ["load", "getelementptr", "load"])):
        m = nvir.parse_ir(text.replace(line, f"{made}\n{other}").replace(
            "store %v.0", "store %y.0"))
        apply(m)
        f = m["f"]
        assert forms(f)[: len(first)] == first
        assert forms(f).count("splitStruct") == first.count("splitStruct")
        (store,) = [i for i in f.instructions() if i.form.name == "store"]
        assert store.operands[0] is next(
            i for i in f.instructions() if i.form.name in ("freeze", "load"))


@pytest.mark.seed("STR-19", "STR-23")
def test_what_is_put_into_a_value_that_arrived_does_not_change_it():
    _, f, _ = split_alone("""define {i32, i8} @f(i32 %x) {
entry:
  %r = call {i32, i8} @g()
  %s = insertvalue {i32, i8} %r, i32 %x, 0
  ret {i32, i8} %s
}
declare {i32, i8} @g()""")
    assert forms(f) == ["call", "splitStruct", "insertvalue", "insertvalue", "ret"]
    assert f.entry.last.operands[0] is f.entry.instructions[3]


@pytest.mark.seed("STR-17")
def test_padding_goes_in_pieces_at_multiples_of_their_size():
    assert {(at, n): _pieces(at, n) for at, n in ((1, 7), (2, 2), (3, 1), (4, 4), (5, 2), (6, 5))
            } == {
        (1, 7): [(1, 1), (2, 2), (4, 4)], (2, 2): [(2, 2)], (3, 1): [(3, 1)], (4, 4): [(4, 4)],
        (5, 2): [(5, 1), (6, 1)], (6, 5): [(6, 2), (8, 2), (10, 1)],
    }


def test_leaves_of_types_that_double_are_counted_once():
    names = "".join(f"%T{n} = type {{ %T{n - 1}, %T{n - 1} }}\n" for n in range(1, 41))
    text = f"%T0 = type {{ i32 }}\n{names}define void @f(ptr %p) {{ "
    text += "%a = load %T40, ptr %p ret void }"
    (load, _) = nvir.read_ll(text).functions[0].instructions()
    assert leaf_count(load.type) == 1 << 40
    assert not holds_union(array(struct([I32]), 1 << 40))
