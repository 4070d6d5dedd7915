"""`nvir explain --policy documented`: the trace, and the three compilers beside each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import nvir
from nvir.cli import main
from nvir.ir.loops import natural_loops
from nvir.report.explain.noted import loads_ahead, one_a_line
from nvir.sm.body import BodyBlock, BodyInstruction, MachineBody, Span
from tests.documented.test_steps import KERNEL

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SAXPY = str(EXAMPLES / "ptx" / "saxpy.sm_80.ptx")


def explained(*words: str) -> str:
    run = CliRunner().invoke(main, ["explain", SAXPY, "--no-vary", *words])
    assert run.exit_code == 0, run.output
    return run.output


def test_the_trace_is_told_under_the_documented_policy_alone():
    assert "trace of the noted steps" not in explained()
    assert "trace" not in json.loads(explained("--json"))
    page = explained("--policy", "documented").partition("trace of the noted steps")[2]
    order = [page.index(x) for x in (
        "phase 22, OriLoopUnrolling", "UNR-01", "UNR-10", "UNR-54", "UNR-14", "UNR-28", "UNR-45",
        "phase 24, OriPipelining", "SWP-14", "OriHoistInvariants, instances 0 to 3", "LIC-36")]
    assert order == sorted(order)
    assert page.count("OriLoopUnrolling") == 1  # though phase 24 asks its VerifyStride
    assert "…" not in page  # long events go on in the next line
    assert "LIC-36  ShouldHoist" in page
    events = json.loads(explained("--policy", "documented", "--json"))["trace"]
    (verdict,) = [e for e in events if e["step"] == "verdict"]
    assert verdict["row"] == "UNR-45"
    made = verdict["outcome"]
    assert (made["action"], made["factor"]) == ("partial", 4)  # its stride is a value of run time
    assert verdict["loop"] == "$L__BB0_2"
    assert {e["loop"] for e in events} == {"$L__BB0_2", "$L__BB0_2.1", None}
    (moved,) = [e for e in events if "goes on as" in str(e["outcome"])]
    assert (moved["step"], moved["outcome"]) == (
        "loop-unroll", "the loop goes on as $L__BB0_2.1")
    assert all(e["loop"] != "$L__BB0_2" for e in events[events.index(moved) + 1:])


ONE_MUL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 o, .param .u32 n) {
.reg .pred %p<3>; .reg .b32 %r<30>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [o]; ld.param.u32 %r1, [n]; mov.u32 %r2, 0; mov.u32 %r3, 0;
L: .pragma "nounroll";
mul.lo.s32 %r20, %r1, %r1; add.u32 %r3, %r3, %r20; add.u32 %r3, %r3, %r2;
add.s32 %r2, %r2, 1; setp.lt.s32 %p1, %r2, BOUND; @%p1 bra L;
st.global.u32 [%rd1], %r3; ret; }
"""


def page(tmp_path: Path, text: str) -> dict:
    (tmp_path / "k.ptx").write_text(text)
    words = ["explain", str(tmp_path / "k.ptx"), "--no-vary", "--policy", "documented", "--json"]
    run = CliRunner().invoke(main, words)
    assert run.exit_code == 0, run.output
    return json.loads(run.output)


@pytest.mark.seed("LIC-01", "LIC-36")
def test_each_pass_gets_what_the_one_before_left(tmp_path):
    """What the first instance hoists is not there for the others."""
    made = page(tmp_path, ONE_MUL.replace("BOUND", "%r1"))
    forward = [e["outcome"] for e in made["trace"] if e["row"] == "LIC-14"]
    assert forward.count(["mul.lo.s32 %r20 (line 8)"]) == 2  # of header and latch
    told = {d["pass"]: [r["name"] for r in d["remarks"]] for d in made["decisions"]}
    assert told["licm<id=0>"] == ["Hoisted"]
    assert [told[f"licm<id={k}>"] for k in (1, 2, 3)] == [[], [], []]


