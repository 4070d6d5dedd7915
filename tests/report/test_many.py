"""`nvir report` of a folder."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples" / "ptx"


def test_a_folder_has_a_line_for_each_kernel_and_an_error_for_a_bad_file(tmp_path: Path):
    for name in ("saxpy", "horner"):
        shutil.copy(EXAMPLES / f"{name}.sm_80.ptx", tmp_path)
    (tmp_path / "bad.ptx").write_text(".version 8.0\n.target sm_80\n.entry k() { bogus")
    command = [sys.executable, "-m", "nvir", "report", str(tmp_path), "-j", "2", "--json"]
    made = subprocess.run(command, capture_output=True, text=True)
    assert made.returncode == 1, made.stderr
    document = json.loads(made.stdout)
    assert document["schema"] == "nvir.reports/1"
    assert [Path(x["file"]).name for x in document["files"]] == [
        "bad.ptx", "horner.sm_80.ptx", "saxpy.sm_80.ptx",
    ]
    assert [x["error"] is not None for x in document["files"]] == [True, False, False]
    alone = [sys.executable, "-m", "nvir", "report", str(tmp_path / "saxpy.sm_80.ptx"), "--json"]
    one = json.loads(subprocess.run(alone, capture_output=True, text=True, check=True).stdout)
    assert document["files"][2]["report"] == one
    from nvir.report.many import many_text

    text = many_text(document)
    assert text.splitlines()[1].split()[:2] == ["horner.sm_80.ptx", "horner"]
    assert "bad.ptx: error:" in text


def test_the_table_fits_sixty_columns(monkeypatch):
    import nvir
    from nvir.report import report
    from nvir.report.table import report_text

    monkeypatch.setenv("COLUMNS", "60")
    made = report(nvir.read_ptx(EXAMPLES / "nbody.sm_80.ptx"), schedule=True)
    text = report_text(made)
    lines = text.splitlines()
    at = next(k for k, line in enumerate(lines) if line.split()[:1] == ["loop"])
    table = lines[at : at + 3]
    assert table[0].split() == ["loop", "line", "trip", "body", "live", "unroll", "II"]
    assert "none" in table[1]
    assert all(len(line) <= 60 for line in table)
    ii = [x.pipeline.ii for x in made.functions[0].loops]
    assert [line.split()[-1] for line in table[1:]] == ["–" if n is None else f"{n:g}" for n in ii]


def test_files_of_every_language_stand_in_one_table(tmp_path: Path):
    source = EXAMPLES.parent / "saxpy.cu"
    text = tmp_path / "saxpy.ll"
    run = [sys.executable, "-m", "nvir"]
    subprocess.run([*run, "compile", str(source), "-o", str(text)], check=True)
    files = [str(text), str(EXAMPLES / "saxpy.sm_80.ptx")]
    made = subprocess.run([*run, "report", *files], capture_output=True, text=True, check=True)
    rows = [line.split() for line in made.stdout.splitlines()[1:]]
    assert [(r[0], r[1]) for r in rows] == [
        ("saxpy.ll", "saxpy"), ("saxpy.ll", "saxpy4"),
        ("saxpy.sm_80.ptx", "saxpy"), ("saxpy.sm_80.ptx", "saxpy4"),
    ]
    assert all(r[5] == "1" for r in rows if r[1] == "saxpy")  # level nvvm goes through -O3 first
    assert abs(int(rows[0][2]) - int(rows[2][2])) <= 4


def test_several_files_go_with_no_option_of_one(tmp_path: Path):
    files = [str(EXAMPLES / f"{n}.sm_80.ptx") for n in ("saxpy", "horner")]
    run = subprocess.run(
        [sys.executable, "-m", "nvir", "report", *files, "--html"], capture_output=True, text=True
    )
    assert run.returncode == 2
    assert "several files" in run.stderr
