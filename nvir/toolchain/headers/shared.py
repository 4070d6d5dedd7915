"""Sets of headers that sources share: the standard library's, CUDA's and CCCL's, read ahead.

    shared_headers(command, project, own, base)  ->  Shared: a kept file and what it takes for given

Headers that a source includes for certain (`includes.py`) may as well be read first, so long as
nothing before the place where they stand means anything to them: no macro that it defines is a word
of theirs, and no macro of theirs is asked for. So a kept set serves each source of any project that
includes all of it. Whether clang really met each header is asked when the source is compiled.
"""

from __future__ import annotations

import functools
import hashlib
import heapq
import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs

from nvir.toolchain.find import header_folders
from nvir.toolchain.headers.includes import Own, Reached
from nvir.toolchain.headers.kept import (
    HeaderFacts,
    entered,
    hung_on,
    made,
    on,
    replace,
    wished,
    without,
)

_MOST = 6  # kept files on top of each other
_FEW = 3  # headers that may wait
_OTHERS = 3  # sets that do not serve a source, and are asked what in it means something to them
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.S)
_USES, _CALLS, _DEFINES = r"\b%s\b", r"\b%s\s*\(", r"#[ \t]*define[ \t]+%s\b"
_OF_C = re.compile(r"<(c?)(assert|ctype|errno|fenv|float|inttypes|limits|locale|math|setjmp|signal|"
                   r"stdarg|stddef|stdint|stdio|stdlib|string|time|wchar)(?(1)|\.h)>")


@attrs.frozen
class Shared:
    """A kept set of headers, as sources name them, each with the path of what was read; all files
    that were read for each; `hung` as `hung_on` has it; how many kept files are below."""

    file: Path
    headers: dict[str, str]
    files: dict[str, list[str]]
    hung: list[str]
    depth: int

    @staticmethod
    def of(note: Path) -> Shared:
        return Shared(note.with_suffix(".pch"), **json.loads(note.read_text("utf-8")))

    def __str__(self) -> str:
        return json.dumps(attrs.asdict(self, filter=lambda field, _: field.name != "file"))

    def clash(self, reached: Reached, facts: HeaderFacts, known: HeaderFacts) -> int:
        """How many headers come before all that means something to those here that come later."""
        events = [(n, name, _DEFINES) for name, n in reached.tested.items()
                  if facts.macros.get(name) != known.macros.get(name)]
        events += [(n, name, _USES if name in reached.plain else _CALLS)
                   for name, n in reached.defined.items() if name in facts.words]
        note = self.file.with_suffix(".asked")
        asked = json.loads(note.read_text("utf-8")) if os.path.exists(note) else {}
        before, found, read = len(asked), len(reached.headers), functools.cache(
            lambda path: _COMMENT.sub(b" ", Path(path).read_bytes()))
        for n, name, form in events:
            pattern = form % re.escape(name)
            later = [h for h in self.headers if reached.headers.get(h, n) >= n]
            key = " ".join([pattern, *later])
            if key not in asked:
                means = re.compile(pattern.encode()).search
                paths = (path for h in later for path in self.files.get(h, ()))
                asked[key] = any(means(read(path)) for path in paths)
            if asked[key]:
                found = min(found, n)
        if len(asked) > before:
            replace(note, json.dumps(asked))
        return found