@pytest.mark.seed("PRA-01")
def test_a_loop_that_the_last_scheduler_does_not_take_says_its_blocks(tmp_path):
    split = ONE_MUL.replace("add.u32 %r3, %r3, %r2;", "setp.eq.u32 %p2, %r3, 7; @%p2 bra M; "
                            "st.global.u32 [%rd1], %r2; M:").replace("BOUND", "%r1")
    (event,) = [e for e in page(tmp_path, split)["trace"] if e["row"] == "PRA-01"]
    assert event["outcome"].startswith("not pipelined: unsupported: a loop of ")
    assert event["inputs"]["loop"] == "L"
    assert len(event["inputs"]["blocks"]) > 1
    whole = page(tmp_path, ONE_MUL.replace("BOUND", "%r1"))["trace"]
    assert [e for e in whole if e["row"] == "PRA-01" and "unsupported" in str(e["outcome"])] == []


@pytest.mark.seed("UNR-34")
def test_a_loop_that_is_gone_is_said_to_be(tmp_path):
    folds = "shl.b32 %r21, %r2, 2; add.u32 %r3, %r3, %r21; mul.lo.s32"
    text = ONE_MUL.replace('.pragma "nounroll";', "").replace("mul.lo.s32", folds)
    text = text.replace("BOUND", "2")
    made = page(tmp_path, text)
    last = made["trace"][-1]
    assert (last["step"], last["outcome"]) == ("loop-unroll", "no loop is left of it")
    errors = {d["pass"]: d["error"] for d in made["decisions"]}
    assert errors["licm<id=0>"] == errors["loop-pipeline"] == "no loop is left of it"


@pytest.mark.oracle
@pytest.mark.parametrize("name", ["k.nvir", "k.ptx"])
def test_compare_shows_what_ptxas_made_of_other_files_than_ptx(tmp_path, name):
    """As PTX, where blocks have other names: `a b` is no label."""
    text = ONE_MUL.replace('.pragma "nounroll";', "").replace("BOUND", "%r1")
    module = nvir.read_ptx(text.replace("add.s32 %r2", "add.u64 %rd1, %rd1, 4; "
                                        "st.global.u32 [%rd1], %r2; add.s32 %r2"))
    if name == "k.nvir":
        next(b for b in module["k"].blocks if b.name == "L").name = "a b"
    (tmp_path / name).write_text(nvir.print_ir(module) if name == "k.nvir" else
                                 nvir.print_ptx(module))
    run = CliRunner().invoke(main, [
        "explain", str(tmp_path / name), "--no-vary", "--compare", "--json"])
    assert run.exit_code == 0, run.output
    rows = {c["what"]: c["ptxas"] for c in json.loads(run.output)["compared"]}
    assert rows["unrolling"] == "4 copies in the loop"


@pytest.mark.seed("SWP-06", "GAP-22", "GAP-23")
def test_compare_tells_phase_24_as_it_stands_where_that_decides_otherwise(tmp_path):
    """The check of pipes rejects arithmetic; a loop that is not asked is as by default."""
    literal = "; loop-pipeline<classes;noted-check>: not pipelined"
    no_load = KERNEL.replace("ld.global.f32 %f1, [%a]; ", "")
    for text, otherwise in ((KERNEL, True), (no_load, False)):
        (tmp_path / "k.ptx").write_text(text)
        run = CliRunner().invoke(main, [
            "explain", str(tmp_path / "k.ptx"), "--no-vary", "--compare", "--json"])
        (noted,) = [c["noted"] for c in json.loads(run.stdout)["compared"]
                    if c["what"] == "pipelining"]
        assert noted.startswith("4 stages by a schedule of II 24") is otherwise
        assert noted.endswith(literal) is otherwise


@pytest.mark.oracle
def test_compare_sets_the_notes_beside_what_was_observed_and_what_ptxas_did():
    rows = {c["what"]: c for c in json.loads(explained("--compare", "--json"))["compared"]}
    assert list(rows) == ["unrolling", "hoisting", "pipelining"]
    assert rows["unrolling"] == {
        "what": "unrolling",
        "noted": "unrolled 4 times, one test in 4 copies, the loop for the rest",
        "observed": "the assembler does not unroll the loop", "ptxas": "one copy in the loop",
    }
    assert rows["pipelining"]["ptxas"] == "0 of 2 loads run an iteration ahead"
    text = explained("--policy", "documented", "--compare")
    assert "as noted, as observed, and as the installed ptxas did" in text
    assert "ptxas     one copy in the loop" in text


