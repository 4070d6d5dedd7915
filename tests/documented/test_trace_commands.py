"""`--trace` of `nvir opt` and `nvir compile`: the events of steps that are about no loop too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import nvir
from nvir.cli import main
from nvir.frontend import build as b
from nvir.frontend.check import check
from nvir.frontend.irgen import Options, generate
from nvir.ir.text.trace import Trace, looking_at, note, step
from nvir.passes.remarks import Remark
from nvir.toolchain.find import available
from tests.documented.test_steps import EXAMPLES, KERNEL

HEAD = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 o, .param .u32 n) {
.reg .pred %p<9>; .reg .b32 %r<30>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [o]; ld.param.u32 %r1, [n]; mov.u32 %r2, 0; mov.u32 %r3, 0;
"""
STEP = "add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, %r1;"
END = "st.global.u32 [%rd1], %r3; ret; }\n"


def traced(tmp_path: Path, text: str, *words: str, name: str = "k.ptx") -> list[str]:
    (tmp_path / name).write_text(text)
    run = CliRunner().invoke(main, [
        words[0], str(tmp_path / name), "--policy", "documented", "--trace", *words[1:],
        "-o", str(tmp_path / "out")])
    assert run.exit_code == 0, run.output
    return run.stderr.splitlines()


@pytest.mark.seed("P18-01", "P18-03", "P18-04", "P18-05")
def test_simplification_says_what_it_made(tmp_path):
    """Two latches, and a header that a test leads to."""
    text = HEAD + "setp.eq.s32 %p2, %r1, 0; @%p2 bra X;\nL: " + STEP + \
        "@%p1 bra L; setp.eq.s32 %p3, %r3, 9; @%p3 bra L;\nX:" + END
    lines = traced(tmp_path, text, "opt", "-p", "loop-simplify")
    assert lines[0] == "P18-01 guard (level 2): True"
    assert "P18-04 single entries too (LoopMakeSingleEntry True): True" in lines
    assert any(x.startswith("L: P18-03 latch (edges [") and x.endswith("L.latch") for x in lines)
    assert any(x.startswith("L: P18-05 preheader") for x in lines)
    assert "P18-02 peeling (level 2): False" in lines


@pytest.mark.seed("P18-01", "P18-02", "P18-03", "P18-04", "P18-05", "P18-06")
@pytest.mark.parametrize("level", [2, 4])
def test_simplification_peels_joins_latches_asks_again_and_then_makes_preheaders(tmp_path, level):
    """The loop that is peeled has two latches still, and is led to from two blocks."""
    text = HEAD + "setp.eq.s32 %p2, %r1, 0; @%p2 bra L; mov.u32 %r3, 1;\nL: " + STEP + \
        "@%p1 bra L; setp.eq.s32 %p3, %r3, 9; @%p3 bra L;\n" + END
    options = f"loop-simplify<level={level}>"
    lines = traced(tmp_path, text, "opt", "-p", options)
    steps = [" ".join(x.removeprefix("L: ").split(" (")[0].split()[:3]) for x in lines]
    assert [x for x in steps if x.startswith("P18")] == [
        "P18-01 guard", "P18-02 peeling", "P18-03 several latches", "P18-03 latch",
        "P18-01 guard, again", "P18-04 single entries", "P18-06 several entries",
        "P18-05 headers visited", "P18-05 preheader", *["P18-09 exit"] * (level == 4)]
    assert "P18-03 several latches (loops [L]): [L]" in lines
    assert f"P18-01 guard, again (level {level}): True" in lines
    off = traced(tmp_path, text, "opt", "-p", options, "--knob", "LoopMakeSingleEntry=0")
    assert any("P18-03 latch" in x for x in off)
    assert not any("P18-05" in x for x in off)
    made = nvir.read_ptx(tmp_path / "out")["k"]
    copies = sum(i.form.spelling == "setp.lt.s32" for i in made.instructions())
    assert copies == (2 if level == 4 else 1)


@pytest.mark.seed("P18-06", "P18-07")
def test_what_is_not_simplified_is_an_event_too(tmp_path):
    sideways = HEAD + "setp.eq.s32 %p2, %r1, 0; @%p2 bra M;\nL: add.s32 %r3, %r3, 1;\nM: " + STEP \
        + "@%p1 bra L;\n" + END
    lines = traced(tmp_path, sideways, "opt", "-p", "loop-simplify")
    rows = [x.split()[0] for x in lines]
    assert rows[rows.index("P18-04"):][:2] == ["P18-04", "P18-06"]  # single entries are asked first
    lines = traced(tmp_path, sideways, "opt", "-p", "loop-simplify", "--knob",
                   "LoopMakeSingleEntry=0")
    told = "P18-06 several entries (entries [{}], LoopMakeSingleEntry {}): {}".format
    assert told("L to M", False, "left behind the knob") in lines
    lines = traced(tmp_path, HEAD + "L: " + STEP + "@%p1 bra L;\n" + END, "opt", "-p",
                   "loop-simplify")
    assert told("", True, "none") in lines
    apart = HEAD + "mov.u32 %r4, %tid.x; setp.eq.s32 %p2, %r4, 0; @%p2 bra X;\nL: " + STEP + \
        "@%p1 bra L;\nX:" + END
    lines = traced(tmp_path, apart, "opt", "-p", "loop-simplify<convergent>")
    assert "L: P18-07 convergent (source entry, target L): no block" in lines


