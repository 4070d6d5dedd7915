"""Global value numbering."""

from __future__ import annotations

import pytest

import nvir
from nvir.passes.driver import Driver, Settings
from tests.passes.conftest import body, function

START = """
        ld.param.u64 %rd1, [a];
        ld.param.u64 %rd2, [b];
        mov.u32 %r1, %tid.x;
        mov.u32 %r2, %ntid.x;
        setp.eq.s32 %p1, %r1, %r2;
        @%p1 st.global.u32 [%rd2], %r1;"""


def test_commuted_operands_share_a_number(check):
    """Operand order is no part of the key when the opcode commutes."""
    ctx = check("gvn", START + """
        add.s32 %r3, %r1, %r2;
        add.s32 %r4, %r2, %r1;
        mul.lo.s32 %r5, %r3, %r4;
        st.global.u32 [%rd1], %r5;
        ret;""", START + """
        add.s32 %r3, %r1, %r2;
        mul.lo.s32 %r5, %r3, %r3;
        st.global.u32 [%rd1], %r5;
        ret;""")
    assert ctx.remarks[0].args == {"instructions": 1, "loads": 0}


@pytest.mark.parametrize(("first", "second"), [
    ("sub.s32 %r3, %r1, %r2;", "sub.s32 %r4, %r2, %r1;"),
    ("shl.b32 %r3, %r1, %r2;", "shl.b32 %r4, %r2, %r1;"),
    ("add.s32 %r3, %r1, 1;", "add.s32 %r4, %r1, 2;"),
    ("add.s32 %r3, %r1, %r2;", "add.u32 %r4, %r1, %r2;"),
    ("max.s32 %r3, %r1, %r2;", "max.u32 %r4, %r1, %r2;"),
    ("add.rn.f32 %f3, %f1, %f2; mov.b32 %r3, %f3;",
     "add.rz.f32 %f4, %f1, %f2; mov.b32 %r4, %f4;"),
    ("@%p1 add.s32 %r3, %r1, %r2;", "@!%p1 add.s32 %r4, %r1, %r2;"),
    ("add.s32 %r3, %r1, %r2;", "@%p1 add.s32 %r4, %r1, %r2;"),
    ("mov.u32 %r3, %clock;", "mov.u32 %r4, %clock;"),
    ("mov.u32 %r3, 7;", "mov.u32 %r4, 7;"),
    ("shfl.sync.idx.b32 %r3, %r1, 0, 31, -1;", "shfl.sync.idx.b32 %r4, %r1, 0, 31, -1;"),
    ("activemask.b32 %r3;", "activemask.b32 %r4;"),
    ("vote.sync.ballot.b32 %r3, %p1, -1;", "vote.sync.ballot.b32 %r4, %p1, -1;"),
    ("atom.global.add.u32 %r3, [%rd1], 1;", "atom.global.add.u32 %r4, [%rd1], 1;"),
    ("call (%r3), callee, (%r1);", "call (%r4), callee, (%r1);"),
    ("frobnicate.u32 %r3, %r1;", "frobnicate.u32 %r4, %r1;"),
    ("ld.volatile.global.u32 %r3, [%rd1];", "ld.volatile.global.u32 %r4, [%rd1];"),
    ("ld.global.u32 %r3, [%rd1];", "ld.global.u32 %r4, [%rd1+4];"),
    ("add.cc.u32 %r3, %r1, %r2; addc.u32 %r3, %r3, 0;",
     "add.cc.u32 %r4, %r1, %r2; addc.u32 %r4, %r4, 0;"),
])
def test_what_may_differ_is_not_merged(check, first, second):
    check("gvn", START + f"""
        ld.global.v2.f32 {{%f1, %f2}}, [%rd2+64];
        {first}
        {second}
        st.global.u32 [%rd1], %r3;
        st.global.u32 [%rd1+4], %r4;
        ret;""")


def test_operands_are_compared_by_number(check):
    check("gvn", START + """
        add.s32 %r3, %r1, %r2;
        add.s32 %r4, %r1, %r2;
        shl.b32 %r5, %r3, 2;
        shl.b32 %r6, %r4, 2;
        sub.s32 %r7, %r6, %r5;
        st.global.u32 [%rd1], %r7;
        ret;""", START + """
        add.s32 %r3, %r1, %r2;
        shl.b32 %r5, %r3, 2;
        sub.s32 %r7, %r5, %r5;
        st.global.u32 [%rd1], %r7;
        ret;""")


def test_equal_guards_and_fallbacks_are_part_of_the_key(check):
    check("gvn", START + """
        mov.u32 %r3, %r1;
        @%p1 add.s32 %r3, %r1, %r2;
        mov.u32 %r4, %r1;
        @%p1 add.s32 %r4, %r1, %r2;
        sub.s32 %r7, %r3, %r4;
        st.global.u32 [%rd1], %r7;
        ret;""", START + """
        mov.u32 %r3, %r1;
        @%p1 add.s32 %r3, %r1, %r2;
        sub.s32 %r7, %r3, %r3;
        st.global.u32 [%rd1], %r7;
        ret;""")