COPIED = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n) {
.reg .pred %p<3>;
.reg .b32 %r<9>;
.reg .f32 %f<9>;
.reg .b64 %rd<9>;
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [b];
ld.param.u32 %r1, [n];
mov.f32 %f1, 0f00000000;
mov.u32 %r2, 0;
L:
ld.global.nc.f32 %f2, [%rd1];
add.f32 %f1, %f1, %f2;
add.s64 %rd1, %rd1, 4;
add.s32 %r2, %r2, 1;
setp.lt.s32 %p1, %r2, %r1;
@%p1 bra L;
st.global.f32 [%rd2], %f1; // ;
ret; }
"""


@pytest.mark.oracle
@pytest.mark.parametrize("text", [COPIED, COPIED.replace(";\n", "; ")],
                         ids=["one a line", "all on a line"])
def test_copies_are_counted_where_ptxas_unrolls(tmp_path, text):
    ptx = tmp_path / "k.ptx"
    ptx.write_text(text.replace("// ; ", "/* ; */ "))
    run = CliRunner().invoke(main, ["explain", str(ptx), "--no-vary", "--compare", "--json"])
    rows = {c["what"]: c["ptxas"] for c in json.loads(run.output)["compared"]}
    assert rows["unrolling"] == "4 copies in the loop"
    assert rows["pipelining"] == "0 of 1 loads run an iteration ahead"


def test_statements_get_lines_of_their_own():
    text = 'a; b; // c; d\n.file 1 "x;y"; /* e;\nf; */ g;\nh;'
    assert one_a_line(text) == (
        'a;\nb;\n// c; d\n.file 1 "x;y";\n/* e;\nf; */ g;\nh;\n')


def test_an_unrolled_loop_goes_on_as_one_block(tmp_path):
    """Copies without a test between them are one block, so later steps have something to say."""
    (tmp_path / "k.ptx").write_text(COPIED)
    run = CliRunner().invoke(main, [
        "explain", str(tmp_path / "k.ptx"), "--no-vary", "--policy", "documented", "--json"])
    events = json.loads(run.output)["trace"]
    outcomes = {(e["row"], e["loop"]): e["outcome"] for e in events}
    assert outcomes["SWP-14", "L.1"] is False
    assert "nounroll" in outcomes["SWP-02", "L.1"] or "unrolled" in outcomes["SWP-02", "L.1"]
    assert {"PRA-02", "PRA-03", "PRA-08"} <= {e["row"] for e in events}
    (told,) = [e for e in events if e["row"] == "PRA-01"]  # an unrolled loop is not pipelined
    assert (told["step"], told["outcome"]) == ("nothing given", "one stage, in the body's order")


FLAT = """#include <string.h>
struct S { int a; float b; };
__device__ __noinline__ int one(S s, int x) { return s.a + x; }
__global__ void k(int *p, S s, int n, const char *from) {
  S t = s; memmove(p, from, 16); int x;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
  p[0] = one(t, n) + x;
}
"""


def flat(tmp_path: Path, *words: str) -> str:
    (tmp_path / "k.cu").write_text(FLAT)
    run = CliRunner().invoke(main, ["explain", str(tmp_path / "k.cu"), "--policy", "documented",
                                    *words])
    assert run.exit_code == 0, run.output
    return run.output


@pytest.mark.seed("FN-19", "CAL-01", "ASM-01", "MEM-07", "UNR-01")
def test_a_file_without_a_loop_has_its_trace(tmp_path):
    """Parameters, calls, assembly and copies of the kernel, not those of another function."""
    pytest.importorskip("clang.cindex")
    page = flat(tmp_path)
    assert page.splitlines()[1] == "no loop"
    order = [page.index(x) for x in (
        "the front end: ", "FN-09", "CAL-01", "ASM-02", "lower-aggr-copies: ", "STR-02", "MEM-07",
        "phase 22, OriLoopUnrolling", "UNR-01")]
    assert order == sorted(order)
    made = json.loads(flat(tmp_path, "--json", "--knob", "param-debug-info=1"))
    assert made["loop"] is None
    declared = [e for e in made["trace"] if e["row"] == "FN-19"]
    assert {e["inputs"]["parameter"]: e["outcome"] for e in declared if e["function"] ==
            "_Z1kPi1SiPKc"} == dict.fromkeys(("p", "s", "n", "from"), True)
    assert "_Z3one1Si" not in {e["function"] for e in made["trace"]}
    other = flat(tmp_path, "--kernel", "one")
    assert "parameter x, number 2, param_debug_info False" in other
    assert "ASM-02" not in other


def test_under_policy_observed_a_file_without_a_loop_is_an_error(tmp_path):
    (tmp_path / "k.ptx").write_text(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n")
    for policy, code in (("observed", 1), ("documented", 0)):
        run = CliRunner().invoke(main, ["explain", str(tmp_path / "k.ptx"), "--policy", policy])
        assert run.exit_code == code, run.output
    assert "UNR-01" in run.output


@pytest.mark.seed("UNR-03", "UNR-01")
def test_events_have_fields_where_lines_have_words(tmp_path):
    made = page(tmp_path, ONE_MUL.replace("BOUND", "%r1"))
    events = {e["row"]: e for e in made["trace"]}
    assert events["UNR-01"]["inputs"]["entry"]["blocks"] > 2
    read = events["UNR-03"]["outcome"]
    assert [read[k] for k in (
        "budget", "flexible", "unknown_count", "small_limit", "large_share", "inst_limit",
        "preg_percent", "per_percent", "full_limit", "extra_base")] == [
        140, 0.25, 4, 4, 0.4, 20.0, 50, 2, 200, 46]


NEST = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 o, .param .u32 n, .param .u32 m)
{
.reg .pred %p<3>;
.reg .b32 %r<7>;
.reg .b64 %d<3>;
.reg .f32 %f<4>;
ld.param.u64 %d1, [a];
ld.param.u64 %d2, [o];
ld.param.u32 %r1, [n];
ld.param.u32 %r2, [m];
mov.u32 %r3, 0;
mov.f32 %f1, 0f00000000;
L:
mov.u32 %r4, 0;
add.s32 %r5, %r3, 5;
M:
.pragma "nounroll";
ld.global.f32 %f2, [%d1];
add.s64 %d1, %d1, 4;
mul.lo.s32 %r6, OF, %r1;
cvt.rn.f32.s32 %f3, %r6;
fma.rn.f32 %f1, %f2, %f3, %f1;
add.s32 %r4, %r4, 1;
setp.lt.s32 %p1, %r4, %r2;
@%p1 bra M;
add.s32 %r3, %r3, 1;
setp.lt.s32 %p2, %r3, %r1;
@%p2 bra L;
st.global.f32 [%d2], %f1;
ret;
}
"""