@pytest.mark.seed("P18-09")
@pytest.mark.parametrize("shared", [True, False])
def test_an_exit_of_its_own_is_told(tmp_path, shared):
    """The phases behind ask for it; one that nothing else leads to is there."""
    around = "setp.eq.s32 %p2, %r1, 0; @%p2 bra X;\n" * shared
    text = HEAD + around + "L: " + STEP + "@%p1 bra L;\nX: " + END
    lines = traced(tmp_path, text, "opt", "-p", "loop-simplify")
    told = [x for x in lines if " exit (edges" in x]
    assert told == ["L: P18-09 exit (edges [L]): X.exit"] * shared


@pytest.mark.seed("P18-09")
@pytest.mark.parametrize("simplified", [True, False])
def test_phases_tell_in_what_form_they_find_a_loop(tmp_path, simplified):
    enters = HEAD + "setp.eq.s32 %p2, %r1, 0; @%p2 bra L; mov.u32 %r3, 1;\nL: "
    loads = "ld.global.u32 %r5, [%rd1]; add.s32 %r4, %r4, %r5;"
    ends = STEP + "@%p1 bra L;\n" + END
    while_ = STEP + "@!%p1 bra X; add.s32 %r4, %r4, 1; bra L;\nX: "
    for phase, name, text in ((21, "loop-rotate", enters + while_ + END),
                              (22, "loop-unroll", enters + ends),
                              (24, "loop-pipeline", enters + loads + ends)):
        passes = "loop-simplify," * simplified + name
        (told,) = [x for x in traced(tmp_path, text, "opt", "-p", passes) if "P18-09" in x]
        assert f"(phase {phase}, loop L, latches [" in told
        assert told.endswith(f": {simplified}")


@pytest.mark.seed("P18-09")
def test_rotation_tells_the_form_of_a_loop_that_it_leaves(tmp_path):
    text = HEAD + "L: " + STEP + "@%p1 bra L;\n" + END  # tested at its end
    (told,) = [x for x in traced(tmp_path, text, "opt", "-p", "loop-rotate") if "P18-09" in x]
    assert "(phase 21, loop L, latches [L]" in told


@pytest.mark.seed("FUS-13")
def test_explain_tells_of_fusion(tmp_path):
    loop = "L{k}: add.s32 %r{i}, %r{i}, 1; setp.lt.s32 %p{k}, %r{i}, 8; @%p{k} bra L{k};\n"
    text = HEAD + loop.format(k=1, i=2) + "mov.u32 %r5, 0;\n" + loop.format(k=2, i=5) + END
    (tmp_path / "k.ptx").write_text(text)
    run = CliRunner().invoke(main, [
        "explain", str(tmp_path / "k.ptx"), "--no-vary", "--policy", "documented", "--loop", "L1",
        "--knob", "PerformLoopFusion=1", "--knob", "LoopUnroll=0"])
    assert run.exit_code == 0, run.output
    rows = [x.split()[0] for x in run.output.splitlines() if x.startswith("  ") and x.split()]
    assert "P18-01" in rows
    assert "FUS-13" in rows
    assert rows.index("P18-01") < rows.index("UNR-01") < rows.index("FUS-13")


@pytest.mark.seed("MEM-07", "STR-09")
def test_copies_and_structs_are_traced(tmp_path):
    text = """define void @f(ptr %p, ptr %q) {
  call void @llvm.memmove.p0.p0.i64(ptr align 4 %p, ptr align 4 %q, i64 8, i1 false)
  %w = load {i32, float}, ptr %p, align 4
  store {i32, float} %w, ptr %q
  ret void
}
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
"""
    lines = traced(tmp_path, text, "opt", "-p", "lower-aggr-copies", name="k.ll")
    rows = {x.split()[0].rstrip(":") for x in lines}
    assert "MEM-07" in rows
    assert any(r.startswith("STR-") for r in rows)


@pytest.mark.seed("MEM-03", "MEM-04", "MEM-05", "MEM-12", "MEM-13", "MEM-15", "MEM-18")
def test_a_copy_goes_by_the_notes_steps(tmp_path):
    """Blocks, direction, paths, alignments, clean-up: steps 1 to 6."""
    text = """define void @f(ptr %p, ptr %q, i64 %n) {
  call void @llvm.memmove.p0.p0.i64(ptr align 4 %p, ptr align 4 %q, i64 %n, i1 false)
  ret void
}
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
"""
    lines = traced(tmp_path, text, "opt", "-p", "lower-aggr-copies", name="k.ll")
    rows = [x.split()[0] for x in lines if x.startswith("MEM-")]
    assert rows[rows.index("MEM-03"):] == [
        "MEM-03", "MEM-25", "MEM-05", "MEM-04", "MEM-08", "MEM-12", "MEM-13", "MEM-24", "MEM-11",
        "MEM-15", "MEM-15", "MEM-16", "MEM-18", "MEM-01"]


def test_an_event_has_all_values_and_its_line_some():
    with Trace() as trace:
        note("LIC-01", "all", list(range(9)), text="a\n\tb", few=[1, 2])
    (event,) = trace
    assert event.outcome == list(range(9))
    assert event.inputs == {"text": "a\n\tb", "few": [1, 2]}
    assert str(event) == (
        "LIC-01 all (text a\\n\\tb, few [1, 2]): [0, 1, 2, 3, 4, 5 and 3 more]")


