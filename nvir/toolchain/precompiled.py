"""Precompiled headers: clang reads those that a source begins with once, not at every compile.

    attempts(command, project, text, name)  ->  Attempt: a shorter command, what remains of the text

Of a compile nearly all time goes into headers: 0.3 s for CUDA's own, 3 s for CUB. Kept are two
kinds: what every command line of nvir includes, for all projects whose options it does not hang
on, and on top of that the options of a project with the directives that a text begins with, its
templates instantiated. Each is made when it is wanted for the second time, so that a source
compiled once pays nothing, in $XDG_CACHE_HOME/nvir, where the oldest go beyond `_ROOM`.
NVIR_PRECOMPILED=0 turns it off.

What clang makes is the same with and without. A kept file is for one program, command line,
beginning and folder; clang itself compares times and sizes of all headers in it; and as a new
header may hide one behind it, the names in the folders of headers belong to its key. To the key of
the first kind belong macros that its headers name, and folders that could hide one of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from nvir.toolchain.errors import ToolError
from nvir.toolchain.process import cache_folder, run

_ROOM = 1 << 30
_EMIT = ("-Xclang", "-emit-pch", "-fpch-instantiate-templates")
_CHECKED = ("-Xclang", "-fmodules-validate-system-headers")
_PIECE = re.compile(
    r"(?P<skip>[ \t\r\n]+|//(?:\\\n|[^\n])*|/\*.*?\*/)"
    r"|(?P<directive>#[ \t]*(?P<word>\w*)(?://[^\n]*|/\*.*?\*/|\\\r?\n|[^\n])*)", re.S)
_FOLDERS = ("-I", "-isystem", "-iquote")
_HEADER = ("h", "hh", "hpp", "cuh", "inl", "inc", "hxx")


def beginning(text: str) -> tuple[int, int]:
    """How much of a text is its directives in front of all code, up to the last outside of `#if`
    or the last include in the first branches of some, and in how many; (0, 0) where none of them
    includes a file."""
    at, end, includes = 0, (0, 0), False
    first: list[bool] = []  # of each `#if` that is open: no `#else` yet
    while m := _PIECE.match(text, at):
        at, word = m.end(), m["word"] or ""
        if word.startswith("if"):
            first.append(True)
        elif word.startswith("el") and first:
            first[-1] = False
        elif word == "endif" and first:
            first.pop()
        included = word == "include"
        includes |= included
        if m["directive"] is not None and includes and (not first or (included and all(first))):
            end = at, len(first)
    return end


@attrs.frozen
class Attempt:
    """A compile that takes headers from a kept file. `whole`: nothing of the text itself is there,
    so that what clang says is what it says without."""

    command: list[str]
    text: str
    kept: Path
    whole: bool = False


def attempts(command: Sequence[str], project: Sequence[str], text: str,
             name: str) -> Iterator[Attempt]:
    """The compiles to try, the one with most headers kept first. `command` is nvir's own,
    `project` the options of a source."""
    if os.environ.get("NVIR_PRECOMPILED") == "0":
        return
    try:
        folder = cache_folder() / "headers"
        folder.mkdir(exist_ok=True)
        end, depth = beginning(text)
        if end or "-include" in project:
            start = f'#line 1 "{name}"\n{text[:end]}\n' + "".join(
                f"#define nvir_within_{n}\n#endif\n" for n in range(depth, 0, -1))
            kept = folder / f"{_key([*command, *project], os.getcwd() + start)}.pch"
            below = None if kept.is_file() else _shared(command, project, folder, make=False)
            if _made([*_on(below, command), *project], start, kept):
                line = text.count("\n", 0, end) + 1 + bool(end)
                again = "".join(f"#ifdef nvir_within_{n + 1}\n" for n in range(depth))
                rest = text[end:].partition("\n")[2] if end else text
                options = _without("-include", [*command, *project])
                yield Attempt([*options, *_CHECKED, "-include-pch", str(kept)],
                              f'{again}#line {line} "{name}"\n{rest}', kept)
        if (kept_for_all := _shared(command, project, folder)) is not None:
            yield Attempt([*_on(kept_for_all, command), *project, *_CHECKED],
                          f'#line 1 "{name}"\n{text}', kept_for_all, True)
    except (OSError, ToolError):  # no room, no home, or one that cannot be written to
        pass


def _on(kept: Path | None, command: Sequence[str]) -> list[str]:
    """nvir's command with a kept file in place of what it includes, where there is one."""
    if kept is None:
        return [*command]
    return [*_without("-include", command), "-include-pch", str(kept)]


