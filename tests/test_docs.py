"""The documents are true: their Python runs, and prints what they show; so do their commands.

In README.md and docs/ the ```text block after a ```python block is what it prints; the blocks of
a file share their names. In a ```console block lines after `$ nvir …` are what the command
prints, where there are any; a line `…` stands for the rest. Both run in a folder that holds
`examples/`, a `kernel.ptx` and a `kernel.cu`.

After a change of what is printed: NVIR_UPDATE_DOCS=1 pytest tests/test_docs.py
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from nvir import toolchain
from nvir.cli import main

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
UPDATE = bool(os.environ.get("NVIR_UPDATE_DOCS"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as the documents take it to be, the current one."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    shutil.copy(ROOT / "examples" / "sgemm.ptx", tmp_path / "kernel.ptx")
    shutil.copy(ROOT / "examples" / "saxpy.cu", tmp_path / "kernel.cu")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _hold(document: Path, expected: str, got: str, where: tuple[int, int], edits: list) -> None:
    if UPDATE:
        edits.append((*where, got))
    else:
        assert expected == got, f"{document.name} shows something else; see NVIR_UPDATE_DOCS"


def _write(document: Path, text: str, edits: list[tuple[int, int, str]]) -> None:
    for start, end, new in reversed(edits):
        text = text[:start] + new + text[end:]
    if edits:
        document.write_text(text, "utf-8")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_python_samples_run_and_print_what_is_shown(document: Path, folder: Path):
    text = document.read_text("utf-8")
    names: dict[str, object] = {"__name__": "sample"}
    printed: str | None = None
    edits: list[tuple[int, int, str]] = []
    for block in _BLOCK.finditer(text):
        if block[1] == "python":
            out = io.StringIO()
            line = text.count("\n", 0, block.start(2)) + 1
            code = compile("\n" * (line - 1) + block[2], str(document), "exec")
            with contextlib.redirect_stdout(out):
                exec(code, names)
            printed = "\n".join(x.rstrip() for x in out.getvalue().strip("\n").split("\n")) + "\n"
        elif block[1] == "text" and printed is not None:
            _hold(document, block[2], printed, block.span(2), edits)
            printed = None
    _write(document, text, edits)


def _commands(block: str) -> Iterator[tuple[str, str]]:
    """(command, what is shown of its output) of a console block."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_commands_run_and_print_what_is_shown(document: Path, folder: Path):
    text = document.read_text("utf-8")
    edits: list[tuple[int, int, str]] = []
    for block in _BLOCK.finditer(text):
        if block[1] != "console":
            continue
        new = ""
        for command, shown in _commands(block[2]):
            words = shlex.split(command, comments=True)
            assert words[0] == "nvir", f"{document.name}: a console block runs nvir only: {command}"
            if words[1] in ("report", "explain") and not toolchain.available("ptxas", "nvdisasm"):
                new += f"$ {command}\n{shown}"  # shows what the real assembler makes
                continue
            if words[1] == "schedule" and importlib.util.find_spec("ortools") is None:
                new += f"$ {command}\n{shown}"  # shows what the solver proves
                continue
            result = CliRunner().invoke(main, words[1:], env={"COLUMNS": "120"})
            if result.exit_code and "SVG needs Graphviz" in result.output:
                result.exit_code = 0  # a picture is not drawn everywhere
            assert result.exit_code == 0, f"{document.name}: {command}: {result.output}"
            got = "\n".join(x.rstrip() for x in result.stdout.strip("\n").split("\n")) + "\n"
            if shown.endswith("…\n"):
                got = "".join(got.splitlines(True)[: shown.count("\n") - 1]) + "…\n"
            new += f"$ {command}\n" + (got if shown else "")
        _hold(document, block[2], new, block.span(2), edits)
    _write(document, text, edits)


def _keys(x: object, prefix: str = "") -> Iterator[str]:
    if isinstance(x, dict):
        for key, value in x.items():
            yield prefix + key
            yield from _keys(value, f"{key}." if key not in _LISTS else "")
    elif isinstance(x, list):
        for item in x:
            yield from _keys(item, prefix)


_LISTS = ("functions", "loops", "diagnostics", "source_loops", "advice")


def test_every_key_of_the_report_is_described():
    """docs/json.md names each key of a real report, objects' members as `object.key`."""
    described = (ROOT / "docs" / "json.md").read_text("utf-8")
    named = set(re.findall(r"`([a-z_.]+)`", described))
    seen = set()
    for kernel in ("horner", "device_calls", "nested_break"):
        result = CliRunner().invoke(
            main, ["report", str(ROOT / f"examples/ptx/{kernel}.sm_80.ptx"), "--json"]
        )
        seen |= set(_keys(json.loads(result.stdout)))
    objects = {"registers", "unroll", "pipeline", "peak", "front_end", "assembler"}
    assert seen - objects <= named


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda d: d.name)
def test_links_between_documents_lead_somewhere(document: Path):
    for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text("utf-8")):
        made = target.startswith("reference/")  # by the site, whose build is strict
        assert made or (document.parent / target).exists(), f"{document.name} links to {target}"


def test_the_pictures_are_those_of_the_code():
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "docs" / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    pictures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    made = pictures.PICTURES["matvec-schedule.svg"]()
    shown = (ROOT / "docs" / "pictures" / "matvec-schedule.svg").read_text("utf-8")
    assert shown == made, "run python docs/pictures.py"
    for name in ("sgemm-registers.svg", "horner-explain.svg"):
        drawn = (ROOT / "docs" / "pictures" / name).read_text("utf-8")
        texts = [re.findall(r">([^<>\n]+)</text>", x) for x in (drawn, pictures.PICTURES[name]())]
        assert texts[0] == texts[1], "run python docs/pictures.py"
        assert "http" not in drawn.replace("http://www.w3.org", "")
    graph = (ROOT / "docs" / "pictures" / "matvec-cfg.svg").read_text("utf-8")
    for block in pictures.matvec()["matvec"].blocks:  # which program drew it may differ
        assert f"<title>{block.name}</title>" in graph or block.name in graph
