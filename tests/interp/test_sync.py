"""Barriers, warp exchanges, mbarriers, clusters, asynchronous copies, printf, textures,
matrices."""

from __future__ import annotations

import numpy as np
import pytest

import nvir
from nvir.interp.printf import Buffer, format_c
from nvir.ir.errors import LaunchError
from tests.interp.machine_helpers import STORE, ptx, run, words

TID = "mov.u32 %r1, %tid.x;"


def test_a_barrier_orders_shared_memory_across_diverged_warps() -> None:
    out = words(96)
    run(f"""{{ .shared .b32 s[96]; {TID} mul.lo.u32 %r2, %r1, 4; mov.u32 %r3, s;
        add.u32 %r4, %r3, %r2; shr.u32 %r5, %r1, 5;
        L: setp.eq.u32 %p0, %r5, 0; @%p0 bra D; sub.u32 %r5, %r5, 1; bra L;
        D: st.shared.u32 [%r4], %r1; bar.sync 0; sub.u32 %r6, 380, %r2; add.u32 %r6, %r6, %r3;
        ld.shared.u32 %r0, [%r6]; {STORE} }}""", out, block=96)
    assert out.tolist() == list(range(95, -1, -1))


def test_barriers_of_different_numbers_are_independent() -> None:
    """Two halves of a CTA pass messages through named barriers: sync in one, arrive in the
    other."""
    out = words(64)
    run(f"""{{ .shared .b32 s[2]; {TID} setp.lt.u32 %p0, %r1, 32; @%p0 bra A;
        bar.sync 1, 64; ld.shared.u32 %r0, [s]; add.u32 %r0, %r0, 1; st.shared.u32 [s+4], %r0;
        bar.arrive 2, 64; bra E;
        A: st.shared.u32 [s], 10; bar.arrive 1, 64; bar.sync 2, 64; ld.shared.u32 %r0, [s+4];
        E: {STORE} }}""", out, block=64)
    assert (out == 11).all()


def test_threads_that_exited_are_not_waited_for() -> None:
    out = words(64)
    run(f"{TID} setp.gt.u32 %p0, %r1, 40; @%p0 ret; bar.sync 0; mov.u32 %r0, 1; {STORE}",
        out, block=64)
    assert out.sum() == 41


def test_threads_that_exit_later_let_the_others_go() -> None:
    out = words(64)
    run(f"""{TID} mov.u32 %r2, 0; setp.gt.u32 %p0, %r1, 40; @!%p0 bra W;
        L: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 50; @%p1 bra L; ret;
        W: bar.sync 0; mov.u32 %r0, 1; {STORE}""", out, block=64)
    assert out.sum() == 41


@pytest.mark.parametrize(
    ("op", "expected"), [("popc.u32", [33, 0]), ("and.pred", [0, 0]), ("or.pred", [1, 0])]
)
def test_barrier_reductions(op: str, expected: list[int]) -> None:
    """Two CTAs of 64: in the first 33 threads hold the predicate, in the second none."""
    out = words(2)
    to = "%r0" if op.startswith("popc") else "%p3"
    convert = "" if op.startswith("popc") else "selp.u32 %r0, 1, 0, %p3;"
    run(f"""{TID} mov.u32 %r2, %ctaid.x; setp.lt.u32 %p0, %r1, 33; setp.eq.u32 %p1, %r2, 0;
        and.pred %p0, %p0, %p1; bar.red.{op} {to}, 0, %p0; {convert}
        mul.wide.u32 %d1, %r2, 4; add.u64 %d1, %d0, %d1; st.global.u32 [%d1], %r0;""",
        out, grid=2, block=64)
    assert out.tolist() == expected


def test_guarded_barriers() -> None:
    out = words(64)
    run(f"""{{ .shared .b32 s; {TID} setp.lt.u32 %p0, %r1, 32; @%p0 st.shared.u32 [s], 9;
        @%p0 bar.arrive 3, 64; @!%p0 bar.sync 3, 64; mov.u32 %r0, 0;
        @!%p0 ld.shared.u32 %r0, [s]; {STORE} }}""", out, block=64)
    assert out.tolist() == [0] * 32 + [9] * 32


def test_a_deadlock_names_who_waits_and_where() -> None:
    with pytest.raises(LaunchError, match="deadlock") as e:
        run(f"{TID} setp.lt.u32 %p0, %r1, 32; @%p0 bra A;\nbar.sync 1, 64; bra E;\n"
            "A: bar.sync 2, 64;\nE:", words(1), block=64)
    text = str(e.value)
    assert "waiting at barrier 1" in text
    assert "waiting at barrier 2" in text
    assert "32 threads of k" in text
    assert "bar.sync 2, 64" in text


HALVES = f"{TID} setp.lt.u32 %p0, %r1, 16;"
SPIN = "mov.u32 %r3, s; W: {} setp.ne.u32 %p1, %r4, 7; @%p1 bra W;"


@pytest.mark.parametrize("poll", [
    "ld.volatile.shared.u32 %r4, [%r3];", "atom.shared.cas.b32 %r4, [%r3], 7, 1;",
    "atom.shared.exch.b32 %r4, [%r3], 0;", "atom.shared.add.u32 %r4, [%r3], 0;",
    "nanosleep.u32 100; ld.volatile.shared.u32 %r4, [%r3];", "mov.u32 %r4, 0;",
])
def test_threads_that_spin_while_the_others_wait_are_a_deadlock(poll: str) -> None:
    """Who would free them waits at the barrier. No step is counted: nothing changes any more."""
    with pytest.raises(LaunchError, match="deadlock") as e:
        run(f"{{ .shared .b32 s; {HALVES} @%p0 bra L; {SPIN.format(poll)}\nL: bar.sync 0;"
            "st.shared.u32 [s], 7; }", words(1), block=64)
    text = str(e.value)
    assert "16 threads of k, first block (0, 0, 0) thread (0, 0, 0), waiting at barrier 0" in text
    assert "48 threads of k" in text
    assert "going round a loop in which nothing changes" in text


def test_blocks_that_wait_for_each_other_in_vain_are_a_deadlock() -> None:
    """No block stores what the others wait for, in several waves."""
    with pytest.raises(LaunchError, match="deadlock"):
        run("W: ld.volatile.global.u32 %r4, [%d0]; setp.eq.u32 %p1, %r4, 0; @%p1 bra W;",
            words(1), grid=40, block=1024)


def test_a_loop_that_counts_its_rounds_or_reads_a_clock_is_no_deadlock() -> None:
    out = words(64)
    run(f"""{{ .shared .b32 s; {HALVES} mov.u32 %r2, 0; mov.u64 %d2, %clock64; @%p0 bra L;
        W: ld.volatile.shared.u32 %r4, [s]; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 3000;
        @%p1 bra W; V: ld.volatile.shared.u32 %r4, [s]; mov.u64 %d3, %clock64;
        sub.u64 %d3, %d3, %d2; setp.lt.u64 %p1, %d3, 200000; @%p1 bra V;
        L: bar.sync 0; mov.u32 %r0, 1; {STORE} }}""",
        out, block=64)
    assert out.all()


