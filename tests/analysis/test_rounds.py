"""Counts that no formula gives: threads that are followed, and numbers whose bits are shifted
out."""

from __future__ import annotations

import pytest

import nvir
from nvir.analysis.counts.ends import shifted_out, waits_for_data
from nvir.analysis.counts.threads import loop_counts, stepped_count
from nvir.analysis.induction import trip_count
from nvir.ir.loops import Loop

TEXT = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u32 n)
{
  .reg .pred %p<3>; .reg .b32 %r<9>;
  ld.param.u32 %r1, [n];
  mov.u32 %r2, WARP_SZ;
  shr.u32 %r3, %r2, 1;
L:
  shfl.sync.down.b32 %r4, %r1, %r3, 31, -1;
  add.s32 %r1, %r1, %r4;
  shr.u32 %r3, %r3, 1;
  setp.ne.s32 %p1, %r3, 0;
  @%p1 bra L;
  st.shared.u32 [%r2], %r1;
  ret;
}
"""


@pytest.mark.parametrize(("change", "count"), [
    (("WARP_SZ", "WARP_SZ"), 5),
    (("@%p1 bra L;", "@!%p1 bra L;"), 1),
    (("WARP_SZ", "1024"), 10),
    (("shr.u32 %r3, %r3, 1", "mad.lo.s32 %r3, %r3, 3, -36"), 2),
    (("mov.u32 %r2, WARP_SZ", "mov.u32 %r2, %ntid.x"), None),  # no constant
    (("shr.u32 %r3, %r3, 1", "xor.b32 %r3, %r3, 1"), None),  # never ends
    (("setp.ne.s32 %p1, %r3, 0", "setp.ne.s32 %p1, %r4, 0"), None),  # by what lanes exchange
    (("  shr.u32 %r3, %r3, 1;\n  setp", "  setp.eq.s32 %p2, %r4, 7;\n  @%p2 bra M;\n"
      "  shr.u32 %r3, %r3, 1;\n  setp"), None),  # left elsewhere as well
])
def test_how_often_a_halving_loop_runs(change: tuple[str, str], count: int | None):
    text = TEXT.replace(*change).replace("  st.shared", "M:\n  st.shared")
    module = nvir.read_ptx(text)
    module["k"].analyze_cfg()
    (loop,) = module["k"].loops()
    assert stepped_count(loop) == count
    assert trip_count(loop) is None


def counts(f: nvir.Function, loop: Loop, threads: int) -> list[int]:
    """Those of a loop in a block of so many threads, which tell them at its end."""
    found = loop_counts(f, {loop: None}, (threads, 1, 1))[loop]
    assert found.is_sure
    assert not found.part
    return [*found.whole]


HALVES = "\n  ".join(f"""shr.u32 %r4, %r3, {n}; setp.eq.s32 %p2, %r4, 0; @%p2 bra M;"""
                     for n in (1, 2, 3))


@pytest.mark.parametrize(("threads", "left"), [
    (256, ([2], {})),  # 8 iterations: four copies each
    (64, ([1], {"C2": 1.0})),
    (2, ([0], {"C1": 1.0})), (None, None),
])
def test_a_block_tells_how_often_copies_run(
    threads: int | None, left: tuple[list[int], dict[str, float]] | None
):
    """`for (i = blockDim.x / 2; i > 0; i >>= 1)` in four copies, of which each has a way out."""
    text = TEXT.replace("WARP_SZ", "%ntid.x").replace("  st.shared", "M:\n  st.shared").replace(
        "  shr.u32 %r3, %r3, 1;\n  setp", f"  {HALVES}\n  shr.u32 %r3, %r3, 4;\n  setp")
    f = nvir.read_ptx(text)["k"]
    f.analyze_cfg()
    (loop,) = f.loops()
    found = loop_counts(f, {loop: None}, (threads, 1, 1) if threads else None).get(loop)
    if left is None or found is None:
        assert found is left
        return
    ends = sorted({b for b, _ in loop.exits}, key=lambda b: b.rpo_index)
    names = {end: f"C{n}" for n, end in enumerate(ends, 1)}
    part = {names[end]: share for end, share in found.part.items()}
    assert (found.whole, part, found.by_block) == (*left, True)


BITS = TEXT.replace("mov.u32 %r2, WARP_SZ", "ld.global.u32 %r2, [n]")
COPIES = "and.b32 %r4, %r3, -2; setp.eq.s32 %p2, %r4, 0; @%p2 bra M; mul.lo.u32 %r1, %r1, %r1;\n"


@pytest.mark.parametrize(("changes", "found"), [
    ({}, (32.0, 1)),
    ({"%r3, %r3, 1": "%r3, %r3, 2"}, (16.0, 1)),
    ({"shr.u32 %r3, %r3": "shl.b32 %r3, %r3"}, (32.0, 1)),
    ({"  shr.u32 %r3, %r3, 1;": f"  {COPIES}shr.u32 %r3, %r3, 2;"}, (16.0, 2)),  # nvcc's copies
    ({"  shr.u32 %r3, %r3, 1;": "shr.u32 %r4, %r3, 1; and.b32 %r3, %r4, 127;"}, (8.0, 1)),
    ({"shr.u32 %r3, %r3": "shl.b32 %r3, %r3", "setp.ne.s32 %p1, %r3, 0":
      "setp.gt.s32 %p1, %r3, -1"}, (32.0, 1)),  # until its sign is set
    ({"shr.u32 %r3, %r3": "shl.b32 %r3, %r3", "setp.ne.s32 %p1, %r3, 0":
      "and.b32 %r4, %r3, 252; setp.ne.s32 %p1, %r4, 0"}, (8.0, 1)),  # an `unsigned char`
    ({"ne.s32 %p1, %r3, 0": "gt.s32 %p1, %r3, 0"}, (32.0, 1)),
    ({"shr.u32 %r3, %r3, 1": "sub.u32 %r4, %r3, 1; and.b32 %r3, %r3, %r4"}, (32.0, 1)),
    ({"shr.u32 %r3, %r3, 1": "add.u32 %r4, %r3, -1; and.b32 %r3, %r4, %r3"}, (32.0, 1)),
    ({"shr.u32 %r3, %r3, 1": "add.u32 %r4, %r3, -2; and.b32 %r3, %r4, %r3"}, None),
    ({"ne.s32 %p1, %r3, 0": "ne.s32 %p1, %r3, 4"}, None),  # another end
    ({"ne.s32 %p1, %r3, 0": "ne.s32 %p1, %r1, 0"}, None),  # of another number
    ({"shr.u32 %r3, %r3": "add.s32 %r3, %r3"}, None),
])
def test_a_number_is_shifted_out_after_its_bits(
    changes: dict[str, str], found: tuple[float, int] | None
):
    text = BITS.replace("  st.shared", "M:\n  st.shared")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    f = nvir.read_ptx(text)["k"]
    f.analyze_cfg()
    (loop,) = f.loops()
    assert shifted_out(loop) == found


@pytest.mark.parametrize(("text", "data"), [(TEXT, False), (BITS, True)])
def test_data_or_constants_end_a_loop(text: str, data: bool):
    f = nvir.read_ptx(text)["k"]
    f.analyze_cfg()
    assert waits_for_data(f.loops()[0]) is data


def test_what_the_rest_of_a_division_leaves_is_worked_out():
    """`n - n % 3` by a multiplication, from which copies count down: twenty operations deep."""
    chain = "mov.u32 %r2, %ntid.x;\n" + "add.s32 %r4, %r2, 1; sub.s32 %r2, %r4, 1;\n" * 9
    text = TEXT.replace("  mov.u32 %r2, WARP_SZ;", chain)
    f = nvir.read_ptx(text)["k"]
    f.analyze_cfg()
    assert counts(f, f.loops()[0], 256) == [8]


@pytest.mark.parametrize(("threads", "rounds"), [(96, 0), (128, 1), (256, 2), (288, 2)])
def test_a_test_in_front_of_copies_leads_past_them(threads: int, rounds: int):
    """`for (w = 0; w < blockDim.x / 32; w++)` in four copies, which a remainder follows."""
    text = TEXT.replace("u32 %r2, WARP_SZ", "u32 %r5, %ntid.x; shr.u32 %r2, %r5, 5").replace(
        "shr.u32 %r3, %r2, 1", "setp.lt.u32 %p2, %r2, 4; @%p2 bra M; and.b32 %r3, %r2, -4").replace(
        "shr.u32 %r3, %r3, 1", "add.s32 %r3, %r3, -4").replace("  st.shared", "M:\n  st.shared")
    f = nvir.read_ptx(text)["k"]
    f.analyze_cfg()
    (loop,) = f.loops()
    assert counts(f, loop, threads) == [rounds]


NEST = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u32 n)
{
  .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [a];
  ld.param.u32 %r9, [n];
  mov.u32 %r8, %tid.x;
  mov.u32 %r1, 0;
OUTER:
  mov.u32 %r2, START;
  setp.ge.s32 %p1, %r2, END;
  @%p1 bra PAST;
INNER:
  st.volatile.global.u32 [%rd1], %r2;
  add.s32 %r2, %r2, 1;
  setp.lt.s32 %p2, %r2, END;
  @%p2 bra INNER;
PAST:
  add.s32 %r1, %r1, 1;
  setp.lt.s32 %p3, %r1, TIMES;
  @%p3 bra OUTER;
  st.global.u32 [%rd1], %r2;
  ret;
}
"""