@pytest.mark.seed("CAL-02", "CAL-03", "CAL-11", "CAL-15", "CAL-17", "ASM-01")
def test_calls_and_assembly_leave_an_event_a_phase(tmp_path):
    from nvir.frontend.tree.json_form import to_json

    out, n, x = b.names("out n x")
    unit = b.unit(
        b.function("int one", "int n", b.ret(n)),
        b.function("int warp_thing", "int n", intrinsic=10219),
        b.kernel("k", "int *out, int n", b.let("int x", 0), b.assign(out[0], b.call("one", n)),
                 b.assign(out[1], b.call("warp_thing", n)),
                 b.asm("mov.u32 %0, %%tid.x;", [("=r", x)], []), b.assign(out[2], x)))
    with Trace() as trace:
        generate(check(unit), Options(policy="documented"))
    told = [(e.row, e.outcome) for e in trace]
    assert ("CAL-02", False) in told
    assert [o for r, o in told if r == "CAL-03"][:2] == [False, True]
    assert ("CAL-11", False) in told
    assert [e.step for e in trace if e.row == "CAL-15"] == ["10 value"]
    assert [e.step[0] for e in trace if e.row.startswith("ASM")][-1] == "7"
    import json

    lines = traced(tmp_path, json.dumps(to_json(unit)), "compile", "-rdc", "true", name="k.json")
    assert any(x.startswith("CAL-02 2 builtin (f one): False") for x in lines)
    assert "ASM-01 7 cleanup (operands 0): nothing is left" in lines


BRX = HEAD + "L: " + STEP + """selp.u32 %r4, 0, 1, %p1;
ts: .branchtargets L, X; brx.idx %r4, ts;
X:""" + END


@pytest.mark.seed("UNR-09", "UNR-45")
@pytest.mark.parametrize("policy", ["documented", "observed"])
def test_a_loop_that_ends_in_brx_is_13_under_both_policies(policy):
    for text, code in ((BRX, "13"), (BRX.replace("L: ", 'L: .pragma "nounroll"; '), "13"),
                       (HEAD + 'L: .pragma "nounroll"; ' + STEP + "@%p1 bra L;\n" + END, "11")):
        made = nvir.run_passes(nvir.read_ptx(text), "loop-unroll", policy=policy)
        assert [r.code.number for r in made if r.kind == "missed"] == [code]


@pytest.mark.seed("PRA-05", "PRA-06")
def test_a_profile_opens_the_tensor_gate(tmp_path):
    """A key of a derived profile; registers from the fifth bound on are of the tensor class."""
    (tmp_path / "k.ptx").write_text(KERNEL)
    told = {}
    for mode in (0, 1, 2):
        (tmp_path / "mine.json").write_text(json.dumps({
            "title": "gate", "extends": "sm_80_notes",
            "banks": {"bounds": [-5, -4, -3, -2, -1, 0, 250], "tensor_mode": mode,
                      "tensor_blocked": mode == 2}}))
        run = CliRunner().invoke(main, [
            "schedule", str(tmp_path / "k.ptx"), "--post-ra", "--trace",
            "--profile", str(tmp_path / "mine.json")])
        assert run.exit_code == 0, run.output
        lines = run.stderr.splitlines()
        told[mode] = [{x.rpartition(": ")[2] for x in lines if row in x}
                      for row in ("PRA-06 C tensor gate", "PRA-04 C route")]
        apart = [x for x in lines if "another has a register of class" in x]
        assert bool(apart) is (mode == 0)
        assert all("PRA-07 C place by bank" in x for x in apart)
        assert any("PRA-06 C fast path" in x for x in lines) is (mode > 0)
    assert told == {0: [{"False"}, {"BANK", "MODULO"}], 1: [{"True"}, {"TENSOR", "MODULO"}],
                    2: [{"True"}, {"TENSOR", "MODULO"}]}


@pytest.mark.seed("PRA-04", "PRA-05")
def test_routes_are_told_of_what_falls_back_too(tmp_path):
    """Phase 24 marked what its interval does not hold: decoded once with the marks, once without;
    of a loop that it did not take there are no marks."""
    file = EXAMPLES / "ptx" / "loop_forms.sm_80.ptx"
    for loop, rest in (("$L__BB4_3", ["BANK", "MODULO", "NONE"]), ("$L__BB4_5", ["NONE"])):
        run = CliRunner().invoke(main, [
            "schedule", str(file), "--loop", loop, "--post-ra", "--trace", "--json"])
        lines = run.stderr.splitlines()
        assert run.exit_code == 0, run.output
        routes = [x.rpartition(": ")[2] for x in lines if "PRA-04 C route" in x]
        assert sorted(set(routes)) == rest
        assert any("PRA-05" in x for x in lines) is ("BANK" in rest)
        assert '"route": "none", "flags": 0' in " ".join(run.stdout.split())
        assert '"route": "modulo"' not in run.stdout


@pytest.mark.seed("LIC-26")
def test_an_atomic_of_invariant_operands_says_why_it_stays():
    text = HEAD + "L: atom.global.add.u32 %r9, [%rd1], %r1; add.u32 %r3, %r3, %r9;" + STEP + \
        "@%p1 bra L;\n" + END
    def told(policy: str) -> list[Remark]:
        made = nvir.run_passes(nvir.read_ptx(text), "licm<id=0>", policy=policy)
        return [r for r in made if r.name == "NotHoistedEffect"]

    (remark,) = told("documented")
    assert "atom.global.add.u32" in remark.message
    assert "it writes what it reads" in remark.message
    assert told("observed") == []


