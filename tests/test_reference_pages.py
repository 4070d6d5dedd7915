"""The generated reference is whole: a page a pass, a line an opcode, every knob, every command."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nvir.cli import COMMANDS
from nvir.ir.opcodes import NVVM, ORI
from nvir.passes.knobs import all_knobs
from nvir.passes.registry import all_passes

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    assert spec is not None
    assert spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.pages()


def test_every_opcode_has_one_line(pages: dict[str, str]) -> None:
    text = "\n".join(t for p, t in pages.items() if p.startswith("reference/opcodes/"))
    lines = re.findall(r"^\| `([^`]+)` \|", text, re.M)
    expected = [*ORI.rows, *NVVM.rows]
    assert sorted(lines) == sorted(expected)


@pytest.mark.parametrize("name", sorted(all_passes()))
def test_the_head_of_a_pass_says_what_it_does_and_costs(pages: dict[str, str], name: str) -> None:
    page = pages[f"reference/passes/{name}.md"]
    assert "```text" in page, "IR before and after"
    for field in ("Method", "Cost", "Source"):
        assert f"- **{field}** " in page, field
    for code in all_passes()[name].codes:
        assert f"| `{code.name}` |" in page


def test_every_knob_and_command_is_there(pages: dict[str, str]) -> None:
    for knob in all_knobs():
        assert f"| `{knob.name}` |" in pages["reference/knobs.md"]
    for command in COMMANDS:
        assert f"## nvir {command}\n" in pages["reference/commands.md"]


def test_tables_keep_their_columns(pages: dict[str, str]) -> None:
    """No cell of a table breaks it: each line has as many bars as the head."""
    for path, text in pages.items():
        columns = 0
        for line in text.splitlines():
            if not line.startswith("|"):
                columns = 0
                continue
            bars = len(re.findall(r"(?<!\\)\|", line))
            columns = columns or bars
            assert bars == columns, f"{path}: {line}"


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    pytest.importorskip("material")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "reference" / "passes" / "licm" / "index.html").exists()


def test_every_remark_has_a_line(pages: dict[str, str]) -> None:
    page = pages["reference/remarks.md"]
    for p in all_passes().values():
        for c in p.codes:
            assert re.search(rf"^\| `{c.name}` \| \[{p.name}\]", page, re.M), c.name