def test_too_many_steps_say_who_waits_meanwhile() -> None:
    with pytest.raises(LaunchError, match="more than 5000 steps while 16 threads are waiting at b"):
        run(f"""{{ .shared .b32 s; {HALVES} @%p0 bra L; W: ld.volatile.shared.u32 %r4, [s];
            add.u32 %r2, %r2, 1; setp.ne.u32 %p1, %r4, 9; @%p1 bra W; L: bar.sync 0; }}""",
            words(1), block=64, max_steps=5000)


BOTH_WAYS = f"{HALVES} @%p0 bra A; X 0; bra E; A: X 0; E: mov.u32 %r0, 1; {STORE}"


@pytest.mark.parametrize(("barrier", "target", "told"), [
    ("bar.sync", "sm_90", True), ("barrier.sync.aligned", "sm_70", True),
    ("barrier.sync", "sm_70", False), ("barrier.sync", "sm_60", True),
])
def test_an_aligned_barrier_is_for_whole_warps(barrier: str, target: str, told: bool) -> None:
    """PTX leaves it undefined where threads of a warp execute two; hardware since sm_70 counts
    threads, and so does the interpreter unless it is asked to check."""
    out = words(64)
    body = BOTH_WAYS.replace("X", barrier)
    run(body, out, block=64, target=target)
    assert out.all()
    if told:
        with pytest.raises(LaunchError, match="16 of a warp's 32 threads execute this barrier"):
            run(body, out, block=64, target=target, check=["barrier"])
    else:
        run(body, out, block=64, target=target, check=["barrier"])


def test_whole_warps_may_take_ways_of_their_own_and_threads_may_have_exited() -> None:
    out = words(96)
    body = BOTH_WAYS.replace("X", "bar.sync").replace("%r1, 16", "%r1, 32")
    run(body, out, block=96, check=["barrier"])
    run(f"{TID} setp.gt.u32 %p0, %r1, 40; @%p0 ret; bar.sync 0; mov.u32 %r0, 1; {STORE}",
        out, block=96, check=["barrier"])
    assert out.all()


def test_a_reducing_barrier_in_a_loop_that_lanes_leave_apart_is_told() -> None:
    with pytest.raises(LaunchError, match="of a warp's 32 threads execute this barrier"):
        run(f"""{TID} and.b32 %r4, %r1, 1; mov.u32 %r2, 0;
            L: bar.red.popc.u32 %r3, 0, 1; add.u32 %r2, %r2, 1; setp.le.u32 %p0, %r2, %r4;
            @%p0 bra L; bar.sync 0;""", words(1), block=64, check=["barrier"])


@pytest.mark.parametrize("bad", ["bar.sync 16;", "bar.sync 0, 33;", "bar.sync 0, 0;"])
def test_impossible_barriers(bad: str) -> None:
    with pytest.raises(LaunchError, match="barrier"):
        run(bad, words(1), block=64)


# --------------------------------------------------------------------------------- warps


def test_shuffles_wait_for_lanes_that_come_by_another_way() -> None:
    """Halves of a warp reach different shuffles of one spelling, as Volta allows."""
    out = words(32)
    run(
        f"""{TID} add.u32 %r2, %r1, 100; setp.lt.u32 %p0, %r1, 16; @%p0 bra A;
        shfl.sync.bfly.b32 %r0, %r2, 16, 31, -1; bra E;
        A: mul.lo.u32 %r2, %r2, 1; shfl.sync.bfly.b32 %r0, %r2, 16, 31, -1; E: {STORE}""",
        out,
    )
    assert out.tolist() == [(k ^ 16) + 100 for k in range(32)]


def test_shuffle_in_a_short_warp_and_by_members() -> None:
    out = words(40)
    run(f"""{TID} shfl.sync.down.b32 %r0|%p0, %r1, 1, 31, -1; @!%p0 mov.u32 %r0, 99;
        and.b32 %r3, %r1, 1; setp.eq.u32 %p1, %r3, 0; @!%p1 bra E;
        shfl.sync.idx.b32 %r0, %r1, 4, 31, 0x55555555; E: {STORE}""", out, block=40)
    even = [4 if k < 32 else 36 for k in range(0, 40, 2)]
    assert out[::2].tolist() == even
    assert out[1:31:2].tolist() == list(range(2, 32, 2))
    assert out[31] == 99


def test_votes_matches_and_reductions() -> None:
    out = np.zeros((32, 6), np.uint32)
    run(
        f"""{TID} setp.lt.u32 %p0, %r1, 5; vote.sync.ballot.b32 %r2, %p0, -1;
        vote.sync.any.pred %p1, !%p0, -1; selp.u32 %r3, 1, 0, %p1; and.b32 %r4, %r1, 1;
        match.any.sync.b32 %r5, %r4, -1; match.all.sync.b32 %r6|%p2, %r4, -1;
        redux.sync.add.u32 %r7, %r1, -1; elect.sync _|%p3, -1; selp.u32 %r8, 1, 0, %p3;
        mul.wide.u32 %d1, %r1, 24; add.u64 %d1, %d0, %d1; st.global.v2.u32 [%d1], {{%r2, %r3}};
        st.global.v2.u32 [%d1+8], {{%r5, %r6}}; st.global.v2.u32 [%d1+16], {{%r7, %r8}};""",
        out,
    )
    lane = np.arange(32)
    assert (out[:, 0] == 31).all()
    assert (out[:, 1] == 1).all()
    assert (out[:, 2] == np.where(lane & 1, 0xAAAAAAAA, 0x55555555)).all()
    assert (out[:, 3] == 0).all()
    assert (out[:, 4] == 496).all()
    assert out[:, 5].sum() == 1


def test_a_mask_whose_lanes_never_come_is_a_deadlock() -> None:
    with pytest.raises(LaunchError, match="waiting for the lanes of its mask"):
        run(f"""{TID} setp.lt.u32 %p0, %r1, 16; @%p0 bra A; bar.sync 0; bra E;
            A: bar.warp.sync -1; bar.sync 0; E:""", words(1))


# ------------------------------------------------------------------------ objects, clusters