def of_nest(start: str, end: str, times: str) -> list[tuple[list[int], bool] | None]:
    """The counts of both loops, outer first, and whether the block tells them."""
    text = NEST.replace("START", start).replace("END", end).replace("TIMES", times)
    f = nvir.read_ptx(text)["k"]
    f.analyze_cfg()
    found = loop_counts(f, dict.fromkeys(f.loops()), (64, 1, 1))
    assert all(x.is_sure and not x.part for x in found.values())
    return [([*found[x].whole], found[x].by_block) if x in found else None for x in f.loops()]


@pytest.mark.parametrize(("start", "end", "times", "found"), [
    ("%r1", "4", "4", [([4], False), ([1, 2, 3, 4], False)]),
    ("%r1", "2", "4", [([4], False), ([0, 0, 1, 2], False)]),  # two times passed
    ("0", "%r8", "2", [([2], False), ([31, 31, 63, 63], True)]),  # as a warp's last thread
    ("%r8", "%r8", "2", [([2], False), ([0], True)]),
    ("0", "7", "%r9", [None, ([7], False)]),  # in a loop whose count is not known
    ("%r1", "7", "%r9", [None, None]),
    ("0", "%r9", "3", [([3], False), None]),
])
def test_nests_are_followed_round_by_round(
    start: str, end: str, times: str, found: list[tuple[list[int], bool] | None]
):
    assert of_nest(start, end, times) == found


