"""Linking PTX: the modules of a program that was built with `-rdc=true`, as one text.

What a module declares `.extern` and another defines is the same; of `.weak` and `.common` ones the
first stays; a local name that another module has as well gets a number. Variables come first, then
a prototype of each function, then the functions, so that modules may need each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs

_COMMENT = re.compile(r"^\s*//[^\n]*$|/\*.*?\*/", re.M | re.S)
_LINE = re.compile(r"\s*(\.version|\.target|\.address_size|\.file)\b[^\n]*")
_VARIABLE = re.compile(r"([\w$%]+)\s*(?:\[[^\]]*\]\s*)*(?:=|;)")
_FUNCTION = re.compile(r"\.(?:func|entry)\b\s*(?:\.noreturn\s*)?(?:\([^)]*\)\s*)?([\w$%]+)")
_PARTS = re.compile(r'[{};]|"[^"]*"|//[^\n]*')


@attrs.frozen
class PtxStatement:
    """A statement at the top of a module; `kind` is "line", "variable", "function" or "other"."""

    kind: str
    name: str
    text: str

    @property
    def local(self) -> bool:
        linkage = re.match(r"\s*\.(visible|weak|common|extern)\b", self.text)
        return linkage is None and self.kind in ("variable", "function")

    @property
    def defines(self) -> bool:
        if self.kind == "function":
            return "{" in self.text
        return not re.match(r"\s*\.extern\b", self.text)


def link_ptx(texts: list[str]) -> str:
    """One module of several. Symbols that none of them defines stay declared."""
    if len(texts) == 1:
        return texts[0]
    modules: list[list[PtxStatement]] = []
    taken: set[str] = set()
    for number, text in enumerate(texts):
        found = list(statements(text))
        names = {s.name for s in found if s.local}
        if clash := names & taken:
            pattern = "|".join(re.escape(n) for n in sorted(clash, key=len, reverse=True))
            text = re.sub(
                rf"(?<![\w$%.])({pattern})(?![\w$])", rf"\1__{number}", _COMMENT.sub("", text)
            )
        text = re.sub(r"(\.file|\.loc)(\s+)(?=\d)", rf"\1\g<2>{number + 1}000", text)
        found = list(statements(text))
        taken |= {s.name for s in found if s.kind in ("variable", "function")}
        modules.append(found)
    everything = [s for found in modules for s in found]
    defined: dict[str, PtxStatement] = {}
    declared: dict[str, PtxStatement] = {}
    for s in everything:
        if s.kind in ("variable", "function"):
            (defined if s.defines else declared).setdefault(s.name, s)
    out = [s.text for s in modules[0] if s.kind == "line" and ".file" not in s.text]
    out += [s.text for s in everything if s.kind == "line" and ".file" in s.text]
    kept = [*(s for n, s in declared.items() if n not in defined), *defined.values()]
    out += [s.text for s in kept if s.kind == "variable"]
    functions = [s for s in kept if s.kind == "function"]
    for s in functions:
        if not s.defines:
            out.append(s.text)
        elif ".entry" not in s.text.partition("{")[0]:
            out.append(re.split(r"\n?\s*\.(?:pragma|maxnreg)|\{", s.text)[0].rstrip() + ";")
    return "\n".join([*out, *(s.text for s in functions if s.defines)]) + "\n"


def statements(text: str) -> Iterator[PtxStatement]:
    """What stands at the top of a module, debug sections left out."""
    text = _COMMENT.sub("", text)
    at = 0
    while True:
        line = _LINE.match(text, at)
        if line:
            yield PtxStatement("line", "", line[0].strip())
            at = line.end()
            continue
        end = _end(text, at)
        if end == at:
            return
        body = text[at:end].strip()
        at = end
        head = body.partition("{")[0]
        function = _FUNCTION.search(head)
        if function:
            yield PtxStatement("function", function[1], body)
        elif not head.startswith(".section"):
            variable = _VARIABLE.search(body)
            yield PtxStatement("variable" if variable else "other",
                               variable[1] if variable else "", body)


def _end(text: str, at: int) -> int:
    """Where the statement at a place ends: behind its `;`, or the brace of a body."""
    depth = 0
    for m in _PARTS.finditer(text, at):
        if m[0] == "{":
            depth += 1
        elif m[0] == "}":
            depth -= 1
            head = text[at : m.start()].partition("{")[0]
            if not depth and "=" not in head:
                return m.end()
        elif m[0] == ";" and not depth:
            return m.end()
    return at