def test_an_mbarrier_counts_arrivals_and_phases() -> None:
    out = words(64)
    run(
        f"""{{ .shared .align 8 .b64 m; .shared .b32 s[2]; {TID} setp.eq.u32 %p0, %r1, 0;
        @%p0 mbarrier.init.shared.b64 [m], 64; bar.sync 0; mov.u32 %r2, 0; mov.u32 %r0, 0;
        P: @%p0 st.shared.u32 [s], %r2; mbarrier.arrive.shared.b64 %d1, [m];
        W: mbarrier.test_wait.shared.b64 %p1, [m], %d1; @!%p1 bra W;
        ld.shared.u32 %r3, [s]; add.u32 %r0, %r0, %r3;
        mbarrier.arrive.shared.b64 %d1, [m];
        V: mbarrier.try_wait.parity.shared::cta.b64 %p1, [m], 1; @!%p1 bra V;
        add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 5; @%p2 bra P; {STORE} }}""",
        out,
        block=64,
    )
    assert (out == 0 + 1 + 2 + 3 + 4).all()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("mbarrier.arrive.shared.b64 %d1, [m];", "was not initialised"),
        ("mbarrier.init.shared.b64 [m], 0;", "cannot expect 0 arrivals"),
        ("mbarrier.init.shared.b64 [m], 2; mbarrier.arrive.shared.b64 _, [m], 3;",
         "3 arrivals at an mbarrier that expects 2"),
    ],
)
def test_misused_mbarriers(body: str, message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        run(f"{{ .shared .align 8 .b64 m; {body} }}", words(1), block=1)


def test_waiting_for_an_mbarrier_that_nobody_completes_is_a_deadlock() -> None:
    with pytest.raises(LaunchError, match=r"deadlock(.|\n)*waiting for an mbarrier"):
        run("""{ .shared .align 8 .b64 m; mbarrier.init.shared.b64 [m], 2;
            mbarrier.arrive.shared.b64 %d1, [m]; W: mbarrier.try_wait.shared.b64 %p1, [m], %d1;
            @!%p1 bra W; }""", words(1), block=1)


def test_clusters_read_each_others_shared_memory() -> None:
    out = words(8 * 32)
    run(f"""{{ .shared .b32 s[32]; {TID} mov.u32 %r2, %ctaid.x; mul.lo.u32 %r3, %r1, 4;
        mov.u32 %r4, s; add.u32 %r4, %r4, %r3; mad.lo.u32 %r5, %r2, 1000, %r1;
        st.shared.u32 [%r4], %r5; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
        mov.u32 %r6, %cluster_ctarank; xor.b32 %r7, %r6, 3;
        mapa.shared::cluster.u32 %r8, %r4, %r7; ld.shared::cluster.u32 %r9, [%r8];
        getctarank.shared::cluster.u32 %r10, %r8; mov.u32 %r11, %cluster_nctarank;
        mad.lo.u32 %r9, %r10, 100000, %r9; mad.lo.u32 %r9, %r11, 1000000, %r9;
        mad.lo.u32 %r12, %r2, 32, %r1; mul.wide.u32 %d1, %r12, 4; add.u64 %d1, %d0, %d1;
        st.global.u32 [%d1], %r9; barrier.cluster.arrive; barrier.cluster.wait; }}""",
        out, grid=8, directives=".reqnctapercluster 4, 1, 1")
    cta, lane = np.divmod(np.arange(256), 32)
    other = cta ^ 3
    assert (out == other * 1000 + lane + other % 4 * 100000 + 4000000).all()


# ----------------------------------------------------------------------------- copies


def cp_async(wait: str) -> list[int]:
    data, out = np.arange(32, dtype=np.uint32) + 5, words(32)
    run(f"""{{ .shared .align 16 .b32 s[32]; {TID} mul.lo.u32 %r2, %r1, 4; mov.u32 %r3, s;
        add.u32 %r3, %r3, %r2; cvt.u64.u32 %d2, %r2; add.u64 %d2, %d1, %d2;
        cp.async.ca.shared.global [%r3], [%d2], 4; cp.async.commit_group; {wait}
        ld.shared.u32 %r0, [%r3]; {STORE} }}""", out, data)
    return out.tolist()


@pytest.mark.parametrize("wait", [
    "cp.async.wait_group 0;", "cp.async.wait_all;", "cp.async.wait_group 4294967296;"])
def test_cp_async_with_its_wait(wait: str) -> None:
    assert cp_async(wait) == [k + 5 for k in range(32)]


@pytest.mark.parametrize("wait", [
    "", "cp.async.wait_group 1;", "cp.async.wait_group 4294967295;"])
def test_cp_async_without_its_wait_shows(wait: str) -> None:
    """A kernel that forgets the wait reads what was there before."""
    assert cp_async(wait) == [0] * 32


def test_cp_async_fills_with_zeros() -> None:
    data, out = np.full(8, 0xFFFFFFFF, np.uint32), words(8)
    run("""{ .shared .align 16 .b32 s[8]; st.shared.v4.u32 [s], {7, 7, 7, 7};
        st.shared.v4.u32 [s+16], {7, 7, 7, 7}; mov.u32 %r1, 6; setp.eq.u32 %p0, %r1, 6;
        cp.async.cg.shared.global [s], [%d1], 16, %r1;
        cp.async.ca.shared.global [s+16], [%d1], 8, %p0;
        cp.async.wait_all; ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [s];
        st.global.v4.u32 [%d0], {%r2, %r3, %r4, %r5}; ld.shared.v4.u32 {%r2, %r3, %r4, %r5}, [s+16];
        st.global.v4.u32 [%d0+16], {%r2, %r3, %r4, %r5}; }""", out, data, block=1)
    assert out.tolist() == [0xFFFFFFFF, 0xFFFF, 0, 0, 0, 0, 7, 7]


def test_bulk_copies_and_reductions_out_of_shared_memory() -> None:
    out, total = words(8), np.arange(8, dtype=np.uint32)
    run(
        """{ .shared .align 16 .b32 s[8]; st.shared.v4.u32 [s], {1, 2, 3, 4};
        st.shared.v4.u32 [s+16], {5, 6, 7, 8}; mov.u32 %r1, s; fence.proxy.async;
        cp.async.bulk.global.shared::cta.bulk_group [%d0], [%r1], 32;
        cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d1], [%r1], 32;
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; }""",
        out,
        total,
        block=1,
    )
    assert out.tolist() == list(range(1, 9))
    assert total.tolist() == [2 * k + 1 for k in range(8)]


def test_st_bulk_clears_shared_memory() -> None:
    out = words(4)
    run("""{ .shared .align 16 .b32 s[8]; st.shared.v4.u32 [s], {1, 2, 3, 4}; mov.u32 %r1, s;
        mov.u64 %d1, 8; st.bulk.weak.shared::cta [%r1], %d1, 0;
        ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [s]; st.global.v4.u32 [%d0], {%r1, %r2, %r3, %r4}; }
        """, out, block=1, target="sm_100")
    assert out.tolist() == [0, 0, 3, 4]


def test_st_async_completes_on_an_mbarrier() -> None:
    out = words(2)
    run("""{ .shared .align 8 .b64 m; .shared .align 8 .b32 s[2]; mbarrier.init.shared.b64 [m], 1;
        mov.u32 %r1, s; mov.u32 %r2, m; mbarrier.arrive.expect_tx.shared.b64 _, [m], 8;
        mbarrier.test_wait.parity.shared.b64 %p0, [m], 0; selp.u32 %r5, 1, 0, %p0;
        st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r1], {3, 4}, [%r2];
        mbarrier.test_wait.parity.shared.b64 %p1, [m], 0; @!%p1 trap;
        ld.shared.v2.u32 {%r3, %r4}, [s]; mad.lo.u32 %r3, %r3, 10, %r4;
        st.global.v2.u32 [%d0], {%r3, %r5}; }""", out, block=1)
    assert out.tolist() == [34, 0]


def test_cp_async_of_some_lanes_is_finished_by_those_that_wait() -> None:
    """Even lanes copy, under a guard; of these every second waits before it reads."""
    data, out = np.arange(32, dtype=np.uint32) + 5, words(32)
    run(f"""{{ .shared .align 16 .b32 s[32]; {TID} mul.lo.u32 %r2, %r1, 4; mov.u32 %r3, s;
        add.u32 %r3, %r3, %r2; cvt.u64.u32 %d2, %r2; add.u64 %d2, %d1, %d2;
        and.b32 %r4, %r1, 1; setp.eq.u32 %p0, %r4, 0; and.b32 %r4, %r1, 3;
        setp.eq.u32 %p1, %r4, 0; @%p0 cp.async.ca.shared.global [%r3], [%d2], 4;
        @%p0 cp.async.commit_group; @%p1 cp.async.wait_group 0;
        ld.shared.u32 %r0, [%r3]; {STORE} }}""", out, data)
    assert out.tolist() == [0 if k % 4 else k + 5 for k in range(32)]


def test_copies_under_a_guard_that_no_lane_fulfils_do_nothing() -> None:
    data, out = np.arange(8, dtype=np.uint32) + 5, words(32)
    run(f"""{{ .shared .align 16 .b32 s[8]; .shared .align 8 .b64 m; {TID} mov.u32 %r3, s;
        mov.u32 %r4, m; setp.gt.u32 %p0, %r1, 99; @%p0 cp.async.ca.shared.global [%r3], [%d1], 4;
        cp.async.wait_all; @%p0 atom.shared.add.u32 %r5, [%r3], 1; mov.u64 %d2, 7;
        @%p0 mbarrier.arrive.shared.b64 %d2, [%r4];
        @%p0 mbarrier.test_wait.parity.shared.b64 %p1, [%r4], 0;
        ld.shared.u32 %r0, [s]; cvt.u32.u64 %r6, %d2; add.u32 %r0, %r0, %r6; {STORE} }}""",
        out, data)
    assert out.tolist() == [7] * 32


CLUSTER = """{{ .shared .align 128 .b32 s[4]; .shared .align 8 .b64 m; mov.u32 %r1, s;
    mov.u32 %r2, m; mov.u32 %r3, %cluster_ctarank; mbarrier.init.shared.b64 [m], 1;
    st.shared.v4.u32 [s], {{7, 7, 7, 7}}; setp.eq.u32 %p0, %r3, 0;
    barrier.cluster.arrive; barrier.cluster.wait; {body}
    ld.shared.v4.u32 {{%r4, %r5, %r6, %r7}}, [s]; mul.wide.u32 %d2, %r3, 16;
    add.u64 %d2, %d0, %d2; st.global.v4.u32 [%d2], {{%r4, %r5, %r6, %r7}};
    barrier.cluster.arrive; barrier.cluster.wait; }}"""
AWAIT = "W: mbarrier.try_wait.parity.shared.b64 %p1, [m], 0; @!%p1 bra W;"


def test_a_bulk_copy_goes_to_the_ctas_of_its_mask() -> None:
    """CTAs 1 and 3 of a cluster of four get the bytes, and the bytes are counted there."""
    data, out = np.arange(4, dtype=np.uint32) + 1, words(16)
    run(CLUSTER.format(body=f"""and.b32 %r8, %r3, 1; setp.eq.u32 %p2, %r8, 1;
        @%p2 mbarrier.arrive.expect_tx.shared.b64 _, [m], 16; mov.b16 %h1, 10;
        @%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
        [%r1], [%d1], 16, [%r2], %h1; @!%p2 bra X; {AWAIT} X:"""), out, data, grid=4, block=1,
        directives=".reqnctapercluster 4, 1, 1")
    assert out.reshape(4, 4).tolist() == [[7] * 4, [1, 2, 3, 4], [7] * 4, [1, 2, 3, 4]]


def test_red_async_adds_in_the_other_cta_and_completes_there() -> None:
    out = words(8)
    run(CLUSTER.format(body=f"""xor.b32 %r8, %r3, 1; mapa.shared::cluster.u32 %r9, %r1, %r8;
        mapa.shared::cluster.u32 %r10, %r2, %r8; add.u32 %r11, %r3, 10;
        mbarrier.arrive.expect_tx.shared.b64 _, [m], 4;
        red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32
        [%r9+4], %r11, [%r10]; {AWAIT}"""), out, grid=2, block=1,
        directives=".reqnctapercluster 2, 1, 1")
    assert out.reshape(2, 4).tolist() == [[7, 7 + 11, 7, 7], [7, 7 + 10, 7, 7]]


BULK_OUT = "cp.async.bulk.global.shared::cta.bulk_group"


@pytest.mark.parametrize(("body", "message"), [
    (f"{BULK_OUT} [%d0], [%r1], 24;", "a bulk copy of 24 bytes: a multiple of 16 is needed"),
    (f"{BULK_OUT} [%d0+8], [%r1], 16;", "a bulk copy must be aligned to 16 bytes"),
    (f"{BULK_OUT} [%d0], [%r1], 64;", "out of bounds"),
    ("mov.u64 %d1, 12; st.bulk.weak.shared::cta [%r1], %d1, 0;",
     "st.bulk of 12 bytes: a multiple of 8 is needed"),
    ("cp.async.ca.shared.global [%r1+4], [%d0], 8;", "misaligned"),
])
def test_impossible_copies_name_the_thread(body: str, message: str) -> None:
    with pytest.raises(LaunchError, match=message) as error:
        run("""{ .shared .align 16 .b32 s[8]; mov.u32 %r1, s; mov.u32 %r2, %tid.x;
            setp.eq.u32 %p0, %r2, 3; @!%p0 bra E; """ + body + " E: }", words(8), target="sm_100")
    assert error.value.thread == (3, 0, 0)


def test_a_bulk_copy_of_no_bytes_does_nothing() -> None:
    out = words(4) + 9
    run(f"""{{ .shared .align 16 .b32 s[4]; mov.u32 %r1, s; mov.u32 %r2, 0;
        {BULK_OUT} [%d0], [%r1], %r2; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; }}""",
        out, block=1)
    assert out.tolist() == [9] * 4


def test_what_st_bulk_cleared_was_written() -> None:
    out = words(4) + 9
    body = """{ .shared .align 16 .b32 s[4]; mov.u32 %r1, s; mov.u64 %d1, 8;
        st.bulk.weak.shared::cta [%r1], %d1, 0; ld.shared.v2.u32 {%r2, %r3}, [s+AT];
        st.global.v2.u32 [%d0], {%r2, %r3}; }"""
    run(body.replace("AT", "0"), out, block=1, target="sm_100", check=("uninit",))
    assert out.tolist() == [0, 0, 9, 9]
    with pytest.raises(LaunchError, match="never written"):
        run(body.replace("AT", "8"), out, block=1, target="sm_100", check=("uninit",))


# ------------------------------------------------------------------- output and textures


@pytest.mark.parametrize(
    ("text", "data", "expected"),
    [
        ("%d %u %x", [-1, 0xFFFFFFFF, 255], "-1 4294967295 ff"),
        ("[%5d|%-5d|%05d|%+d]", [42, 42, 42, 42], "[   42|42   |00042|+42]"),
        ("%c%c%%", [72, 105], "Hi%"),
        ("%*d", [6, 42], "    42"),
        ("%o %#o %#x", [8, 8, 255], "10 010 0xff"),
        ("%hd %hhu", [0x18000, 0x1FF], "-32768 255"),
        ("[%-*d|%*d]", [4, 7, -4, 7], "[7   |7   ]"),
        ("[%.*d|%.*d]", [3, 7, -1, 7], "[007|7]"),
        ("%p|%8p|%-8p|", [64, 0, 17, 0, 17, 0], "0x40|    0x11|0x11    |"),
        ("%d%n.", [3, 0, 9, 9], "3."),
    ],
)
def test_printf_of_32_bit_arguments(text: str, data: list[int], expected: str) -> None:
    raw = np.array(data, np.int64).astype(np.int32).tobytes()
    assert format_c(text, Buffer(lambda at, n: raw[at : at + n]), str) == expected


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [("%f", 1.5, "1.500000"), ("%.2e", 12345.678, "1.23e+04"), ("%g", 0.0001, "0.0001"),
     ("%8.3f|", 3.14159, "   3.142|"), ("%a", 1.0, "0x1p+0"),
     ("%+A|", -1.5, "-0X1.8P+0|"), ("%+12a|", 10.0, "   +0x1.4p+3|"), ("%f", float("inf"), "inf")],
)
def test_printf_of_doubles(text: str, value: float, expected: str) -> None:
    raw = np.array([value]).tobytes()
    assert format_c(text, Buffer(lambda at, n: raw[at : at + n]), str) == expected