def test_another_fallback_is_another_value(check):
    check("gvn", START + """
        add.s32 %r3, %r1, 5;
        @%p1 add.s32 %r3, %r1, %r2;
        add.s32 %r4, %r1, 6;
        @%p1 add.s32 %r4, %r1, %r2;
        sub.s32 %r7, %r3, %r4;
        st.global.u32 [%rd1], %r7;
        ret;""")


DIAMOND = START + """
        {before}
        @%p1 bra ELSE;
        {then}
        bra.uni END;
        ELSE:
        {other}
        END:
        {after}
        ret;"""


def test_a_dominating_block_gives_its_value(check):
    parts = {"before": "add.s32 %r3, %r1, %r2;", "other": "", "after": ""}
    check("gvn",
          DIAMOND.format(then="add.s32 %r4, %r2, %r1; st.global.u32 [%rd1], %r4;", **parts),
          DIAMOND.format(then="st.global.u32 [%rd1], %r3;", **parts))


def test_siblings_and_what_follows_them_do_not(check):
    check("gvn", DIAMOND.format(
        before="",
        then="add.s32 %r3, %r1, %r2; st.global.u32 [%rd1], %r3;",
        other="add.s32 %r4, %r1, %r2; st.global.u32 [%rd1+4], %r4;",
        after="add.s32 %r5, %r1, %r2; st.global.u32 [%rd1+8], %r5;"))


def test_a_sibling_does_not_hide_the_value_of_a_dominator(check):
    """The entry's value holds again after a subtree is done."""
    same = "add.s32 %r{}, %r1, %r2; st.global.u32 [%rd1], %r{};"
    kept = "st.global.u32 [%rd1], %r3;"
    check("gvn",
          DIAMOND.format(before=same.format(3, 3), then=same.format(4, 4),
                         other=same.format(5, 5), after=same.format(6, 6)),
          DIAMOND.format(before=same.format(3, 3), then=kept, other=kept, after=kept))


def test_equal_phis_of_a_block_are_one(check):
    check("gvn", DIAMOND.format(
        before="", then="mov.u32 %r5, %r1; mov.u32 %r6, %r1;",
        other="mov.u32 %r5, %r2; mov.u32 %r6, %r2;",
        after="sub.s32 %r7, %r5, %r6; st.global.u32 [%rd1], %r7;"),
        DIAMOND.format(
        before="", then="mov.u32 %r5, %r1;", other="mov.u32 %r5, %r2;",
        after="sub.s32 %r7, %r5, %r5; st.global.u32 [%rd1], %r7;"))


COUNTERS = """
        mov.u32 %r3, {start};
        mov.u32 %r4, {other};
    L:  add.s32 %r3, %r3, {step};
        add.s32 %r4, %r4, {next};
        add.s32 %r5, %r3, %r4;
        st.global.u32 [%rd1], %r5;
        setp.lt.s32 %p2, %r3, %r1;
        @%p2 bra L;
        ret;"""
SAME = {"start": "%r2", "other": "%r2", "step": "2", "next": "2"}


@pytest.mark.parametrize(("changed", "phis"), [
    ({}, 1), ({"step": "%r2", "next": "%r2"}, 1), ({"other": "%r1"}, 2), ({"next": "4"}, 2),
    ({"next": "%r1"}, 2), ({"step": "%clock", "next": "%clock"}, 2)])
def test_counters_that_begin_and_step_alike_are_one(changed, phis):
    """As LLVM's unroller leaves two."""
    m = nvir.read_ptx(body(START + COUNTERS.format(**SAME | changed)))
    nvir.run_passes(m, "copy-prop,gvn,dce", verify=True)
    assert sum(i.form.is_phi for i in m.kernels[0].instructions()) == phis


def test_phis_of_other_values_stay(check):
    check("gvn", DIAMOND.format(
        before="", then="add.s32 %r5, %r1, 1; add.s32 %r6, %r2, 1;",
        other="add.s32 %r5, %r2, 1; add.s32 %r6, %r1, 1;",
        after="sub.s32 %r7, %r5, %r6; st.global.u32 [%rd1], %r7;"))


# ------------------------------------------------------------------ memory

LOADS = START + """
        ld.global.u32 %r3, [%rd1];
        {between}
        ld.global.u32 %r4, [%rd1];
        sub.s32 %r7, %r3, %r4;
        st.global.u32 [%rd2], %r7;
        ret;"""
ONE_LOAD = START + """
        ld.global.u32 %r3, [%rd1];
        {between}
        sub.s32 %r7, %r3, %r3;
        st.global.u32 [%rd2], %r7;
        ret;"""


@pytest.mark.parametrize("between", ["", "add.s32 %r9, %r1, 3; mul.lo.s32 %r9, %r9, %r9;",
                                     "ld.global.u32 %r9, [%rd2];"])
def test_a_load_is_one_while_memory_is_untouched(check, between):
    keep = " st.global.u32 [%rd2+4], %r9;" if "%r9" in between else ""
    before, after = (t.replace("%r7;\n", "%r7;" + keep + "\n") for t in (LOADS, ONE_LOAD))
    check("gvn", before.format(between=between), after.format(between=between))


