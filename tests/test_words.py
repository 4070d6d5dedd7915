"""Every word that nvir prints is plain English, the field's, or explained in docs/glossary.md.

words.txt lists the first two, by kind; a new word of ours goes into the glossary instead. What is
printed: all help texts, the messages in the code, and the output of commands on the examples.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from nvir.cli import main

ROOT = Path(__file__).resolve().parents[1]
RUNS = (
    "report examples/sgemm.ptx --model --verbose", "report examples/ptx/histogram.ptx --model",
    "explain examples/sgemm.ptx --model --verbose", "tune examples/sgemm.ptx --model",
    "explain examples/sgemm.ptx --policy documented", "knobs", "machine", "machine sm_80",
    "machine sm_80 sm_90",
    "opt -p default<O3> --remarks=.* examples/sgemm.ptx -o -", "occupancy --regs 40 --block 128",
    "check tests/regressions/ptx/run-load-of-no-address.ptx",
    "diff --model examples/sgemm.ptx examples/ptx/histogram.ptx",
)
# What is called with the text of a message.
TELLS = {"error", "warn", "warn_once", "fail", "missed", "passed", "analysis", "note", "Diagnostic",
         "tell", "remark"}
WORD = re.compile(
    r"(?<![\w$%.@/\-<'_:])[A-Za-z][a-z]+(?![\w$%@(/=_]|\.\w|-\w*=|::)"
)


def helps(command: click.Command, name: tuple[str, ...] = ()) -> Iterator[str]:
    yield CliRunner().invoke(main, [*name, "--help"]).output
    if isinstance(command, click.Group):
        context = click.Context(command)
        for n in command.list_commands(context):
            found = command.get_command(context, n)
            assert found is not None
            yield from helps(found, (*name, n))


def messages() -> Iterator[str]:
    """The texts of what is raised, and of what is told by the functions that tell."""
    for path in sorted((ROOT / "nvir").rglob("*.py")):
        for n in ast.walk(ast.parse(path.read_text("utf-8"))):
            roots: list[ast.expr] = []
            if isinstance(n, ast.Raise) and n.exc is not None:
                roots = [n.exc]
            elif isinstance(n, ast.Call):
                name = getattr(n.func, "attr", getattr(n.func, "id", ""))
                roots = n.args if name in TELLS else []
            for c in (c for r in roots for c in ast.walk(r)):
                if isinstance(c, ast.Constant) and isinstance(c.value, str) and " " in c.value:
                    yield c.value


@cache
def printed() -> dict[str, str]:
    """Each word, in small letters, with a text that has it."""
    texts = [*helps(main), *messages()]
    for command in RUNS:
        texts.append(CliRunner(env={"COLUMNS": "200"}).invoke(main, command.split()).output)
    return {w.lower(): t for t in reversed(texts) for w in WORD.findall(t)}


def explained() -> set[str]:
    """The words of the glossary's terms."""
    rows = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs/glossary.md").read_text("utf-8"), re.M)
    return {w.lower() for row in rows for w in re.findall(r"[A-Za-z]+", row)}


def listed() -> set[str]:
    text = (Path(__file__).parent / "words.txt").read_text("utf-8")
    return {w for line in text.splitlines() if not line.startswith("#") for w in line.split()}


def bases(word: str) -> Iterator[str]:
    """A word and what it may be a form of: plural, past, participle, comparison, adverb."""
    yield word
    for ending, *others in (("ies", "y"), ("es", ""), ("s", ""), ("ied", "y"), ("ed", "", "e"),
                            ("ing", "", "e"), ("er", "", "e"), ("est", "", "e"), ("ly", "", "le")):
        if word.endswith(ending) and len(word) > len(ending) + 1:
            stem = word.removesuffix(ending)
            yield from (stem + o for o in others)
            if len(stem) > 2 and stem[-1] == stem[-2]:
                yield stem[:-1]


def unknown(words: dict[str, str]) -> dict[str, str]:
    known = listed() | explained()
    return {w: t[:200] for w, t in words.items() if known.isdisjoint(bases(w))}


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def test_every_printed_word_is_plain_the_fields_or_in_the_glossary() -> None:
    assert len(printed()) > 1000
    assert unknown(printed()) == {}, "say it plainly, or explain it in docs/glossary.md"


def test_a_word_of_our_own_is_found() -> None:
    assert set(unknown({"frobnicate": "", "unrolled": "", "remainders": ""})) == {"frobnicate"}


def test_the_list_has_hardly_a_word_that_is_not_printed() -> None:
    forms = {b for w in printed() for b in bases(w)}
    assert len(stale := sorted(listed() - forms)) <= 30, stale
    assert sorted(listed() & explained()) == []
