"""The opcode table of `ori` is complete, consistent, and agrees with the real assembler."""

from __future__ import annotations

import importlib.util
import pickle
import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nvir.ir.opcodes.ori  # noqa: F401  # registers the rows
from nvir.ir.opcodes import ORI, UNKNOWN, Op, Table
from nvir.ir.opcodes.form import Form
from nvir.ir.special import special_names, special_register
from nvir.ir.types import SCALARS

ori_examples = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("ori_examples.py"))))

# Chapter 9 of the ISA, by section.
ISA = """\
add sub mul mad mul24 mad24 sad div rem abs neg min max popc clz bfind fns brev bfe bfi szext
bmsk dp4a dp2a
add.cc addc sub.cc subc mad.lo.cc mad.hi.cc madc.lo madc.hi
testp copysign fma rcp rcp.approx.ftz.f64 sqrt rsqrt rsqrt.approx.ftz.f64 sin cos lg2 ex2 tanh
set setp selp slct
and or xor not cnot lop3 shf shl shr
mov shfl shfl.sync prmt ld ld.global.nc ldu st st.async st.bulk
multimem.ld_reduce multimem.st multimem.red
prefetch prefetchu applypriority discard createpolicy.fractional createpolicy.range
createpolicy.cvt isspacep cvta cvt cvt.pack mapa getctarank
cp.async cp.async.commit_group cp.async.wait_group cp.async.wait_all
cp.async.bulk cp.reduce.async.bulk cp.async.bulk.prefetch cp.async.bulk.tensor
cp.reduce.async.bulk.tensor cp.async.bulk.prefetch.tensor
cp.async.bulk.commit_group cp.async.bulk.wait_group tensormap.replace
tex tld4 txq istypep suld sust sured suq
bra brx.idx call ret exit
bar.sync bar.arrive bar.red bar.cta.sync bar.cta.arrive bar.cta.red
barrier.sync barrier.arrive barrier.red barrier.cta.sync barrier.cta.arrive barrier.cta.red
bar.warp.sync barrier.cluster.arrive barrier.cluster.wait membar fence fence.proxy
fence.mbarrier_init atom red red.async vote vote.sync match.any.sync match.all.sync activemask
redux.sync griddepcontrol.launch_dependents griddepcontrol.wait elect.sync
mbarrier.init mbarrier.inval mbarrier.expect_tx mbarrier.complete_tx mbarrier.arrive
mbarrier.arrive_drop cp.async.mbarrier.arrive mbarrier.test_wait mbarrier.try_wait
mbarrier.pending_count tensormap.cp_fenceproxy
clusterlaunchcontrol.try_cancel clusterlaunchcontrol.query_cancel
wmma.load wmma.store wmma.mma mma.sync mma.sp.sync mma.sp::ordered_metadata.sync
ldmatrix stmatrix movmatrix
wgmma.mma_async wgmma.mma_async.sp wgmma.fence wgmma.commit_group wgmma.wait_group
tcgen05.alloc tcgen05.dealloc tcgen05.relinquish_alloc_permit tcgen05.ld tcgen05.ld.red
tcgen05.st tcgen05.wait::ld tcgen05.wait::st tcgen05.cp tcgen05.shift
tcgen05.mma tcgen05.mma.sp tcgen05.mma.ws tcgen05.mma.ws.sp tcgen05.commit
tcgen05.fence::before_thread_sync tcgen05.fence::after_thread_sync
stacksave stackrestore alloca
vadd vsub vabsdiff vmin vmax vshl vshr vmad vset
vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2 vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 vset4
brkpt nanosleep pmevent trap setmaxnreg
"""


def read_examples() -> list[tuple[str, str, str, int]]:
    """(target, statement, row name, results) of each example."""
    out = []
    target = ""
    for line in filter(None, ori_examples.EXAMPLES.split("\n")):
        if line.startswith("=="):
            target = line[3:]
        else:
            statement, _, facts = line.rpartition("; ")
            row, results = facts.split()
            out.append((target, statement, row, int(results)))
    return out


EXAMPLES = read_examples()
ROWS = [r for r in ORI.rows.values() if r is not UNKNOWN and not r.pseudo]

_TOKEN = re.compile(r"%\w+(?:\.\w+)?|0[fFdDxX][0-9a-fA-F]+|\d[\w.]*|[A-Za-z_$][\w$]*|-(?=[\d])")