def shared_headers(command: Sequence[str], project: Sequence[str], own: Own,
                   base: Path) -> tuple[Shared | None, bool]:
    """The largest set to read ahead of a source, on top of the kept file `base`, and whether it is
    new. At most one is made a time, so that no compile waits for several."""
    known = HeaderFacts.of(base)
    reached = own.reached(project, known.macros)
    whole = len(reached.headers)
    best, here = None, HeaderFacts()
    kept = [one for note in base.parent.glob(f"{base.stem}-*.set")
            if os.path.isfile((one := Shared.of(note)).file)]
    for one in sorted(kept, key=lambda x: len(x.headers), reverse=True):
        if one.headers.keys() <= reached.headers.keys():
            facts = HeaderFacts.of(one.file)
            if one.hung == hung_on(project, facts) and one.clash(reached, facts, known) == whole:
                best, here = one, facts
                break
    if not _more(reached.headers, known, here):
        return best, False
    called = {_name(h) for h in reached.headers}
    near, free = here, whole  # so many headers may be read ahead, as far as other sets tell
    for one in heapq.nlargest(_OTHERS, kept, lambda x: len(x.headers.keys() & reached.headers)):
        facts = HeaderFacts.of(one.file)
        if best is None or one.file != best.file:
            free = min(free, one.clash(reached, facts, known))
            near = max(near, facts, key=lambda x: len(x.called & called))
    wanted = [h for h, n in reached.headers.items() if n < free and _dear(h)]
    common = [h for h in wanted if _name(h) in near.called] if best is None else []
    found = best
    for layer in (common, [h for h in wanted if "/" not in h], wanted):
        more = _more(layer, known, here)
        if not more or (best is not None and best.depth == _MOST):
            continue
        # a few, and those of large libraries, are made when they are wished for again: to make them
        # and compile on top takes longer than to compile alone
        file = _file(base, project, layer)
        again = (best is not None and len(more) < _FEW) or any("/" in h for h in more)
        first = not wished(file, "".join(f"#include {h}\n" for h in layer))
        if best is not found or os.path.exists(file) or (first and again):
            continue
        new = _new(command, project, layer, file, best or base, here)
        if new is None or new[0].clash(reached, new[1], known) < whole:
            break
        best, here = new
    return best, best is not found


def _more(headers: Iterable[str], known: HeaderFacts, here: HeaderFacts) -> list[str]:
    """The headers that are worth to be kept and are not."""
    return [h for h in headers if _name(h) not in known.called | here.called and _dear(h)]


def _name(header: str) -> str:
    return header[1:-1].rpartition("/")[2]


def _dear(header: str) -> bool:
    """Does a header take more time than a look at it is worth? Those of C don't."""
    return not _OF_C.fullmatch(header) and (not header[:-1].endswith(".h") or any(
        os.path.isfile(f / header[1:-1]) for f in header_folders()))


def _file(base: Path, project: Sequence[str], wanted: Sequence[str]) -> Path:
    """Where a set of a project's options and headers is kept."""
    parts = [os.getcwd(), *sorted(wanted), *without("-include", project)]
    word = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return base.with_name(f"{base.stem}-{word}.pch")


def _new(command: Sequence[str], project: Sequence[str], wanted: Sequence[str], file: Path,
         below: Shared | Path, here: HeaderFacts) -> tuple[Shared, HeaderFacts] | None:
    """A set of a project's options and headers, on top of what is `below`."""
    best, options = below if isinstance(below, Shared) else None, without("-include", project)
    new: list[tuple[Shared, HeaderFacts]] = []

    def notes(kept: Path, listed: str) -> dict[str, str]:
        headers, files = (dict(best.headers), dict(best.files)) if best else ({}, {})
        left, header = [*wanted], ""  # what was read of them stands in the list, in their order
        for depth, path in entered(listed):
            if depth == 1:
                header = next((h for h in left if path.endswith(f"/{h[1:-1]}")), f"<{path}>")
                del left[: left.index(header) + 1 if header in left else 0]
                headers[header] = path
            files.setdefault(header, []).append(path)
        facts = HeaderFacts.read([*on(kept, command), *options], listed, here)
        hung = hung_on(options, facts)
        new.append((Shared(file, headers, files, hung, best.depth + 1 if best else 1), facts))
        return {".names": str(facts), ".set": str(new[0][0])}

    kept = below.file if isinstance(below, Shared) else below
    there = made([*on(kept, command), *options], file, notes=notes)
    return new[0] if there else None
