"""The pass loop-pipeline: when it pipelines, why not, and what the assembler keeps of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import nvir
from nvir import toolchain
from nvir.cli import main
from nvir.ir.instruction import Instruction
from nvir.ir.opcodes.form import form
from nvir.passes.knobs import all_knobs
from nvir.passes.loop.pipeline import loop_pipeline
from nvir.passes.loop.pipeline.body import by_times
from nvir.passes.loop.pipeline.choice import body_of
from nvir.passes.loop.pipeline.expand import PIPELINED
from nvir.passes.loop.pipeline.feasible import Feasibility, Obstacle, annotate, check
from nvir.passes.remarks import Remark
from nvir.report.schedule.readback import promised_rounds, read_back, readback_remarks
from nvir.sm import profile

EXAMPLES = Path(__file__).parents[2] / "examples" / "ptx"
HEADER = """.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) g(.param .b32 x);
.extern .shared .align 16 .b8 s[];
.visible .entry k(.param .u64 a, .param .u64 o, .param .u32 n) {
.reg .pred %p<20>; .reg .b32 %r<40>; .reg .f32 %f<19>; .reg .b64 %rd<30>;
ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [o]; ld.param.u32 %r1, [n];
cvta.to.global.u64 %rd1, %rd1; cvta.to.global.u64 %rd2, %rd2;
mov.u32 %r2, 0; mov.u32 %r3, 0; mov.u32 %r20, %tid.x; mov.f32 %f1, 0f00000000;
"""
LOAD = """mul.wide.u32 %rd3, %r2, 4; add.s64 %rd4, %rd1, %rd3; ld.global.nc.u32 %r5, [%rd4];
add.u32 %r3, %r3, %r5;
"""
STEP = "add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r1; @%p1 bra L;\n"
END = "st.global.u32 [%rd2], %r3; ret; }\n"


def text_of(body: str = LOAD, step: str = STEP, label: str = "L:") -> str:
    return HEADER + f"{label}\n" + body + step + END


def remarks_of(text: str, options: str = "<force>", **given: object) -> list[Remark]:
    module = nvir.read_ptx(text)
    found = nvir.run_passes(module, f"loop-pipeline{options}", verify=True, **given)
    return [r for r in found if r.pass_name == "loop-pipeline" and r.kind != "analysis"]


REFUSED: dict[Obstacle, str] = {
    Obstacle.NOT_INNERMOST: text_of("mov.u32 %r9, 0;\nI:\n" + LOAD +
                                  "add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 3; @%p2 bra I;\n"),
    Obstacle.SEVERAL_BLOCKS: text_of(LOAD + "setp.eq.u32 %p2, %r3, 7; @%p2 bra M; "
                                   "add.u32 %r3, %r3, 1;\nM:\n"),
    Obstacle.EARLY_EXIT: text_of(LOAD + "setp.eq.u32 %p2, %r5, 7; @%p2 bra X;\n",
                               STEP + "X:\n"),
    Obstacle.PRAGMA: text_of(label="L: .pragma \"nounroll\";"),
    Obstacle.UNKNOWN: text_of(LOAD + "frobnicate.u32 %r9, %r5;\n"),
    Obstacle.BARRIER: text_of(LOAD + "bar.sync 0;\n"),
    Obstacle.CALL: text_of(LOAD + "{ .param .b32 q; .param .b32 v; st.param.b32 [q], %r5; "
                         "call (v), g, (q); ld.param.b32 %r9, [v]; }\n"),
    Obstacle.CONVERGENT: text_of(LOAD + "shfl.sync.down.b32 %r9, %r5, 1, 31, -1; "
                               "add.u32 %r3, %r3, %r9;\n", STEP.replace("%r1;", "%r20;")),
    Obstacle.PINNED: text_of(LOAD + "ld.relaxed.gpu.global.u32 %r9, [%rd2];\n"),
    Obstacle.ASYNC: text_of(LOAD + "cp.async.commit_group;\n"),
    Obstacle.TEST: text_of(step="add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r3, %r1; @%p1 bra L;\n"),
    Obstacle.NO_LOAD: text_of("ld.shared.u32 %r5, [s]; add.u32 %r3, %r3, %r5;\n"),
    Obstacle.RECURRENCE: text_of("ld.global.u64 %rd1, [%rd1]; add.u32 %r3, %r3, 1;\n"),
    Obstacle.SHORT: text_of(step=STEP.replace("%r1;", "1;")),
    Obstacle.NOT_COPIED: text_of(LOAD + "add.cc.u32 %r8, %r5, %r3;\n").replace(
        END, "addc.u32 %r9, %r8, 0; st.global.u32 [%rd2+4], %r9;\n" + END),
    Obstacle.TEMPLATE: text_of(LOAD + "vadd4.u32.u32.u32 %r9, %r5, %r3, %r3;\n"),
}


@pytest.mark.seed("SWP-04", "SWP-06", "SWP-14", "SWP-17", "GAP-23")
@pytest.mark.parametrize("reason", REFUSED, ids=lambda r: r.name)
def test_each_reason(reason: Obstacle) -> None:
    options = "<depth=2;force>" if reason is Obstacle.RECURRENCE else "<force>"
    names = [r.name for r in remarks_of(REFUSED[reason], options)]
    code = loop_pipeline.NOT_PIPELINED[reason]
    assert code.name in names
    if reason is not Obstacle.NOT_INNERMOST:
        assert "Pipelined" not in names


def test_the_list_of_reasons_is_closed() -> None:
    """Each reason has a test: here, or in one of the three below."""
    elsewhere = {
        Obstacle.NO_GAIN, Obstacle.LIMIT, Obstacle.TOO_LARGE, Obstacle.REGISTERS, Obstacle.FORM,
        Obstacle.PIPELINED, Obstacle.MANY,
        Obstacle.STRIDE, Obstacle.PIPE, Obstacle.UNLIKE, Obstacle.TOGETHER,  # tests/documented
        Obstacle.FLAGS,
    }
    assert set(REFUSED) | elsewhere == set(Obstacle)
    assert not set(REFUSED) & elsewhere
    assert set(loop_pipeline.NOT_PIPELINED) == set(Obstacle)


def test_a_test_of_what_every_iteration_loads_runs_ahead() -> None:
    """The bound is loaded by each iteration from one place that no store changes."""
    load = "ld.global.nc.u32 %r9, [%rd2+64];"
    step = "add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r9; @%p1 bra L;\n"
    assert [r.name for r in remarks_of(text_of(LOAD + load, step))] == ["Pipelined"]
    near = {
        "it moves": "add.s64 %rd2, %rd2, 4;" + load,
        "stores change it": load.replace(".nc", ""),
        "not always loaded": "setp.lt.u32 %p2, %r2, 5; @%p2 " + load,
    }
    for what, body in near.items():
        found = remarks_of(text_of(LOAD + body, step))
        assert [r.name for r in found] == ["NotPipelinedTest"], what


def test_a_loaded_bound_gives_the_same_result() -> None:
    text = text_of(
        LOAD + "ld.global.nc.u32 %r9, [%rd1+64];",
        "add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, %r9; @%p1 bra L;\n",
    )
    plain, made = nvir.read_ptx(text), nvir.read_ptx(text)
    nvir.run_passes(made, "loop-pipeline<force;depth=2>", verify=True)
    for trips in (0, 1, 2, 3, 4, 5, 30):
        sums = []
        for module in (plain, made):
            data = np.arange(64, dtype=np.uint32)
            data[16] = trips
            out = np.zeros(4, np.uint32)
            nvir.launch(module, "k", 1, 1, [data, out, 0])
            sums.append(int(out[0]))
        assert sums[0] == sums[1], trips


def test_reasons_that_depend_on_the_run() -> None:
    """The rest of the closed list."""
    more = {
        Obstacle.NO_GAIN: remarks_of(text_of(LOAD + "ex2.approx.ftz.f32 %f1, %f1;\n" * 40), ""),
        Obstacle.LIMIT: remarks_of(text_of(), knobs={"PipelineMIOVQToInstRatio": 0.9}),
        Obstacle.TOO_LARGE: remarks_of(text_of(LOAD + "add.u32 %r3, %r3, %r5;\n" * 500)),
        Obstacle.REGISTERS: remarks_of(text_of(), knobs={"PipelineHoistRRegPressureLimit": 4}),
    }
    for reason, found in more.items():
        names = [r.name for r in found]
        assert names == [loop_pipeline.NOT_PIPELINED[reason].name], reason


def test_only_so_many_loops_are_judged() -> None:
    """Judging simulates: a function of thousands of loops would take hours."""
    one = text_of()
    loop = one[one.index("mov.u32 %r2, 0;") : one.index(END)]
    more = [loop.replace("L:", f"L{k}:").replace("bra L;", f"bra L{k};") for k in range(3)]
    text = one.replace(loop, loop + "".join(more))
    many = loop_pipeline.NOT_PIPELINED[Obstacle.MANY].name
    for judged, refused in ((2, 2), (4, 0), (0, 0)):
        names = [r.name for r in remarks_of(text, f"<force;depth=1;judged={judged}>")]
        assert names.count(many) == refused
        assert names.count("Pipelined") == 4 - refused


def test_the_kernel_alone() -> None:
    module = nvir.read_ptx(text_of())
    nvir.run_passes(module, "loop-pipeline<force;depth=2;form=kernel-only>", verify=True)
    names = [str(b.name) for b in module.functions[-1].blocks]
    assert "L.kernel" in names
    assert "L.prologue" not in names
    assert "L" not in names


def test_what_the_kernel_alone_cannot_do() -> None:
    moved = text_of(
        "add.u32 %r3, %r3, %r8; mov.u32 %r8, %r7; ld.global.nc.u32 %r7, [%rd1];\n"
        "add.s64 %rd1, %rd1, 4;\n"
    ).replace("mov.u32 %r2, 0;", "mov.u32 %r2, 0; mov.u32 %r7, 1; mov.u32 %r8, 2;")
    module = nvir.read_ptx(moved)
    found = nvir.run_passes(module, "copy-prop,loop-pipeline<force;form=kernel-only>")
    assert [r.name for r in found if r.pass_name == "loop-pipeline"] == [
        loop_pipeline.NOT_PIPELINED[Obstacle.FORM].name
    ]


def test_a_pipeline_is_not_pipelined_again() -> None:
    module = nvir.read_ptx(text_of())
    nvir.run_passes(module, "loop-pipeline<force>")
    found = nvir.run_passes(module, "loop-pipeline<force>", knobs={"OkToPipelineNoUnroll": 1})
    names = {r.name for r in found}
    assert names == {loop_pipeline.NOT_PIPELINED[Obstacle.PIPELINED].name}


@pytest.mark.seed("SWP-02", "KNB-62")
def test_nounroll_is_kept_unless_the_knob_says_so() -> None:
    text = REFUSED[Obstacle.PRAGMA]
    assert [r.name for r in remarks_of(text)] == ["NotPipelinedPragma"]
    assert [r.name for r in remarks_of(text, knobs={"OkToPipelineNoUnroll": 1})] == ["Pipelined"]


@pytest.mark.seed("KNB-63", "KNB-64", "KNB-65", "KNB-66")
@pytest.mark.parametrize(("knob", "limit"), [
    ("PipelineHoistCondLimit", 1), ("PipelineHoistPRegPressureLimit", 0),
    ("PipelineMIOVQToInstRatio", 0.5), ("PipelineHoistRRegPressureLimit", 6),
])
def test_knobs_that_limit(knob: str, limit: float) -> None:
    text = text_of(LOAD + "setp.gt.u32 %p3, %r5, 9; @%p3 add.u32 %r3, %r3, 1;\n")
    assert [r.name for r in remarks_of(text)] == ["Pipelined"]
    (remark,) = remarks_of(text, knobs={knob: limit})
    assert remark.name in ("NotPipelinedLimit", "NotPipelinedRegisters")


@pytest.mark.seed("SWP-19")
def test_the_remark_says_what_it_costs() -> None:
    (r,) = remarks_of(text_of(), "<depth=2;force>")
    assert r.args["stages"] == 3
    assert r.args["factor"] == 2
    assert r.args["mii"] >= 1
    more = r.args["registers"] > r.args["registers_before"]  # than of the loop as ptxas unrolls it
    assert 0 < r.args["blocks"] <= r.args["blocks_before"] if more else (
        r.args["blocks"] >= r.args["blocks_before"] > 0
    )


@pytest.mark.seed("SWP-04", "SWP-06", "GAP-23")
def test_the_check_of_an_instruction() -> None:
    def finding(spelling: str) -> tuple[Feasibility, Obstacle | None]:
        found = check(Instruction(form(spelling)))
        return found.code, found.reason

    assert (Feasibility.REJECT, Feasibility.ACCEPT) == (60, 130)
    assert finding("add.u32") == (Feasibility.ACCEPT, None)
    assert finding("ld.global.f32") == (Feasibility.ACCEPT, None)
    assert finding("bar.sync") == (Feasibility.REJECT, Obstacle.BARRIER)
    assert finding("membar.gl") == (Feasibility.REJECT, Obstacle.BARRIER)
    assert finding("shfl.sync.down.b32") == (Feasibility.REJECT, Obstacle.CONVERGENT)
    assert check(Instruction(form("shfl.sync.down.b32")), parts=False).code == 130
    noted = check(Instruction(form("shfl.sync.down.b32")), parts=False, together=True)
    assert (noted.code, noted.reason) == (60, Obstacle.TOGETHER)


@pytest.mark.seed("SWP-03")
def test_annotation_of_operands() -> None:
    module = nvir.read_ptx(text_of())
    f = module.functions[-1]
    loop = next(b for b in f.blocks if b.name == "L")
    found = annotate([i for i in loop if not i.form.is_phi], profile("sm_80"))
    by = {(a.instruction.form.name, a.index): a.latency_class for a in found}
    assert by["add", 2] == 26  # the loaded value
    assert ("setp", 1) not in by  # a plain sum has the default class


@pytest.mark.seed("SWP-03")
def test_two_operands_of_a_predicated_instruction_are_not_annotated() -> None:
    """Its predicate and what it gives where that is false."""
    text = text_of("ld.global.nc.f32 %f9, [%rd1]; setp.lt.f32 %p7, %f9, %f9; "
                   "ld.global.nc.f32 %f8, [%rd1+4]; @%p7 add.f32 %f8, %f9, %f9;")
    (i,) = (i for i in nvir.read_ptx(text).functions[-1].instructions()
            if i.form.name == "add" and i.form.guard is not None)
    assert len(i.operands) == 4
    assert [a.index for a in annotate([i], profile("sm_80"))] == [1, 2]  # 0 is the result


def test_knobs_are_marked() -> None:
    mine = [k.name for k in all_knobs() if "loop-pipeline" in k.readers]
    assert len(mine) == 6


KEPT = ["reduction.sm_80", "reduction.sm_90", "softmax.sm_80", "spmv_csr.sm_80", "saxpy.sm_80"]


@pytest.mark.oracle
@pytest.mark.seed("SWP-01")
@pytest.mark.parametrize("name", KEPT)
def test_the_assembler_keeps_the_schedule(name: str) -> None:
    module = nvir.read_ptx(EXAMPLES / f"{name}.ptx")
    nvir.run_passes(module, "loop-simplify,loop-pipeline<force>")
    kernels = [b for f in module.functions for b in f.blocks if PIPELINED in b.flags]
    made = toolchain.ptxas(nvir.print_ptx(module), arch=module.target)
    assert made.ok
    found = read_back(module, toolchain.bodies(made.cubin, module.target))
    assert len(found) == len(kernels) > 0
    for kernel, back in zip(kernels, found, strict=True):
        assert 1 in promised_rounds(kernel)
        assert back.kept, str(back)


@pytest.mark.oracle
def test_an_undone_schedule_is_seen() -> None:
    """Without the kernel's copies the assembler moves the value in flight, and so waits."""
    text = text_of(
        "mul.wide.u32 %rd3, %r2, 4; add.s64 %rd4, %rd1, %rd3; add.u32 %r3, %r3, %r7;\n"
        "mov.u32 %r7, %r6; ld.global.nc.u32 %r6, [%rd4];\n",
        label='L: .pragma "nounroll";',
    ).replace("mov.u32 %r2, 0;", "mov.u32 %r2, 0; mov.u32 %r6, 1; mov.u32 %r7, 2;")
    module = nvir.read_ptx(text)
    f = module.functions[-1]
    next(b for b in f.blocks if b.name == "L").flags |= {PIPELINED}
    made = toolchain.ptxas(text, arch="sm_80")
    (back,) = read_back(module, toolchain.bodies(made.cubin, "sm_80"))
    assert back.promised == (1,)
    assert back.found in ((0,), (1,))


@pytest.mark.oracle
def test_a_narrow_vector_stays_in_flight_as_a_word() -> None:
    """Of four bytes the assembler would take the word apart, and wait, where the load stands."""
    text = text_of(
        "mul.wide.u32 %rd3, %r2, 4; add.s64 %rd4, %rd1, %rd3;\n"
        "ld.global.nc.v4.u8 {%r5, %r6, %r7, %r8}, [%rd4];\n"
        "mad.lo.u32 %r3, %r3, %r5, %r6; mad.lo.u32 %r3, %r3, %r7, %r8;\n"
    )
    module = nvir.read_ptx(text)
    nvir.run_passes(module, "loop-pipeline<force;depth=2>", verify=True)
    (found,) = readback_remarks(module)
    assert found.name == "Kept"
    assert found.args == {"loads": 2, "ahead": 2}


@pytest.mark.oracle
def test_matrices_that_are_turned_are_not_in_flight() -> None:
    module = nvir.read_ptx(EXAMPLES / "gemm_wmma.sm_80.ptx")
    nvir.run_passes(module, "loop-simplify,loop-pipeline<force>")
    (found,) = readback_remarks(module)
    assert found.name == "Kept"
    assert found.args == {"loads": 32, "ahead": 16}  # of A, while those of B go through MOVM


@pytest.mark.oracle
def test_the_remark_says_what_the_assembler_undoes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without words in flight, as above: the read-back sees the wait."""
    monkeypatch.setattr("nvir.passes.loop.pipeline.choice.join_words", lambda block: 0)
    module = nvir.read_ptx(EXAMPLES / "histogram.sm_80.ptx")
    nvir.run_passes(module, "loop-simplify,loop-pipeline<force>")
    undone, kept = readback_remarks(module)
    assert (undone.name, kept.name) == ("Undone", "Kept")
    assert undone.kind == "missed"
    assert "PRMT" in str(undone.args["why"])
    assert "not pipelined in the end" in str(undone)


@pytest.mark.oracle
def test_the_command_reads_back(tmp_path: Path) -> None:
    path, remarks = tmp_path / "k.ptx", tmp_path / "r.json"
    path.write_text(text_of())
    base = ["opt", str(path), "--readback", "--emit", "none"]
    done = CliRunner().invoke(main, [*base, "-p", "loop-pipeline<force>",
                                     "--remarks-file", str(remarks)])
    assert done.exit_code == 0
    assert "ptxas keeps the schedule" in done.output
    assert '"Kept"' in remarks.read_text()
    nothing = CliRunner().invoke(main, base)
    assert nothing.exit_code == 0
    assert "no loop is pipelined" in nothing.output


CARRY = LOAD + "add.cc.u32 %r7, %r7, %r2; addc.u32 %r8, %r5, %r3;\n"


NO_CARRY = CARRY.replace("add.cc", "add").replace("addc", "add")


@pytest.mark.parametrize("options", ["", ";form=prologue", ";form=kernel-only"])
@pytest.mark.parametrize("body", [CARRY, NO_CARRY])
def test_a_carry_is_read_in_the_stage_that_makes_it(options: str, body: str) -> None:
    """The reader waits for a load that is in flight, the maker needs nothing of it."""
    text = text_of(body).replace("[%rd2], %r3", "[%rd2+4], %r8; st.global.u32 [%rd2], %r3").replace(
        "mov.u32 %r3, 0;", "mov.u32 %r3, 0; mov.u32 %r7, -5; mov.u32 %r8, 0;")
    plain, made = nvir.read_ptx(text), nvir.read_ptx(text)
    found = nvir.run_passes(made, f"loop-pipeline<force;depth=3{options}>", verify=True)
    names = {r.name for r in found}
    assert ("Pipelined" in names) != ("kernel-only" in options and "cc" in body)
    printed = nvir.read_ptx(nvir.print_ptx(made))
    for trips in (1, 3, 4, 5, 30):
        sums = []
        for module in (plain, made, printed):
            out = np.zeros(4, np.uint32)
            nvir.launch(module, "k", 1, 1, [np.arange(64, dtype=np.uint32) * 99, out, trips])
            sums.append(out.tolist())
        assert sums[0] == sums[1] == sums[2], trips


@pytest.mark.parametrize(("text", "together"), [(CARRY, True), (NO_CARRY, False)])
def test_a_schedule_does_not_part_a_carry_from_its_reader(text: str, together: bool) -> None:
    text = text_of(text).replace("[%rd2], %r3", "[%rd2+4], %r8; st.global.u32 [%rd2], %r3")
    body, _ = body_of(nvir.read_ptx(text)["k"], "L")
    first, second = body.nodes[4:6]
    found = by_times(body, {first: 3, second: 25}, 10)
    assert found is not None
    stages = [found.stages[body.index[i]] for i in (first, second)]
    assert stages == ([2, 2] if together else [0, 2])
    assert found.late_first == together
