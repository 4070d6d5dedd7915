"""gemm-pipeline with bulk copies: what is proven, what runs the same, what the checks notice."""

from __future__ import annotations

import re
from pathlib import Path

import attrs
import numpy as np
import pytest

import nvir
from nvir import toolchain
from nvir.analysis.affine import AffineForms
from nvir.ir.errors import LaunchError
from nvir.ir.loops import natural_loops
from nvir.passes.loop.tiles.bulk import LEAST_ROW, Why
from nvir.passes.loop.tiles.multistage import PIPELINED
from nvir.passes.loop.tiles.thread_forms import LaneForms
from tests.gemm_kernels import Shape, expected, run, tile_case, tile_kernel

EXAMPLES = Path(__file__).parents[2] / "examples" / "ptx"
LATE = {"GemmPipelinerDependenciesPopbl": True}
PLAIN = Shape(fixed=True, pointed=True, target="sm_90")
BULK = "cp.async.bulk"


@pytest.fixture(autouse=True)
def unsimulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """The predicted cycles are the matter of test_gemm_pipeline.py, and most of the time."""
    monkeypatch.setattr("nvir.passes.loop.tiles.gemm_pipeline.cycles", lambda *_: None)


def applied(text: str, stages: int = 3, options: str = "", **kw):
    module = nvir.read_ptx(text)
    remarks = nvir.run_passes(module, f"gemm-pipeline<stages={stages}{options}>", verify=True, **kw)
    assert any(r.name == "GemmPipelined" for r in remarks), list(map(str, remarks))
    return module, remarks


def rows(remarks):
    """(tile, copies a stage, bytes of each)"""
    return [(r.args["tile"], r.args["copies"], r.args["bytes"]) for r in remarks
            if r.name == "GemmBulk"]


def reasons(remarks):
    return {r.args["tile"]: r.args["reason"] for r in remarks if r.name == "GemmNotBulk"}


def counts(module, kernel: str = "k"):
    names = [i.form.name for i in module[kernel].instructions()]
    return {n: names.count(n) for n in names if "async" in n or n.startswith("mbarrier")}


def edited(*edits: tuple[str, str], shape: Shape = PLAIN) -> str:
    text = tile_kernel(shape)
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    return text


def gemm_tile() -> str:
    """The example with its block declared: rows of b are 128 floats, of a 8."""
    text = (EXAMPLES / "gemm_tile.sm_90.ptx").read_text()
    assert ".maxntid 256, 1, 1" in text
    return text.replace(".maxntid", ".reqntid")


# --------------------------------------------------------------- what is proven


def test_adjoining_rows_are_one_copy():
    module, remarks = applied(tile_kernel(PLAIN))
    assert rows(remarks) == [("ta", 1, 128), ("tb", 1, 128)]
    assert not reasons(remarks)
    found = counts(module)
    assert "cp.async" not in found  # no copies of threads are left, so no groups
    assert "cp.async.wait_group" not in found
    assert (found["mbarrier.init"], found["mbarrier.try_wait"]) == (3, 1)
    assert found[BULK] == 2 * 3  # two stages of the prologue and the kernel
    (made,) = [r for r in remarks if r.name == "GemmPipelined"]
    assert made.args["shared"] == 3 * (128 + 128 + 8)


def test_rows_with_gaps_are_a_copy_each():
    """Thread t stores word t % 16 of row t / 16; rows are 80 bytes apart, in memory 64 · lda."""
    text = edited(
        ("ta[128]", "ta[256]"),
        ("mad.lo.s32 %r6, %r3, 4, %r4;",
         "and.b32 %r91, %r3, 15; shr.u32 %r92, %r3, 4; mul.lo.s32 %r6, %r92, 80;"
         "mad.lo.s32 %r6, %r91, 4, %r6; add.s32 %r6, %r6, %r4;"),
        ("mul.wide.s32 %rd4, %r3, 4; add.s64 %rd5",
         "shl.b32 %r93, %r2, 6; mul.wide.u32 %rd4, %r92, %r93; mul.wide.u32 %rd30, %r91, 4;"
         "add.s64 %rd4, %rd4, %rd30; add.s64 %rd5"),
    )
    _, remarks = applied(text)
    assert rows(remarks) == [("ta", 2, 64), ("tb", 1, 128)]