def test_events_of_the_next_function_do_not_name_the_last_loop(tmp_path):
    one = HEAD + "L: " + STEP + "@%p1 bra L;\n" + END
    two = one[one.index(".visible"):].replace(" k(", " k2(").replace("L", "M")
    lines = traced(tmp_path, one + two, "opt", "-p", "loop-unroll")
    heads = [x for x in lines if "UNR-05 pre-scan" in x]
    assert len(heads) == 2
    assert not any(x.startswith("L:") for x in heads)


def test_a_trace_needs_the_policy_that_it_tells(tmp_path):
    (tmp_path / "k.ptx").write_text(HEAD + "L: " + STEP + "@%p1 bra L;\n" + END)
    run = CliRunner().invoke(main, ["opt", str(tmp_path / "k.ptx"), "-p", "licm", "--trace"])
    assert run.exit_code == 2
    assert "--policy documented" in run.output


COPIES = """#include <string.h>
__global__ void fixed(float4 *to, const float4 *from) { memmove(to, from, 48); }
__global__ void any(char *to, const char *from, size_t n) { memcpy(to, from, n); }
"""


@pytest.mark.seed("MEM-01", "MEM-09", "MEM-10", "MEM-12", "MEM-13", "MEM-15")
def test_copies_of_cuda_sources_are_expanded_as_noted(tmp_path):
    """A call of memmove is the noted expansion under policy documented, the header's loop else."""
    pytest.importorskip("clang.cindex")
    lines = traced(tmp_path, COPIES, "compile", "--emit", "ori", name="k.cu")
    for told in ("MEM-09 unrolled forward (pieces [", "): byte 0 … byte 47, 48 loads and stores",
                 "MEM-10 unrolled reverse (pieces [", "): byte 47 … byte 0, 48 loads and stores"):
        assert any(told in x for x in lines)
    assert sum(x.startswith("MEM-15 alignment (what stores, align 16)") for x in lines) == 1
    assert any(x.startswith("MEM-13 reverse loop (count n") for x in lines)
    text = (tmp_path / "out").read_text()
    assert "call" not in text
    assert text.count("st.global.u8") == 2 * 48 + 2
    observed = CliRunner().invoke(main, ["compile", str(tmp_path / "k.cu"), "-O0", "--emit", "ll"])
    assert "call i8* @_ZL7memmovePvPKvm" in observed.output


def test_explain_compiles_a_source_under_its_policy(tmp_path):
    pytest.importorskip("clang.cindex")
    (tmp_path / "k.cu").write_text(COPIES)
    heads = {}
    for policy in ("documented", "observed"):
        run = CliRunner().invoke(main, [
            "explain", str(tmp_path / "k.cu"), "--policy", policy, "--no-vary", "--json",
            "--model", "--kernel", "_Z3anyPcPKcm"])
        assert run.exit_code == 0, run.output
        heads[policy] = json.loads(run.stdout)["loop"]
    assert "reverse" in str(heads["documented"])
    assert "reverse" not in str(heads["observed"])


@pytest.mark.seed("PRA-02", "PRA-03", "PRA-08", "PRA-10")
def test_the_scheduler_behind_allocation_leaves_events(tmp_path):
    """What phase 24 gives arrives, under explain and under schedule, and is kept."""
    (tmp_path / "k.ptx").write_text(KERNEL)
    words = [str(tmp_path / "k.ptx")]
    run = CliRunner().invoke(main, [
        "explain", *words, "--policy", "documented", "--no-vary", "--knob", "LoopUnroll=0"])
    shown = run.output.partition("behind register allocation, SoftwarePipeline")[2]
    assert "5 slots (mii 24): II 24: " in run.output
    assert "(loop L.kernel, mask 1111, stages" in shown
    run = CliRunner().invoke(
        main, ["schedule", *words, "--post-ra", "--trace", "--memory", "l2"])
    assert run.exit_code == 0, run.output
    for row in ("PRA-02  A dependences (level l2): [RAW R", "PRA-03  B liveness",
                "PRA-08  C record", "PRA-10  C placement"):
        assert row in shown
        assert row.replace("  ", " ", 1) in run.stderr
    mine = run.stderr[run.stderr.index("PRA-"):].splitlines()
    steps = [" ".join(x.removeprefix("L.kernel: ").split()[:3]) for x in mine]
    order = ["PRA-09 variant (loop", "PRA-01 interval and", "PRA-02 A dependences",
             "PRA-08 A dependence", "PRA-02 A carried", "PRA-08 B slots", "PRA-03 B liveness",
             "PRA-03 B successors",
             "PRA-05 C bank", "PRA-04 C route", "PRA-07 C place", "PRA-04 C fast",
             "PRA-08 C record", "PRA-10 C placement"]
    assert list(dict.fromkeys(steps)) == order
    assert steps.count("PRA-10 C placement") == 1  # of the interval received
    assert "· sm_80_notes ·" in run.stdout.splitlines()[0]
    assert "II 72 · a round of 3 copies, phase 24: II 24, 4 stages ·" in run.stdout.splitlines()[1]


