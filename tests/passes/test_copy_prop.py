"""Copy propagation."""

from __future__ import annotations

import pytest

from nvir.ir.ssa.rewrite import substitute, substituted
from nvir.ir.types import B32
from nvir.passes.driver import Driver, Settings
from nvir.passes.scalar import copy_prop
from tests.passes.conftest import function


def test_a_copy_is_replaced_by_its_source(check):
    ctx = check("copy-prop", """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %r1;
        mov.u32 %r3, %r2;
        add.s32 %r4, %r3, %r2;
        st.global.u32 [%rd1], %r4;
        ret;""", """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        add.s32 %r4, %r1, %r1;
        st.global.u32 [%rd1], %r4;
        ret;""")
    assert ctx.remarks[0].args == {"copies": 2, "phis": 0}


@pytest.mark.parametrize("move", [
    "mov.u32 %r2, 7;",
    "mov.u32 %r2, %clock;",
    "mov.u32 %r2, %laneid;",
    "mov.u32 %r2, tile;",
    "mov.b32 %r2, {%rs1, %rs1};",
    "cvt.u32.u32 %r2, %r1;",
    "neg.s32 %r2, %r1;",
])
def test_what_computes_is_no_copy(check, move):
    check("copy-prop", f"""
        ld.param.u64 %rd1, [a];
        ld.global.u16 %rs1, [%rd1];
        mov.u32 %r1, %tid.x;
        {move}
        st.global.u32 [%rd1], %r2;
        ret;""")


def test_unpacking_is_no_copy(check):
    check("copy-prop", """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        mov.b32 {%rs1, %rs2}, %r1;
        st.global.u16 [%rd1], %rs1;
        st.global.u16 [%rd1+2], %rs2;
        ret;""")


def test_a_predicate_is_copied_as_well(check):
    check("copy-prop", """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        setp.eq.s32 %p1, %r1, 0;
        mov.pred %p2, %p1;
        @%p2 st.global.u32 [%rd1], %r1;
        ret;""", """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        setp.eq.s32 %p1, %r1, 0;
        @%p1 st.global.u32 [%rd1], %r1;
        ret;""")


def test_a_guarded_move_whose_fallback_is_its_source_is_a_copy(check):
    before = """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        setp.eq.s32 %p1, %r1, 0;
        mov.u32 %r2, %r1;
        @{} mov.u32 %r2, %r1;
        st.global.u32 [%rd1], %r2;
        @%p1 st.global.u32 [%rd1], %r2;
        ret;"""
    after = """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        setp.eq.s32 %p1, %r1, 0;
        st.global.u32 [%rd1], %r1;
        @%p1 st.global.u32 [%rd1], %r1;
        ret;"""
    check("copy-prop", before.format("%p1"), after)
    check("copy-prop", before.format("!%p1"), after)


def test_a_guarded_move_over_nothing_is_a_copy(check):
    """Where the guard is false the register held nothing in particular."""
    check("copy-prop", """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        setp.eq.s32 %p1, %r1, 0;
        @%p1 mov.u32 %r2, %r1;
        @%p1 st.global.u32 [%rd1], %r2;
        ret;""", """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        setp.eq.s32 %p1, %r1, 0;
        @%p1 st.global.u32 [%rd1], %r1;
        ret;""")


def test_a_guarded_move_over_another_value_stays(check):
    check("copy-prop", """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        setp.eq.s32 %p1, %r1, 0;
        add.s32 %r2, %r1, 1;
        @%p1 mov.u32 %r2, %r1;
        st.global.u32 [%rd1], %r2;
        ret;""")


def test_a_loop_phi_that_only_carries_itself_is_its_start(check):
    check("copy-prop", """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %r1;
        mov.u32 %r3, 0;
        LOOP:
        mov.u32 %r4, %r2;
        add.s32 %r3, %r3, %r4;
        mov.u32 %r2, %r4;
        setp.lt.s32 %p1, %r3, 90;
        @%p1 bra LOOP;
        st.global.u32 [%rd1], %r2;
        ret;""", """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        mov.u32 %r3, 0;
        LOOP:
        add.s32 %r3, %r3, %r1;
        setp.lt.s32 %p1, %r3, 90;
        @%p1 bra LOOP;
        st.global.u32 [%rd1], %r1;
        ret;""")


def test_a_phi_behind_phis_falls_when_they_do(check):
    """%r2 comes back to itself through a diamond: both phis are %r1."""
    ctx = check("copy-prop", """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %r1;
        mov.u32 %r3, 0;
        LOOP:
        setp.eq.s32 %p2, %r3, 5;
        @%p2 bra ELSE;
        mov.u32 %r2, %r1;
        ELSE:
        add.s32 %r3, %r3, %r2;
        setp.lt.s32 %p1, %r3, 90;
        @%p1 bra LOOP;
        st.global.u32 [%rd1], %r3;
        ret;""", """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        mov.u32 %r3, 0;
        LOOP:
        setp.eq.s32 %p2, %r3, 5;
        @%p2 bra ELSE;
        bra ELSE;
        ELSE:
        add.s32 %r3, %r3, %r1;
        setp.lt.s32 %p1, %r3, 90;
        @%p1 bra LOOP;
        st.global.u32 [%rd1], %r3;
        ret;""")
    assert ctx.counters["copy-prop.phis"] >= 1