def test_printf_aligns_what_follows_an_int() -> None:
    raw = np.array([7, 0], np.int32).tobytes() + np.array([1 << 40], np.int64).tobytes()
    given = Buffer(lambda at, n: raw[at : at + n])
    assert format_c("%d %lld", given, str) == "7 1099511627776"


def fetch(texture: nvir.Texture, x: float, y: float) -> float:
    out = np.zeros(1, np.float32)
    coordinates = np.array([x, y], np.float32)
    m = nvir.read_ptx(ptx("""ld.global.v2.f32 {%f1, %f2}, [%d1];
        tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [t, {%f1, %f2}]; st.global.f32 [%d0], %f4;""",
        ".global .texref t;"))
    nvir.launch(m, "k", 1, 1, [out, coordinates], textures={"t": texture})
    return float(out[0])


IMAGE = np.array([[0, 1, 2], [10, 11, 12]], np.float32)


@pytest.mark.parametrize(
    ("options", "x", "y", "expected"),
    [
        ({}, 1.5, 0.5, 1), ({}, 1.99, 1.0, 11), ({}, -3, 7, 10), ({}, 9, -1, 2),
        ({"address": "border"}, -0.5, 0.5, 0), ({"filter": "linear"}, 1.0, 0.5, 0.5),
        ({"filter": "linear"}, 1.5, 1.0, 6), ({"filter": "linear"}, 1.25, 0.5, 0.75),
        ({"normalized": True}, 0.99, 0.51, 12),
        ({"normalized": True, "address": "wrap"}, 1.1, 0.1, 0),
        ({"normalized": True, "address": "mirror"}, 1.1, 0.1, 2),
    ],
)
def test_texture_addressing_and_filtering(
    options: dict[str, str], x: float, y: float, expected: float
) -> None:
    assert fetch(nvir.Texture(IMAGE, **options), x, y) == expected


