"""How groups of lanes run: divergence, guards, loops, switches, calls, progress, limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nvir
from nvir.ir.errors import LaunchError, Unsupported, VerifyError
from tests.interp.machine_helpers import STORE, ptx, run, words

TID = "mov.u32 %r1, %tid.x;"


def test_lanes_meet_behind_a_branch() -> None:
    """Lanes of both sides are together again at the post-dominator: activemask shows it."""
    out = words(32)
    run(f"""{TID} setp.lt.u32 %p0, %r1, 9; @%p0 bra A; add.u32 %r2, %r1, 1; bra B;
        A: mul.lo.u32 %r2, %r1, %r1; B: activemask.b32 %r0; {STORE}""", out)
    assert (out == 0xFFFFFFFF).all()


def test_lanes_wait_at_the_exit_of_a_loop() -> None:
    """Every lane leaves in another iteration, by a break from the middle; all meet behind it."""
    out = words(32)
    run(f"""{TID} mov.u32 %r2, 0;
        H: setp.ge.u32 %p0, %r2, 40; @%p0 bra E; setp.eq.u32 %p1, %r2, %r1; @%p1 bra X;
        add.u32 %r2, %r2, 1; bra H; X: add.u32 %r2, %r2, 100; E: activemask.b32 %r3;
        setp.eq.u32 %p2, %r3, -1; selp.u32 %r0, %r2, 0, %p2; {STORE}""", out)
    assert (out == np.arange(32) + 100).all()


def test_activemask_inside_a_branch() -> None:
    out = words(32)
    run(f"""{TID} mov.u32 %r0, 0; setp.lt.u32 %p0, %r1, 5; @!%p0 bra B; activemask.b32 %r0;
        B: {STORE}""", out)
    assert out.tolist() == [31] * 5 + [0] * 27


def test_guarded_operations_keep_the_old_value() -> None:
    out = words(32)
    run(f"""{TID} setp.lt.u32 %p0, %r1, 7; mov.u32 %r0, 1000; @%p0 add.u32 %r0, %r1, 5;
        @!%p0 add.u32 %r0, %r0, 1; {STORE}""", out)
    assert out.tolist() == [k + 5 if k < 7 else 1001 for k in range(32)]


def test_guarded_loads_and_stores_touch_nothing_elsewhere() -> None:
    """Lanes under a false guard may hold any address."""
    data, out = np.arange(8, dtype=np.uint32), words(32)
    run(f"""{TID} setp.lt.u32 %p0, %r1, 8; mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2;
        mov.u32 %r0, 77; @%p0 ld.global.u32 %r0, [%d3]; mov.u64 %d4, 0;
        @!%p0 bra S; add.u64 %d4, %d0, %d2; @%p0 st.global.u32 [%d4], %r0; ret;
        S: @%p0 st.global.u32 [%d4], %r0; {STORE}""", out, data)
    assert out.tolist() == [*range(8), *[77] * 24]


def test_guarded_exit_and_ret() -> None:
    out = words(32)
    run(f"{TID} setp.lt.u32 %p0, %r1, 3; mov.u32 %r0, 1; @%p0 exit; "
        f"setp.gt.u32 %p1, %r1, 20; @%p1 ret; {STORE}", out)
    assert out.tolist() == [0] * 3 + [1] * 18 + [0] * 11


def test_jump_table() -> None:
    out = words(32)
    run(
        f"""{TID} rem.u32 %r2, %r1, 3; T: .branchtargets A, B, C; brx.idx %r2, T;
        A: mov.u32 %r0, 10; bra E; B: mov.u32 %r0, 20; C: mov.u32 %r0, 30; E: {STORE}""",
        out,
    )
    assert out.tolist() == [[10, 30, 30][k % 3] for k in range(32)]


def test_jump_beyond_the_table_is_an_error() -> None:
    with pytest.raises(LaunchError, match=r"entry 2 of a jump table of 2.*thread \(2, 0, 0\)"):
        run(f"{TID} T: .branchtargets A, B; brx.idx %r1, T; A: B: ", words(1), block=3)


def test_special_registers() -> None:
    names = ("tid.x", "tid.y", "tid.z", "ntid.y", "ctaid.x", "ctaid.y", "nctaid.x", "laneid",
             "lanemask_lt", "lanemask_ge", "warpid")
    threads = 4 * 5 * 2 * 6
    out = np.zeros((threads, len(names)), np.uint32)
    body = """mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
        mad.lo.u32 %r3, %r3, 5, %r2; mad.lo.u32 %r1, %r3, 4, %r1;
        mov.u32 %r4, %ctaid.y; mov.u32 %r5, %ctaid.x; mad.lo.u32 %r4, %r4, 2, %r5;
        mad.lo.u32 %r1, %r4, 40, %r1; mul.wide.u32 %d1, %r1, 44; add.u64 %d1, %d0, %d1;"""
    for k, name in enumerate(names):
        body += f"mov.u32 %r6, %{name}; st.global.u32 [%d1+{4 * k}], %r6;"
    run(body, out, grid=(2, 3), block=(4, 5, 2))
    cta, t = np.divmod(np.arange(threads), 40)
    lane = t % 32
    expected = [t % 4, t // 4 % 5, t // 20, 5, cta % 2, cta // 2, 2, lane, (1 << lane) - 1,
                0xFFFFFFFF - ((1 << lane) - 1), t // 32]
    for k, column in enumerate(expected):
        assert (out[:, k] == column).all(), names[k]


def test_clock_goes_forward() -> None:
    out = words(1, np.uint64)
    run("mov.u64 %d1, %clock64; mov.u64 %d2, %clock64; sub.u64 %d3, %d2, %d1; "
        "st.global.u64 [%d0], %d3;", out)
    assert out[0] > 0


# ---------------------------------------------------------------------------- calls

FACTORIAL = """
.func (.param .b32 r) fact(.param .b32 n) {
 .reg .b32 %a<4>; .reg .pred %q; ld.param.b32 %a0, [n]; mov.b32 %a1, 1; setp.lt.u32 %q, %a0, 2;
 @%q bra D; sub.u32 %a2, %a0, 1; { .param .b32 x; .param .b32 y; st.param.b32 [x], %a2;
 call (y), fact, (x); ld.param.b32 %a1, [y]; } mul.lo.u32 %a1, %a1, %a0;
 D: st.param.b32 [r], %a1; ret; }