def test_what_looks_for_an_interval_is_not_for_the_noted_scheduler(tmp_path):
    (tmp_path / "k.ptx").write_text(KERNEL)
    for words in (["--spread"], ["--copies", "2"]):
        run = CliRunner().invoke(main, [
            "schedule", str(tmp_path / "k.ptx"), "--post-ra", "--trace", *words])
        assert run.exit_code == 2
        assert "what phase 24 gives" in run.stderr


def test_a_knob_that_nothing_reads_is_said(tmp_path):
    (tmp_path / "k.ptx").write_text(HEAD + END)
    for policy, said in (("observed", True), ("documented", False)):
        run = CliRunner().invoke(main, [
            "opt", str(tmp_path / "k.ptx"), "-p", "licm", "--policy", policy,
            "--knob", "HoistCBOMode=1"])
        assert run.exit_code == 0
        assert ("policy observed does not read it; give --policy documented" in run.stderr) is said


@pytest.mark.seed("KNB-72")
@pytest.mark.parametrize(("name", "told"), [
    ("HoistLate@Z", True), ("HoistLate@L", False), ("HoistLate@k:L", False),
    ("HoistLate@f:L", True), ("UnrollBudget@L", True), ("HoistLate", False),
])
def test_a_knob_of_a_block_that_nobody_asked_about_is_said(tmp_path, name, told):
    """A block that is not there or is another function's, a knob that no block has of its own."""
    (tmp_path / "k.ptx").write_text(HEAD + "L:" + STEP + "@%p1 bra L;\n" + END)
    words = ["opt", str(tmp_path / "k.ptx"), "-p", "loop-unroll,licm", "--policy", "documented"]
    run = CliRunner().invoke(main, [*words, "--knob", f"{name}=1"])
    assert run.exit_code == 0
    assert (run.stderr == f"warning: knob {name} changes nothing: no pass asked for it at a block "
            f"{name.partition('@')[2]}\n") is told
    assert told or run.stderr == ""


@pytest.mark.seed("ASM-09", "ASM-18", "ASM-19", "ASM-20")
def test_assembly_that_is_not_volatile_is_told_once_by_its_number(tmp_path):
    """`%tid.x` is text, as nvcc has it."""
    text = 'asm{}("mov.u32 %0, %tid.x;" : "=r"(x));'
    source = "__global__ void k(int *p) {{ int x; {} *p = x; }}\n"
    for volatile, told in (("", "0xE9F"), (" volatile", None)):
        lines = traced(tmp_path, source.format(text.format(volatile)), "compile", name="k.cu")
        rows = [x.split()[0] for x in lines if x.startswith("ASM-")]
        assert rows == ["ASM-05", "ASM-09", "ASM-02", "ASM-03", "ASM-16", "ASM-12", "ASM-11",
                        "ASM-18",
                        *["ASM-19"] * (1 + bool(told)), "ASM-20", "ASM-22", "ASM-01"]
        warnings = [x for x in lines if "warning" in x and not x.startswith("ASM")]
        assert len(warnings) == bool(told)
        assert all("k.cu:1:" in x and x.endswith("not volatile [0xE9F]") for x in warnings)
        assert f"ASM-19 5 number (outputs 1): {told}" in lines or not told
    assert "ASM-19 5 side effects (volatile True, outputs 1, clobbers []): True" in lines
    (tmp_path / "o.cu").write_text(source.format(text.format("")))
    run = CliRunner().invoke(main, ["compile", str(tmp_path / "o.cu")])
    assert (run.exit_code, run.stderr) == (0, "")  # the observed front end says nothing
    assert "%tid.x" in run.stdout


@pytest.mark.seed("LIC-03", "LIC-07", "LIC-29")
@pytest.mark.parametrize("instance", range(4))
def test_an_instance_prepares_looks_at_carries_and_ends_as_its_number_says(tmp_path, instance):
    inside = "add.cc.u32 %r5, %r1, 7; addc.u32 %r6, %r1, 0; add.u32 %r3, %r3, %r6;"
    text = HEAD + "setp.eq.u32 %p2, %r1, 9; @%p2 bra X;\nL: " + inside + STEP + \
        "@%p1 bra L;\nX:" + END
    lines = traced(tmp_path, text, "opt", "-p", f"licm<id={instance}>")
    at = [next(k for k, x in enumerate(lines) if word in x) for word in (
        "LIC-06 iteration limit", "LIC-07 prepare", "LIC-07 nesting", "LIC-05 loop",
        "LIC-03 worked out again")]
    assert at == sorted(at)
    assert f"LIC-07 prepare (pass_id {instance}): instructions " in lines[at[1]]
    assert "pressures [L: " in lines[at[1]]
    assert lines[at[-1]].endswith("left out: pass_id 0 alone has it") == (instance > 0)
    moved = any("LIC-28 6 moved" in x for x in lines)
    links = [x for x in lines if "LIC-29 carry link (instruction addc.u32 %r6" in x]
    assert bool(links) == (instance == 3 and moved)
    assert instance != 3 or "the carry of add.cc.u32 %r5" in links[0]