def test_a_texture_that_is_not_given() -> None:
    with pytest.raises(LaunchError, match="texture t: give it in `textures`"):
        run("tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [t, {%r1}];", words(1),
            before=".global .texref t;")


# ------------------------------------------------------------------------------ matrices


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("trans", [False, True])
def test_ldmatrix_and_stmatrix(count: int, trans: bool) -> None:
    """Matrices go to registers and, by the inverse instruction, back to where they came from."""
    data = np.arange(8 * 8 * 4, dtype=np.uint16)
    out, registers = np.zeros_like(data), np.zeros((32, 4), np.uint32)
    regs = ", ".join(f"%r{10 + k}" for k in range(count))
    t = ".trans" if trans else ""
    copies = "".join(f"st.global.u32 [%d5+{4 * k}], %r{10 + k};" for k in range(count))
    run(f"""{{ .shared .align 16 .b8 s[512]; .shared .align 16 .b8 z[512]; {TID}
        mul.lo.u32 %r2, %r1, 16; cvt.u64.u32 %d3, %r2; add.u64 %d4, %d0, %d3; mov.u32 %r3, s;
        add.u32 %r3, %r3, %r2; mov.u32 %r4, z; add.u32 %r4, %r4, %r2;
        ld.global.v4.u32 {{%r5, %r6, %r7, %r8}}, [%d4];
        st.shared.v4.u32 [%r3], {{%r5, %r6, %r7, %r8}};
        bar.sync 0; ldmatrix.sync.aligned.m8n8.x{count}{t}.shared.b16 {{{regs}}}, [%r3];
        add.u64 %d5, %d2, %d3; {copies}
        stmatrix.sync.aligned.m8n8.x{count}{t}.shared.b16 [%r4], {{{regs}}}; bar.sync 0;
        ld.shared.v4.u32 {{%r5, %r6, %r7, %r8}}, [%r4]; add.u64 %d6, %d1, %d3;
        st.global.v4.u32 [%d6], {{%r5, %r6, %r7, %r8}}; }}""", data, out, registers)
    n = 64 * count
    assert (out[:n] == data[:n]).all()
    low = registers[:, 0] & 0xFFFF
    lane = np.arange(32)
    row, column = lane // 4, lane % 4 * 2
    assert (low == (column * 8 + row if trans else row * 8 + column)).all()