"""


def test_recursion_to_different_depths() -> None:
    out = words(32)
    run(
        f"""{TID} rem.u32 %r2, %r1, 7; {{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r2;
        call (y), fact, (x); ld.param.b32 %r0, [y]; }} {STORE}""",
        out,
        before=FACTORIAL,
    )
    assert out.tolist() == [[1, 1, 2, 6, 24, 120, 720][k % 7] for k in range(32)]


def test_endless_recursion_overflows_the_stack() -> None:
    endless = """.func f(.param .b64 n) { .reg .b64 %a; .local .b8 big[4096]; ld.param.b64 %a, [n];
        { .param .b64 x; st.param.b64 [x], %a; call f, (x); } ret; }"""
    with pytest.raises(LaunchError, match="stack overflow"):
        run("{ .param .b64 x; st.param.b64 [x], %d0; call f, (x); }", words(1), before=endless)


def test_registers_as_parameters_and_several_results() -> None:
    both = """.func (.reg .u32 s, .reg .u64 t) both(.reg .u32 a, .reg .u32 b) {
        add.u32 s, a, b; mul.wide.u32 t, a, b; ret; }"""
    out = words(4, np.uint64)
    run("""mov.u32 %r1, 7; mov.u32 %r2, 0x10000000; call (%r3, %d2), both, (%r1, %r2);
        call (%r4, %d3), both, (%r3, 3); cvt.u64.u32 %d4, %r3; st.global.u64 [%d0], %d4;
        st.global.u64 [%d0+8], %d2; cvt.u64.u32 %d5, %r4; st.global.u64 [%d0+16], %d5;""",
        out, before=both)
    assert out.tolist() == [0x10000007, 0x70000000, 0x1000000A, 0]


def test_indirect_calls_to_different_functions() -> None:
    two = """.func (.param .b32 r) one(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a];
        add.u32 %x, %x, 1; st.param.b32 [r], %x; ret; }
        .func (.param .b32 r) two(.param .b32 a) { .reg .b32 %x; ld.param.b32 %x, [a];
        mul.lo.u32 %x, %x, 10; st.param.b32 [r], %x; ret; }
        .global .u64 table[2] = {one, two};"""
    out = words(32)
    run(f"""{TID} and.b32 %r2, %r1, 1; mul.wide.u32 %d2, %r2, 8; mov.u64 %d3, table;
        add.u64 %d3, %d3, %d2; ld.global.u64 %d4, [%d3];
        {{ .param .b32 x; .param .b32 y; st.param.b32 [x], %r1;
        P: .callprototype (.param .b32 _) _ (.param .b32 _); call (y), %d4, (x), P;
        ld.param.b32 %r0, [y]; }} {STORE}""", out, before=two)
    assert out.tolist() == [k * 10 if k & 1 else k + 1 for k in range(32)]


def test_a_guarded_call_is_made_by_some_lanes() -> None:
    f = ".func (.reg .u32 r) f(.reg .u32 a) { add.u32 r, a, 100; ret; }"
    out = words(32)
    run(f"""{TID} mov.u32 %r0, 5; setp.gt.u32 %p0, %r1, 29; @%p0 call (%r0), f, (%r1);
        {STORE}""", out, before=f)
    assert out.tolist() == [5] * 30 + [130, 131]


def test_bytes_of_a_struct_go_through_parameters() -> None:
    swap = """.func (.param .align 8 .b8 r[12]) swap(.param .align 8 .b8 a[12]) {
        .reg .b32 %x<3>; ld.param.b32 %x0, [a]; ld.param.b32 %x1, [a+4]; ld.param.b32 %x2, [a+8];
        st.param.b32 [r], %x2; st.param.b32 [r+4], %x1; st.param.b32 [r+8], %x0; ret; }"""
    out = words(3)
    run("""{ .param .align 8 .b8 x[12]; .param .align 8 .b8 y[12]; st.param.v2.b32 [x], {1, 2};
        st.param.b32 [x+8], 3; call (y), swap, (x); ld.param.b32 %r1, [y];
        ld.param.b32 %r2, [y+4]; ld.param.b32 %r3, [y+8]; }
        st.global.u32 [%d0], %r1; st.global.u32 [%d0+4], %r2; st.global.u32 [%d0+8], %r3;""",
        out, before=swap, block=1)
    assert out.tolist() == [3, 2, 1]


def test_a_function_without_a_body_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="mystery has no body"):
        run("call mystery;", words(1), before=".extern .func mystery;")


def test_a_call_of_no_function_is_an_error() -> None:
    with pytest.raises(LaunchError, match="call of an address that is no function"):
        run("P: .callprototype _ _ (); call %d0, (), P;", words(1))


def test_a_call_of_a_kernel_is_an_error() -> None:
    """Its parameters lie in no frame; ptxas refuses it."""
    with pytest.raises(Unsupported, match="f is a kernel, which nothing calls"):
        run("{.param .b32 a; st.param.b32 [a], 3; call f, (a);}", words(1),
            before=".entry f(.param .b32 x) { ret; }")


# ----------------------------------------------------------------- progress and limits


def test_an_endless_loop_ends_with_the_step_limit() -> None:
    with pytest.raises(LaunchError, match="more than 1000 steps"):
        run("L: bra L;", words(1), max_steps=1000)


@pytest.mark.parametrize("block", [1, 33, 96])
def test_a_lock_that_one_lane_of_a_warp_holds(block: int) -> None:
    """The critical section is behind the loop: it needs progress of diverged lanes."""
    lock, count = words(1), words(1)
    run("""L: atom.global.cas.b32 %r1, [%d0], 0, 1; setp.ne.u32 %p0, %r1, 0; @%p0 bra L;
        ld.volatile.global.u32 %r2, [%d1]; add.u32 %r2, %r2, 1; st.volatile.global.u32 [%d1], %r2;
        membar.gl; atom.global.exch.b32 %r3, [%d0], 0;""", lock, count, block=block)
    assert count[0] == block


def test_lanes_of_a_warp_hand_over_to_each_other() -> None:
    """Lane k waits for lane k - 1, in volatile memory, in one loop."""
    flags = words(33)
    flags[0] = 1
    run(
        f"""{TID} mul.wide.u32 %d2, %r1, 4; add.u64 %d2, %d0, %d2;
        L: ld.volatile.global.u32 %r2, [%d2]; setp.eq.u32 %p0, %r2, 0; @%p0 bra L;
        add.u32 %r2, %r2, 1; st.volatile.global.u32 [%d2+4], %r2;""",
        flags,
    )
    assert flags.tolist() == list(range(1, 34))


def test_blocks_wait_for_blocks_that_start_later() -> None:
    """Block 0 waits for the last one; the grid is far larger than a wave."""
    flag = words(1)
    run("""mov.u32 %r1, %ctaid.x; setp.eq.u32 %p0, %r1, 0; @%p0 bra L;
        setp.ne.u32 %p1, %r1, 99; @%p1 bra E; st.volatile.global.u32 [%d0], 1; bra E;
        L: nanosleep.u32 100; ld.volatile.global.u32 %r2, [%d0]; setp.eq.u32 %p2, %r2, 0;
        @%p2 bra L; E:""", flag, grid=100, block=1024)
    assert flag[0] == 1


def test_block_counts() -> None:
    m = nvir.read_ptx(ptx(f"""{TID} and.b32 %r2, %r1, 3;
        L: add.u32 %r2, %r2, -1; setp.ge.s32 %p0, %r2, 0; @%p0 bra L; E:""", params=0))
    result = nvir.launch(m, "k", 2, 32, [])
    assert result.block_counts["k"]["entry"] == 64
    assert result.block_counts["k"]["L"] == 16 * (1 + 2 + 3 + 4)


def test_unsupported_names_the_instruction_and_the_place() -> None:
    with pytest.raises(Unsupported, match=r"tcgen05.wait::ld.*line \d+ of k"):
        run("tcgen05.wait::ld.sync.aligned;", words(1), target="sm_100a")


@pytest.mark.parametrize("registers", [4, 5])
def test_a_matrix_product_writes_as_many_registers_as_it_makes(registers):
    d = ", ".join(f"%f{k}" for k in range(registers))
    body = f"""{TID} mov.b32 %r0, 0x3C003C00; mov.f32 %f9, 0f00000000;
        mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
        {{{d}}}, {{%r0, %r0, %r0, %r0}}, {{%r0, %r0}}, {{%f9, %f9, %f9, %f9}};
        mov.b32 %r0, %f{registers - 1}; {STORE}"""
    out = words(32)
    if registers == 4:
        run(body, out)
        assert (out.view(np.float32) == 16).all()  # halves of 1
    else:
        with pytest.raises(Unsupported, match="5 registers for 4 results"):
            run(body, out)


@pytest.mark.parametrize("opcode", ["trap"])
def test_trap(opcode: str) -> None:
    with pytest.raises(LaunchError, match=r"executed trap.*thread \(4, 0, 0\)") as e:
        run(f"{TID} setp.eq.u32 %p0, %r1, 4; @%p0 {opcode};", words(1))
    assert e.value.thread == (4, 0, 0)


def test_assertions_fail_with_their_text() -> None:
    before = """.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c,
        .param .b64 d, .param .b64 e);
        .global .align 1 .b8 what[6] = {120, 32, 62, 32, 48, 0};
        .global .align 1 .b8 file[5] = {97, 46, 99, 117, 0};"""
    with pytest.raises(LaunchError, match=r"a.cu:12: a.cu: assertion `x > 0` failed"):
        run("""mov.u64 %d1, what; cvta.global.u64 %d1, %d1; mov.u64 %d2, file;
            cvta.global.u64 %d2, %d2; {.param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d;
            .param .b64 e; st.param.b64 [a], %d1; st.param.b64 [b], %d2; st.param.b32 [c], 12;
            st.param.b64 [d], %d2; st.param.b64 [e], 1; call __assertfail, (a, b, c, d, e);}""",
            words(1), before=before)


def test_wrong_launches() -> None:
    m = nvir.read_ptx(ptx("", params=1, directives=".maxntid 64, 1, 1"))
    x = words(4)
    with pytest.raises(LaunchError, match="no kernel 'q'; there are: k"):
        nvir.launch(m, "q", 1, 1, [x])
    with pytest.raises(LaunchError, match="maxntid allows 64"):
        nvir.launch(m, "k", 1, 65, [x])
    with pytest.raises(LaunchError, match="2048 threads"):
        nvir.launch(m, "k", 1, 2048, [x])
    with pytest.raises(LaunchError, match="grid of"):
        nvir.launch(m, "k", 0, 1, [x])
    with pytest.raises(TypeError, match="1 parameters, 0 given"):
        nvir.launch(m, "k", 1, 1, [])
    with pytest.raises(TypeError, match="C-contiguous"):
        nvir.launch(m, "k", 1, 1, [np.zeros((4, 4), np.uint32)[:, 1]])
    with pytest.raises(TypeError, match="give a numpy array"):
        nvir.launch(m, "k", 1, 1, ["text"])
    with pytest.raises(TypeError, match="check knows"):
        nvir.launch(m, "k", 1, 1, [x], check=("everything",))
    with pytest.raises(TypeError, match="a buffer cannot hold Python objects"):
        nvir.launch(m, "k", 1, 1, [np.array([None])])
    with pytest.raises(TypeError, match=r"up to three ints, not \(1, 2, 3, 4\)"):
        nvir.launch(m, "k", (1, 2, 3, 4), 1, [x])
    with pytest.raises(LaunchError, match="300000 bytes of shared memory a block"):
        nvir.launch(m, "k", 1, 1, [x], dynamic_smem=300000)
    with pytest.raises(TypeError, match=r"argument 0 \(p0\) has 8 bytes, not 128"):
        nvir.launch(m, "k", 1, 1, [nvir.interp.TensorMap(np.zeros((4, 4), np.float32), (4, 4))])
    m = nvir.read_ptx(ptx("", params=1, directives=".reqnctapercluster 2, 1, 1"))
    with pytest.raises(LaunchError, match=r"a grid of \(3, 1, 1\) is no multiple of the cluster"):
        nvir.launch(m, "k", 3, 1, [x])


@pytest.mark.parametrize(("data", "box", "swizzle", "message"), [
    (np.zeros((4, 4), np.float32), (4,), 0, "one to five axes and a box of as many"),
    (np.zeros((4, 4), np.float32), (4, 4), 16, "spans 0, 32, 64 or 128 bytes, not 16"),
    (np.zeros((4, 4), np.complex64), (4, 4), 0, "no elements of type complex64"),
])
def test_maps_that_no_tensor_has(data: Any, box: Any, swizzle: int, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        nvir.interp.TensorMap(data, box, swizzle=swizzle)


def test_exchanges_without_a_mask_are_of_those_who_are_here() -> None:
    """Before Volta: the threads of each way by themselves."""
    out = words(64)
    run(f"""{TID} setp.lt.u32 %p0, %r1, 40; @%p0 bra A; vote.ballot.b32 %r0, 1; bra E;
        A: and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; vote.ballot.b32 %r0, %p1;
        E: {STORE}""", out, block=64, target="sm_60")
    assert out.tolist() == [0x55555555] * 32 + [0x55] * 8 + [0xFFFFFF00] * 24


def test_an_exchange_of_some_warps_goes_on_while_others_wait() -> None:
    """The lower halves of two warps wait together; the upper ones come after 5 and 90 rounds."""
    out = words(64)
    run(f"""{TID} and.b32 %r2, %r1, 31; setp.lt.u32 %p0, %r2, 16; @%p0 bra A;
        setp.lt.u32 %p1, %r1, 32; selp.u32 %r3, 90, 5, %p1;
        L: add.u32 %r3, %r3, -1; setp.ne.u32 %p2, %r3, 0; @%p2 bra L;
        shfl.sync.bfly.b32 %r0, %r1, 16, 31, -1; bra E;
        A: mul.lo.u32 %r4, %r1, 3; shfl.sync.bfly.b32 %r0, %r4, 16, 31, -1; E: {STORE}""",
        out, block=64)
    assert out.tolist() == [k ^ 16 if k % 32 < 16 else 3 * (k ^ 16) for k in range(64)]


def test_a_call_gives_back_what_its_callee_took_from_the_stack() -> None:
    """Some lanes call, some do not; each takes by alloca before and after."""
    out = words(32)
    before = """.func (.reg .u32 y) f(.reg .u32 x) { .reg .b64 t; .reg .b64 n; cvt.u64.u32 n, x;
        mul.lo.u64 n, n, 16; alloca.u64 t, n, 16; st.local.u32 [t], x; ld.local.u32 y, [t];
        ret; }"""
    run(f"""{TID} mov.u64 %d1, 32; alloca.u64 %d2, %d1, 16; stacksave.u64 %d5;
        add.u32 %r2, %r1, 1; setp.lt.u32 %p0, %r1, 20; mov.u32 %r3, 0;
        @%p0 call (%r3), f, (%r2); stacksave.u64 %d6; sub.u64 %d6, %d6, %d5;
        cvt.u32.u64 %r4, %d6; mad.lo.u32 %r0, %r4, 1000, %r3; {STORE}""",
        out, before=before)
    assert out.tolist() == [k + 1 if k < 20 else 0 for k in range(32)]


def test_a_failed_launch_leaves_the_arrays_alone() -> None:
    x = words(4)
    with pytest.raises(LaunchError):
        run("st.global.u32 [%d0], 1; trap;", x)
    assert not x.any()


def test_every_row_of_the_table_has_a_meaning_or_is_known_to_lack_one() -> None:
    """A new opcode needs a meaning here, or a word that it has none."""
    from nvir.interp.ori_level import ori
    from nvir.ir.opcodes import ORI
    from nvir.ir.opcodes.form import form

    form("bra")  # fills the table
    rows = ori()
    covered = {*rows.emitters, *rows.specials, "phi", "unknown", "bra", "brx.idx", "ret", "exit"}
    lacking = {name for name in ORI.rows if name not in covered}
    assert lacking == LACKING


_LACKING = """multimem.cp.async.bulk multimem.cp.reduce.async.bulk sured
    tcgen05.alloc tcgen05.commit tcgen05.cp tcgen05.dealloc
    tcgen05.fence::after_thread_sync tcgen05.fence::before_thread_sync tcgen05.ld tcgen05.ld.red
    tcgen05.mma tcgen05.mma.sp tcgen05.mma.ws tcgen05.mma.ws.sp tcgen05.relinquish_alloc_permit
    tcgen05.shift tcgen05.st tcgen05.wait::ld tcgen05.wait::st wgmma.mma_async.sp"""
LACKING = set(_LACKING.split())


def test_phis_that_trade_places() -> None:
    """A loop that swaps two registers, with all lanes together and with some gone."""
    for block in (32, 256):
        out = words(block)
        run(f"""{TID} mov.u32 %r2, 1000; mov.u32 %r3, %r1; and.b32 %r4, %r1, 7;
            L: mov.u32 %r5, %r2; mov.u32 %r2, %r3; mov.u32 %r3, %r5; add.u32 %r4, %r4, -1;
            setp.ge.s32 %p0, %r4, 0; @%p0 bra L; mov.u32 %r0, %r2; {STORE}""",
            out, block=block)
        assert out.tolist() == [1000 if k & 1 else k for k in range(block)]


@pytest.mark.parametrize("seed", range(12))
def test_both_forms_of_the_code_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random kernels run in the whole form where they can, and never: the same bytes."""
    from nvir.interp import groups
    from tests.equivalence import again, behaviour, check_same
    from tests.kernels import random_kernel

    text = random_kernel(seed, 60)
    monkeypatch.setattr(groups, "WHOLE_FORM_LANES", 0)
    whole = behaviour(nvir.read_ptx(text), "k", seed)
    monkeypatch.setattr(groups, "WHOLE_FORM_LANES", 1 << 30)
    part = again(nvir.read_ptx(text), whole)
    assert check_same(whole, part)


