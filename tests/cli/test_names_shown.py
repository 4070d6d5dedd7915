"""C++ names on screen and for `--kernel`, in every command that has one."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from corpus import EXAMPLES

from nvir.cli import main

MANGLED = "_ZN2ns5scaleIfLi4EEEvPfi"
COMMANDS = ("report", "report --lines", "explain", "schedule", "schedule --svg", "simulate", "cfg",
            "schedule --post-ra", "tune --model")


def text(name: str = MANGLED) -> str:
    return (EXAMPLES / "saxpy.sm_80.ptx").read_text().replace("saxpy4", "unwanted").replace(
        "saxpy", name)


def nvir(*args: str) -> str:
    done = CliRunner().invoke(main, args)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kernel", ["scale", "ns::scale", "ns::scale<float, 4>", MANGLED])
def test_a_kernel_is_found_and_shown_as_people_write_it(
    command: str, kernel: str, tmp_path: Path
) -> None:
    file = tmp_path / "k.ptx"
    file.write_text(text())
    out = nvir(*command.split(), str(file), "--kernel", kernel)
    assert "ns::scale<float, 4>" in out or "ns::scale&lt;float, 4&gt;" in out
    assert "unwanted" not in out


@pytest.mark.parametrize("command", [*COMMANDS, "run", "diff k.ptx"])
def test_a_name_that_is_not_there_is_an_error_of_the_command_line(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.ptx").write_text(text())
    done = CliRunner().invoke(main, [*command.split(), "k.ptx", "--kernel", "scales"])
    assert done.exit_code == 2
    assert "function 'scales'" in done.output


def test_what_got_worse_is_told_by_the_same_name(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old, new):
        folder.mkdir()
        (folder / "k.ptx").write_text(text("_Z3fooPf" if folder is new else MANGLED))
    (old / "lost.ptx").write_text(text())
    for style in ((), ("--junit",), ("--github",)):
        done = CliRunner().invoke(main, ["diff", str(old), str(new), *style])
        assert done.exit_code == 3
        assert "ns::scale" in done.output or "ns::scale&lt;" in done.output
        assert "lost.ptx" in done.output
    lost = f"::error file={new / 'lost.ptx'},title=nvir diff of predictions::is missing\n"
    assert lost in done.output


def test_the_lines_of_a_source_are_those_of_its_ptx(tmp_path: Path) -> None:
    file = tmp_path / "k.cu"
    file.write_text("extern \"C\" __global__ void k(float *a) {\n  a[threadIdx.x] = 1;\n}\n")
    out = nvir("report", str(file), "--lines", "--model")
    assert "st.global.f32 [%rd" in out
    assert "a[threadIdx.x] = 1" not in out