def form_of(statement: str) -> Form:
    """The form of a PTX statement, read by a few lines of its own rather than the reader's."""
    spelling, _, operands = statement.partition(" ")
    shape = _TOKEN.sub(lambda m: "" if m[0] == "-" else "%s", operands)
    shape = re.sub(r"\s*,\s*", ", ", shape)
    found = ORI.find(spelling)
    assert found is not None, spelling
    return Form(found[0], spelling, found[1], shape, None, False)


# ------------------------------------------------------------ completeness


@pytest.mark.parametrize("name", ISA.split())
def test_every_mnemonic_of_the_isa_has_a_row(name: str) -> None:
    found = ORI.find(name)
    assert found is not None
    assert not found[1] or name.startswith(("ld.", "rcp.", "rsqrt."))  # sections, not roles


@pytest.mark.parametrize(("target", "statement", "row", "results"), EXAMPLES)
def test_examples_find_their_row_and_their_results(
    target: str, statement: str, row: str, results: int
) -> None:
    f = form_of(statement)
    assert f.op.name == row
    assert f.n_results == results


def test_every_row_is_shown_by_an_example() -> None:
    shown = {row for _, _, row, _ in EXAMPLES}
    assert [r.name for r in ROWS if r.name not in shown] == []


def test_an_unknown_mnemonic_has_no_row() -> None:
    assert ORI.find("frobnicate.f32") is None
    assert ORI.find("addition.s32") is None
    assert ORI.find("") is None


# ------------------------------------------------------------- consistency


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r.name)
def test_rows_are_consistent(row: Op) -> None:
    assert row.doc
    assert re.fullmatch(r"\d\.\d( sm_\d+a?)?", row.since), row.since
    assert not row.doc.endswith(".")
    assert row.result in SCALARS or row.result in ("last", "first", "wide", "packed", "split")
    for name in row.async_until:
        assert ORI[name].sync, f"{row.name} ends at {name}, which orders nothing"
    if row.async_until:
        assert row.reads or row.writes
    if row.terminator:
        assert not any(o.role in ("def", "tied") for o in row.operands)


def test_warp_wide_operations_are_convergent() -> None:
    for _, statement, _, _ in EXAMPLES:
        words = statement.split(" ")[0].split(".")
        if "sync" in words or "aligned" in words or words[0] in ("vote", "shfl", "activemask"):
            assert form_of(statement).convergent, statement


def test_what_names_memory_touches_it() -> None:
    """An address without a memory effect is a hint, a query or a policy, and nothing else."""
    hints = {"prefetch", "prefetchu", "applypriority", "createpolicy.range", "txq", "suq",
             "cp.async.bulk.prefetch", "cp.async.bulk.prefetch.tensor"}
    seen = set()
    for _, statement, _, _ in EXAMPLES:
        f = form_of(statement)
        if "[" in statement and not (f.reads or f.writes or f.sync):
            seen.add(f.op.name)
    assert seen == hints


def test_only_moves_between_lanes_and_arithmetic_are_free_of_effects() -> None:
    assert ORI["add"].pure
    assert ORI["createpolicy.cvt"].pure
    assert not ORI["shfl.sync"].pure
    assert not ORI["ld"].pure
    assert not ORI["trap"].pure
    assert not ORI["bra"].pure


def test_wgmma_ties_its_accumulator_until_the_wait() -> None:
    f = form_of(
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
        "{%f1,%f2,%f3,%f4}, %rd1, %rd2, %p1, 1, 1, 0, 0"
    )
    assert [r for r, _ in f.ties] == [0, 1, 2, 3]
    assert f.op.async_until == ("wgmma.wait_group",)


def test_carry_is_a_hidden_operand_and_result() -> None:
    f = form_of("addc.cc.u32 %r1, %r2, %r3")
    assert (f.n_results, f.n_sources, f.n_operands) == (2, 2, 3)
    assert f.result_types[1].name == "cc"
    plain = form_of("add.u32 %r1, %r2, %r3")
    assert (plain.n_results, plain.n_operands) == (1, 2)