def test_a_loop_begins_where_the_rest_of_its_copies_ended():
    """`for (i = threadIdx.x; i < 1280; i += 256)`: nvcc's remainder stands in front."""
    text = NEST.replace("START", "%r8").replace("END", "256").replace(
        "add.s32 %r2, %r2, 1", "add.s32 %r2, %r2, 256").replace(
        "PAST:\n  add.s32 %r1, %r1, 1", "PAST:\n  add.s32 %r2, %r2, 1024").replace(
        "setp.lt.s32 %p3, %r1, TIMES", "setp.lt.s32 %p3, %r2, 1280").replace(
        "bra OUTER", "bra MAIN").replace("OUTER:", "").replace(
        "PAST:\n", "PAST:\nMAIN:\n  st.volatile.global.u32 [%rd1+4], %r2;\n")
    f = nvir.read_ptx(text)["k"]
    f.analyze_cfg()
    found = loop_counts(f, dict.fromkeys(f.loops()), (256, 1, 1))
    assert {str(x.header.name): ([*n.whole], n.by_block) for x, n in found.items()} == {
        "INNER": ([1], True), "PAST": ([1], True)}


@pytest.mark.parametrize(("test", "most"), [
    ("setp.lt.s32 %p4, %r1, 20; setp.ne.u32 %p5, %r3, 0; and.pred %p3, %p4, %p5;", 20),
    ("setp.lt.s32 %p4, %r1, 20; setp.ne.u32 %p5, %r3, 0; or.pred %p3, %p4, %p5;", None),
    ("min.s32 %r4, %r9, 8; setp.lt.s32 %p3, %r1, %r4;", 8),
    ("max.s32 %r4, %r9, 8; setp.lt.s32 %p3, %r1, %r4;", None),
    ("min.s32 %r4, %r9, %r3; setp.lt.s32 %p3, %r1, %r4;", None),
    ("setp.ne.u32 %p3, %r3, 0;", None),
])
def test_what_is_not_known_may_leave_a_loop_before(test: str, most: int | None):
    text = NEST.replace("START", "0").replace("END", "3").replace(
        "setp.lt.s32 %p3, %r1, TIMES;", "ld.global.u32 %r3, [%rd1]; " + test)
    f = nvir.read_ptx(text)["k"]
    f.analyze_cfg()
    outer, inner = f.loops()
    found = loop_counts(f, {outer: None, inner: None}, None)
    assert [*found[inner].whole] == [3]
    if most is None:
        assert outer not in found
    else:
        assert not found[outer].is_sure
        assert max(found[outer].whole) == most


