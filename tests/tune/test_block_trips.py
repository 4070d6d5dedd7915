"""Counts that the threads of a block tell, and those that the bits of a number limit."""

from __future__ import annotations

import pytest

from nvir import read_ptx
from nvir.tune.search import Launches, tune
from nvir.tune.weights import KernelLoop
from tests.tune.test_tune import SM_80

HALVING = """
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a)
{
  .reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [a];
  ld.global.u32 %r5, [%rd1];
  mov.u32 %r2, START;
  shr.u32 %r3, %r2, 1;
  mov.u32 %r1, 0;
L:
  ld.volatile.global.u32 %r4, [%rd1+4];
  add.s32 %r1, %r1, %r4;
  shr.u32 %r3, %r3, 1;
  setp.ne.s32 %p1, %r3, 0;
  @%p1 bra L;
  st.global.u32 [%rd1], %r1;
  ret;
}
"""


def only_loop(text: str, block: int | None = None) -> KernelLoop:
    module = read_ptx(text)
    found = tune(module, SM_80, "sm_80", Launches(block), judge="model")
    (loop,) = found.kernels[0].loops
    return loop


@pytest.mark.parametrize(("changes", "block", "source", "trips"), [
    ({}, 256, "block", 8), ({}, 1024, "block", 10),
    ({}, None, "block", 8),  # of 256, which are assumed
    ({".u64 a)": ".u64 a) .maxntid 64, 1, 1"}, None, "block", 6),
    ({".u64 a)": ".u64 a) .maxntid 32, 8, 1"}, None, "block", 5),
    ({"add.s32 %r1, %r1, %r4": "mov.u32 %r1, %tid.y"}, 256, "most", 16.5),  # 256 of which shape?
    ({"%ntid.x": "%r5"}, 256, "most", 16.5),  # of what is loaded
    ({"%ntid.x": "%r5", "%r3, %r3, 1": "%r3, %r3, 4"}, 256, "most", 4.5),
    ({"%ntid.x": "%r5", "ne.s32 %p1, %r3, 0": "ne.s32 %p1, %r4, 0"}, 256, "assumed", 95.5),
    ({"%ntid.x": "1024"}, 256, "known", 10),
])
def test_what_a_loop_is_taken_to_run(
    changes: dict[str, str], block: int | None, source: str, trips: float
):
    text = HALVING.replace("START", "%ntid.x")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    loop = only_loop(text, block)
    assert (loop.source, loop.trips) == (source, trips)


def test_a_loop_that_runs_in_some_warps_alone():
    """`for (k = 0; k < threadIdx.x / 32; k++)`: the first warp leads past it, and where there is
    no other nothing is left to be tuned."""
    text = HALVING.replace("START", "%tid.x").replace("shr.u32 %r3, %r2, 1", "shr.u32 %r3, %r2, 5; "
        "setp.eq.s32 %p2, %r3, 0; @%p2 bra PAST").replace(
        "shr.u32 %r3, %r3, 1", "add.s32 %r3, %r3, -1").replace("  st.global", "PAST:\n  st.global")
    assert [*only_loop(text, 128).counts] == [0, 1, 2, 3]
    assert [*only_loop(text, 32).counts] == [0]


def test_a_stride_of_a_block_tells_the_rounds_of_its_threads():
    """`for (i = threadIdx.x; i < 1000; i += blockDim.x)`."""
    text = HALVING.replace("START", "%ntid.x").replace("shr.u32 %r3, %r2, 1", "mov.u32 %r3, %tid.x")
    text = text.replace("shr.u32 %r3, %r3, 1", "add.s32 %r3, %r3, %r2").replace(
        "ne.s32 %p1, %r3, 0", "lt.s32 %p1, %r3, 1000")
    assert (only_loop(text, 128).source, only_loop(text, 128).trips) == ("block", 8)
    assert [*only_loop(text.replace("%r3, 1000", "%r3, 900"), 128).counts] == [7, 7, 7, 8]
    loop = only_loop(text.replace("%r3, 1000", "%r3, 999999"), 128)
    assert loop.source == "assumed"  # after more than it is carried out for