@pytest.mark.parametrize("between", [
    "st.global.u32 [%rd2], %r1;", "st.shared.u32 [tile], %r1;", "bar.sync 0;", "membar.gl;",
    "red.global.add.u32 [%rd2], 1;", "call (%r9), callee, (%r1);", "frobnicate.u32 %r9, %r1;",
    "cp.async.wait_all;", "ld.acquire.gpu.global.u32 %r9, [%rd2];",
])
def test_a_load_is_read_again_after(check, between):
    """And a remark says what stood in the way."""
    ctx = check("gvn", LOADS.format(between=between))
    (remark,) = ctx.remarks.filter(kind="missed")
    assert remark.name == "Clobbered"
    assert remark.args["load"] == "ld.global.u32"
    line = remark.args["first"]
    assert remark.line == line + 2
    if not between.startswith(("call", "frob")):
        assert remark.args["cause"] == f"{between.split()[0].rstrip(';')} at line {line + 1}"


def test_loads_follow_a_single_predecessor_and_stop_at_a_join(check):
    load = "ld.global.u32 %r{0}, [%rd1]; st.global.u32 [%rd2], %r{0};"
    first = "ld.global.u32 %r3, [%rd1];"
    use = "st.global.u32 [%rd2], %r3;"
    check("gvn",
          DIAMOND.format(before=first, then=load.format(4), other=load.format(5),
                         after=load.format(6) + use),
          DIAMOND.format(before=first, then=use, other=use, after=load.format(6) + use))


def test_a_loop_reads_memory_again(check):
    ctx = check("gvn", START + """
        ld.global.u32 %r3, [%rd1];
        LOOP:
        ld.global.u32 %r4, [%rd1];
        add.s32 %r3, %r3, %r4;
        st.global.u32 [%rd2], %r3;
        setp.lt.s32 %p2, %r3, 90;
        @%p2 bra LOOP;
        ret;""")
    assert [r.args["cause"] for r in ctx.remarks] == ["other paths"]


@pytest.mark.parametrize("load", ["ld.global.nc.u32 {}, [%rd1];", "ld.const.u32 {}, [table+8];",
                                  "ld.param.u32 {}, [n];"])
def test_what_no_store_can_change_is_one(check, load):
    one, two = load.format("%r3"), load.format("%r4")
    check("gvn", START + f"""
        {one}
        st.global.u32 [%rd2], %r1;
        bar.sync 0;
        {two}
        sub.s32 %r7, %r3, %r4;
        st.global.u32 [%rd2], %r7;
        ret;""", START + f"""
        {one}
        st.global.u32 [%rd2], %r1;
        bar.sync 0;
        sub.s32 %r7, %r3, %r3;
        st.global.u32 [%rd2], %r7;
        ret;""")


def test_results_of_calls_are_memory_of_their_own(check):
    """`ld.param` of a call's result is no parameter of the kernel."""
    call = """
        {{ .param .b32 out;
        call (out), other, ();
        ld.param.b32 {}, [out]; }}"""
    text = body(START + call.format("%r3") + call.format("%r4") + """
        sub.s32 %r7, %r3, %r4;
        st.global.u32 [%rd2], %r7;
        ret;""")
    other = ".extern .func (.param .b32 o) other();"
    module = nvir.read_ptx(text.replace(".visible", f"{other}\n.visible", 1))
    assert not Driver(Settings()).run(module, "gvn").remarks.filter(kind="passed")


def test_loads_may_be_left_alone(check):
    check("gvn<no-loads>", LOADS.format(between=""))


def test_a_wider_destination_is_another_value():
    """Under the relaxed width rules one spelling may fill registers of two classes."""
    f = function(START + """
        ld.global.nc.u8 %rs1, [%rd1];
        ld.global.nc.u8 %r3, [%rd1];
        st.global.u16 [%rd2], %rs1;
        st.global.u32 [%rd2+4], %r3;
        ret;""")
    assert not Driver(Settings()).run(f.module, "gvn").remarks


def test_values_that_wgmma_holds_in_place_stay(check):
    """Two accumulators that start equal are two registers."""
    check("gvn", START + """
        cvt.rn.f32.s32 %f1, %r1; cvt.rn.f32.s32 %f2, %r1;
        cvt.rn.f32.s32 %f3, %r1; cvt.rn.f32.s32 %f4, %r1;
        wgmma.fence.sync.aligned;
        wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16
            {%f1, %f2, %f3, %f4}, %rd1, %rd1, 1, 1, 1, 0, 0;
        wgmma.commit_group.sync.aligned;
        wgmma.wait_group.sync.aligned 0;
        st.global.v4.f32 [%rd1], {%f1, %f2, %f3, %f4};
        ret;""")


def test_the_walk_needs_no_deep_recursion():
    """A dominator tree as deep as there are blocks."""
    n = 3000
    blocks = "".join(
        f"@%p1 bra L{k}; add.s32 %r4, %r1, {k}; st.global.u32 [%rd1], %r4; L{k}:\n"
        for k in range(n)
    )
    f = function(START + blocks + "ret;")
    Driver(Settings()).run(f.module, "gvn")