def test_phis_that_feed_each_other_and_two_values_stay(check):
    check("copy-prop", """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        mov.u32 %r3, 0;
        LOOP:
        setp.eq.s32 %p2, %r3, 5;
        @%p2 bra ELSE;
        add.s32 %r1, %r1, 1;
        ELSE:
        add.s32 %r3, %r3, %r1;
        setp.lt.s32 %p1, %r3, 90;
        @%p1 bra LOOP;
        st.global.u32 [%rd1], %r3;
        ret;""")


def test_a_phi_of_two_values_stays(check):
    check("copy-prop", """
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        setp.eq.s32 %p1, %r1, 0;
        @%p1 bra ELSE;
        add.s32 %r1, %r1, 1;
        ELSE:
        st.global.u32 [%rd1], %r1;
        ret;""")


def test_values_that_wgmma_holds_in_place_stay(check):
    """A copy saved before the accumulator is overwritten could not be made again."""
    check("copy-prop", """
        ld.param.u64 %rd1, [a];
        mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f00000000;
        mov.f32 %f3, 0f00000000; mov.f32 %f4, 0f00000000;
        mov.f32 %f5, %f1;
        wgmma.fence.sync.aligned;
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16
            {%f1, %f2, %f3, %f4}, %rd1, %rd1, 1, 1, 1, 0, 0;
        wgmma.commit_group.sync.aligned;
        wgmma.wait_group.sync.aligned 0;
        st.global.f32 [%rd1], %f5;
        st.global.f32 [%rd1], %f1;
        ret;""")


def test_a_register_that_takes_over_another_spelling_is_declared_by_its_class():
    """%u1 (.u32) may stand for %f1 (.f32) only as .b32."""
    f = function("""
        ld.param.u64 %rd1, [a];
        mov.u32 %u1, %tid.x;
        mov.b32 %f1, %u1;
        add.f32 %f2, %f1, %f1;
        st.global.f32 [%rd1], %f2;
        ret;""")
    Driver(Settings(verify_each=True)).run(f.module, "copy-prop")
    add = next(i for i in f.instructions() if i.form.name == "add")
    assert add.operands[0].form.spelling == "mov.u32"
    assert add.operands[0].type is B32


def test_signed_and_unsigned_spellings_are_one():
    f = function("""
        ld.param.u64 %rd1, [a];
        mov.u32 %u1, %tid.x;
        mov.b32 %s1, %u1;
        st.global.u32 [%rd1], %s1;
        ret;""")
    Driver(Settings()).run(f.module, "copy-prop")
    store = next(i for i in f.instructions() if i.form.name == "st")
    assert store.operands[-1].type.name == "u32"


def test_substitution_follows_chains_and_rewrites_each_user_once():
    f = function("""
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %r1;
        mov.u32 %r3, %r2;
        add.s32 %r4, %r3, %r2;
        st.global.u32 [%rd1], %r4;
        ret;""")
    r1, r2, r3 = (i for i in f.instructions() if i.form.name == "mov")
    substitute({r3: r2, r2: r1})
    add = next(i for i in f.instructions() if i.form.name == "add")
    assert add.operands == (r1, r1)
    assert not r3.has_uses
    assert r1.use_count == 4  # %r2's and %r3's own operands, and the sum's two


def test_a_phi_of_thousands_of_copies_is_linear():
    n = 4000
    arms = "".join(f"L{k}: mov.u32 %r2, %r1; add.s32 %r3, %r2, {k}; bra.uni END;\n"
                   for k in range(n))
    labels = ", ".join(f"L{k}" for k in range(n))
    f = function(f"""
        ld.param.u64 %rd1, [a];
        mov.u32 %r1, %tid.x;
        targets: .branchtargets {labels};
        brx.idx.uni %r1, targets;
        {arms}
        END:
        st.global.u32 [%rd1], %r3;
        st.global.u32 [%rd1], %r2;
        ret;""")
    ctx = Driver(Settings()).run(f.module, "copy-prop")
    assert ctx.counters == {"copy-prop.copies": n, "copy-prop.phis": 1}


@pytest.mark.parametrize("fails", [False, True])
def test_a_substitution_for_a_while_leaves_no_trace(fails):
    f = function("""
        ld.param.u64 %rd1, [a];
        mov.u32 %u1, %tid.x;
        mov.b32 %f1, %u1;
        mov.b32 %f2, %f1;
        add.f32 %f3, %f2, %f1;
        add.u32 %u2, %u1, %u1;
        st.global.f32 [%rd1], %f3;
        st.global.u32 [%rd1+4], %u2;
        ret;""")

    def state():
        values = [v for i in f.instructions() for v in i.results]
        return [str(f)] + [(v.type, [(u, u.operands) for u in v.users]) for v in values]

    before = state()
    leaders = copy_prop.copies(f)
    assert len(leaders) == 2
    try:
        with substituted(leaders):
            assert not any(copy.has_uses for copy in leaders)
            assert state() != before
            if fails:
                raise KeyError
    except KeyError:
        pass
    assert state() == before