@pytest.mark.parametrize(
    ("statement", "types"),
    [
        ("add.rn.f32.f16 %f1, %h2, %f3", "f32"),
        ("mul.wide.s32 %rd1, %r2, %r3", "s64"),
        ("mul.lo.s32 %r1, %r2, %r3", "s32"),
        ("cvt.rn.f16x2.f32 %r1, %f2, %f3", "f16x2"),
        ("set.lt.u32.f32 %r1, %f2, %f3", "u32"),
        ("popc.b64 %r1, %rd2", "u32"),
        ("setp.lt.f32 %p1|%p2, %f1, %f2", "pred pred"),
        ("shfl.sync.idx.b32 %r1|%p1, %r2, %r3, 31, -1", "b32 pred"),
        ("match.all.sync.b64 %r1|%p1, %rd2, -1", "b32 pred"),
        ("lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x3f, %p2", "b32 pred"),
        ("elect.sync _|%p1, -1", "b32 pred"),
        ("mbarrier.try_wait.shared.b64 %p1, [%r1], %rd1", "pred"),
        ("mov.b64 {%r1, %r2}, %rd3", "b32 b32"),
        ("mov.v4.u32 {%r1, %r2, %r3, %r4}, %tid", "u32 u32 u32 u32"),
        ("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}|%p1, [tex0, {%r1}]", "f32 f32 f32 f32 pred"),
        ("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%r1,%r2}, {%r3,%r4}, {%r5}, {%r6,%r7}",
         "b32 b32"),
        ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%a,%b}, {%c}, {%d}, {%e,%f}", "f64 f64"),
        ("wmma.load.a.sync.aligned.row.m16n16k16.u8 {%r1,%r2}, [%rd1], %r9", "b32 b32"),
        ("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q1", "pred"),
    ],
)
def test_result_types(statement: str, types: str) -> None:
    assert " ".join(t.name for t in form_of(statement).result_types) == types


def test_mixed_addition_does_not_commute() -> None:
    """Only the first source of add.f32.f16 is a half; the plain sum commutes."""
    assert not form_of("add.rn.f32.f16 %f1, %h2, %f3").commutes
    assert form_of("add.rn.f32 %f1, %f2, %f3").commutes
    assert not form_of("sub.rn.f32 %f1, %f2, %f3").commutes


def test_longest_row_wins() -> None:
    found = ORI.find("cp.async.bulk.prefetch.tensor.2d.L2.global.tile")
    assert found is not None
    assert found[0].name == "cp.async.bulk.prefetch.tensor"
    assert found[1] == ("2d", "L2", "global", "tile")


def test_contradictions_are_refused() -> None:
    t = Table("test")
    t.op("one", "d, a, b", commutes=True)
    with pytest.raises(ValueError, match="two rows named"):
        t.op("one", "d, a")
    with pytest.raises(ValueError, match="commutes, but has 1 sources"):
        t.op("two", "d, a", commutes=True)
    with pytest.raises(ValueError, match="not pure"):
        t.op("three", "d, [a]", reads=True, fold=lambda f, a: a)
    with pytest.raises(ValueError, match="no known form"):
        t.op("four", "d, a + b")
    assert list(t.rows) == ["one"]


def test_registering_all_rows_is_little_work() -> None:
    code = (
        "import nvir.ir.opcodes, nvir.ir.types\nfrom tests.effort import effort\n"
        "effort(lambda: __import__('nvir.ir.opcodes.ori'), most=60_000)  # 12 ms"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])


# ------------------------------------------------------------------- folds


def fold(statement: str, *values: int) -> int | None:
    f = form_of(statement)
    assert f.op.fold is not None
    result: int | None = f.op.fold(f, *values)
    return result