@pytest.mark.seed("ASM-16", "ASM-17", "ASM-21", "ASM-22")
def test_assembly_tells_each_tag_and_each_result(tmp_path):
    text = """__global__ void k(int *p, long long l) { int x, y;
  asm volatile("mov.b64 {%0, %1}, %2;" : "=r"(x), "=r"(y) : "l"(l) : "memory"); p[0] = x + y; }
"""
    lines = traced(tmp_path, text, "compile", name="k.cu")
    tags = [x.split("tag ")[2].split(")")[0] for x in lines if x.startswith("ASM-16")]
    assert tags == ["20", "20", "22"]
    assert "ASM-17 4 clobber (name memory): ~{memory}" in lines
    assert "ASM-19 5 side effects (volatile True, outputs 2, clobbers [memory]): True" in lines
    assert sum(x.startswith("ASM-21 6 part (number ") for x in lines) == 2
    (results,) = [x for x in lines if x.startswith("ASM-22 6 results (result call asm")]
    assert results.endswith("): [stored at x, stored at y]")


@pytest.mark.seed("ASM-11")
def test_the_constraints_are_what_the_third_phase_is_given(tmp_path):
    text = '__global__ void k(int *p) { int x; asm("a %0, %1;" : "=r"(x) : "r"(3)); *p = x; }\n'
    (line,) = [x for x in traced(tmp_path, text, "compile", name="k.cu") if "ASM-11" in x]
    assert line.startswith("ASM-11 3 constraints (constraints [=r, r]): constraints [=r, r], ")


@pytest.mark.seed("ASM-07", "ASM-14", "DIA-08")
@pytest.mark.parametrize(("assembly", "said"), [
    ('"a %[x];" : [x] "=r"(x)', "symbolic operand reference not supported!"),
    ('"a %0, %1;" : "=r"(x) : "0"(3)', "tied input/output operands not supported!"),
])
def test_no_other_front_end_is_asked_where_the_documented_one_refuses(tmp_path, assembly, said):
    text = f"__global__ void k(int *p) {{ int x; asm({assembly}); *p = x; }}\n"
    (tmp_path / "k.cu").write_text(text)
    words = ["compile", str(tmp_path / "k.cu"), "--policy", "documented", "--trace"]
    for more in ([], ["--front-end", "libclang"]):
        run = CliRunner().invoke(main, [*words, *more])
        assert run.exit_code == 1
        assert f": error: {said}" in run.stderr
        assert f"): refused: {tmp_path}/k.cu:1:" in run.stderr


def test_a_source_that_clang_reads_instead_is_said(tmp_path):
    """What nvir's reader does not take is no refusal of the documented front end."""
    if not available("clang++", "CUDA's headers"):
        pytest.skip("no clang or no CUDA headers")
    (tmp_path / "k.cu").write_text(
        "struct A { virtual __device__ int f() { return 1; } };\n"
        "__global__ void k(int *p) { A a; A *b = &a; *p = b->f(); }\n")
    for policy, told in (("documented", True), ("observed", False)):
        run = CliRunner().invoke(main, ["compile", str(tmp_path / "k.cu"), "--policy", policy])
        assert run.exit_code == 0
        assert ("clang reads this source, not the documented front end: " in run.stderr) is told


@pytest.mark.seed("CAL-05", "CAL-06", "CAL-07", "CAL-08", "FN-02", "FN-08")
def test_how_objects_travel_is_told(tmp_path):
    """The hidden result, the copy that the callee makes, and one object as two registers."""
    text = """struct B { double x[8]; }; struct P { long a, b; };
__device__ __noinline__ B mk(B b) { return b; }
__device__ __noinline__ P two(P p) { if (p.a) return p; p.a = 3; return p; }
__global__ void k(double *out, P p) {
  B b; b.x[0] = *out; B c = mk(b); mk(c); P q; q.a = q.b = 2; *out = c.x[0] + two(q).b; }
"""
    lines = traced(tmp_path, text, "compile", "-O0", name="k.cu")
    assert [x for x in lines if x.startswith("CAL-07")] == [
        "CAL-07 5 struct return (place_given True): alloca c",
        "CAL-07 5 struct return (place_given False): alloca tmp"]
    assert not any("byval-temp" in x for x in lines)
    assert any(x.startswith("CAL-06 5 slot (p type B, kind BYVAL (2)") and
               x.endswith(": alloca b") for x in lines)
    assert "CAL-08 5 expand (argument alloca q): { i64, i64 }" in lines
    assert sum(x.startswith("CAL-08 10 expand (result call") and x.endswith(": [i64, i64]")
               for x in lines) == 1
    assert lines.count("FN-02 appended last (first entry): return") == 3
    assert lines.count("FN-08 return (line 3): a store, to return") == 2
    assert lines.count("FN-08 return block (edges 2): load and ret") == 1
    assert lines.count("FN-08 return block (edges 1): ret") == 2


@pytest.mark.seed("FN-13", "KNB-17")
@pytest.mark.parametrize(("names", "demoted"), [("b", True), ("foo", False)])
def test_byval_names_are_those_of_parameters(tmp_path, names, demoted):
    text = ("struct B { double x[8]; }; __device__ __noinline__ double foo(B b) { return b.x[1]; }"
            "\n__global__ void k(double *out, B c) { *out = foo(c); }\n")
    lines = traced(tmp_path, text, "compile", "--knob", f"byval-names={names}", name="k.cu")
    assert ("FN-13 variant 2, byval demoted (parameter b): __val_paramb" in lines) is demoted
    assert "__val_paramc" not in "".join(lines)
    run = CliRunner().invoke(main, ["knobs", "byval-names"])
    assert "byval parameters, by name" in run.output


