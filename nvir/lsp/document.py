"""One version of a text that an editor has open: what is wrong with it, and what is known of its
functions.

PTX and LLVM text are one view each; of a CUDA source each `asm` statement is a view, whose
offsets lead back to the characters of its string. A text with errors still has facts: functions
without an error are read with the others' bodies left out.
"""

from __future__ import annotations

import contextlib
import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any

import attrs

from nvir.analysis.liveness import Liveness, liveness
from nvir.analysis.pressure import RegisterPressure, register_pressure
from nvir.ir import Function, Instruction, Loop, Module, NvirError, ParseError, natural_loops
from nvir.ir.errors import Diagnostic
from nvir.llvm.reader import read_ll
from nvir.loading import Language, language_of
from nvir.lsp.outline import Lines, LlvmOutline, Outline, Routine
from nvir.ptx.inline import NEWEST, AsmStatement, asm_statements
from nvir.ptx.reader import read_ptx
from nvir.ptx.source import line_starts
from nvir.report.facts import FunctionFacts, function_facts
from nvir.report.findings import Findings, find
from nvir.sm.profile import profile_for

MOST = 1 << 17  # phis or edges of a function of which more is told than its errors and names
ATTEMPTS = 6  # of reading a text with errors, each time with fewer functions


@attrs.frozen(eq=False)
class RoutineFacts:
    """What is known of one function. `facts` is None for LLVM text, which has no registers yet:
    its counts are of values."""

    function: Function
    live: Liveness
    pressure: RegisterPressure
    loops: list[Loop]
    facts: FunctionFacts | None

    def at_line(self, line: int, opcode: str = "") -> list[Instruction]:
        """The instructions of a line (counted from 1 in the view), of one opcode if it is told."""
        found = [i for i in self.function.instructions() if i.line == line and not i.is_phi]
        return [i for i in found if i.form.spelling == opcode] or found

    def around(self, at: Instruction) -> tuple[list[Any], list[Any]]:
        """The values alive before and behind an instruction, predicates and carry left out."""
        assert at.block is not None
        for i, behind in self.live.backwards(at.block):
            if i is at:
                after = set(behind) | {r for r in i.results if r.is_tracked}
                before = (set(behind) - set(i.results)) | {v for v in i.operands if v.is_tracked}
                return _registers(before), _registers(after)
        return [], []


def _registers(values: set[Any]) -> list[Any]:
    return [v for v in values if v.type.bits > 1 and v.type.name != "cc"]


class TextView:
    """A text of one language within a document; offsets are the document's unless `asm`."""

    def __init__(self, text: str, language: Language, asm: AsmStatement | None = None) -> None:
        self.text, self.language, self.asm = text, language, asm
        self.lines = Lines(text)
        self.outline = LlvmOutline(text) if language == "ll" else Outline(text)
        self._back = {s: o for o, s in asm.places.items()} if asm is not None else {}
        self._modules: list[Module | None] = []

    def inward(self, offset: int) -> int | None:
        """An offset of the document as one of the view."""
        if self.asm is None:
            return offset
        if not self.asm.start <= offset <= self.asm.end:
            return None
        for k in range(5):  # of "%12" only the sign has a character of its own in the view
            if (found := self._back.get(offset - k)) is not None:
                return found + k
        return None

    def outward(self, start: int, end: int) -> tuple[int, int] | None:
        """A span of the view in the document, None where it does not stand there."""
        if self.asm is None:
            return start, end
        first, last = self.asm.places.get(start), self.asm.places.get(end - 1)
        return None if first is None else (first, last + 1 if last is not None else first + 2)

    def operand(self, name: str) -> tuple[int, int] | None:
        """Where in the document the operand stands that `%asm0` is of an `asm` statement."""
        m = re.match(r"%asm(\d+)$", name)
        if m is None or self.asm is None or int(m[1]) >= len(self.asm.operands):
            return None
        _, start, end = self.asm.operands[int(m[1])]
        return start, end

    @property
    def module(self) -> Module | None:
        """The module, read once; without the bodies of functions that have errors."""
        if not self._modules:
            self._modules.append(self._read())
        return self._modules[0]

    def _read(self) -> Module | None:
        text = self.text
        left: set[int] = set()  # routines that are left out
        for attempt in range(ATTEMPTS):
            try:
                data = text.encode("utf-8", "replace")
                return read_ll(data) if self.language == "ll" else read_ptx(data, MOST)
            except ParseError as e:
                lines = sorted({d.line for d in e.errors})  # one error may look like several
                for line in lines[:1] if attempt < ATTEMPTS - 2 else lines:
                    left.add(self._around(line, left))
                text = self._without(left)
            except NvirError:
                return None
        return None

    def _around(self, line: int, left: set[int]) -> int:
        """The number of the routine that an error's line lies in; of one at a head the routine
        before, which may not be closed, unless that is left out already."""
        starts = [self.line(r.start) for r in self.outline.routines]
        before = max(bisect_right(starts, line - 1) - 1, 0)
        return bisect_right(starts, line) - 1 if before in left else before

    def _without(self, left: set[int]) -> str:
        """The text without the bodies of some routines, its lines where they were."""
        text = self.text
        for k, r in reversed(list(enumerate(self.outline.routines))):
            if r.body >= 0 and k in left:
                cut = text[r.body : r.end]
                head, rest = text[: r.body], text[r.end :]
                if self.language == "ll":
                    head = f"{head[: r.start]}declare{head[r.start + len('define') :]}"
                text = head + ";" * (self.language == "ptx") + "\n" * cut.count("\n") + rest
        return text

    def line(self, offset: int) -> int:
        """The line of an offset, from 1."""
        return bisect_right(self.lines.starts, offset)