@pytest.mark.parametrize(
    ("statement", "values", "expected"),
    [
        ("add.s32 d, a, b", (0x7FFFFFFF, 1), 0x80000000),
        ("add.sat.s32 d, a, b", (0x7FFFFFFF, 1), 0x7FFFFFFF),
        ("add.sat.s32 d, a, b", (-0x80000000, -1), 0x80000000),
        ("sub.sat.s32 d, a, b", (0x80000000, 1), 0x80000000),
        ("add.f32 d, a, b", (1, 2), 3),  # subnormals
        ("add.ftz.f32 d, a, b", (1, 2), 0),
        ("add.u16x2 d, a, b", (1, 2), None),
        ("mul.hi.s32 d, a, b", (-1, 1), 0xFFFFFFFF),
        ("mul.hi.u32 d, a, b", (-1, 2), 1),
        ("mul.wide.s16 d, a, b", (0xFFFF, 2), 0xFFFFFFFE),
        ("mul.wide.u32 d, a, b", (-1, -1), 0xFFFFFFFE00000001),
        ("mad.lo.u32 d, a, b, c", (5, 7, -36), 0xFFFFFFFF),
        ("mad.hi.sat.s32 d, a, b, c", (0x40000000, 4, 0x7FFFFFFF), 0x7FFFFFFF),
        ("mul24.lo.s32 d, a, b", (0xFFFFFF, 3), 0xFFFFFFFD),
        ("mul24.hi.u32 d, a, b", (0xFFFFFF, 0xFFFFFF), 0xFFFFFE00),
        ("sad.u32 d, a, b, c", (2, 5, 10), 13),
        ("div.s32 d, a, b", (-7, 2), 0xFFFFFFFD),
        ("rem.s32 d, a, b", (-7, 2), 0xFFFFFFFF),
        ("div.u32 d, a, b", (-7, 2), 0x7FFFFFFC),
        ("div.s32 d, a, b", (1, 0), None),
        ("rem.u32 d, a, b", (1, 1 << 32), None),
        ("abs.s32 d, a", (0x80000000,), 0x80000000),
        ("neg.s16 d, a", (1,), 0xFFFF),
        ("min.s32 d, a, b", (-1, 1), 0xFFFFFFFF),
        ("min.u32 d, a, b", (-1, 1), 1),
        ("max.s32.relu d, a, b", (-1, -2), None),
        ("clz.b64 d, a", (1,), 63),
        ("clz.b32 d, a", (0,), 32),
        ("bfind.u32 d, a", (0,), 0xFFFFFFFF),
        ("bfind.s32 d, a", (-1,), 0xFFFFFFFF),
        ("bfind.s32 d, a", (-2,), 0),
        ("bfind.shiftamt.u32 d, a", (1,), 31),
        ("brev.b32 d, a", (1,), 0x80000000),
        ("bfe.s32 d, a, b, c", (0xF0, 4, 4), 0xFFFFFFFF),
        ("bfe.u32 d, a, b, c", (0xF0, 4, 4), 0xF),
        ("bfe.s32 d, a, b, c", (0x80000000, 40, 4), 0xFFFFFFFF),
        ("bfe.u32 d, a, b, c", (-1, 24, 16), 0xFF),
        ("bfe.s32 d, a, b, c", (-1, 0, 0), 0),
        ("bfe.u64 d, a, b, c", (-1, 256, 4), None),
        ("bfi.b32 d, a, b, c, e", (0xAB, 0x11111111, 8, 8), 0x1111AB11),
        ("bfi.b32 d, a, b, c, e", (0xAB, 0x11111111, 40, 8), 0x11111111),
        ("bmsk.clamp.b32 d, a, b", (4, 8), 0xFF0),
        ("bmsk.clamp.b32 d, a, b", (40, 8), 0),
        ("bmsk.wrap.b32 d, a, b", (36, 40), 0xFF0),
        ("szext.clamp.s32 d, a, b", (0x80, 8), 0xFFFFFF80),
        ("szext.wrap.u32 d, a, b", (0x1FF, 40), 0xFF),
        ("lop3.b32 d, a, b, c, e", (0xF0, 0xCC, 0xAA, 0x96), 0x96),
        ("shl.b32 d, a, b", (1, 32), 0),
        ("shl.b32 d, a, b", (1, -1), 0),
        ("shr.s32 d, a, b", (0x80000000, 99), 0xFFFFFFFF),
        ("shr.u32 d, a, b", (0x80000000, 31), 1),
        ("shf.l.wrap.b32 d, a, b, c", (0x80000000, 1, 33), 3),
        ("shf.l.clamp.b32 d, a, b, c", (0x80000000, 1, 40), 0x80000000),
        ("shf.r.clamp.b32 d, a, b, c", (0, 0x12345678, 40), 0x12345678),
        ("shf.r.wrap.b32 d, a, b, c", (0x10, 1, 4), 0x10000001),
        ("cnot.b32 d, a", (0,), 1),
        ("not.pred d, a", (0,), 1),
        ("and.pred d, a, b", (1, 1), 1),
        ("and.pred d, a, !b", (1, 1), None),
        ("setp.lt.s32 d, a, b", (-1, 1), 1),
        ("setp.lt.u32 d, a, b", (-1, 1), 0),
        ("setp.eq.xor.s32 d, a, b, c", (1, 1, 1), 0),
        ("setp.eq.s32 d|e, a, b", (1, 1), None),
        ("setp.lt.f32 d, a, b", (1, 2), 1),
        ("set.eq.u32.s32 d, a, b", (1, 1), 0xFFFFFFFF),
        ("set.eq.f32.s32 d, a, b", (1, 1), None),
        ("selp.f32 d, a, b, c", (0x3F800000, 0, 1), 0x3F800000),
        ("slct.u32.s32 d, a, b, c", (1, 2, -1), 2),
        # ptxas 13.0 folds these two as if c were a float (NaN, -0.0), unlike the machine.
        ("slct.u32.s32 d, a, b, c", (1, 2, 0x7FFFFFFF), 1),
        ("slct.u32.s32 d, a, b, c", (1, 2, 0x80000000), 2),
        ("mov.b64 d, {a, b}", (1, 2), 0x200000001),
        ("mov.b64 {d, e}, a", (1,), None),
        ("mov.u16 d, a", (-1,), 0xFFFF),
        ("prmt.b32 d, a, b, c", (0x03020100, 0x07060504, 0x7531), 0x07050301),
        ("prmt.b32 d, a, b, c", (0x80, 0, 0x0008), 0x808080FF),
        ("cvt.s64.s32 d, a", (-1,), 0xFFFFFFFFFFFFFFFF),
        ("cvt.u64.u32 d, a", (-1,), 0xFFFFFFFF),
        ("cvt.sat.u8.s32 d, a", (300,), 255),
        ("cvt.u16.u32 d, a", (0x12345,), 0x2345),
        ("cvt.s8.s32 d, a", (0x80,), None),
        ("cvt.rn.f32.s32 d, a", (1,), 0x3F800000),
    ],
)
def test_folds_at_the_corners(
    statement: str, values: tuple[int, ...], expected: int | None
) -> None:
    assert fold(statement, *values) == expected


