"""Where instructions come from: source files and lines, through inlined calls.

A `.loc` of an inlined function names the line of the callee and, as `inlined_at`, that of the
call, whose own `.loc` may say the same again; people think in lines of the function that they
wrote, so all of them are kept.
"""

from __future__ import annotations

import bisect
import re

from nvir.ir import Function, Instruction, Location, Module

_LOC = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)\s+(\d+)\s*,(.*inlined_at.*)")
_INLINED = re.compile(r"inlined_at\s+(\d+)\s+(\d+)(?:\s+(\d+))?")


class SourceLines:
    """Where the instructions of one function come from, through inlined calls.

    `text` is the PTX by lines: its `.loc`s know calls that no instruction is left of.
    """

    def __init__(
        self, function: Function, module: Module, text: list[str] | None = None
    ) -> None:
        self.paths = {n: name for n, name, _ in module.debug.files}
        # Of each place that is a call: where in the PTX that is said, and what was said there.
        self._called_at: dict[tuple[int, int, int], tuple[list[int], list[str]]] = {}
        if text is None:
            for i in function.instructions():
                if i.loc is not None and i.loc.inlined:
                    self._called((i.loc.file, i.loc.line, i.loc.col), i.line, i.loc.inlined)
            return
        for number, line in enumerate(text, 1):
            if "inlined_at" in line and (found := _LOC.match(line)):
                self._called((int(found[1]), int(found[2]), int(found[3])), number, found[4])

    def _called(self, key: tuple[int, int, int], line: int, where: str) -> None:
        lines, texts = self._called_at.setdefault(key, ([], []))
        lines.append(line)
        texts.append(where)

    def _call_of(self, key: tuple[int, int, int], line: int) -> str:
        """What was last said, before a line of the PTX, of where a place was inlined."""
        lines, texts = self._called_at.get(key, ((), ()))
        at = bisect.bisect_right(lines, line) - 1
        return texts[max(at, 0)] if texts else ""

    def file(self, number: int) -> str:
        """The name of a `.file`, without its directories."""
        return self.paths.get(number, f"file {number}").rsplit("/", 1)[-1]

    def numbers(self, instruction: Instruction) -> list[tuple[int, int]]:
        """(file number, line) of an instruction, the inlined callee first, the function last."""
        loc: Location | None = instruction.loc
        if loc is None or not loc.line:
            return []
        out = [(loc.file, loc.line)]
        key, text = (loc.file, loc.line, loc.col), loc.inlined
        seen = {key}
        while len(out) < 64:
            found = _INLINED.search(text or self._call_of(key, instruction.line))
            if found is None:
                break
            key, text = (int(found[1]), int(found[2]), int(found[3] or 0)), ""
            if key in seen:
                break
            seen.add(key)
            out.append(key[:2])
        return out

    def places(self, instruction: Instruction) -> list[tuple[str, int]]:
        """As `numbers`, with file names."""
        return [(self.file(f), line) for f, line in self.numbers(instruction)]

    def place(self, instruction: Instruction) -> str | None:
        """"file.cu:12" of the function itself, through all inlined calls; None without."""
        found = self.places(instruction)
        return f"{found[-1][0]}:{found[-1][1]}" if found else None
