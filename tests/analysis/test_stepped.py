"""Counts that no formula gives: halving and the like, carried out."""

from __future__ import annotations

import pytest

import nvir
from nvir.analysis.induction import trip_count
from nvir.analysis.stepped import stepped_count, stepped_rounds

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
