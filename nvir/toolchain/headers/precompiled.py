"""Precompiled headers: clang reads those of others once, not at every compile.

    attempts(command, project, own)  ->  Attempt: a shorter command, what remains of the text

Of a compile nearly all time goes into headers: 0.3 s for CUDA's own, 3 s for CUB. Kept are, each on
top of the one before, in $XDG_CACHE_HOME/nvir, where the oldest go beyond `_ROOM`: what every
command line of nvir includes, made when first wanted; a set of headers of others
(`shared_headers`), and both for all projects whose options they do not hang on; the directives that
a text begins with. A compile makes one of the latter two at most, so that none waits for several,
and those of a text and of large libraries when they are wanted for the second time.
NVIR_PRECOMPILED=0 turns it off.

What clang makes is the same with and without. A kept file is for one program, command line,
beginning and folder; clang itself compares times and sizes of all headers in it; and as a new
header may hide one behind it, the names in the folders of headers belong to its key.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

from nvir.toolchain.errors import ToolError
from nvir.toolchain.headers.includes import Own
from nvir.toolchain.headers.kept import (
    LISTED,
    hopeless,
    key,
    made,
    of_all,
    on,
    wished,
    without,
)
from nvir.toolchain.headers.shared import shared_headers
from nvir.toolchain.process import cache_folder

_CHECKED = ("-Xclang", "-fmodules-validate-system-headers")
_PIECE = re.compile(
    r"(?P<skip>[ \t\r\n]+|//(?:\\\n|[^\n])*|/\*.*?\*/)"
    r"|(?P<directive>#[ \t]*(?P<word>\w*)(?://[^\n]*|/\*.*?\*/|\\\r?\n|[^\n])*)", re.S)


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
    so that what clang says is what it says without. `needs`: headers that were read ahead, which
    clang must have met in the source; where it has not, or refuses, `mark` is to say so. `later` is
    the kept file that this source is to have at its next compile."""

    command: list[str]
    text: str
    kept: Path
    whole: bool = False
    needs: frozenset[str] = frozenset()
    mark: Path | None = None
    later: Path | None = None

    def served(self, entered: frozenset[str]) -> None:
        """It did, and these were read: is it known by now that no file can be made of them?"""
        if self.later is not None and not os.path.isfile(self.later):
            hopeless(self.later, entered)

    def drop(self, stale: bool) -> None:
        """Don't try this again: the file is stale, or does not serve this source."""
        if self.mark is None or stale:
            self.kept.unlink(missing_ok=True)
        else:
            self.mark.touch()


def attempts(command: Sequence[str], project: Sequence[str], own: Own) -> Iterator[Attempt]:
    """The compiles to try, the one with most headers kept first. `command` is nvir's own,
    `project` the options of a source."""
    if os.environ.get("NVIR_PRECOMPILED") == "0":
        return
    text, name, options = own.text, own.name, [*command, *project]
    try:
        folder = cache_folder() / "headers"
        folder.mkdir(exist_ok=True)
        end, depth = beginning(text)
        start = f'#line 1 "{name}"\n{text[:end]}\n' + "".join(
            f"#define nvir_within_{n}\n#endif\n" for n in range(depth, 0, -1))
        kept = folder / f"{key(options, os.getcwd() + start)}.pch"
        mark, whole = kept.with_suffix(".alone"), f'#line 1 "{name}"\n{text}'
        base, more, new = None, None, False
        if (not os.path.isfile(kept) and (base := of_all(command, project, folder)) is not None
                and not os.path.exists(mark)):
            more, new = shared_headers(command, project, own, base)
        needs = frozenset(more.headers.values() if more else ())
        if (end or "-include" in project) and wished(kept, start) and not new:
            ahead: dict[Path | None, frozenset[str]] = {more.file: needs} if more else {}
            if any(made([*on(file, command), *project], kept, met)
                   for file, met in (ahead | {base: frozenset[str]()}).items()):
                line = text.count("\n", 0, end) + 1 + bool(end)
                again = "".join(f"#ifdef nvir_within_{n + 1}\n" for n in range(depth))
                rest = text[end:].partition("\n")[2] if end else text
                yield Attempt([*without("-include", options), *_CHECKED, "-include-pch", str(kept)],
                              f'{again}#line {line} "{name}"\n{rest}', kept)
        if more is not None:
            more.file.with_suffix(".used").touch()
            yield Attempt([*on(more.file, command), *project, *_CHECKED, *LISTED], whole,
                          more.file, needs=needs, mark=mark, later=kept)
        if (base := base or of_all(command, project, folder)) is not None:
            yield Attempt([*on(base, command), *project, *_CHECKED], whole, base, whole=True)
    except (OSError, ToolError):  # no room, no home, or one that cannot be written to
        pass