@pytest.mark.parametrize("registers", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_wgmma_multiplies_matrices_of_shared_memory(registers: bool, turned: bool) -> None:
    """D = A * B twice, the second time added; A of 64 x 16 by descriptor or in registers."""
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-3, 4, shape).astype(np.float16) for shape in ((64, 16), (16, 8)))
    out = np.zeros((64, 8), np.float32)
    # Core matrices of 8 rows by 16 bytes, one after the other: along k 128 bytes, along m 256.
    image_a = a.reshape(8, 8, 2, 8).transpose(0, 2, 1, 3).copy()
    image_b = (b.reshape(2, 8, 8) if turned else b.T.reshape(8, 2, 8).transpose(1, 0, 2)).copy()
    start_b = 2048
    fields = {"a": (0, 128, 256), "b": (start_b, 128, 128)}
    desc = {k: s >> 4 | (l >> 4) << 16 | (t >> 4) << 32 for k, (s, l, t) in fields.items()}  # noqa: E741
    fragment = "".join(
        f"add.u32 %r20, %r5, {r}; mad.lo.u32 %r20, %r20, 32, %r6; add.u32 %r20, %r20, {2 * c};"
        f" cvt.u64.u32 %d7, %r20; add.u64 %d7, %d1, %d7; ld.global.u32 %r{10 + k}, [%d7];"
        for k, (r, c) in enumerate(((0, 0), (8, 0), (0, 8), (8, 8)))
    )
    operand = "{%r10, %r11, %r12, %r13}" if registers else "%d5"
    flags = ("1, 1, " if registers else "1, 1, 0, ") + ("1" if turned else "0")
    mma = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, "
    run(f"""{{ .shared .align 128 .b8 s[2304]; {TID} mul.lo.u32 %r2, %r1, 16; cvt.u64.u32 %d10, %r2;
        add.u64 %d11, %d2, %d10; ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%d11]; mov.u32 %r3, s;
        add.u32 %r8, %r3, %r2; st.shared.v4.u32 [%r8], {{%r4, %r5, %r6, %r7}};
        setp.lt.u32 %p0, %r1, 16; add.u64 %d12, %d3, %d10;
        @%p0 ld.global.v4.u32 {{%r4, %r5, %r6, %r7}}, [%d12];
        @%p0 st.shared.v4.u32 [%r8+{start_b}], {{%r4, %r5, %r6, %r7}}; bar.sync 0;
        mov.u64 %d5, {desc['a']}; mov.u64 %d6, {desc['b']}; shr.u32 %r4, %r1, 5;
        and.b32 %r9, %r1, 31;
        shr.u32 %r5, %r9, 2; mad.lo.u32 %r5, %r4, 16, %r5; and.b32 %r6, %r9, 3;
        mul.lo.u32 %r6, %r6, 4;
        {fragment} mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;
        wgmma.fence.sync.aligned;
        {mma}{operand}, %d6, 0, {flags}; {mma}{operand}, %d6, 1, {flags};
        wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
        shl.b32 %r6, %r6, 1; mad.lo.u32 %r7, %r5, 32, %r6; cvt.u64.u32 %d8, %r7;
        add.u64 %d8, %d0, %d8;
        st.global.v2.f32 [%d8], {{%f1, %f2}}; st.global.v2.f32 [%d8+256], {{%f3, %f4}}; }}""",
        out, a, image_a, image_b, block=128, target="sm_90a")
    assert (out == 2 * (a.astype(np.float32) @ b.astype(np.float32))).all()


def test_surfaces() -> None:
    image, out = np.arange(12, dtype=np.uint32).reshape(3, 4), words(4)
    m = nvir.read_ptx(ptx("""mov.u32 %r1, 8; mov.u32 %r2, 1;
        suld.b.2d.v2.b32.trap {%r3, %r4}, [s, {%r1, %r2}]; add.u32 %r3, %r3, 100;
        sust.b.2d.b32.trap [s, {%r1, %r2}], %r3; mov.u32 %r1, 400;
        suld.b.2d.b32.zero %r5, [s, {%r1, %r2}]; suld.b.2d.b32.clamp %r6, [s, {%r1, %r2}];
        st.global.v4.u32 [%d0], {%r3, %r4, %r5, %r6};""", ".global .surfref s;", 1))
    nvir.launch(m, "k", 1, 1, [out], textures={"s": image})
    assert out.tolist() == [106, 7, 0, 7]
    assert image[1].tolist() == [4, 5, 106, 7]


TENSOR = """.version 8.6\n.target sm_90a\n.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u64 o, .param .u32 x, .param .u32 y) {
.reg .b32 %r<9>; .reg .b64 %d<9>; .reg .pred %p<3>; .shared .align 128 .b8 s[SIZE];
.shared .align 8 .b64 m; ld.param.u64 %d0, [o]; ld.param.u32 %r1, [x]; ld.param.u32 %r2, [y];
mov.b64 %d1, map; cvta.param.u64 %d1, %d1; mov.u32 %r3, %tid.x; setp.eq.u32 %p0, %r3, 0;
mov.u32 %r4, m; mov.u32 %r5, s; @%p0 mbarrier.init.shared.b64 [m], 1; bar.sync 0; BODY
ret; }"""
LOAD = """@!%p0 bra W; mbarrier.arrive.expect_tx.shared.b64 _, [m], SIZE;
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r5],
[%d1, {%r1, %r2}], [%r4]; W: mbarrier.try_wait.parity.shared.b64 %p1, [m], 0; @!%p1 bra W;
L: mul.lo.u32 %r6, %r3, 4; setp.ge.u32 %p1, %r6, SIZE; @%p1 ret; add.u32 %r7, %r5, %r6;
ld.shared.u32 %r8, [%r7]; cvt.u64.u32 %d2, %r6; add.u64 %d3, %d0, %d2; st.global.u32 [%d3], %r8;
add.u32 %r3, %r3, 32; bra L;"""


def tensor(body: str, size: int, args: list[object]) -> None:
    text = TENSOR.replace("BODY", body).replace("SIZE", str(size))
    nvir.launch(nvir.read_ptx(text), "k", 1, 32, args)


@pytest.mark.parametrize(("x", "y"), [(0, 0), (8, 3), (-4, -2), (28, 14)])
def test_a_box_of_a_tensor_with_zeros_outside(x: int, y: int) -> None:
    data, out = np.arange(16 * 32, dtype=np.uint32).reshape(16, 32) + 1, words(4 * 8)
    from nvir.interp import TensorMap

    tensor(LOAD, 128, [TensorMap(data, (4, 8)), out, np.int32(x), np.int32(y)])
    padded = np.pad(data, 16)
    assert (out.reshape(4, 8) == padded[16 + y : 20 + y, 16 + x : 24 + x]).all()