def test_one_tile_in_bulk_and_one_by_threads():
    module, remarks = applied(gemm_tile())
    assert [x[1:] for x in rows(remarks)] == [(8, 512)]
    (why,) = reasons(remarks).values()
    assert why == Why.SHORT.text(32)
    found = counts(module, "gemm_tile")
    assert found["cp.async"] == found[BULK] == 3
    assert found["cp.async.wait_group"] == 1


def test_the_dump_tells_rows(capsys):
    applied(tile_kernel(attrs.evolve(PLAIN, copies=2)), options=";dump")
    said = "  in bulk  ta  2 x 128 bytes a stage, a row of 32 threads each\n"
    assert said in capsys.readouterr().err


def test_an_option_keeps_copies_of_threads():
    module, remarks = applied(tile_kernel(PLAIN), options=";no-bulk")
    assert not rows(remarks)
    assert not reasons(remarks)
    assert BULK not in counts(module)


def test_machines_without_the_engine_have_no_bulk_copies():
    module, remarks = applied(tile_kernel(attrs.evolve(PLAIN, target="sm_80")))
    assert not rows(remarks)
    assert not reasons(remarks)
    assert BULK not in counts(module)


COUNT = "mul.wide.s32 %rd6, %r3, 4; add.s64 %rd7, %rd2, %rd6;"
# reason -> (shape, edits); what is said of tile b in the plain kernel
REFUSED = {
    Why.BLOCK: (attrs.evolve(PLAIN, fixed=False), []),
    Why.NESTED: (attrs.evolve(PLAIN, nested=True), []),
    Why.BRANCHES: (attrs.evolve(PLAIN, guard="phi"), []),
    Why.APART: (PLAIN, [("mov.u32 %r9, 0;", "mov.u32 %r9, 0; setp.gt.u32 %p9, %r3, 40;"
                         " @%p9 st.global.u32 [%rd3], %r9; @%p9 bra DONE;")]),
    Why.ROOM: (PLAIN, [("tb[128]", "tb[9696]")]),  # five stages leave 32 bytes of 48 KB
    Why.GUARD: (PLAIN, [("ld.global.u32 %r60, [%rd7];", "setp.lt.u32 %p9, %r3, %r2;"
                         " mov.u32 %r60, 0; @%p9 ld.global.u32 %r60, [%rd7];")]),
    Why.ADDRESS: (PLAIN, [(COUNT, "add.s32 %r91, %r3, %r2; mul.wide.s32 %rd6, %r91, 4;"
                           " add.s64 %rd7, %rd2, %rd6;")]),
    Why.ROWS: (PLAIN, [(COUNT, "mul.wide.s32 %rd6, %r3, 8; add.s64 %rd7, %rd2, %rd6;")]),
    Why.SIZE: (PLAIN, [(COUNT, "rem.u32 %r91, %r3, 2; shr.u32 %r92, %r3, 1; shl.b32 %r92, %r92, 8;"
                        " mad.lo.s32 %r91, %r91, 4, %r92; cvt.u64.u32 %rd6, %r91;"
                        " add.s64 %rd7, %rd2, %rd6;")]),
    Why.SHORT: (PLAIN, [(COUNT, "and.b32 %r91, %r3, 7; shr.u32 %r92, %r3, 3; shl.b32 %r92, %r92, 8;"
                         " mad.lo.s32 %r91, %r91, 4, %r92; cvt.u64.u32 %rd6, %r91;"
                         " add.s64 %rd7, %rd2, %rd6;")]),
    Why.ALIGNMENT: (attrs.evolve(PLAIN, pointed=False), []),
}


def test_every_reason_is_tested():
    assert set(REFUSED) == set(Why) - {Why.KERNEL}  # `.reqntid` is a kernel's alone


