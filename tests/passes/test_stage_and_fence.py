"""Waits that asynchronous operations lack are put in; programs with their own are left alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import nvir
from nvir.ir.errors import VerifyError
from nvir.ir.verify import verify
from nvir.passes.driver import Driver, Settings
from nvir.passes.loop.stage_and_fence import (
    needs,
    put_in,
)
from nvir.passes.phases import phase
from nvir.toolchain import ptxas
from tests.equivalence import same_behaviour

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "ptx"
HEAD = """.version 8.0
.target {target}
.address_size 64
.shared .align 128 .b8 tile[4096];
.visible .entry k(.param .u64 a, .param .u64 o, .param .u32 n) {{
  .reg .pred %p<4>; .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .b64 %rd<12>;
  ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [o]; ld.param.u32 %r1, [n];
  cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2;
  mov.u32 %r2, tile; mov.u32 %r3, 0; mov.f32 %f1, 0f00000000; mov.u32 %r9, %tid.x;
  mov.b64 %rd5, 0;
LOOP:
{loop}
  add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r1; @%p1 bra LOOP;
  st.global.f32 [%rd2], %f1; ret;
}}
"""
COPY = "cp.async.ca.shared.global [%r2], [%rd1], 16;"
READ = "ld.shared.f32 %f2, [%r2]; add.f32 %f1, %f1, %f2;"
OTHER = "ld.shared.f32 %f2, [%r2+1024]; add.f32 %f1, %f1, %f2;"
UNKNOWN = "ld.shared.f32 %f2, [%r4]; add.f32 %f1, %f1, %f2;"


def module(loop: str, target: str = "sm_80") -> nvir.Module:
    return nvir.read_ptx(HEAD.format(loop=loop, target=target))


def fenced(loop: str, target: str = "sm_80") -> tuple[list[str], Any, nvir.Module]:
    """The waits and accesses of the loop afterwards, the context, the module."""
    m = module(loop, target)
    ctx = Driver(Settings(verify_each=True, check=True)).run(m, "stage-and-fence")
    body = m.functions[0].blocks[1]
    wanted = ("cp.", "ld", "st", "bar", "wgmma", "fence", "mbarrier")
    return [str(i.form.name) for i in body if i.form.name.startswith(wanted)], ctx, m


@pytest.mark.seed("REL-02")
def test_it_models_phase_25():
    assert phase(25).name == "StageAndFence"
    assert phase(25).passes == ("stage-and-fence",)


def test_a_copy_that_nobody_waits_for():
    names, ctx, m = fenced(COPY + READ)
    assert names == ["cp.async", "cp.async.wait_all", "ld"]
    assert [r.name for r in ctx.remarks] == ["Fenced"]
    assert needs(m.functions[0]) == []  # once is enough


def test_the_wait_stands_before_the_barrier_on_the_way():
    """Other threads read behind the barrier what this one copied: its wait has to precede it."""
    names, _, _ = fenced(COPY + "bar.sync 0;" + READ + "bar.sync 0;")
    assert names == ["cp.async", "cp.async.wait_all", "bar.sync", "ld", "bar.sync"]


def test_a_commit_without_a_wait():
    names, _, _ = fenced(COPY + "cp.async.commit_group;" + READ)
    assert names == ["cp.async", "cp.async.commit_group", "cp.async.wait_all", "ld"]


def test_a_wait_for_groups_without_a_commit_waits_for_nothing():
    names, _, _ = fenced(COPY + "cp.async.wait_group 0;" + READ)
    assert names == ["cp.async", "cp.async.wait_group", "cp.async.wait_all", "ld"]


@pytest.mark.parametrize("waits", [
    "cp.async.wait_all;", "cp.async.commit_group; cp.async.wait_group 0;",
    "cp.async.commit_group; cp.async.wait_group 1;",
])
def test_a_program_with_its_waits_stays(waits):
    names, ctx, _ = fenced(COPY + waits + READ)
    assert names.count("cp.async.wait_all") == waits.count("wait_all")
    assert [r.name for r in ctx.remarks] == ["FencesInPlace"]


def test_other_bytes_need_no_wait():
    assert "cp.async.wait_all" not in fenced(COPY + OTHER)[0]


def test_unknown_bytes_need_one_where_nothing_waits():
    assert "cp.async.wait_all" in fenced("mad.lo.u32 %r4, %r9, %r9, %r2;" + COPY + UNKNOWN)[0]


def test_unknown_bytes_are_believed_where_the_program_waits():
    """Stages: the copy fills one buffer while another is read; the wait stands at the top."""
    loop = ("cp.async.wait_group 0; mad.lo.u32 %r4, %r9, %r9, %r2;" + COPY
            + "cp.async.commit_group;" + UNKNOWN)
    assert fenced(loop)[1].remarks[0].name == "FencesInPlace"


def test_the_same_bytes_one_iteration_later_are_believed_too():
    loop = READ + COPY + "cp.async.commit_group; cp.async.wait_group 0;"
    assert fenced(loop)[1].remarks[0].name == "FencesInPlace"
    assert "cp.async.wait_all" in fenced(READ + COPY + "cp.async.commit_group;")[0]


def test_a_function_without_a_loop_is_left():
    text = HEAD.format(loop=COPY + READ, target="sm_80").replace("@%p1 bra LOOP;", "")
    m = nvir.read_ptx(text)
    ctx = Driver(Settings(verify_each=True, check=True)).run(m, "stage-and-fence")
    assert list(ctx.remarks) == []


# ---------------------------------------------------------------- products and proxies

D = "{%f4, %f5, %f6, %f7}"
MMA = (
    f"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {D}, %rd5, %rd5, 1, 1, 1, 0, 0;"
)
SET = "mov.f32 %f4, %f1; mov.f32 %f5, %f1; mov.f32 %f6, %f1; mov.f32 %f7, %f1;"


def test_a_product_that_is_read_under_way():
    """The verifier refuses such code too, so a pass that makes it asks here first."""
    m = module(SET + "wgmma.fence.sync.aligned;" + MMA + "add.f32 %f1, %f1, %f4;", "sm_90a")
    with pytest.raises(VerifyError, match="in use until"):
        verify(m)
    (need,) = needs(m.functions[0])
    assert need.why == "the product is read while it is under way"
    assert need.before.form.name == "add"
    put_in(need)
    verify(m)
    names = [i.form.name for i in m.functions[0].blocks[1] if i.form.name.startswith("wgmma")]
    assert names == ["wgmma.fence", "wgmma.mma_async", "wgmma.commit_group", "wgmma.wait_group"]


def test_a_product_that_is_waited_for():
    loop = (SET + "wgmma.fence.sync.aligned;" + MMA + "wgmma.commit_group.sync.aligned;"
            "wgmma.wait_group.sync.aligned 0; add.f32 %f1, %f1, %f4;")
    assert fenced(loop, "sm_90a")[1].remarks[0].name == "FencesInPlace"


def test_ordinary_stores_that_a_product_reads():
    loop = ("st.shared.f32 [%r2], %f1; bar.sync 0;" + SET + "wgmma.fence.sync.aligned;" + MMA
            + "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
            "add.f32 %f1, %f1, %f4;")
    names, _, m = fenced(loop, "sm_90a")
    assert names[:3] == ["st", "fence.proxy", "bar.sync"]
    assert needs(m.functions[0]) == []
    assert "fence.proxy" not in fenced(
        loop.replace("bar.sync", "fence.proxy.async; bar.sync", 1), "sm_90a"
    )[0][2:]


def test_a_copy_on_an_mbarrier_is_remarked():
    loop = ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
            " [%r2], [%rd1], 16, [%r2+1024];" + READ)
    names, ctx, _ = fenced(loop, "sm_90")
    assert names == ["cp.async.bulk", "ld"]
    assert ctx.remarks[0].name == "NoPhaseKnown"
    waited = loop.replace(
        READ, "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2+1024], %r3;" + READ
    )
    assert fenced(waited, "sm_90")[1].remarks[0].name == "FencesInPlace"


# ---------------------------------------------------------------- whole programs


@pytest.mark.parametrize("name", ["gemm_cp_async.sm_80", "warp_specialised.sm_90",
                                  "triton_matmul.sm_80"])
def test_real_programs_have_their_waits(name):
    m = nvir.read_ptx(EXAMPLES / f"{name}.ptx")
    for f in m.functions:
        if f.blocks:
            f.analyze_cfg()
            assert needs(f) == []


@pytest.mark.parametrize("behind", ["", "bar.sync 0;", "cp.async.commit_group;"])
def test_the_program_computes_what_one_with_waits_does(behind):
    """The interpreter copies as late as it may: without the wait the old bytes are read."""
    right = module(COPY + "cp.async.wait_all; bar.sync 0;" + READ + "bar.sync 0;")
    wrong = module(COPY + behind + READ + "bar.sync 0;")
    with pytest.raises(AssertionError, match="differs"):
        same_behaviour(right, wrong, "k")
    Driver(Settings(verify_each=True, check=True)).run(wrong, "stage-and-fence")
    assert same_behaviour(right, wrong, "k")


@pytest.mark.oracle
def test_what_is_put_in_assembles():
    stores = ("st.shared.f32 [%r2], %f1; bar.sync 0;" + SET + "wgmma.fence.sync.aligned;" + MMA
              + "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
              "add.f32 %f1, %f1, %f4;")
    for loop, target in ((COPY + "bar.sync 0;" + READ + "bar.sync 0;", "sm_80"),
                         (stores, "sm_90a")):
        _, _, m = fenced(loop, target)
        assert ptxas(nvir.print_ptx(m), arch=target).cubin