def test_a_swizzled_box_permutes_pieces_of_16_bytes() -> None:
    data, out = np.arange(8 * 32, dtype=np.uint32).reshape(8, 32), words(8 * 32)
    from nvir.interp import TensorMap

    tensor(LOAD, 1024, [TensorMap(data, (8, 32), swizzle=128), out, 0, 0])
    rows = out.reshape(8, 8, 4)
    for r in range(8):
        for piece in range(8):
            assert (rows[r, piece ^ r] == data[r, 4 * piece : 4 * piece + 4]).all()


@pytest.mark.parametrize("add", [False, True])
def test_boxes_are_stored_and_added(add: bool) -> None:
    data = np.full((6, 8), 100, np.uint32)
    from nvir.interp import TensorMap

    how = "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group"
    if not add:
        how = "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group"
    body = f"""mul.lo.u32 %r6, %r3, 4; add.u32 %r7, %r5, %r6; st.shared.u32 [%r7], %r3; bar.sync 0;
        @%p0 {how} [%d1, {{%r1, %r2}}], [%r5]; cp.async.bulk.commit_group;
        cp.async.bulk.wait_group.read 0;"""
    tensor(body, 128, [TensorMap(data, (8, 4)), words(1), 4, 1])
    expected = np.full((6, 8), 100)
    box = np.arange(32).reshape(8, 4)[:5] + (100 if add else 0)
    expected[1:6, 4:8] = box
    assert (data == expected).all()


def test_a_tensor_map_is_changed_in_memory() -> None:
    data, out = np.arange(16 * 32, dtype=np.uint32).reshape(16, 32) + 1, words(4 * 8)
    from nvir.interp import TensorMap

    change = """@!%p0 bra C; { .shared .align 128 .b8 t[128]; .reg .b64 %q<17>; .reg .b32 %z;
        """ + "".join(
        f"ld.param.u64 %q{k}, [map+{8 * k}]; st.shared.u64 [t+{8 * k}], %q{k};" for k in range(16)
    ) + """mov.u32 %z, 30; tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [t], 0, %z;
        mov.u32 %z, t; cvt.u64.u32 %d1, %z; cvta.shared.u64 %d1, %d1; } C:"""
    tensor(change + LOAD, 128, [TensorMap(data, (4, 8)), out, 24, 0])
    expected = data[:4, 24:32].copy()
    expected[:, 6:] = 0
    assert (out.reshape(4, 8) == expected).all()


@pytest.mark.parametrize("op", ["", "reduce.", "load"])
@pytest.mark.parametrize("wrong", ["place", "map"])
def test_impossible_boxes_name_the_thread(op: str, wrong: str) -> None:
    from nvir.interp import TensorMap

    how = f"cp.{op}async.bulk.tensor.2d.global.shared::cta."
    how += "add.tile.bulk_group" if op else "bulk_group"
    at = "add.u32 %r5, %r5, 64;" if wrong == "place" else "add.u64 %d1, %d1, 8;"
    send = f"@%p0 {how} [%d1, {{%r1, %r2}}], [%r5];"
    body = f"setp.eq.u32 %p0, %r3, 5; {at} " + send
    if op == "load":
        body = f"""setp.eq.u32 %p0, %r3, 5; {at} @%p0 cp.async.bulk.tensor.2d.shared::cluster.global
            .mbarrier::complete_tx::bytes [%r5], [%d1, {{%r1, %r2}}], [%r4];"""
    message = ("the box of a tensor copy must be aligned to 128 bytes" if wrong == "place"
               else "this is no tensor map: pass nvir.interp.TensorMap as the argument")
    with pytest.raises(LaunchError, match=message) as error:
        tensor(body, 256, [TensorMap(np.zeros((16, 8), np.uint32), (8, 4)), words(1), 0, 0])
    assert error.value.thread == (5, 0, 0)


def test_a_box_wholly_outside_stores_nothing() -> None:
    data = np.full((4, 4), 3, np.uint32)
    from nvir.interp import TensorMap

    tensor("""@%p0 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d1, {%r1, %r2}], [%r5];
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;""",
        64, [TensorMap(data, (4, 4)), words(1), 4, 0])
    assert (data == 3).all()


def test_a_box_that_was_loaded_was_written() -> None:
    data, out = np.arange(32, dtype=np.uint32).reshape(4, 8), words(32)
    from nvir.interp import TensorMap

    text = TENSOR.replace("BODY", LOAD).replace("SIZE", "128")
    nvir.launch(nvir.read_ptx(text), "k", 1, 32, [TensorMap(data, (4, 8)), out, 0, 0],
                check=("uninit",))
    assert (out == data.reshape(-1)).all()


def test_a_map_is_made_anew_in_shared_memory_and_copied_to_global() -> None:
    """A map of a row of 16 halves becomes one of 4 by 8 words, field by field."""
    halves = np.arange(64, dtype=np.uint16)
    data, out = np.arange(32, dtype=np.uint32).reshape(4, 8) + 1, words(32)
    place = np.zeros(32, np.uint32)
    from nvir.interp import TensorMap

    t = "tensormap.replace.tile.{}.shared::cta.b1024.{} [t], {};\n"
    change = "mov.u32 %z, 1;" + t.format("rank", "b32", "%z")
    change += t.format("elemtype", "b32", "2")
    change += t.format("global_address", "b64", "%a")
    for field, values in (("box_dim", (8, 4)), ("global_dim", (8, 4)),
                          ("element_stride", (1, 1))):
        for k, x in enumerate(values):
            change += f"mov.u32 %z, {x};" + t.format(field, "b32", f"{k}, %z")
    change += "mov.u64 %a, 32;" + t.format("global_stride", "b64", "0, %a")
    body = """@!%p0 bra C; { .shared .align 128 .b8 t[128]; .reg .b64 %q<17>, %a; .reg .b32 %z;
        ld.param.u64 %a, [data];""" + "".join(
        f"ld.param.u64 %q{k}, [map+{8 * k}]; st.shared.u64 [t+{8 * k}], %q{k};" for k in range(16)
    ) + change + """ld.param.u64 %d1, [place];
        tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned
        [%d1], [t], 128; } C: ld.param.u64 %d1, [place];"""
    text = TENSOR.replace(".param .u32 x", ".param .u64 data, .param .u64 place, .param .u32 x")
    text = text.replace("BODY", body + LOAD).replace("SIZE", "128")
    nvir.launch(nvir.read_ptx(text), "k", 1, 32,
                [TensorMap(halves, (16,)), out, data, place, 0, 0])
    assert (out == data.reshape(-1)).all()