@pytest.mark.parametrize("seed", range(8))
def test_pieces_and_compiled_segments_agree(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random kernels line by line, and with every segment compiled at once: the same bytes."""
    from nvir.interp import emit
    from tests.equivalence import again, behaviour, check_same
    from tests.kernels import random_kernel

    text = random_kernel(seed + 50, 60)
    monkeypatch.setattr(emit, "HOT", 1 << 60)
    pieces = behaviour(nvir.read_ptx(text), "k", seed)
    monkeypatch.setattr(emit, "HOT", 1)
    assert check_same(pieces, again(nvir.read_ptx(text), pieces))


@pytest.mark.parametrize("hot", [1, 1 << 60])
def test_both_name_the_instruction_that_fails(hot: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from nvir.interp import emit

    monkeypatch.setattr(emit, "HOT", hot)
    with pytest.raises(LaunchError) as error:
        run("mov.u32 %r1, 4; st.global.u32 [%d0], %r1; st.global.u32 [%d0+400], %r1;", words(4))
    assert "[%d0+400]" in error.value.instruction or "400" in error.value.instruction


@pytest.mark.parametrize("seed", range(6))
def test_the_size_of_waves_does_not_matter(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from nvir.interp import grid
    from tests.equivalence import again, behaviour, check_same
    from tests.kernels import random_kernel

    module = nvir.read_ptx(random_kernel(seed + 100, 60))
    launch = {"grid": (4,), "block": (64,)}
    together = behaviour(module, "k", seed, **launch)
    monkeypatch.setattr(grid, "WAVE_LANES", 64)
    assert check_same(together, again(module, together))


def test_results_do_not_depend_on_how_lanes_are_grouped() -> None:
    """One block of 256 threads, or 8 of 32, or with every lane diverged: the same words."""
    body = """mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
        mad.lo.u32 %r1, %r1, %r2, %r3; and.b32 %r4, %r1, 31; mov.u32 %r0, 1;
        L: mad.lo.u32 %r0, %r0, 1664525, %r1; shr.u32 %r5, %r0, 9; xor.b32 %r0, %r0, %r5;
        add.u32 %r4, %r4, -1; setp.ge.s32 %p0, %r4, 0; @%p0 bra L;
        mul.wide.u32 %d1, %r1, 4; add.u64 %d1, %d0, %d1; st.global.u32 [%d1], %r0;"""
    outcomes: list[Any] = []
    for grid, block in ((1, 256), (8, 32), (256, 1), (2, 128)):
        out = words(256)
        run(body, out, grid=grid, block=block)
        outcomes.append(out)
    expected = []
    for t in range(256):
        x = 1
        for _ in range((t & 31) + 1):
            x = (x * 1664525 + t) & 0xFFFFFFFF
            x ^= x >> 9
        expected.append(x)
    for out in outcomes:
        assert out.tolist() == expected


def test_vector_registers_as_parameters_and_results() -> None:
    out = words(2)
    before = """.func (.reg .v2 .u32 sum) twice(.reg .v2 .u32 x) { .reg .u32 t;
        add.u32 t, x.x, x.y; mov.u32 sum.x, t; mov.u32 sum.y, t; mov.v2.u32 sum, sum; ret.uni; }"""
    run(".reg .v2 .u32 v; mov.u32 v.x, 3; mov.u32 v.y, 4; call (v), twice, (v); "
        "st.global.v2.u32 [%d0], v;", out, before=before)
    assert out.tolist() == [7, 7]


def test_a_variable_that_is_no_parameter_is_not_passed() -> None:
    before = """.shared .align 8 .b32 s[4]; .func (.reg .u32 y) f(.reg .u64 x) {
        ld.shared.u32 y, [x]; ret; }"""
    passed = "mov.u64 %d1, s; call (%r1), f, (%d1); st.global.u32 [%d0], %r1;"
    out = words(1)
    run(f"st.shared.u32 [s], 11; {passed}", out, block=1, before=before)
    assert out.tolist() == [11]
    with pytest.raises(VerifyError, match=r"s is passed, and is no \.param variable"):
        run(passed.replace("(%d1)", "(s)"), out, block=1, before=before)