def _shared(command: Sequence[str], project: Sequence[str], folder: Path, *,
            make: bool = True) -> Path | None:
    """The kept file of what `command` includes that serves a project, where there is one."""
    kept = folder / f"{_key(command, '')}.pch"
    names = kept.with_suffix(".names")
    if not (_made(command, "\n", kept, names) if make else kept.is_file()):
        return None
    called, words = names.read_text("utf-8", "replace").split("\n\n")
    files = set(called.split("\n"))
    hung_on: list[str] = []
    for option, value in _pairs(project):
        if option in ("-D", "-U"):
            macro = value.partition("=")[0].partition("(")[0]
            if f"\n{macro}\n" in words:
                hung_on.append(option + value)
        elif not files.isdisjoint(_names(value)):
            hung_on.append(option + value)
    if not hung_on:
        return kept
    other = folder / f"{_key([*command, *hung_on], os.getcwd())}.pch"
    there = _made([*command, *hung_on], "\n", other) if make else other.is_file()
    return other if there else None


def _pairs(options: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The options with a value among some, `-Dx` as `-D x`."""
    for option, after in zip(options, [*options[1:], ""], strict=True):
        for word in ("-D", "-U", "-I"):
            if option.startswith(word):
                yield word, option[len(word) :] or after


def _made(command: Sequence[str], start: str, kept: Path, names: Path | None = None) -> bool:
    """Is the file there, or can it be made? The first time that it is asked for only its source is
    written, and where making it failed a mark. Into `names` go what its headers are called, and
    all words in them."""
    source, failed = kept.with_suffix(".cu"), kept.with_suffix(".failed")
    if kept.is_file():
        kept.with_suffix(".used").touch()  # to its own time, a file made on top is held
        return True
    first = not source.exists()
    if first or failed.exists():
        if first:
            source.write_bytes(start.encode("utf-8", "surrogateescape"))
        return False
    with tempfile.TemporaryDirectory(dir=kept.parent) as place:
        made, rule = Path(place) / kept.name, Path(place) / "rule"
        listed = ["-MD", "-MF", str(rule)] if names else []
        done = run([*command, *_EMIT, *listed, source, "-o", made], cwd=Path.cwd())
        if done.returncode or not made.is_file():
            failed.touch()
            return False
        if names:
            names.write_text(_words(rule.read_text()), "utf-8")
        made.rename(kept)
    _tidy(kept.parent)
    return True


def _words(rule: str) -> str:
    """What the files of a rule of make and their folders are called, one a line, an empty line,
    and all words that stand in them."""
    files = [Path(x.replace("\\ ", " ")) for x in re.findall(r"(?:\\.|\S)+", rule)[1:] if x != "\\"]
    called = {part for f in files for part in (f.name, f.parent.name)} - {"include"}
    words = {w for f in files if f.is_file()
             for w in re.findall(r"\b[A-Za-z_]\w*", f.read_text("utf-8", "replace"))}
    return "\n".join([*sorted(called), "\n", *sorted(words), ""])


def _tidy(folder: Path) -> None:
    """Remove what was not used for longest, beyond the room that there is."""
    total, used = 0, dict[str, float]()
    for p in folder.glob("*.*"):
        used[p.stem] = max(used.get(p.stem, 0), p.stat().st_mtime)
    for stem in sorted(used, key=used.__getitem__, reverse=True):
        files = [*folder.glob(f"{stem}.*")]
        total += sum(p.stat().st_size for p in files)
        for p in files if total > _ROOM else ():
            p.unlink(missing_ok=True)


def _key(command: Sequence[str], start: str) -> str:
    """One word for all that the kept file depends on, the times of its headers apart."""
    program = os.stat(command[0])
    parts = [*command, start, str((program.st_size, program.st_mtime_ns))]
    for option, value in zip(command, [*command[1:], ""], strict=True):
        place = value if option in _FOLDERS else option[2:] if option.startswith("-I") else ""
        parts += [x for x in _names(place) if x.rpartition(".")[2] in _HEADER or "." not in x]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _names(folder: str) -> list[str]:
    """What is in a folder of headers, by name."""
    with contextlib.suppress(OSError):
        return sorted(os.listdir(folder or os.devnull))
    return []


def _without(option: str, command: Sequence[str]) -> list[str]:
    """A command without an option that takes a value."""
    pairs = zip(command, ["", *command[:-1]], strict=True)
    return [word for word, before in pairs if option not in (word, before)]