def test_a_loop_without_accesses_that_is_left_in_its_middle_runs_part_of_a_round_more():
    """Five iterations in two copies: two rounds and a half."""
    copy = "mul.lo.u32 %r1, %r1, 77; add.s32 %r3, %r3, -1; setp.{}.s32 %p1, %r3, 0; @%p1 bra {};\n"
    text = HALVING.replace("shr.u32 %r3, %r2, 1", "mov.u32 %r3, 5").replace("START", "0")
    first, last = text.index("  ld.volatile"), text.index("  st.global")
    text = text[:first] + copy.format("eq", "M") + copy.format("ne", "L") + "M:\n" + text[last:]
    loop = only_loop(text)
    assert (loop.source, loop.trips, loop.part) == ("known", 2, 0.5)


ONE = "  ld.volatile.global.u32 %r4, [%rd1+4];\n  setp.eq.s32 %p2, %r4, %r5;\n  @%p2 bra X;\n"


@pytest.mark.parametrize(("body", "bound", "source", "trips"), [
    (f"{ONE}  add.s32 %r3, %r3, 1;\n", 252, "most", 126.5),
    (f"{ONE}  add.s32 %r3, %r3, 1;\n", 9000, "assumed", 95.5),
    ("  add.s32 %r3, %r3, 1;\n", 252, "known", 252),
    (f"{ONE}  add.s32 %r3, %r3, 4;\n", 252, "most", 32),
])
def test_a_known_count_beside_a_break_is_the_most(
    body: str, bound: int, source: str, trips: float
):
    text = HALVING.replace("shr.u32 %r3, %r2, 1", "mov.u32 %r3, 0").replace("START", "0")
    first, last = text.index("  ld.volatile"), text.index("  st.global")
    end = f"  setp.lt.s32 %p1, %r3, {bound};\n  @%p1 bra L;\nX:\n"
    loop = only_loop(text[:first] + body + end + text[last:])
    assert (loop.source, loop.trips) == (source, trips)


def test_half_of_a_condition_limits_a_loop():
    """`for (i = 0; i < 252 && x != y; i++)`, whose count no thread is followed to."""
    text = HALVING.replace("shr.u32 %r3, %r2, 1", "mov.u32 %r3, 0").replace("START", "0").replace(
        "shr.u32 %r3, %r3, 1", "add.s32 %r3, %r3, 1").replace("setp.ne.s32 %p1, %r3, 0;", (
            "setp.ne.s32 %p2, %r4, %r5; setp.lt.s32 %p1, %r3, 252; and.pred %p1, %p1, %p2;"))
    loop = only_loop(text)
    assert (loop.source, loop.trips) == ("most", 126.5)


def test_copies_that_a_known_count_leaves_in_their_middle_are_counted():
    """Five iterations at most, in two copies: two and a half, on average one and a half."""
    copy = ONE + "  add.s32 %r3, %r3, -1; setp.{}.s32 %p1, %r3, 0; @%p1 bra {};\n"
    text = HALVING.replace("shr.u32 %r3, %r2, 1", "mov.u32 %r3, 5").replace("START", "0")
    first, last = text.index("  ld.volatile"), text.index("  st.global")
    loop = only_loop(
        text[:first] + copy.format("eq", "X") + copy.format("ne", "L") + "X:\n" + text[last:])
    assert (loop.source, loop.copies * loop.trips) == ("most", 3)


@pytest.mark.oracle
def test_copies_without_a_loop_run_until_data_ends_them():
    """ptxas leaves a hundred copies of the loop's body, each of which may be the last."""
    from nvir import toolchain

    if not toolchain.available("ptxas", "nvdisasm"):
        pytest.skip("ptxas is not there")
    module = read_ptx(HALVING.replace("START", "0").replace(
        HALVING[HALVING.index("  shr.u32 %r3, %r2, 1") : HALVING.index("  st.global")], """
  ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4]; mov.u32 %r3, 0;
L: fma.rn.f32 %f1, %f1, %f2, %f2; ex2.approx.f32 %f1, %f1; add.s32 %r3, %r3, 1;
  setp.leu.f32 %p2, %f1, %f2; setp.lt.u32 %p1, %r3, 100; and.pred %p1, %p1, %p2; @%p1 bra L;
  cvt.rzi.u32.f32 %r1, %f1;
""").replace(".reg .pred", ".reg .f32 %f<3>; .reg .pred"))
    times = [tune(module, SM_80, "sm_80", Launches(trips={"L": n} if n else {})).kernels[0]
             .candidates[0].cycles.one_warp for n in (25, 50.5, 100, None)]
    assert times[1] == pytest.approx(times[3], rel=0.01)  # half of all, where nothing is said
    assert 0.2 < times[0] / times[2] < 0.35
    assert 0.45 < times[1] / times[2] < 0.6