class Document:
    """A version of a text; everything is found when it is first asked for.

    `known` are facts of functions of the version before: they hold where neither the function
    nor what stands outside of functions has changed.
    """

    def __init__(
        self, text: str, file: str, version: int | None = 0, arch: str | None = None,
        known: Mapping[Any, RoutineFacts | None] | None = None,
    ) -> None:
        self.text, self.file, self.version, self.arch = text, file, version, arch
        self.language = language_of(text[:65536].encode("utf-8", "replace"), file)
        self.lines = Lines(text)
        self._starts = line_starts(text) if "\r" in text else self.lines.starts
        self._known = known or {}
        self.facts_by_text: dict[Any, RoutineFacts | None] = {}
        self._views: list[TextView] | None = None

    @property
    def views(self) -> list[TextView]:
        if self._views is None:
            if self.language == "cu":
                made = asm_statements(self.text, self.arch or NEWEST)
                self._views = [TextView(a.ptx, "ptx", a) for a in made]
            elif self.language == "ori":
                self._views = []
            else:
                self._views = [TextView(self.text, self.language)]
        return self._views

    def findings(self) -> Findings:
        """What `nvir check` finds."""
        return find(self.text.encode("utf-8", "replace"), self.file, self.arch)

    def offset(self, d: Diagnostic) -> int:
        """Where a finding is; its lines end at \\n alone."""
        line = min(max(d.line, 1), len(self._starts)) - 1
        return min(self._starts[line] + max(d.col, 1) - 1, len(self.text))

    def locate(self, offset: int) -> tuple[TextView, int] | None:
        """The view around an offset, and the offset in it."""
        for view in self.views:
            if (at := view.inward(offset)) is not None:
                return view, at
        return None

    def facts(self, view: TextView, routine: Routine) -> RoutineFacts | None:
        """What is known of a routine, None where it cannot be read."""
        if routine.body < 0:
            return None
        outside = "" if view.asm is not None else _outside(view)
        text = view.text[routine.start : routine.end]
        key = (view.line(routine.start), text, outside)
        if key not in self.facts_by_text:
            found = self._known.get(key)
            self.facts_by_text[key] = found or self._gather(view, routine)
        return self.facts_by_text[key]

    def _gather(self, view: TextView, routine: Routine) -> RoutineFacts | None:
        module = view.module
        name = routine.name.removeprefix("@")
        found = [] if module is None else [f for f in module.functions if str(f.name) == name]
        if module is None or not found or not found[0].blocks:
            return None
        f = found[0]
        f.analyze_cfg()
        if module.level == "ori":
            arch = self.arch or module.target
            with contextlib.suppress(NvirError):
                x = function_facts(f, module, profile_for(arch), arch=arch)
                return RoutineFacts(f, x.live, x.pressure, x.loops, x)
        live = liveness(f)
        return RoutineFacts(f, live, register_pressure(f, live), natural_loops(f), None)


def _outside(view: TextView) -> str:
    """What stands outside of functions, and their heads."""
    out, at = [], 0
    for r in view.outline.routines:
        out.append(view.text[at : r.body if r.body >= 0 else r.end])
        at = r.end
    return "".join([*out, view.text[at:]])