words = st.integers(0, 2**64 - 1)


@given(words, words, st.sampled_from(["u16", "s16", "u32", "s32", "u64", "s64"]))
def test_folded_arithmetic_obeys_its_laws(a: int, b: int, type: str) -> None:
    """Laws that hold of machine integers, each relating folds that are written apart."""
    t = SCALARS[type]
    mask = (1 << t.bits) - 1
    f = lambda name, *v: fold(f"{name}.{type} d, a, b", *v)  # noqa: E731
    total = f("add", a, b)
    assert f("sub", total, b) == a & mask
    low, high = f("mul.lo", a, b), f("mul.hi", a, b)
    sign = (lambda x: x - (mask + 1) * (x >> t.bits - 1)) if t.kind == "s" else (lambda x: x)
    assert (sign(high) << t.bits) + low == sign(a & mask) * sign(b & mask)
    if t.bits < 64:
        assert f("mul.wide", a, b) == high << t.bits | low
    quotient, rest = f("div", a, b), f("rem", a, b)
    if b & mask:
        assert f("add", f("mul.lo", quotient, b), rest) == a & mask
    else:
        assert quotient is rest is None
    assert {f("min", a, b), f("max", a, b)} == {a & mask, b & mask}
    assert f("setp.lt", a, b) == int(f("min", a, b) == a & mask != b & mask)