def test_a_box_goes_to_the_ctas_of_its_mask() -> None:
    data, out = np.arange(32, dtype=np.uint32).reshape(4, 8) + 1, words(128)
    from nvir.interp import TensorMap

    load = LOAD.replace("@!%p0 bra W; ", "").replace("mbarrier.arrive", "@%p0 mbarrier.arrive")
    load = load.replace("cp.async", "barrier.cluster.arrive; barrier.cluster.wait; .reg .b16 %h; "
                        "mov.b16 %h, 6; mov.u32 %r8, %cluster_ctarank; setp.eq.u32 %p2, %r8, 3; "
                        "and.pred %p2, %p2, %p0; @%p2 cp.async", 1)
    load = load.replace("::bytes [%r5]", "::bytes.multicast::cluster [%r5]")
    load = load.replace("[%r4]; W:", """[%r4], %h; mul.wide.u32 %d4, %r8, 128;
        add.u64 %d0, %d0, %d4; sub.u32 %r8, %r8, 1; setp.gt.u32 %p2, %r8, 1; @%p2 bra L; W:""")
    text = TENSOR.replace("BODY", load).replace("SIZE", "128")
    text = text.replace("y) {", "y) .reqnctapercluster 4, 1, 1 {")
    nvir.launch(nvir.read_ptx(text), "k", 4, 32, [TensorMap(data, (4, 8)), out, 0, 0])
    rows = out.reshape(4, 32)
    assert not rows[[0, 3]].any()
    assert (rows[1:3] == data.reshape(-1)).all()


def test_a_multimem_address_has_one_replica() -> None:
    data, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    run("""multimem.ld_reduce.relaxed.gpu.global.add.v4.f32 {%f0, %f1, %f2, %f3}, [%d0];
        multimem.st.relaxed.gpu.global.f32 [%d1], %f3;
        multimem.red.relaxed.gpu.global.add.f32 [%d1+4], %f2;""",
        data, out, block=32)
    assert out.tolist() == [3, 64, 0, 0, 0, 0, 0, 0]


def test_a_request_to_take_over_a_cluster_is_refused() -> None:
    """Each CTA starts by itself here: the answer comes, and it is no."""
    out = words(32) + 7
    run("""mov.u64 %d2, answer; mov.u64 %d3, bar; mbarrier.init.shared.b64 [%d3], 32;
        mov.u32 %r1, %tid.x; setp.eq.u32 %p0, %r1, 0;
        mbarrier.arrive.expect_tx.shared.b64 %d4, [%d3], 0;
        @!%p0 bra W; mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%d3], 16;
        clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%d2],
          [%d3];
        W: mbarrier.try_wait.parity.shared.b64 %p1, [%d3], 0; @!%p1 bra W;
        .reg .b128 %q; ld.shared.b128 %q, [%d2];
        clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q;
        selp.u32 %r0, 1, 0, %p2; mul.wide.u32 %d5, %r1, 4; add.u64 %d5, %d5, %d0;
        st.global.u32 [%d5], %r0;""",
        out, before=".shared .align 16 .b8 answer[16]; .shared .align 8 .b64 bar;",
        target="sm_100")
    assert not out.any()


@pytest.mark.parametrize(("by", "message"), [(2000, "out of bounds"), (4, "misaligned")])
def test_a_row_of_a_matrix_that_is_not_there_names_its_lane(by: int, message: str) -> None:
    with pytest.raises(LaunchError, match=message) as error:
        run(f"""{{ .shared .align 16 .b8 s[128]; {TID} mov.u32 %r2, s; and.b32 %r3, %r1, 7;
            mad.lo.u32 %r2, %r3, 16, %r2; setp.eq.u32 %p0, %r1, 37; @%p0 add.u32 %r2, %r2, {by};
            ldmatrix.sync.aligned.m8n8.x1.shared.b16 {{%r4}}, [%r2]; }}""", words(1), block=64)
    assert error.value.thread == (37, 0, 0)


@pytest.mark.parametrize("load", [
    "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [s+16];",
    "cvta.shared.u64 %d1, s; ldmatrix.sync.aligned.m8n8.x1.b16 {%r0}, [%d1+16];",
])
def test_a_matrix_of_one_row_by_name_and_by_generic_address(load: str) -> None:
    out = words(32)
    run(f"""{{ .shared .align 16 .b32 s[8]; {TID} st.shared.v4.u32 [s+16], {{5, 6, 7, 8}};
        bar.sync 0; {load} {STORE} }}""", out)
    assert out.tolist() == [5 + k % 4 for k in range(32)]


@pytest.mark.parametrize(("body", "message"), [
    ("mbarrier.init.shared.b64 [m], 1; mbarrier.arrive.noComplete.shared.b64 %d1, [m], 1;",
     "an arrival with .noComplete would complete the phase"),
    ("mbarrier.test_wait.parity.shared.b64 %p0, [m], 0;", "this mbarrier was not initialised"),
])
def test_mbarriers_that_are_asked_too_much(body: str, message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        run(f"{{ .shared .align 8 .b64 m; {body} }}", words(1), block=1)


def test_bytes_that_are_said_to_have_come() -> None:
    out = words(2)
    run("""{ .shared .align 8 .b64 m; mbarrier.init.shared.b64 [m], 1;
        mbarrier.arrive.expect_tx.shared.b64 _, [m], 24;
        mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [m], 8;
        mbarrier.test_wait.parity.shared.b64 %p0, [m], 0; selp.u32 %r1, 1, 0, %p0;
        mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [m], 16;
        mbarrier.test_wait.parity.shared.b64 %p0, [m], 0; selp.u32 %r2, 1, 0, %p0;
        st.global.v2.u32 [%d0], {%r1, %r2}; }""", out, block=1)
    assert out.tolist() == [0, 1]


def test_a_short_warp_counts_whole_at_a_barrier_of_a_number_of_threads() -> None:
    out = words(40)
    run(f"""{{ .shared .b32 s; {TID} setp.eq.u32 %p0, %r1, 39; @%p0 st.shared.u32 [s], 8;
        bar.sync 1, 64; ld.shared.u32 %r0, [s]; {STORE} }}""", out, block=40)
    assert out.tolist() == [8] * 40


def test_parts_of_warps_wait_for_the_cluster_by_themselves() -> None:
    out = words(64)
    run(f"""{{ .shared .b32 s; {TID} mov.u32 %r2, %cluster_ctarank; setp.lt.u32 %p0, %r1, 7;
        @%p0 bra A; mad.lo.u32 %r3, %r2, 30, 3; L: add.u32 %r3, %r3, -1;
        setp.ne.u32 %p1, %r3, 0; @%p1 bra L; st.shared.u32 [s], %r2;
        barrier.cluster.arrive; barrier.cluster.wait; bra E;
        A: barrier.cluster.arrive; barrier.cluster.wait;
        E: xor.b32 %r4, %r2, 1; mapa.shared::cluster.u32 %r5, s, %r4;
        ld.shared::cluster.u32 %r0, [%r5]; barrier.cluster.arrive; barrier.cluster.wait;
        mad.lo.u32 %r6, %r2, 32, %r1; mul.wide.u32 %d1, %r6, 4; add.u64 %d1, %d1, %d0;
        st.global.u32 [%d1], %r0; }}""", out, grid=2,
        directives=".reqnctapercluster 2, 1, 1")
    assert out.tolist() == [1] * 32 + [0] * 32