def compared_hoists(path: Path, loop: str = "M") -> dict[str, str]:
    run = CliRunner().invoke(main, [
        "explain", str(path), "--no-vary", "--compare", "--json", "--loop", loop])
    (row,) = [c for c in json.loads(run.output)["compared"] if c["what"] == "hoisting"]
    return {who: row[who] for who in ("noted", "observed", "ptxas") if row[who] is not None}


def test_what_leaves_a_loop_of_a_nest_for_the_loop_around_it_has_left(tmp_path):
    """It still stands in a loop, which is not the one that is asked about."""
    path = tmp_path / "k.ptx"
    path.write_text(NEST.replace("OF", "%r5"))
    assert set(compared_hoists(path).values()) == {
        "2 of 2 invariant lines stand outside of the loop"}
    path.write_text(NEST.replace("OF", "%r4"))  # the loop's own counter: it stays
    assert not any("lines" in x for x in compared_hoists(path).values())


TWO = """__device__ float g(float x) { return x * x; }
__global__ void p(float *o, int n) { for (int i = 0; i < n; i++) o[i] = 1.f; }
__global__ void q(float *o, int n) { for (int i = 0; i < n; i++) o[i] = g(o[i]); }
"""


@pytest.mark.parametrize(("kernel", "told"), [("p", {"_Z1pPfi"}), ("q", {"_Z1qPfi", "_Z1gf"})])
def test_of_what_is_no_more_that_is_told_which_the_kernel_calls(tmp_path, kernel, told):
    (tmp_path / "k.cu").write_text(TWO)
    made = CliRunner().invoke(main, [
        "explain", str(tmp_path / "k.cu"), "--kernel", kernel, "--policy", "documented",
        "--no-vary", "--json"])
    events = json.loads(made.output)["trace"]
    assert {e["function"] for e in events if e["row"].startswith("FN")} == told


