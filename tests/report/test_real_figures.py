"""Where ptxas is installed, figures about code as it stands are those of its code, in each view."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from corpus import examples

import nvir
from nvir.cli import main
from nvir.ir.loops import natural_loops
from nvir.report import report
from nvir.report.bodies import by_line
from nvir.report.lines import line_listing
from nvir.report.real import machine_bound, machine_copies, machine_loop, real_of
from nvir.sm.body import BodyBlock, BodyInstruction, MachineBody
from nvir.sm.profile import profile
from nvir.toolchain import available

SM_80 = profile("sm_80")
needs_ptxas = pytest.mark.skipif(not available("ptxas"), reason="no ptxas")
NEST = """.version 7.8
.target sm_80
.address_size 64
.visible .entry nest(.param .u64 p, .param .u32 n)
{
.reg .pred %p<4>; .reg .b32 %r<10>; .reg .b64 %rd<6>; .reg .f32 %f<8>;
ld.param.u64 %rd1, [p];
ld.param.u32 %r1, [n];
OUTER:
ld.global.f32 %f4, [%rd1];
mov.u32 %r3, 0;
INNER:
ld.global.f32 %f2, [%rd1+4];
add.u32 %r3, %r3, 1;
setp.lt.u32 %p1, %r3, %r1;
@%p1 bra INNER;
add.u32 %r2, %r2, 1;
setp.lt.u32 %p2, %r2, %r1;
@%p2 bra OUTER;
ret;
}
"""
OUTER_LOAD, INNER_LOAD, INNER_END, OUTER_END = 10, 13, 16, 19


def machine_code(*blocks: tuple[list[tuple[str, int]], list[int]]) -> MachineBody:
    """A body of blocks: (opcode, line) of their instructions, and who follows each."""
    made = []
    for index, (code, follow) in enumerate(blocks):
        made.append(BodyBlock(index))
        made[-1].instructions = [BodyInstruction(name, line=line) for name, line in code]
        made[-1].succs = follow
    return MachineBody("nest", "sm_80", made, source="ptxas")


def loops_of(text: str):
    (f,) = nvir.read_ptx(text).functions
    f.analyze_cfg()
    return {x.header.name: x for x in natural_loops(f)}


def test_the_rest_of_an_unrolled_loop_is_no_copy_of_the_main_one():
    load = ("LDG.E", INNER_LOAD)
    body = machine_code(
        ([("MOV", 7)], [1]),
        ([("LDG.E", OUTER_LOAD)], [2]),
        ([load] * 4 + [("BRA", INNER_END)], [2, 3]),  # four copies
        ([load] * 3, [4]),                            # and up to three behind them
        ([("BRA", OUTER_END)], [1, 5]),
        ([("EXIT", 20)], []),
    )
    loops = loops_of(NEST)
    assert machine_copies(loops["INNER"], body, SM_80) == 4
    assert machine_copies(loops["OUTER"], body, SM_80) == 1
    found = machine_loop(body, loops["INNER"], SM_80)
    assert found is not None
    assert (found[0].header, found[1]) == (2, 4)


def test_what_an_access_alone_reads_says_nothing_of_copies():
    load = [("IMAD.WIDE", INNER_LOAD), ("MOV", INNER_LOAD)] + [("LDG.E", INNER_LOAD)] * 4
    body = machine_code(
        ([*load, ("IADD3", INNER_LOAD + 1), ("BRA", INNER_END)], [0, 1]),
        ([("EXIT", 20)], []),
    )
    found = machine_loop(body, loops_of(NEST)["INNER"], SM_80)
    assert found is not None
    assert found[1] == 4


def test_copies_in_the_loop_around_are_no_loop():
    body = machine_code(
        ([("LDG.E", OUTER_LOAD)] + [("LDG.E", INNER_LOAD)] * 8 + [("BRA", OUTER_END)], [0, 1]),
        ([("EXIT", 20)], []),
    )
    loops = loops_of(NEST)
    assert machine_copies(loops["INNER"], body, SM_80) == 0
    assert machine_loop(body, loops["INNER"], SM_80) is None
    assert machine_bound(loops["INNER"], body, SM_80) is None


def test_a_loop_that_its_accesses_left_says_nothing():
    body = machine_code(
        ([("LDG.E", INNER_LOAD)], [1]),
        ([("IADD3", INNER_LOAD + 1)] * 4 + [("BRA", INNER_END)], [1, 2]),
        ([("EXIT", 20)], []),
    )
    assert machine_copies(loops_of(NEST)["INNER"], body, SM_80) is None


def test_a_loop_that_ends_at_a_line_of_no_loop_of_the_text_says_nothing():
    body = machine_code(
        ([("LDG.E", INNER_LOAD), ("BRA", 0)], [0, 1]),
        ([("EXIT", 20)], []),
    )
    assert machine_copies(loops_of(NEST)["INNER"], body, SM_80) is None


def test_the_bound_is_that_of_one_iteration_as_written():
    code = [("FFMA", INNER_LOAD)] * 8 + [("BRA", INNER_END)]
    body = machine_code((code, [0, 1]), ([("EXIT", 20)], []))
    bound, pipe = machine_bound(loops_of(NEST)["INNER"], body, SM_80) or (0.0, None)
    assert (bound, pipe) == (2.0, "FMA")  # eight copies: 16 cycles of the pipe


@needs_ptxas
@pytest.mark.parametrize("name", ["nbody", "softmax", "stencil"])
def test_peak_and_bound_of_the_report_are_the_codes(name: str):
    path = next(p for p in examples() if p.name.startswith(f"{name}."))
    module = nvir.read_ptx(path)
    real = real_of(module, "sm_80", decode=True)
    made = report(module, real=real)
    bounds = 0
    for f in made.functions:
        body = real.bodies[f.name]
        live = {n: has.live for n, has in by_line(body).items()}
        assert f.peak_line is not None
        stands = {i.line for i in module[f.name].instructions()}
        assert f.peak_live == live[f.peak_line] == max(m for n, m in live.items() if n in stands)
        loops = {x.header.name: x for x in natural_loops(module[f.name])}
        for x in f.loops:
            bound = machine_bound(loops[x.header], body, SM_80)
            if bound is not None and x.pipeline.res_mii is not None:
                assert (x.pipeline.res_mii, x.pipeline.mii) == (
                    bound[0], max(bound[0], x.pipeline.rec_mii or 0))
                bounds += 1
    assert bounds


@needs_ptxas
def test_a_source_and_its_ptx_get_the_same_figures(tmp_path: Path):
    pytest.importorskip("clang.cindex")
    cuda = Path(__file__).parents[2] / "examples" / "nbody.cu"
    ptx = tmp_path / "nbody.ptx"
    run = CliRunner()
    assert run.invoke(main, ["compile", str(cuda), "-o", str(ptx)]).exit_code == 0
    told = []
    for file in (cuda, ptx):
        made = json.loads(run.invoke(main, ["report", str(file), "--json"]).stdout)["functions"][0]
        told.append((made["peak"], [(x["unroll"], x["pipeline"]) for x in made["loops"]]))
        page = json.loads(run.invoke(main, ["explain", str(file), "--json"]).stdout)
        inner = made["loops"][-1]
        assert page["machine_code"]["copies"] == inner["unroll"]["factor"]
        assert page["machine_code"]["res_mii"] == inner["pipeline"]["res_mii"]
    assert told[0] == told[1]


@needs_ptxas
@pytest.mark.parametrize("name", ["nbody", "softmax"])
def test_the_row_of_what_ptxas_did_has_its_figures(name: str):
    path = next(p for p in examples() if p.name.startswith(f"{name}."))
    told = json.loads(CliRunner().invoke(main, ["explain", str(path), "--json"]).stdout)
    (row,) = [r for r in told["factors"] if r["chosen"]]
    assert row["cycles"] == pytest.approx(told["machine_code"]["cycles"])
    assert row["registers"] == told["registers"]
    alone = ["explain", str(path), "--json", "--model"]
    model = json.loads(CliRunner().invoke(main, alone).stdout)["factors"]
    shown, own = ([r["cycles"]["1"] for r in rows if r["cycles"]]
                  for rows in (told["factors"], model))
    assert shown[0] / shown[-1] == pytest.approx(own[0] / own[-1], 1e-3)


def test_what_a_pass_changed_is_not_the_text_that_was_read():
    module = nvir.read_ptx(NEST)
    assert module.text == NEST
    nvir.run_passes(module, "dce")
    assert module.text is None


@needs_ptxas
def test_a_slow_path_is_charged_to_the_operation_that_calls_it():
    """ptxas puts the slow paths of div and sqrt behind EXIT and gives them no lines."""
    text = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a)
{
.reg .f32 %f<9>; .reg .b64 %rd<3>;
ld.param.u64 %rd1, [a];
ld.global.f32 %f1, [%rd1];
sqrt.rn.f32 %f3, %f1;
div.rn.f32 %f2, 0f3F800000, %f3;
div.rn.f32 %f4, %f2, %f1;
add.f32 %f4, %f4, %f3;
st.global.f32 [%rd1], %f4;
ret;
}
"""
    module = nvir.read_ptx(text)
    real = real_of(module, "sm_80", decode=True)
    body = real.bodies["k"]
    listing = line_listing(module["k"], module, body=body)
    assert listing.peak is not None
    assert listing.peak.line == 10  # of both divisions the one with %f1 and %f3 alive beside it
    held = {v.name: v for v in listing.at_peak}
    assert {"%rd1", "%f1", "%f3", "(div.rn.f32)"} <= held.keys()
    assert sum(v.registers for v in held.values()) == listing.peak.scheduled
    assert [i.line for i in body.instructions() if i.line == 14] == [14]  # EXIT


@needs_ptxas
def test_a_called_function_keeps_its_own_lines():
    text = """.version 8.0
.target sm_80
.address_size 64
.func (.param .b32 o) f(.param .b32 x)
{
.reg .b32 %r<4>;
ld.param.b32 %r1, [x];
mad.lo.s32 %r2, %r1, %r1, 7;
st.param.b32 [o], %r2;
ret;
}
.visible .entry k(.param .u64 a)
{
.reg .b32 %r<4>; .reg .b64 %rd<3>;
ld.param.u64 %rd1, [a];
ld.global.b32 %r1, [%rd1];
{ .param .b32 p; .param .b32 q;
st.param.b32 [p], %r1;
call.uni (q), f, (p);
ld.param.b32 %r2, [q];
}
st.global.b32 [%rd1], %r2;
ret;
}
"""
    body = real_of(nvir.read_ptx(text), "sm_80", decode=True).bodies["k"]
    assert 8 in {i.line for i in body.instructions()}