@pytest.mark.parametrize(("guarded", "found"), [
    ("st.global.u32 [%rd1+8], %r3;", [1, 2, 3, 4]),  # whatever way was taken
    ("mov.u32 %r4, 2;", None),  # it matters
    ("SOME: ld.volatile.global.u32 %r5, [%rd1]; setp.ne.u32 %p5, %r5, 1; @%p5 bra SOME;",
     [1, 2, 3, 4]),  # a loop that data ends
    ("setp.ne.u32 %p5, %r3, 3; @%p5 bra OTHER;\nret;\nOTHER:", None),  # a way that ends
])
def test_ways_that_are_not_known_matter_where_they_meet(guarded: str, found: list[int] | None):
    """A value of after a test that is known, with one of data on the way."""
    start = f"""mov.u32 %r4, 9; setp.gt.s32 %p7, %r1, 100; @%p7 bra JOIN;
  mov.u32 %r4, %r1; ld.global.u32 %r3, [%rd1+4]; setp.eq.u32 %p4, %r3, 0; @%p4 bra SKIP;
  {guarded}
SKIP:
  st.global.u32 [%rd1+4], %r4;
JOIN:
  mov.u32 %r2, %r4;"""
    text = NEST.replace("mov.u32 %r2, START;", start).replace("END", "4").replace("TIMES", "4")
    f = nvir.read_ptx(text)["k"]
    f.analyze_cfg()
    inner = next(x for x in f.loops() if x.header.name == "INNER")
    told = loop_counts(f, {inner: None}, None).get(inner)
    assert (None if told is None else [*told.whole]) == found


def test_two_ways_back_to_a_loop_are_told_apart():
    """`continue` where a thread's number is even: `h` grows by 5 there, else by 1."""
    back = "add.s32 %r1, %r1, 5; setp.lt.s32 %p3, %r1, 16; @%p3 bra OUTER; ret;\nODD:"
    text = NEST.replace("START", "0").replace("END", "3").replace("PAST:\n", (
        f"PAST:\n  and.b32 %r4, %r1, 1; setp.ne.s32 %p5, %r4, 0; @%p5 bra ODD;\n  {back}\n"
    )).replace("TIMES", "16")
    f = nvir.read_ptx(text)["k"]
    f.analyze_cfg()
    outer, inner = f.loops()
    assert len(outer.latches) == 2
    found = loop_counts(f, dict.fromkeys((outer, inner)), None)
    assert outer not in found  # its tests are on one of two ways each
    assert [*found[inner].whole] == [3]
    text = text.replace("setp.lt.s32 %p3, %r1, 16; @%p3 bra OUTER; ret;", "bra OUTER;").replace(
        "OUTER:", "OUTER: setp.ge.s32 %p6, %r1, 16; @%p6 bra OUT;").replace(
        "setp.lt.s32 %p3, %r1, 16;\n  @%p3 bra OUTER;", "bra OUTER;\nOUT:")
    f = nvir.read_ptx(text)["k"]
    f.analyze_cfg()
    outer, inner = f.loops()
    found = loop_counts(f, dict.fromkeys((outer, inner)), None)
    assert ([*found[outer].whole], [*found[inner].whole]) == ([5], [3])  # 0 5 6 11 12


def test_what_copies_leave_is_told_beside_them():
    """`for (j = 0; j < i; j++)` in copies of four, whose rest is straight code."""
    text = NEST.replace("START", "0").replace("END", "%r5").replace(
        "mov.u32 %r2, 0;", "mov.u32 %r2, 0; and.b32 %r4, %r1, 3; sub.s32 %r5, %r1, %r4;").replace(
        "add.s32 %r2, %r2, 1", "add.s32 %r2, %r2, 4").replace("TIMES", "6").replace(
        "PAST:\n", "PAST:\n setp.eq.s32 %p4, %r4, 0; @%p4 bra NEXT;\n "
        "st.volatile.global.u32 [%rd1+4], %r4;\nNEXT:\n")
    f = nvir.read_ptx(text)["k"]
    f.analyze_cfg()
    inner = next(x for x in f.loops() if x.header.name == "INNER")
    rest = next(i for i in f.instructions() if i.form.name == "and")
    found = loop_counts(f, {inner: rest}, None)[inner]
    assert ([*found.whole], found.left) == ([0, 0, 0, 0, 1, 1], 7 / 6)


def test_a_loop_of_many_rounds_is_not_followed_for_ever():
    assert of_nest("0", "5000", "2") == [([2], False), None]
    assert of_nest("0", "4000", "4") == [([4], False), None]  # of all together
