"""Each row of what runs leaves an event; here the events of rows that few inputs have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import nvir
from nvir.frontend import build as b
from nvir.frontend.check import check
from nvir.frontend.irgen import Options, generate
from nvir.frontend.irgen.intrinsic.inline_asm import parse_template
from nvir.frontend.irgen.state import Refused
from nvir.frontend.tree.statements import Asm
from nvir.ir.errors import NvirError
from nvir.ir.text.trace import Trace

GROUPS = ("UNR", "LIC", "SET", "SWP", "LAT", "P18", "PRA", "FUS", "MEM", "STR", "CAL", "ASM", "FN")
NO_EVENT = {  # what no step of its own decides
    "MEM-20": "what the result has to be", "UNR-47": "what the result has to be",
    "FUS-21": "what the result has to be, and the place in the pipeline",
    "STR-17": "what the result has to be", "STR-22": "a sample",
    "MEM-23": "knobs, told with STR-02 and MEM-06", "STR-06": "told with STR-05",
    "STR-07": "told with STR-05", "STR-13": "a table", "STR-14": "a table",
    "STR-20": "the order of the pipeline", "LIC-02": "the order of the pipeline",
    "FN-17": "an error of trees that no front end makes", "FN-18": "a dict", "FN-23": "a class",
    "SET-07": "a set", "CAL-17": "the order of the events", "ASM-23": "a sample",
    "P18-08": "that a second run changes nothing",
}


def test_every_row_of_what_runs_is_told(rows):
    folder = Path(nvir.__file__).parent
    texts = "\n".join(f.read_text("utf-8") for f in folder.rglob("*.py"))
    told = set(re.findall(r'"([A-Z0-9]+-\d+)"', texts))
    mine = {r for r in rows if r.partition("-")[0] in GROUPS}
    assert mine - told == set(NO_EVENT)


def function_of(result: str, params: str, *body) -> None:
    generate(check(b.unit(b.function(result, params, *body))), Options(policy="documented"))


def asm_of(template: str, outputs, inputs) -> None:
    function_of("void f", "int x", b.asm(template, outputs, inputs))


def events(trace: Trace, *rows: str) -> list[str]:
    return [str(e) for e in trace if e.row in rows]


@pytest.mark.seed("ASM-03", "ASM-04", "ASM-05", "ASM-06", "ASM-08", "ASM-09")
def test_pieces_of_a_template_are_told_one_by_one():
    with Trace() as trace:
        parse_template("a$b %%tid.x %= %h0 %12 %-x")
    assert [str(e) for e in trace][:-1] == [
        "ASM-03 1 part (found $): $$", "ASM-04 1 part (found %%): %",
        "ASM-06 1 part (found %=): ${:uid}",
        "ASM-08 1 part (found %h0, modifier h): operand 0",
        "ASM-05 1 part (found %12, modifier none): operand 12",
        "ASM-09 1 literal text (template a$b %%tid.x %= %h0 %12 %-x): [%-x]"]
    with Trace() as plain:
        parse_template("bar.sync 0;")
    assert [e.row for e in plain] == ["ASM-02"]


@pytest.mark.seed("ASM-07", "ASM-14")
def test_what_the_notes_refuse_is_told_before_it_is_refused():
    with Trace() as trace, pytest.raises(Refused):
        parse_template("%[x]", Asm("%[x]"))
    assert events(trace, "ASM-07") == [
        "ASM-07 1 part (found %[): refused: symbolic operand reference not supported!"]
    x = b.name("x")
    with Trace() as trace, pytest.raises(Refused):
        asm_of("add %0, %1;", [("=r", x)], [("0", x)])
    assert events(trace, "ASM-14") == [
        "ASM-14 3 tied (constraint 0): refused: tied input/output operands not "
        "supported!"]


@pytest.mark.seed("ASM-10", "ASM-15")
def test_the_text_of_an_operand_is_told():
    with Trace() as trace:
        asm_of("%1 %0;", [("=r", b.name("x"))], [("C", b.expr(b"m$v\0"))])
    assert events(trace, "ASM-10", "ASM-15") == [
        "ASM-10 1 part (found %1): m$$v",
        "ASM-15 3 text operand (tag 23): no value, constraint r"]


@pytest.mark.seed("ASM-12", "ASM-13")
@pytest.mark.parametrize(("given", "said", "tied"), [
    ("=r", "=r", []), ("+r", "=r", ["an input tied to 0"]), ("=m", "=*m", [])])
def test_outputs_are_told_with_what_is_tied_to_them(given, said, tied):
    with Trace() as trace:
        asm_of("mov %0, 1;", [(given, b.name("x"))], [])
    assert [e.outcome for e in trace.of("ASM-12")] == [said]
    assert [e.outcome for e in trace.of("ASM-13")] == tied


@pytest.mark.seed("FN-03", "FN-04", "FN-06", "FN-07", "FN-20", "FN-22")
def test_the_steps_of_a_function_have_their_rows():
    with Trace() as trace:
        function_of("int f", "int a", b.ret(1), b.label("dead"), b.goto("dead"))
    assert events(trace, "FN-03", "FN-06", "FN-07") == [
        "FN-07 3 section (function f): none", "FN-03 5 allocapt (function f): first in entry",
        "FN-06 8 alignment (function f): 4"]
    assert {e.outcome for e in trace.of("FN-04")} == {"before the marker"}
    assert [e.inputs["blocks"] for e in trace.of("FN-22")] == [
        ["unreachable", "dead"]]
    assert not trace.of("FN-20")  # it has a name


COPY = """define void @k(ptr %a, ptr %b, i64 %n) {{
  call void @llvm.{0}.p0.p0.i64(ptr {1}, ptr %b, i64 {2}, i1 false)
  ret void
}}
declare void @llvm.{0}.p0.p0.i64(ptr, ptr, i64, i1)
@table = addrspace(4) global [64 x i8] zeroinitializer
"""


@pytest.mark.seed("MEM-11", "MEM-14", "MEM-19", "MEM-22", "MEM-24")
@pytest.mark.parametrize(("kind", "options", "length", "told"), [
    ("memcpy", "", "4", ["i8", "unrolled", "as memmove", "nonzerotrip",
                         "dst.memmove.gep,unroll"]),
    ("memcpy", "<forward;plain-names>", "129", ["i8", "a loop", "forward", "nonzerotrip",
                                                "dst.memmove.gep.unroll"]),
    ("memmove", "", "%n", ["i8", "a loop", "nonzerotrip", "dst.memmove.gep,unroll"])])
def test_a_copy_tells_how_it_is_done(kind, options, length, told):
    module = nvir.read_ll(COPY.format(kind, "%a", length))
    with Trace() as trace:
        nvir.run_passes(module, f"lower-aggr-copies{options}", policy="documented")
    found = [e for e in trace if e.row in ("MEM-11", "MEM-14", "MEM-19", "MEM-22", "MEM-24")]
    assert [e.outcome for e in found] == told
    assert not trace.of("MEM-25") or length == "%n"


@pytest.mark.seed("MEM-14", "MEM-17")
@pytest.mark.parametrize(("said", "element"), [("noundef", "i8"), ("align 2", "i16")])
def test_an_alignment_that_a_call_does_not_say_is_one(said, element):
    text = COPY.format("memmove", f"{said} %a", "%n").replace("ptr %b, i64 %n, i1",
                                                              f"ptr {said} %b, i64 %n, i1")
    with Trace() as trace:
        nvir.run_passes(nvir.read_ll(text), "lower-aggr-copies<wide>", policy="documented")
    assert [e.outcome for e in trace.of("MEM-14")] == [element]


@pytest.mark.seed("MEM-25")
def test_a_copy_of_nothing_is_told():
    module = nvir.read_ll(COPY.format("memmove", "%a", "0"))
    with Trace() as trace:
        nvir.run_passes(module, "lower-aggr-copies", policy="documented")
    assert events(trace, "MEM-25") == ["MEM-25 length of zero: nothing is copied"]


@pytest.mark.seed("MEM-21")
def test_constant_memory_as_a_target_is_told():
    text = COPY.format("memmove", "%u", "4").replace(
        "  call", "  %t = addrspacecast ptr addrspace(4) @table to ptr\n"
        "  %u = getelementptr i8, ptr %t, i64 %n\n  call", 1)
    module = nvir.read_ll(text)
    with Trace() as trace, pytest.raises(NvirError):
        nvir.run_passes(module, "lower-aggr-copies", policy="documented")
    assert [e.outcome for e in trace.of("MEM-21")] == [
        "refused: memmove/memcpy cannot target constant address space"]


LOOP = """.version 8.0
.target sm_80
.address_size 64
.const .align 4 .b8 table[64];
.visible .entry k(.param .u64 a, .param .u32 n) {
.reg .pred %p<3>; .reg .b32 %i, %n, %x<5>; .reg .b64 %a;
ld.param.u64 %a, [a]; ld.param.u32 %n, [n]; mov.u32 %i, 0;
L: BODY
st.global.u32 [%a], %x1; add.s64 %a, %a, 4; add.s32 %i, %i, 1;
setp.lt.s32 %p1, %i, %n; @%p1 bra L;
ret; }
"""


@pytest.mark.seed("LIC-01", "LIC-04", "LIC-33", "LIC-34", "LAT-08")
@pytest.mark.parametrize(("body", "knobs", "constant", "together"), [
    ("ld.const.u32 %x1, [table];", {}, [["ld.const.u32 %x1 (line 8)"]], 0),
    ("ld.const.u32 %x1, [table];", {"HoistCBOLoad": 0}, [[]], 0),
    ("shfl.sync.idx.b32 %x1, %n, 0, 31, -1;", {}, [], 1), ("add.u32 %x1, %n, 3;", {}, [], 0)])
def test_hoisting_tells_of_constant_loads_and_of_lanes_together(body, knobs, constant, together):
    module = nvir.read_ptx(LOOP.replace("BODY", body))
    with Trace() as trace:
        nvir.run_passes(module, "licm<id=1>", knobs=knobs, policy="documented")
    assert [e.outcome for e in trace.of("LIC-33")] == constant
    assert [e.inputs["loads"] for e in trace.of("LIC-33")] == [
        ["ld.const.u32 %x1 (line 8)"]] * len(constant)
    assert len(trace.of("LIC-34")) == together
    assert events(trace, "LIC-01") == ["LIC-01 pass (pass_id 1): OriHoistInvariantsLate"]
    assert events(trace, "LIC-04") == [
        "LIC-04 knob 381 (value none, pass_id 1, literal True): HOIST"]
    assert trace.of("LAT-08") or not (constant and constant[0])


@pytest.mark.seed("UNR-46", "UNR-51", "DIA-01")
def test_rejections_are_recorded_where_that_is_asked_for():
    text = LOOP.replace("BODY", "vote.sync.all.pred %p2, %p1, -1; mov.u32 %x1, 3;")
    for options, said in (("", "not recorded"), ("<verbose>", "recorded")):
        with Trace() as trace:
            nvir.run_passes(nvir.read_ptx(text), f"loop-unroll{options}", policy="documented")
        assert [e.outcome for e in trace.of("UNR-46")] == [said]
        assert [e.outcome for e in trace.of("UNR-51")] == [
            {"partial": 0, "full": 0, "non-unrolled": 1}]


@pytest.mark.seed("SWP-13", "SWP-17", "LAT-02")
def test_phase_24_tells_widths_meanings_and_barriers():
    for body, barriers, widths in (("ld.global.u32 %x1, [%a]; bar.sync 0;", 1, 0),
                                   ("ld.global.u32 %x1, [%a];", 0, 1)):
        with Trace() as trace:
            nvir.run_passes(nvir.read_ptx(LOOP.replace("BODY", body)), "loop-pipeline",
                            policy="documented")
        assert len(trace.of("SWP-17")) == barriers
        assert [e.outcome["LSU"] for e in trace.of("SWP-13")] == [2] * widths
        (meaning,) = trace.of("LAT-02")
        assert meaning.outcome["6"] == "simple ALU, bitwise, short integer"


@pytest.mark.seed("LAT-03")
@pytest.mark.parametrize(("body", "opcode", "by_rule"), [
    ("ld.global.u32 %x1, [%a]; tex.1d.v4.u32.s32 {%x1, %x2, %x3, %x4}, [t, {%i}];",
     "tex.1d.v4.u32.s32", 6),
    ("ld.global.u32 %x1, [%a]; bar.sync 0;", "bar.sync", 6),
    ("ld.global.u32 %x1, [%a];", "ld.global.u32", 26)])
def test_what_the_rule_of_a_family_says_of_the_result(body, opcode, by_rule):
    text = LOOP.replace("BODY", body).replace(".visible", ".global .texref t;\n.visible")
    with Trace() as trace:
        nvir.run_passes(nvir.read_ptx(text), "loop-pipeline", policy="documented",
                        knobs={"PipelineMultiOutputTex": 1})
    assert [e.inputs["by_rule"] for e in trace.of("LAT-03")
            if e.inputs["opcode"] == opcode and e.inputs["index"] == 0
            and "family" in e.inputs] == [by_rule]
