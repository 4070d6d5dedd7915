"""Dead code elimination."""

from __future__ import annotations

import pytest

from nvir.passes.driver import Driver, Settings
from tests.passes.conftest import function


def test_a_chain_without_a_user_goes(check):
    ctx = check("dce", """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        add.s32 %r2, %r1, 1;
        mul.lo.s32 %r3, %r2, %r2;
        st.global.u32 [%rd1], %r1;
        ret;""", """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        st.global.u32 [%rd1], %r1;
        ret;""")
    (remark,) = ctx.remarks
    assert remark.message == "removed 2 dead instructions, 0 of them phis"
    assert ctx.counters == {"dce.removed": 2}


def test_a_chain_with_one_user_stays(check):
    check("dce", """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        add.s32 %r2, %r1, 1;
        mul.lo.s32 %r3, %r2, %r2;
        st.global.u32 [%rd1], %r3;
        ret;""")


def test_a_dead_phi_cycle_goes(check):
    """Each of phi and add uses the other, so counting uses would keep both."""
    ctx = check("dce", """
        ld.param.u32 %r9, [n];
        mov.u32 %r1, 0;
        mov.u32 %r2, 0;
        LOOP:
        add.s32 %r1, %r1, 3;
        add.s32 %r2, %r2, 1;
        setp.lt.s32 %p1, %r2, %r9;
        @%p1 bra LOOP;
        ret;""", """
        ld.param.u32 %r9, [n];
        mov.u32 %r2, 0;
        LOOP:
        add.s32 %r2, %r2, 1;
        setp.lt.s32 %p1, %r2, %r9;
        @%p1 bra LOOP;
        ret;""")
    assert ctx.remarks[0].args == {"instructions": 3, "phis": 1}


def test_a_phi_cycle_that_is_stored_stays(check):
    check("dce", """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, 0;
        LOOP:
        add.s32 %r1, %r1, 3;
        setp.lt.s32 %p1, %r1, 90;
        @%p1 bra LOOP;
        st.global.u32 [%rd1], %r1;
        ret;""")


def test_an_unused_load_goes_and_a_volatile_one_stays(check):
    check("dce", """
        ld.param.u64 %rd1, [a];
        ld.global.u32 %r1, [%rd1];
        ld.volatile.global.u32 %r2, [%rd1];
        ld.relaxed.gpu.global.u32 %r3, [%rd1];
        ret;""", """
        ld.param.u64 %rd1, [a];
        ld.volatile.global.u32 %r2, [%rd1];
        ld.relaxed.gpu.global.u32 %r3, [%rd1];
        ret;""")


@pytest.mark.parametrize("kept", [
    "bar.sync 0;",
    "membar.gl;",
    "shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;",
    "vote.sync.any.pred %p1, %p2, -1;",
    "atom.global.add.u32 %r2, [%rd1], 1;",
    "red.global.add.u32 [%rd1], 1;",
    "call (%r2), callee, (%r1);",
    "nanosleep.u32 20;",
    "trap;",
    "frobnicate.u32 %r2, %r1;",
    "{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [tile]; }",
])
def test_effects_stay_although_nobody_uses_the_result(check, kept):
    check("dce", f"""
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        setp.eq.s32 %p2, %r1, 0;
        st.global.u32 [%rd1], %r1;
        @%p2 st.global.u32 [%rd1], %r1;
        {kept}
        ret;""")


def test_a_guard_and_a_fallback_are_uses(check):
    """%r2 keeps its old value where %p1 is false: both the old value and %p1 are needed."""
    check("dce", """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        setp.eq.s32 %p1, %r1, 0;
        add.s32 %r2, %r1, 5;
        @%p1 add.s32 %r2, %r1, 6;
        st.global.u32 [%rd1], %r2;
        ret;""")


def test_an_unused_guarded_instruction_takes_its_guard_along(check):
    check("dce", """
        mov.u32 %r1, %tid.x;
        setp.eq.s32 %p1, %r1, 0;
        @%p1 add.s32 %r2, %r1, 6;
        ret;""", """
        ret;""")


def test_one_used_result_of_several_keeps_the_instruction(check):
    check("dce", """
        ld.param.u64 %rd1, [a];
        ld.global.v2.u32 {%r1, %r2}, [%rd1];
        setp.eq.s32 %p1|%p2, %r1, 0;
        @%p2 st.global.u32 [%rd1], %r1;
        ret;""")


def test_a_carry_chain_lives_and_dies_as_one(check):
    chain = """
        add.cc.u32 %r3, %r1, %r1;
        addc.u32 %r4, %r1, 0;"""
    before = """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        {}
        st.global.u32 [%rd1], {};
        ret;"""
    check("dce", before.format(chain, "%r4"))
    check("dce", before.format(chain, "%r1"), before.format("", "%r1"))


def test_marks_of_removed_instructions_go():
    f = function("mov.u32 %r1, %tid.x; add.s32 %r2, %r1, 1; ret;")
    for i in f.instructions():
        f.marks[i] = {"seen"}
    Driver(Settings()).run(f.module, "dce")
    assert len(f.marks) == 1


def test_the_cost_is_linear_in_a_chain():
    """A long dependence chain needs no recursion."""
    n = 20_000
    chain = "".join(f"add.s32 %r2, %r2, {k};\n" for k in range(n))
    f = function(f"mov.u32 %r2, %tid.x;\n{chain} ret;")
    Driver(Settings()).run(f.module, "dce")
    assert sum(1 for _ in f.instructions()) == 1