@pytest.mark.parametrize("why", REFUSED, ids=lambda w: w.name)
def test_what_is_not_proven_is_copied_by_threads_and_says_why(why):
    shape, edits = REFUSED[why]
    module, remarks = applied(edited(*edits, shape=shape), 5 if why is Why.ROOM else 3)
    said = reasons(remarks)["tb"]
    assert re.fullmatch(re.escape(why.text("~")).replace("\\~", ".+").replace("~", ".+"), said)
    assert counts(module)["cp.async"]


@pytest.mark.parametrize(("step", "proven"), [(16, True), (8, False), (24, False), (-32, True)])
def test_every_iteration_is_aligned_if_start_and_step_are(step, proven):
    text = edited(("add.s64 %rd7, %rd7, 128;", f"add.s64 %rd7, %rd7, {step};"))
    _, remarks = applied(text)
    assert ("tb" in reasons(remarks)) != proven


def test_an_access_of_16_bytes_is_aligned_to_them():
    _, remarks = applied(tile_kernel(attrs.evolve(PLAIN, pointed=False, vector=4)))
    assert rows(remarks) == [("ta", 1, 512)]


def test_a_branch_that_all_threads_take_alike_does_no_harm():
    text = edited(("mov.u32 %r9, 0;", "mov.u32 %r9, 0; setp.gt.s32 %p9, %r1, 40; @%p9 bra DONE;"))
    assert len(rows(applied(text)[1])) == 2


def test_warps_that_leave_earlier_would_be_missed():
    """The loop's count depends on tid.y: a warp has one, the block has two."""
    text = edited((".reqntid 32 ", ".reqntid 32, 2 "), ("ta[128]", "ta[256]"),
                  ("mov.u32 %r3, %tid.x;", "mov.u32 %r3, %tid.x; mov.u32 %r92, %tid.y;"
                   "add.s32 %r91, %r1, %r92;"),
                  ("setp.lt.s32 %p2, %r22, %r1;", "setp.lt.s32 %p2, %r22, %r91;"))
    assert set(reasons(applied(text)[1]).values()) == {Why.APART.text()}


# ---------------------------------------------------------------- forms of threads