@given(words, words, words, st.integers(0, 255))
def test_lop3_is_its_table(a: int, b: int, c: int, table: int) -> None:
    got = fold("lop3.b32 d, a, b, c, e", a, b, c, table)
    for i in range(32):
        row = (a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1
        assert got is not None
        assert got >> i & 1 == table >> row & 1


@given(words, st.integers(0, 63), st.integers(1, 64))
def test_bit_field_inserted_is_extracted(a: int, position: int, length: int) -> None:
    length = min(length, 64 - position)
    into = fold("bfi.b64 d, a, b, c, e", a, ~a, position, length)
    assert into is not None
    assert fold("bfe.u64 d, a, b, c", into, position, length) == a & (1 << length) - 1
    assert fold("brev.b64 d, a", fold("brev.b64 d, a", a) or 0) == a


def test_every_fold_declines_types_that_it_does_not_know() -> None:
    """Folds are shared by mnemonics of many types; pairs, and floats with modifiers that mean
    nothing to them, must come back as None."""
    for row in ROWS:
        if row.fold is None or row.name in ("mov", "selp", "slct", "setp"):
            continue
        n = len([o for o in row.operands if o.role == "use" and not o.optional])
        shape = ", ".join(["%s"] * (n + 1))
        for type in ("f32", "f64", "f16x2", "u16x2"):
            spelling = f"{row.name}.lo.eq.{type}.{type}"
            f = Form(row, spelling, ("lo", "eq", type, type), shape, None, False)
            assert row.fold(f, *[3] * n) is None, spelling


# ------------------------------------------------------- special registers


def test_special_registers_are_interned_and_typed() -> None:
    tid = special_register("%tid.x")
    assert tid is not None
    assert tid is special_register("%tid.x")
    assert pickle.loads(pickle.dumps(tid)) is tid
    kinds = {n: special_register(n) for n in special_names()}
    assert all(r is not None and r.name == n for n, r in kinds.items())
    facts = {
        "%tid.x": ("u32", False, False), "%ctaid.z": ("u32", False, True),
        "%tid": ("b128", False, False), "%clock64": ("u64", True, False),
        "%is_explicit_cluster": ("pred", False, True), "%laneid": ("u32", False, False),
        "%pm3_64": ("u64", True, False), "%envreg31": ("u32", False, True),
        "%smid": ("u32", True, False), "%current_graph_exec": ("u64", False, True),
    }
    for name, expected in facts.items():
        r = special_register(name)
        assert r is not None
        assert (r.type.name, r.volatile, r.uniform) == expected


@pytest.mark.parametrize("name", ["%r1", "%tid.q", "%envreg32", "%pm8", "tid.x", "%clock_lo", ""])
def test_other_names_are_no_special_registers(name: str) -> None:
    assert special_register(name) is None


# ------------------------------------------------------ the real assembler


def find_ptxas() -> str | None:
    """ptxas of the wheel in this environment, if it is there."""
    found = importlib.util.find_spec("nvidia")
    for root in (found.submodule_search_locations or ()) if found is not None else ():
        for path in sorted(Path(root).glob("cu*/bin/ptxas")):
            return str(path)
    return None


PTXAS = find_ptxas()


def assemble(text: str, arch: str, folder: Path) -> list[str]:
    """The errors of ptxas, which are none where it takes the text."""
    source = folder / "t.ptx"
    source.write_text(text)
    done = subprocess.run(
        [str(PTXAS), f"-arch={arch}", str(source), "-o", str(folder / "t.cubin"), "-O0"],
        capture_output=True, text=True, timeout=600,
    )
    lines = text.split("\n")
    out = []
    for message in (done.stdout + done.stderr).split("\n"):
        if "error" in message or "fatal" in message:
            where = re.search(r"line (\d+);", message)
            out.append(f"{lines[int(where[1]) - 1] if where else ''}: {message}")
    return out


@pytest.mark.parametrize("target", sorted({t for t, _, _, _ in EXAMPLES} - {"-"}))
@pytest.mark.oracle
@pytest.mark.skipif(PTXAS is None, reason="ptxas is not installed")
def test_the_assembler_takes_the_examples(target: str, tmp_path: Path) -> None:
    old = target == "sm_60"
    head = f".version {'6.0' if old else '9.0'}\n.target {target}\n.address_size 64\n"
    body = "".join(f"{s};\n" for t, s, _, _ in EXAMPLES if t == target)
    text = head + ori_examples.PRELUDE + ("" if old else ori_examples.WIDE)
    text += body + ori_examples.EPILOGUE
    assert assemble(text, "sm_75" if old else target, tmp_path) == []


@pytest.mark.oracle
@pytest.mark.skipif(PTXAS is None, reason="ptxas is not installed")
def test_the_assembler_knows_the_special_registers(tmp_path: Path) -> None:
    moves = {"u32": "mov.u32 %r1, ", "u64": "mov.u64 %rd1, ", "pred": "mov.pred %p1, ",
             "b128": "mov.v4.u32 {%r1, %r2, %r3, %r4}, "}
    body = ""
    for name in special_names():
        register = special_register(name)
        assert register is not None
        body += moves[register.type.name] + name + ";\n"
    text = ".version 9.0\n.target sm_90a\n.address_size 64\n" + ori_examples.PRELUDE
    assert assemble(text + body + ori_examples.EPILOGUE, "sm_90a", tmp_path) == []
