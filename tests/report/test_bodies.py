"""The predicted and the real body of a kernel: the same structure, side by side."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from corpus import examples

import nvir
from nvir.assembler.body import predicted_body
from nvir.cli import main
from nvir.report.bodies import both_bodies, by_line, kinds, side_by_side, to_json, work
from nvir.sm import profile
from nvir.sm.body import VECTOR, BodyInstruction

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
KERNEL = HEAD + """.visible .entry k(.param .u64 a, .param .u32 n)
{
.reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>; .reg .f32 %f<9>;
ld.param.u64 %rd1, [a];
ld.param.u32 %r1, [n];
mov.u32 %r2, %tid.x;
mul.wide.u32 %rd2, %r2, 4;
add.s64 %rd3, %rd1, %rd2;
L:
ld.global.f32 %f1, [%rd3];
add.f32 %f2, %f1, %f1;
st.global.f32 [%rd3], %f2;
add.u32 %r2, %r2, 1;
setp.lt.u32 %p1, %r2, %r1;
@%p1 bra L;
ret;
}
"""


def body(text: str):
    (f,) = [f for f in nvir.read_ptx(text).functions if f.blocks]
    return predicted_body(f, profile("sm_80"))


def test_a_prediction_is_a_body_with_registers_lines_and_loops():
    made = body(KERNEL)
    assert made.source == "model"
    (loop,) = made.loops
    names = [i.family for i in made.loop_instructions(loop)]
    assert {"LDG", "FADD", "STG", "IADD", "ISETP", "BRA"} >= set(names)
    assert "IMAD" not in names
    lines = by_line(made)
    assert lines[11].work == ["MOV", "IMAD.WIDE"]  # the factor, and with the pointer
    assert lines[13].at < lines[14].at < lines[15].at
    assert 7 not in lines  # a parameter is in the constant bank
    assert made.live_counts().max_live(VECTOR) <= made.registers - 2


def test_no_two_live_values_share_a_register():
    """The counts on registers are those of the values: nothing was given a place in use."""
    made = body(KERNEL)
    assert made.live_counts().max_live(VECTOR) == 6  # R1, pointer, index, element, its double


def test_the_table_marks_lines_that_differ():
    one = body(KERNEL)
    other = body(KERNEL.replace("add.f32 %f2, %f1, %f1", "sqrt.approx.f32 %f2, %f1"))
    text = side_by_side(one, other, KERNEL.splitlines())
    (row,) = [x for x in text.splitlines() if x.lstrip().startswith("14*")]
    assert "FADD" in row
    assert "13*" not in text


@pytest.mark.parametrize(("opcode", "text", "wanted"), [
    ("IMAD.IADD", "", "IADD3"), ("VIADD", "", "IADD3"), ("IADD", "", "IADD3"),
    ("IMAD.X", "", "IADD3.X"), ("IADD3.X", "", "IADD3.X"),
    ("IMAD.SHL.U32", "", "SHF"), ("IMAD.MOV.U32", "", "MOV"), ("IMAD", "", "IMAD"),
    ("LEA.HI.X.SX32", "", "LEA.HI.X"), ("LEA.HI", "", "LEA.HI"),
    ("HFMA2.MMA", "HFMA2.MMA R1, -RZ, RZ, 0, 0", "MOV"),
    ("HFMA2.MMA", "HFMA2.MMA R1, R2, R3, R4", "HFMA2"), ("UIADD3", "", "UIADD3"),
])
def test_work_is_the_same_on_every_pipe(opcode: str, text: str, wanted: str) -> None:
    assert work(BodyInstruction(opcode, text=text)) == wanted


def test_work_is_counted_within_loops_and_outside() -> None:
    """In a loop one FADD became FMUL, outside a sum is missing."""
    other = KERNEL.replace("add.f32 %f2, %f1, %f1", "mul.f32 %f2, %f1, %f1")
    found = kinds(body(KERNEL), body(other.replace("add.s64 %rd3, %rd1, %rd2;", "")))
    by_name = {k.name: k for k in found}
    fadd, bra = by_name["FADD"], by_name["BRA"]
    assert (fadd.predicted, fadd.real, fadd.predicted_in_loops, fadd.real_in_loops) == (1, 0, 1, 0)
    assert bra.apart == 0
    assert [k.apart for k in found] == sorted((k.apart for k in found), reverse=True)
    moved = kinds(body(KERNEL), body(KERNEL.replace("L:\nld", "ld")
                                     .replace("add.f32", "L: add.f32")))
    (load,) = [k for k in moved if k.name == "LDG"]
    assert (load.predicted, load.real, load.apart) == (1, 1, 2)  # out of the loop


def test_the_document_has_what_the_table_has() -> None:
    made = to_json(body(KERNEL), body(KERNEL), KERNEL.splitlines())
    assert made["predicted"] == made["real"]
    assert made["predicted"]["loops"] == 1
    assert all(row["predicted"] == row["real"] for row in made["lines"])
    (row,) = [row for row in made["lines"] if row["line"] == 14]
    assert row["text"].startswith("add.f32")
    assert row["real"]["work"] == ["FADD"]


@pytest.mark.oracle
def test_the_command():
    (path,) = examples("saxpy.sm_80.ptx")
    run = CliRunner().invoke(main, ["diff", "--model", str(path), "--kernel", "saxpy"])
    assert run.exit_code == 0, run.output
    assert "model" in run.output
    assert "ptxas" in run.output
    assert "ld.global.nc.f32" in run.output
    assert "too few" in run.output
    run = CliRunner().invoke(main, ["diff", "--model", str(path), "--json"])
    assert json.loads(run.output)["schema"] == "nvir.bodies/1"
    assert CliRunner().invoke(main, ["diff", str(path)]).exit_code == 2
    assert CliRunner().invoke(main, ["diff", "--model", str(path), "--junit"]).exit_code == 2
    assert CliRunner().invoke(main, ["diff", "--model", str(path), str(path)]).exit_code == 2


@pytest.mark.oracle
def test_an_instruction_within_a_loop_that_occupies_no_pipe_is_decoded() -> None:
    """ptxas fills loops of matrix products with NOP where lines are asked for."""
    (path,) = examples("gemm_wmma.sm_80.ptx")
    ((_, real),) = both_bodies(path, nvir.read_ptx(path), "sm_80", profile("sm_80"))
    assert {i.pipe for b in real.blocks for i in b.instructions if i.opcode == "NOP"} == {""}


def test_who_leads_to_the_end_of_the_thread_ends_it_there() -> None:
    def ends(body: str) -> list[str]:
        f = nvir.read_ptx(
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a)\n{\n"
            ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;\nld.param.u64 %rd1, [a];\n"
            f"mov.u32 %r1, %tid.x; setp.gt.s32 %p1, %r1, 7; {body}\n}}\n")["k"]
        f.analyze_cfg()
        made = predicted_body(f, profile("sm_80"))
        return [i.opcode for i in made.instructions() if i.opcode in ("EXIT", "BRA")]

    store = "st.global.u32 [%rd1], %r1;"
    assert ends(f"@%p1 bra L; {store} L: ret;") == ["EXIT", "EXIT"]
    assert ends(f"L: {store} setp.lt.s32 %p2, %r1, 9; @%p2 bra L; ret;") == ["BRA", "EXIT"]