INVARIANT = ONE_MUL.replace('.pragma "nounroll";', "").replace("; ", ";\n").replace(
    "BOUND", "%r1")


def test_hoists_are_compared_on_the_loop_as_it_is_written(tmp_path):
    """The lines that are invariant in it, not those of the copies that unrolling makes."""
    path = tmp_path / "k.ptx"
    path.write_text(INVARIANT)
    told = compared_hoists(path, "L")
    assert {x.partition(" of ")[2] for x in told.values()} == {
        "1 invariant lines stand outside of the loop"}
    assert told["noted"][0] == "1"


ROLLED = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a) {
.reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %d<2>;
ld.param.u64 %d1, [a]; mov.u32 %r1, 0;
L:
ld.global.u32 %r2, [%d1];
st.global.u32 [%d1+4], %r2;
add.s32 %r1, %r1, 1; setp.lt.s32 %p1, %r1, 9; @%p1 bra L;
ret; }
"""
KERNEL_OF = ["STG R0", "LDG R0 R2", "BRA"]  # it stores what the iteration before loaded


@pytest.mark.parametrize(("ahead", "kernel", "pipelined"), [
    (["LDG R0 R2"], KERNEL_OF, True),
    (["LDG R4 R2", "MOV R0 R4"], KERNEL_OF, True),
    (["@LDG R0 R2"], KERNEL_OF, True),
    (["LDG R0 R2", "FADD R7 R0"], ["LDG R0 R2", "STG R0", "BRA"], False),  # an iteration, peeled
    (["LDG R4 R2", "FADD R0 R4"], KERNEL_OF, False),
    (["LDG R0 R2", "MOV R0 R5"], KERNEL_OF, False),
    (["LDC R0"], KERNEL_OF, False),
], ids=["carried", "moved", "guarded", "peeled", "used", "lost", "address"])
def test_a_load_is_pipelined_where_the_loop_reads_what_was_loaded_ahead(ahead, kernel, pipelined):
    function = nvir.read_ptx(ROLLED).functions[0]
    function.analyze_cfg()
    blocks = [BodyBlock(0), BodyBlock(1), BodyBlock(2)]
    for block, texts in zip(blocks, (ahead, kernel, ["EXIT"]), strict=True):
        for text in texts:
            name, *at = text.removeprefix("@").split()
            spans = [Span("R", int(r[1:]), 1) for r in at]
            made = 0 if name in ("STG", "BRA") else 1
            block.instructions.append(BodyInstruction(
                name, spans[:made], spans[made:], line=9 if name == "STG" else 8,
                guard=Span("P", 0, 1) if text[0] == "@" else None))
    blocks[0].succs, blocks[1].succs = [1], [1, 2]
    found = loads_ahead(natural_loops(function)[0], MachineBody("k", "sm_80", blocks, source="x"))
    assert found == ({8}, {8} if pipelined else set())


@pytest.mark.oracle
def test_what_nothing_reads_has_no_loop_to_leave(tmp_path):
    (tmp_path / "k.ptx").write_text(INVARIANT.replace("add.u32 %r3, %r3, %r20;", ""))
    assert not any("lines" in x for x in compared_hoists(tmp_path / "k.ptx", "L").values())