FORMS = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 .ptr .global .align 32 a, .param .u32 n)
.reqntid 8, 4
{ .reg .b32 %r<40>; .reg .b64 %rd<20>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [a]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x; mov.u32 %r3, %tid.y; mov.u32 %r4, %ctaid.x;
L: SOURCE
  st.global.u64 [%rd1], RESULT; bra L; }"""


def form_of(source: str, result: str):
    text = FORMS.replace("SOURCE", source).replace("RESULT", result)
    f = nvir.read_ptx(text)["k"]
    f.analyze_cfg()
    (loop,) = natural_loops(f)
    forms = LaneForms(f, loop.header, AffineForms(f), {})
    store = next(i for i in f.instructions() if i.form.name == "st")
    return forms.of(store.operands[-1])


X, Y = np.arange(32) % 8, np.arange(32) // 8


@pytest.mark.parametrize(("source", "own"), [
    ("mad.lo.s32 %r5, %r3, 8, %r2; cvt.u64.u32 %rd2, %r5;", 8 * Y + X),
    ("sub.s32 %r5, %r2, 4; cvt.s64.s32 %rd2, %r5;", X - 4),
    ("sub.s32 %r5, %r2, 4; cvt.u64.u32 %rd2, %r5;", (X - 4) % 2**32),
    ("sub.s32 %r5, %r2, 4; div.s32 %r6, %r5, 3; cvt.s64.s32 %rd2, %r6;",
     np.trunc((X - 4) / 3).astype(int)),
    ("sub.s32 %r5, %r2, 4; rem.s32 %r6, %r5, 3; cvt.s64.s32 %rd2, %r6;", np.fmod(X - 4, 3)),
    ("sub.s32 %r5, %r2, 4; shr.s32 %r6, %r5, 1; cvt.s64.s32 %rd2, %r6;", (X - 4) >> 1),
    ("sub.s32 %r5, %r2, 4; shr.u32 %r6, %r5, 30; cvt.s64.s32 %rd2, %r6;",
     ((X - 4) % 2**32) >> 30),
    ("shl.b32 %r5, %r2, 30; cvt.s64.s32 %rd2, %r5;",
     ((X << 30) % 2**32 + 2**31) % 2**32 - 2**31),
    ("xor.b32 %r5, %r2, %r3; mul.wide.u32 %rd2, %r5, 12;", 12 * (X ^ Y)),
], ids=str)
def test_what_is_made_of_the_thread_index_is_known(source, own):
    found = form_of(source, "%rd2")
    assert found.is_known
    assert list(found.own) == list(own)


def test_what_is_added_by_all_threads_alike_is_kept_apart():
    found = form_of("shl.b32 %r5, %r4, 5; or.b32 %r6, %r5, %r2; mul.wide.s32 %rd2, %r6, 4;"
                    "add.s64 %rd3, %rd1, %rd2;", "%rd3")
    assert (found.align, list(found.own), found.terms) == (32, list(4 * X), {})


@pytest.mark.parametrize("source", [
    "add.s32 %r5, %r2, %r1; cvt.s64.s32 %rd2, %r5;",  # may carry into the upper bits
    "mul.lo.s32 %r5, %r2, %r1; cvt.s64.s32 %rd2, %r5;",
    "ld.global.u32 %r5, [%rd1]; cvt.s64.s32 %rd2, %r5;",
    "shl.b32 %r5, %r4, 2; or.b32 %r6, %r5, %r2; cvt.s64.s32 %rd2, %r6;",  # bits overlap
    "mov.u32 %r5, %clock; cvt.s64.s32 %rd2, %r5;",
    "mov.u32 %r5, %laneid; cvt.s64.s32 %rd2, %r5;",
    "add.u16x2 %r5, %r2, %r4; cvt.s64.s32 %rd2, %r5;",  # no carry between the halves
    "setp.eq.s32 %p1, %r2, 0; selp.b32 %r5, 1, 0, %p1; cvt.s64.s32 %rd2, %r5;",
])
def test_what_may_wrap_or_is_loaded_is_not_known(source):
    assert form_of(source, "%rd2") is None


# ------------------------------------------------------------------ the same results


def same_for(shape: Shape, stages: int, late: bool = False, bulk: int = 1) -> None:
    module, remarks = applied(tile_kernel(shape), stages, knobs=LATE if late else None)
    assert len(rows(remarks)) >= bulk, reasons(remarks)
    for n in sorted({0, 1, stages - 1, stages, stages + 1, 2 * stages + 1}):
        np.testing.assert_array_equal(run(module, shape, n), expected(shape, n), f"{shape} {n}")


@pytest.mark.parametrize(("shape", "stages", "late"), [
    (PLAIN, 2, False), (attrs.evolve(PLAIN, threads=64, vector=4), 3, True),
    (attrs.evolve(PLAIN, copies=2, one=True, barriers="top", counter="down"), 4, False),
    (attrs.evolve(PLAIN, vector=4, pointed=False, math="loop", generic=True), 3, False),
], ids=repr)
def test_tile_kernels_do_what_they_did(shape, stages, late):
    same_for(shape, stages, late)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2000, 2040))
def test_more_tile_kernels_do_what_they_did(seed):
    case = tile_case(seed)
    shape = attrs.evolve(case, fixed=True, pointed=seed % 4 != 0, vector=max(case.vector, 1),
                         guard="none", looped=False, nested=False, target="sm_90")
    bulk = int(shape.pointed or shape.vector == 4)
    same_for(shape, 2 + seed % 5, seed % 3 == 0, bulk)


def test_gemm_tile_does_what_it_did():
    module, _ = applied(gemm_tile(), 2)
    rng = np.random.default_rng(0)
    for k in (8, 40):
        a = rng.integers(-3, 4, (128, k)).astype(np.float32)
        b = rng.integers(-3, 4, (k, 128)).astype(np.float32)
        c = np.ones((128, 128), np.float32)
        nvir.launch(module, "gemm_tile", 1, 256, [a, b, c, 128, 128, k],
                    check=("bounds", "race", "uninit"))
        np.testing.assert_array_equal(c, a @ b)


def test_fences_and_waits_are_complete():
    module, _ = applied(tile_kernel(PLAIN))
    before = nvir.print_ir(module)
    nvir.run_passes(module, "stage-and-fence")
    assert nvir.print_ir(module) == before


@pytest.mark.parametrize("others", [
    "loop-simplify,licm,gvn,copy-prop,dce", "loop-rotate,loop-unroll<force-factor=2>,loop-peel,dce",
])
def test_other_passes_may_follow(others):
    module = nvir.read_ptx(tile_kernel(PLAIN))
    nvir.run_passes(module, f"gemm-pipeline<stages=3>,{others}", verify=True)
    assert BULK in counts(module)
    for n in (0, 1, 7):
        np.testing.assert_array_equal(run(module, PLAIN, n), expected(PLAIN, n))


def test_another_pass_leaves_the_loop_alone():
    module, _ = applied(tile_kernel(PLAIN))
    again = nvir.read_ptx(nvir.print_ptx(module))
    remarks = nvir.run_passes(again, "gemm-pipeline<stages=4>", knobs={"OkToPipelineNoUnroll": 1})
    assert any(r.name == "GemmAsync" and r.args["bulk"] == 2 for r in remarks)
    np.testing.assert_array_equal(run(again, PLAIN, 5), expected(PLAIN, 5))


# ----------------------------------------------------------- the checks notice what is wrong


def broken(shape: Shape, stages: int, edit) -> str:
    """What the interpreter says of a pipelined kernel with one mistake."""
    module, _ = applied(tile_kernel(shape), stages)
    again = nvir.read_ptx(edit(nvir.print_ptx(module)))
    with pytest.raises(LaunchError) as e:
        run(again, shape, 9)
    return str(e.value)


def without(pattern: str):
    def edit(text: str) -> str:
        new, n = re.subn(pattern, "", text)
        assert n == 1, pattern
        return new

    return edit


@pytest.mark.parametrize("stages", [2, 3])
def test_a_missing_wait_for_a_phase_is_noticed(stages):
    """The loop around the wait goes, and who comes too early reads what is on its way."""
    said = broken(PLAIN, stages, without(r"\tmbarrier\.try_wait.*\n.*bra.*;\n"))
    assert "while an asynchronous copy to it is under way" in said


@pytest.mark.parametrize("stages", [2, 4])
def test_a_buffer_is_filled_again_behind_barrier_and_fence(stages):
    """The race check takes a wait for a phase as a barrier (nvir/interp/checks.py), so that the one
    that follows it is looked for here."""
    module, _ = applied(tile_kernel(attrs.evolve(PLAIN, threads=64)), stages)
    blocks = module["k"].blocks
    start = next(k for k, b in enumerate(blocks) if PIPELINED in b.flags)
    order = [i.form.name for b in blocks[start:] for i in b
             if i.form.sync or i.form.name in (BULK, "ld")]
    assert order[:7] == ["mbarrier.try_wait", "bar.sync", "fence.proxy", "mbarrier.arrive",
                         BULK, BULK, "ld"]


def test_a_ring_that_is_too_short_is_noticed():
    said = broken(PLAIN, 4, lambda text: text.replace(", 512;", ", 384;"))
    assert "under way" in said or "no barrier between" in said


def test_bytes_that_nobody_copies_leave_the_kernel_waiting():
    def edit(text: str) -> str:
        assert ", 256;" in text
        return re.sub(r"(expect_tx.*), 256;", r"\1, 272;", text)

    assert "waiting for an mbarrier" in broken(PLAIN, 3, edit)


# ------------------------------------------------------------------------ machine code


@pytest.mark.oracle
@pytest.mark.parametrize("arch", ["sm_90", "sm_100"])
def test_machine_code_copies_in_bulk(arch):
    shape = attrs.evolve(PLAIN, target=arch, threads=64)
    text = tile_kernel(shape).replace(".version 8.0", ".version 8.6")
    module, _ = applied(text)
    done = toolchain.ptxas(nvir.print_ptx(module), arch=arch)
    assert done.ok, done.log
    names = [i.name for i in toolchain.read_sass(toolchain.nvdisasm(done.cubin))["k"]]
    assert names.count("UBLKCP") == 6
    assert "LDGSTS" not in names
    assert "SYNCS" in names
    assert LEAST_ROW <= 64 * 4
