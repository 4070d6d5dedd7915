"""Counts that no formula gives: halving and the like, carried out."""

from __future__ import annotations

import pytest

import nvir
from nvir.analysis.induction import trip_count
from nvir.analysis.stepped import (
    shifted_out,
    stepped_count,
    stepped_rounds,
    waits_for_data,
)

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


HALVES = "\n  ".join(f"""shr.u32 %r4, %r3, {n}; setp.eq.s32 %p2, %r4, 0; @%p2 bra M;"""
                     for n in (1, 2, 3))


@pytest.mark.parametrize(("threads", "left"), [
    (256, (2, "L")),  # 8 iterations: four copies each
    (64, (2, "C2")),
    (2, (1, "C1")), (None, None),
])
def test_a_block_tells_how_often_copies_run(
    threads: int | None, left: tuple[int, str] | None
):
    """`for (i = blockDim.x / 2; i > 0; i >>= 1)` in four copies, of which each has a way out."""
    text = TEXT.replace("WARP_SZ", "%ntid.x").replace("  st.shared", "M:\n  st.shared").replace(
        "  shr.u32 %r3, %r3, 1;\n  setp", f"  {HALVES}\n  shr.u32 %r3, %r3, 4;\n  setp")
    f = nvir.read_ptx(text)["k"]
    f.analyze_cfg()
    (loop,) = f.loops()
    found = stepped_rounds(loop, {"%ntid.x": threads} if threads else {})
    if left is None or found is None:
        assert found is left
        return
    ends = sorted({b for b, _ in loop.exits}, key=lambda b: b.rpo_index)
    names = {end: f"C{n}" for n, end in enumerate(ends, 1)} | {loop.latches[0]: "L"}
    assert (found[0], names[found[1]]) == left


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
    assert stepped_rounds(f.loops()[0], {"%ntid.x": 256}) == (8, f.loops()[0].latches[0])


@pytest.mark.parametrize(("threads", "rounds"), [(96, 0), (128, 1), (256, 2), (288, 2)])
def test_a_test_in_front_of_copies_leads_past_them(threads: int, rounds: int):
    """`for (w = 0; w < blockDim.x / 32; w++)` in four copies, which a remainder follows."""
    text = TEXT.replace("u32 %r2, WARP_SZ", "u32 %r5, %ntid.x; shr.u32 %r2, %r5, 5").replace(
        "shr.u32 %r3, %r2, 1", "setp.lt.u32 %p2, %r2, 4; @%p2 bra M; and.b32 %r3, %r2, -4").replace(
        "shr.u32 %r3, %r3, 1", "add.s32 %r3, %r3, -4").replace("  st.shared", "M:\n  st.shared")
    f = nvir.read_ptx(text)["k"]
    f.analyze_cfg()
    (loop,) = f.loops()
    found = stepped_rounds(loop, {"%ntid.x": threads})
    assert found == (rounds, loop.latches[0])
