"""Precompiled headers: clang reads those that a source begins with once, not at every compile.

    with_headers(command, text, name)  ->  (a shorter command, what remains of the text), or None

Of a compile nearly all time goes into headers: 0.3 s for CUDA's own, 3 s for CUB. Kept are two
kinds: what the command line alone includes, and that with the directives that a text begins with.
Each is made when it is wanted for the second time, so that a source compiled once pays nothing,
in $XDG_CACHE_HOME/nvir, where the oldest go beyond `_ROOM`. NVIR_PRECOMPILED=0 turns it off.

What clang makes is the same with and without. A kept file is for one program, command line,
beginning and folder; clang itself compares times and sizes of all headers in it; and as a new
header may hide one behind it, the names in the folders of headers belong to its key.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from nvir.toolchain.errors import ToolError
from nvir.toolchain.process import cache_folder, run

_ROOM = 1 << 30
_CHECKED = ("-Xclang", "-fmodules-validate-system-headers")
_PIECE = re.compile(
    r"(?P<skip>[ \t\r\n]+|//(?:\\\n|[^\n])*|/\*.*?\*/)"
    r"|(?P<directive>#[ \t]*(?P<word>\w*)(?://[^\n]*|/\*.*?\*/|\\\r?\n|[^\n])*)", re.S)
_FOLDERS = ("-I", "-isystem", "-iquote")
_HEADER = ("h", "hh", "hpp", "cuh", "inl", "inc", "hxx")


def beginning(text: str) -> int:
    """How much of a text is its directives in front of all code, up to the last outside of `#if`;
    0 where none of them includes a file."""
    at = end = depth = 0
    includes = False
    while m := _PIECE.match(text, at):
        at = m.end()
        word = m["word"] or ""
        depth += word.startswith("if") - (word == "endif")
        includes |= word == "include"
        if m["directive"] is not None and depth == 0:
            end = at
    return end if includes else 0


def with_headers(command: Sequence[str], text: str, name: str) -> tuple[list[str], str] | None:
    """The command and the text for a compile that takes headers from a kept file, which the
    command names last; None where there is none yet."""
    if os.environ.get("NVIR_PRECOMPILED") == "0":
        return None
    try:
        folder = cache_folder() / "headers"
        folder.mkdir(exist_ok=True)
        for end in dict.fromkeys((beginning(text), 0)):
            forced = {after for word, after in pairwise(command) if word == "-include"}
            shared = not end and all(x.startswith("nvir_") for x in forced)  # by all folders
            given = _without("-iquote", command) if shared else command
            start = f'#line 1 "{name}"\n{text[:end]}\n' if end else "\n"
            kept = folder / f"{_key(given, start)}.pch"
            if _made(given, start, kept):
                line = text.count("\n", 0, end) + 1 + bool(end)
                rest = text[end:].partition("\n")[2] if end else text
                return ([*_without("-include", command), *_CHECKED, "-include-pch", str(kept)],
                        f'#line {line} "{name}"\n{rest}')
    except (OSError, ToolError):  # no room, no home, or one that cannot be written to
        pass
    return None


def _made(command: Sequence[str], start: str, kept: Path) -> bool:
    """Is the file there, or can it be made? The first time that it is asked for only its source is
    written, and where making it failed a mark."""
    if kept.is_file():
        os.utime(kept)
        return True
    source, failed = kept.with_suffix(".cu"), kept.with_suffix(".failed")
    first = not source.exists()
    if first or failed.exists():
        if first:
            source.write_bytes(start.encode("utf-8", "surrogateescape"))
        return False
    with tempfile.TemporaryDirectory(dir=kept.parent) as place:
        made = Path(place) / kept.name
        done = run([*command, "-Xclang", "-emit-pch", source, "-o", made], cwd=Path.cwd())
        if done.returncode or not made.is_file():
            failed.touch()
            return False
        made.rename(kept)
    _tidy(kept.parent)
    return True


def _tidy(folder: Path) -> None:
    """Remove what was not used for longest, beyond the room that there is."""
    total = 0
    for p in sorted(folder.glob("*.*"), key=os.path.getmtime, reverse=True):
        total += p.stat().st_size
        if total > _ROOM:
            with contextlib.suppress(OSError):
                p.unlink()


def _key(command: Sequence[str], start: str) -> str:
    """One word for all that the kept file depends on, the times of its headers apart."""
    program = os.stat(command[0])
    parts = [*command, start, os.getcwd(), str((program.st_size, program.st_mtime_ns))]
    for option, value in zip(command, [*command[1:], ""], strict=True):
        place = value if option in _FOLDERS else option[2:] if option.startswith("-I") else ""
        with contextlib.suppress(OSError):
            if place:
                parts += sorted(x.name for x in os.scandir(place)
                                if x.name.rpartition(".")[2] in _HEADER or "." not in x.name)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _without(option: str, command: Sequence[str]) -> list[str]:
    """A command without an option that takes a value."""
    pairs = zip(command, ["", *command[:-1]], strict=True)
    return [word for word, before in pairs if option not in (word, before)]