def test_what_ran_before_a_refusal_is_told(tmp_path):
    (tmp_path / "k.cu").write_text(
        '__global__ void k(int *p) { int x; asm("a %0, %1;" : "=r"(x) : "0"(3)); *p = x; }\n')
    run = CliRunner().invoke(main, ["compile", str(tmp_path / "k.cu"), "--front-end", "libclang",
                                    "--policy", "documented", "--trace"])
    assert run.exit_code == 1
    assert "ASM-03 2 reconstruction (fragments [" in run.stderr
    assert "): a $0, $1;" in run.stderr
    assert "ASM-11 3 constraints (" in run.stderr
    assert "): refused: " in run.stderr


@pytest.mark.seed("UNR-01", "FUS-01", "P18-01", "SWP-02", "LIC-36")
def test_a_phase_that_is_skipped_says_so(tmp_path):
    text = HEAD + "L: " + STEP + "@%p1 bra L;\n" + END
    for name, row in (("loop-simplify", "P18-01"), ("loop-pipeline", "SWP-02"),
                      ("licm", "LIC-36"), ("loop-fuse", "FUS-01")):
        (line,) = traced(tmp_path, text, "opt", "-p", name, "--skip", name)
        assert line == f"{row} entry guard (phase {name}, function k): the phase is skipped"
    assert not traced(tmp_path, text, "opt", "-p", "gvn", "--skip", "gvn")
    for words in (("loop-unroll", "--skip", "LoopUnrolling"), ("loop-unroll<skip>",)):
        (line,) = traced(tmp_path, text, "opt", "-p", *words)
        assert line.startswith("UNR-01 entry guard (")
        assert line.endswith("): the phase is skipped")


@pytest.mark.seed("LAT-03", "LAT-04", "LAT-05", "LAT-06", "LAT-07", "SWP-19")
def test_phase_24_tells_how_it_came_to_a_class(tmp_path):
    body = ('L: .pragma "nounroll"; ld.global.f32 %f1, [%rd1]; mul.lo.u32 %r4, %r3, 3; '
            "add.f64 %fd1, %fd1, 0d3FF0000000000000; @%p2 add.u32 %r3, %r3, %r4; "
            "add.s64 %rd1, %rd1, 4; mov.u32 %r6, %ctaid.x; add.f32 %f2, %f2, %f1;")
    head = HEAD + ".reg .f32 %f<9>; .reg .f64 %fd<9>;\n"
    lines = traced(tmp_path, head + body + STEP + "@%p1 bra L;\n" + END, "opt", "-p",
                   "loop-pipeline", "--knob", "OkToPipelineNoUnroll=1")
    lines = [x.removeprefix("L: ") for x in lines]
    for told in (
        "LAT-03 1 family (opcode ld.global.f32, family load/store, numbers [0x3c, 0x3c], index 0, "
        "by_rule 26): 26",
        "LAT-03 1 family (opcode mul.lo.u32, family integer multiply, numbers [0x23, 0x23], "
        "index 0, by_rule 10): 10",
        "LAT-07 1 no family (opcode add.f64, known True, default 6): 16",
        "LAT-04 1 past the end (opcode add.u32, count 3, index 4): 1",
        "LAT-05 1 class of a register (opcode mov.u32, operand %ctaid.x, register_class 5): 20",
    ):
        assert told in lines
    assert any(x.startswith("SWP-19 phase 24 (loop L): 0 VerifyStride, 1 annotate, 2 feas")
               for x in lines)
    (load,) = {x for x in lines if x.startswith("LAT-06") and "LDG" in x.partition(" to ")[0]}
    assert load.endswith("of result 26, source 26, register 26, units load load): 64")


@pytest.mark.seed("STR-02", "STR-05", "STR-10", "STR-21")
@pytest.mark.parametrize("instance", ["split-structs", "lower-aggr-copies"])
def test_both_instances_tell_fields_alignments_and_classes(tmp_path, instance):
    text = """define i32 @f({i32, i64} %v, ptr %p, ptr %q, i1 %c) {
  %w = load {i8, half}, ptr %p, align 2
  br i1 %c, label %a, label %b
a:
  br label %b
b:
  %u = phi {i8, half} [ %w, %0 ], [ undef, %a ]
  %s = select i1 %c, {i8, half} %u, {i8, half} %w
  %x = extractvalue {i8, half} %s, 1
  store half %x, ptr %q
  %y = extractvalue {i32, i64} %v, 0
  ret i32 %y
}
"""
    with Trace() as trace:
        nvir.run_passes(nvir.read_ll(text), instance, policy="documented")
    (which,) = trace.of("STR-02")
    assert (which.inputs["instance"], which.outcome) == (instance, "splits")
    split, loaded, phi, chosen = trace.of("STR-05")
    assert split.outcome == {"results": ["i32", "i64"], "type": "{ i32, i64 }",
                             "composite": "{ i32, i64 }", "align": 8, "opcode": 32}
    for e in (loaded, phi, chosen):  # each that is taken apart, not what arrives whole alone
        assert e.outcome == {"results": ["i8", "half"], "type": "{ i8, half }",
                             "composite": "{ i8, half }", "align": 2, "opcode": 32}
    assert [e.inputs["v"].split()[0] for e in (loaded, phi, chosen)] == ["load", "phi", "select"]
    assert [(e.inputs["field"], e.outcome) for e in trace.of("STR-10")] == [(4, 2)]
    (classes,) = trace.of("STR-21")
    assert classes.outcome == {"i32": ["%r"], "i64": ["%rd"], "i8": ["%rs"],
                               "half": ["%h, printed %rs"]}


