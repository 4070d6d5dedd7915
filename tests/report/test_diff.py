"""Comparing two modules: figures, thresholds, kernels that come and go."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import attrs
import pytest
from click.testing import CliRunner
from corpus import EXAMPLES

import nvir
from nvir.cli import main
from nvir.ir.errors import NvirError
from nvir.report import report
from nvir.report.diff import (
    DEFAULT,
    compare,
    diff_github,
    diff_text,
    matched,
    parse_thresholds,
)
from nvir.report.real import RealFigures

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


def module(name: str = "k", values: int = 2, trips: int = 8):
    loads = "".join(f"ld.global.u32 %r{k}, [%rd1+{4 * k}];" for k in range(1, values + 1))
    stores = "".join(f"st.global.u32 [%rd1+{4 * k}], %r{k};" for k in range(1, values + 1))
    text = f"""{HEAD}.visible .entry {name}(.param .u64 a)
    {{ .reg .b32 %r<99>; .reg .b64 %rd<9>; .reg .pred %p<3>;
    ld.param.u64 %rd1, [a]; {loads} bar.sync 0; mov.u32 %r90, 0;
    L: add.s32 %r90, %r90, 1; setp.lt.s32 %p1, %r90, {trips}; @%p1 bra L;
    {stores} ret; }}
    """
    return report(nvir.read_ptx(text))


def test_the_same_module_has_no_difference() -> None:
    d = compare(module(), module(), parse_thresholds(DEFAULT))
    assert [f.status for f in d.functions] == ["same"]
    assert d.crossings == []
    assert "1 function without a difference" in diff_text(d)


def test_more_registers_cross_the_default_and_fewer_do_not() -> None:
    worse = compare(module(values=2), module(values=12), parse_thresholds(DEFAULT))
    assert any("registers" in c for c in worse.crossings)
    assert "! allowed registers=+2" in diff_text(worse)
    better = compare(module(values=12), module(values=2), parse_thresholds(DEFAULT))
    assert better.crossings == []


def test_a_threshold_is_met_at_its_value_and_crossed_above() -> None:
    a, b = module(values=2), module(values=5)
    before, after = a.functions[0].predicted, b.functions[0].predicted
    assert before is not None
    assert after is not None
    more = after - before
    assert more > 0
    assert compare(a, b, parse_thresholds(f"registers=+{more}")).crossings == []
    assert compare(a, b, parse_thresholds(f"registers=+{more - 1}")).crossings
    assert compare(a, b, parse_thresholds("instructions=+100%")).crossings == []
    assert compare(a, b, parse_thresholds("instructions=+1%")).crossings


def test_a_lost_kernel_and_lost_occupancy() -> None:
    d = compare(module("k"), module("other"), parse_thresholds(DEFAULT))
    assert [f.status for f in d.functions] == ["removed", "added"]
    assert d.crossings == ["k: is missing"]
    a = module()
    (f,) = a.functions
    assert f.occupancy is not None
    fewer = attrs.evolve(f, occupancy=attrs.evolve(f.occupancy, warps_per_sm=1))
    lost = compare(a, attrs.evolve(a, functions=(fewer,)), parse_thresholds(DEFAULT))
    assert any("occupancy" in c for c in lost.crossings)


def test_loops_are_compared_one_by_one() -> None:
    d = compare(module(trips=8), module(trips=9))
    (f,) = d.functions
    (loop,) = f.loops
    assert loop[0] == "L"
    assert [(c.metric, c.before, c.after) for c in loop[1]] == [("trip", 8, 9)]
    assert d.to_json()["functions"][0]["loops"][0]["changes"][0]["after"] == 9


def test_loops_are_matched_by_label_then_line_then_order() -> None:
    (one,) = module().functions[0].loops

    def loop(header: str, source: str | None = None, depth: int = 1):
        return attrs.evolve(one, header=header, source=source, depth=depth)

    def pairs(a, b):
        return [(x.header, y.header) for x, y in matched(a, b)]

    # One is added before: the others are found by label, or by line under new labels.
    assert pairs([loop("A"), loop("B")], [loop("N"), loop("A"), loop("B")]) == [
        ("A", "A"), ("B", "B"),
    ]
    old = [loop("A", "k.cu:3"), loop("B", "k.cu:9")]
    new = [loop("A", "k.cu:1"), loop("B", "k.cu:3"), loop("C", "k.cu:9")]
    assert pairs(old, new) == [("A", "B"), ("B", "C")]
    assert pairs([loop("A"), loop("B")], [loop("X"), loop("Y")]) == [("A", "X"), ("B", "Y")]
    assert pairs([loop("A")], []) == []


@pytest.mark.parametrize("text", ["regs=2", "registers", "registers=-1", "registers=x", "=2",
                                  "missing=1", "missing=100%"])
def test_bad_thresholds_are_named(text: str) -> None:
    with pytest.raises(NvirError):
        parse_thresholds(text)


def test_a_file_of_limits_and_those_of_the_command_line_hold_and_real_figures_need_ptxas(
    tmp_path: Path,
) -> None:
    file, k = tmp_path / "limits", str(EXAMPLES / "bfs_vote.sm_80.ptx")
    file.write_text("instructions=+5%  # here\n")
    run = CliRunner().invoke(main, ["diff", k, k, "--json", "--thresholds", str(file),
                                    "--fail-on", "registers=1"])
    assert json.loads(run.output)["thresholds"] == ["instructions=+5%", "registers=+1"]
    run = CliRunner().invoke(main, ["diff", k, k, "--fail-on", "spills=0"])
    assert run.exit_code == 2
    assert "spills needs --ptxas" in run.output


def test_no_thresholds() -> None:
    assert parse_thresholds("") == ()
    assert compare(module(values=2), module(values=40)).crossings == []


def test_folders_are_compared_by_names_and_a_file_that_is_gone_counts(tmp_path: Path) -> None:
    for name, kernels in (("a", ("saxpy", "scan")), ("b", ("saxpy",))):
        (tmp_path / name).mkdir()
        for k in kernels:
            text = (EXAMPLES / f"{k}.sm_80.ptx").read_text()
            (tmp_path / name / f"{k}.ptx").write_text(text)
    old, new = str(tmp_path / "a"), str(tmp_path / "b")
    run = CliRunner().invoke(main, ["diff", old, new])
    assert run.exit_code == 3, run.output
    assert "scan.ptx: is missing" in run.output
    assert CliRunner().invoke(main, ["diff", new, old]).exit_code == 0
    limits = tmp_path / "limits.txt"
    limits.write_text("registers=0  # none more\n\ninstructions=+5%\n")
    run = CliRunner().invoke(main, ["diff", old, new, "--thresholds", str(limits), "--junit"])
    assert run.exit_code == 0, run.output
    assert 'tests="2" failures="0"' in run.output


def test_a_revision_of_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (EXAMPLES / "saxpy.sm_80.ptx").read_text()
    (tmp_path / "k.ptx").write_text(text)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for args in (["init", "-q"], ["add", "k.ptx"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *args], cwd=tmp_path, check=True)
    monkeypatch.chdir(tmp_path)
    at = text.index("ret;")
    more = "".join(f"mul.lo.s32 %r{k}, %r{k}, 3;\n" for k in (1, 2))
    (tmp_path / "k.ptx").write_text(text[:at] + more + text[at:])
    run = CliRunner().invoke(main, ["diff", "HEAD:k.ptx", "k.ptx", "--fail-on", "instructions=0",
                                    "--github"])
    assert run.exit_code == 3, run.output
    assert run.output.startswith(
        "::error file=k.ptx,line=15,title=nvir diff of predictions::saxpy: instructions")
    assert CliRunner().invoke(main, ["diff", "nothing:k.ptx", "k.ptx"]).exit_code == 1

def test_new_kernels_and_files_are_held_to_no_spills(tmp_path: Path) -> None:
    a = module()
    (f,) = a.functions
    real = RealFigures(32, 8, 12, 16)
    spilling = attrs.evolve(a, functions=(f, attrs.evolve(f, name="new", real=real, line=7)))
    d = compare(a, spilling, parse_thresholds("registers=+2,spills=0,stack=0"))
    assert d.crossings == ["new: spills 0 → 20, allowed spills=+0",
                           "new: stack 0 → 16, allowed stack=+0"]
    assert "registers           32" in diff_text(d)
    assert "line=7," in diff_github([d])
    assert compare(a, spilling, parse_thresholds("spills=+20,stack=+16")).crossings == []
    old, new = tmp_path / "a", tmp_path / "b"
    for folder in (old, new):
        (folder / "x").mkdir(parents=True)
    (new / "x/k.ptx").write_text((EXAMPLES / "saxpy.sm_80.ptx").read_text())
    run = CliRunner().invoke(main, ["diff", str(old), str(new)])
    assert run.exit_code == 0
    assert "kernel saxpy   added" in run.output
    assert "predicted; --ptxas asks the assembler" in run.output
    run = CliRunner().invoke(main, ["diff", str(new), str(old), "--github"])
    assert run.exit_code == 3
    assert f"file={old}/x/k.ptx,title=nvir diff of predictions" in run.output