@pytest.mark.seed("UNR-41", "UNR-53")
def test_copies_tell_their_flag_their_exit_and_what_they_own(tmp_path):
    lines = traced(tmp_path, HEAD + "L: bar.sync 0; " + STEP + "@%p1 bra L;\n" + END, "opt",
                   "-p", "loop-unroll", "--knob", "LoopUnrollFactor=2")
    marks = [x for x in lines if "UNR-41 6 mark (" in x]
    assert marks
    assert all(x.endswith(", pragma nounroll): 0x2000") for x in marks)
    (leave,) = [x for x in lines if "UNR-41 6 exit branch (blocks [" in x]
    assert "bra" in leave.rpartition(": ")[2]
    (owners,) = [x for x in lines if "UNR-53 6 the copies have it" in x]
    assert "(active True): [bar.sync (line " in owners
    assert owners.count("L") >= 3


@pytest.mark.seed("UNR-06", "UNR-12", "UNR-14", "UNR-34")
@pytest.mark.parametrize(("count", "size"), [("2", 15), ("%r1", 11)])
def test_a_loop_is_scanned_with_the_copies_of_the_loop_inside(tmp_path, count, size):
    """The near miss: a loop inside of which no copy is made."""
    inner = "" if count == "2" else '.pragma "nounroll"; '
    text = HEAD + "mov.u32 %r5, 0;\nO: mov.u32 %r2, 0;\nI: " + inner + \
        "mul.lo.s32 %r4, %r2, 4; add.s32 %r3, %r3, %r4; xor.b32 %r3, %r3, %r2;" \
        f"add.s32 %r3, %r3, 5; add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, {count}; @%p1 bra I;\n" \
        "add.s32 %r5, %r5, 1; setp.lt.s32 %p2, %r5, %r1; @%p2 bra O;\n" + END
    lines = traced(tmp_path, text, "opt", "-p", "loop-simplify,loop-unroll")
    scans = [x for x in lines if "UNR-12" in x]
    assert [x[:9] for x in scans] == ["I: UNR-12", "O: UNR-12"][count != "2":]
    verdicts = [k for k, x in enumerate(lines) if "UNR-45" in x]
    done = [k for k, x in enumerate(lines) if "UNR-38" in x]
    assert not done or verdicts[0] < done[0] < verdicts[1]
    assert bool(done) == (count == "2")
    assert f": size {size}," in scans[-1]
    assert sum("UNR-44" in x for x in lines) == 1


def test_a_trace_of_one_loop_says_nothing_of_others():
    """What is about no loop is told; a step of another loop runs without being told."""
    ran = []

    @step("LIC-05", "step")
    def visit(header: str) -> None:
        ran.append(header)

    with Trace(only="L") as trace:
        for header in ("", "L", "M"):
            looking_at(header)
            note("LIC-05", "loop", "seen")
            visit(header)
    assert [(e.step, e.at) for e in trace] == [
        ("loop", ""), ("step", ""), ("loop", "L"), ("step", "L")]
    assert ran == ["", "L", "M"]


def test_a_trace_of_several_functions_names_them(tmp_path):
    """Loops of two may be called alike; the trace of one says no name."""
    one = HEAD + "L: " + STEP + "@%p1 bra L; " + END
    assert not [x for x in traced(tmp_path, one, "opt", "-p", "licm") if x.startswith("in ")]
    two = one + HEAD.partition("64\n")[2].replace("entry k", "entry h") + "L: " + STEP + \
        "@%p1 bra L; " + END
    lines = traced(tmp_path, two, "opt", "-p", "loop-unroll,licm")
    named = [(k, x) for k, x in enumerate(lines) if x.startswith("in ")]
    assert [x for _, x in named] == ["in k", "in h"] * 2
    assert [lines[k + 1].split()[0] for k, _ in named] == ["UNR-01"] * 2 + ["LIC-01"] * 2


@pytest.mark.seed("MEM-25")
@pytest.mark.parametrize("length", [0, 1])
def test_a_copy_of_no_bytes_is_told_by_who_drops_it(tmp_path, length):
    """It is gone before copies are lowered."""
    text = f"__global__ void k(char *d, const char *s) {{ memcpy(d, s, {length}); }}"
    lines = traced(tmp_path, text, "compile", "--emit", "ll", name="k.cu")
    told = [x for x in lines if "MEM-25" in x]
    assert told == ["MEM-25 length of zero: nothing is copied"] * (length == 0)


def test_the_knob_of_single_entries_gates_what_its_text_says(tmp_path):
    """Unrolling under the notes alone."""
    step = STEP.replace("%r1;", "2;")
    (tmp_path / "k.ptx").write_text(HEAD + "L: " + step + "@%p1 bra L;\n" + END)
    for policy, told in (("documented", "does not run: knob LoopMakeSingleEntry is off"),
                         ("observed", "unrolled fully, 2 iterations")):
        run = CliRunner().invoke(main, [
            "opt", str(tmp_path / "k.ptx"), "--policy", policy, "-p", "loop-simplify,loop-unroll",
            "--knob", "LoopMakeSingleEntry=0", "--remarks", ".", "--emit", "none"])
        assert told in run.stderr
