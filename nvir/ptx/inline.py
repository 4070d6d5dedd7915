"""What an assembler would refuse of the `asm` statements of a CUDA source, at its place there.

Each statement is checked alone, in a kernel that declares its operands by their constraints; a
place in that kernel is led back to the character of the string that stands there.

Not seen: names that only the whole module declares, and strings that macros make.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import attrs

from nvir.ir.errors import Diagnostic
from nvir.ptx.check import check

_RAW = r"\bR\"(?P<mark>[^\s()\\]*)\((?P<raw>.*?)\)(?P=mark)\""
_ASM = re.compile(
    rf"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|{_RAW}"
    r"|\basm\b(?:\s+(?:volatile|__volatile__))?\s*\(", re.S
)
_BLANK = r"(?:\s|\\\n|/\*.*?\*/|//[^\n]*\n)*+"
_STRING = re.compile(rf"{_BLANK}(?:\"(?P<text>(?:\\.|[^\"\\\n])*)\"|{_RAW})", re.S)
_BEHIND = re.compile(rf"{_BLANK}[:)]", re.S)  # the strings of a statement
_OPERAND = re.compile(r"\s*,?\s*(?:\[\w+\]\s*)?\"([=+]?)([a-zA-Z])\"\s*\(")
_END = re.compile(rf"(?:{_BLANK}:)*{_BLANK}(?:\)|\"\w+\"{_BLANK}[,)])", re.S)
_NAMED = re.compile(r"%%|%(\[\w+\])|%(\d+)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_CLASSES = {"h": "b16", "r": "b32", "l": "b64", "q": "b128", "f": "f32", "d": "f64"}
NEWEST = "sm_100a"  # what statements are checked for unless something else is asked
_HEAD = ".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\n"


@attrs.frozen
class AsmStatement:
    """The string of an `asm` statement as PTX by itself.

    ptx        a kernel that declares the operands by their constraints and holds the string
    places     offset in `ptx` -> offset in the source of the character that stands there
    start, end the string literals in the source
    operands   the register class of each operand, and where it stands in the source
    wrong      what is wrong with the names of operands in the string, and where
    """

    ptx: str
    places: dict[int, int]
    start: int
    end: int
    operands: tuple[tuple[str, int, int], ...]
    wrong: tuple[tuple[str, int], ...]

    def place(self, offset: int) -> int:
        """Where in the source a character of `ptx` stands; the string where none does."""
        return self.places.get(offset, self.start)


def asm_statements(text: str, target: str = NEWEST) -> Iterator[AsmStatement]:
    """The `asm` statements of a CUDA source, in the text's order."""
    for at in _ASM.finditer(text):
        if at.group().startswith("asm"):
            code, places, end = _string(text, at.end())
            if _BEHIND.match(text, end) is None:
                continue  # a macro makes it, or a part of it
            operands = tuple(_operands(text, end))
            made, where = _kernel(code, places, [c for c, _, _ in operands], target)
            start = places[0] if places else at.start()
            behind = operands[-1][2] if operands else end
            count = len(operands) if _END.match(text, behind) and ":" in text[end:] else None
            wrong = tuple(_misnamed(code, places, count))
            yield AsmStatement(made, where, start, end, operands, wrong)


def check_inline(
    text: str, file: str, arch: str | None = None
) -> list[tuple[str, Diagnostic]]:
    """Code and diagnostic of everything found in the `asm` statements, in the text's order."""
    found: list[tuple[str, Diagnostic]] = []
    for asm in asm_statements(text, arch or NEWEST):
        found.extend(("operands", _placed(Diagnostic(message), text, file, place))
                     for message, place in asm.wrong)
        for kind, d in () if asm.wrong else check(asm.ptx, (), arch):
            if d.severity == "error":
                line_start = sum(len(x) + 1 for x in asm.ptx.split("\n")[: d.line - 1])
                found.append((kind, _placed(d, text, file, asm.place(line_start + d.col - 1))))
    return found


def _string(text: str, at: int) -> tuple[str, list[int], int]:
    """The adjacent string literals from a place on: their text, where each character of it
    stands, and where they end."""
    out, places = "", []
    while (m := _STRING.match(text, at)) is not None:
        kind = "raw" if m["text"] is None else "text"
        k = m.start(kind)
        while k < m.end(kind):
            places.append(k)
            escaped = text[k] == "\\" and kind == "text"
            out += _ESCAPES.get(text[k + 1], text[k + 1]) if escaped else text[k]
            k += 1 + escaped
        at = m.end()
    return out, places, at


def _operands(text: str, at: int) -> Iterator[tuple[str, int, int]]:
    """The register class of each operand behind the string, and where it stands."""
    while at < len(text):
        colon = re.compile(r"\s*:").match(text, at)
        if colon is not None:
            at = colon.end()
            continue
        m = _OPERAND.match(text, at)
        if m is None:
            return
        depth, at = 1, m.end()
        while depth and at < len(text):
            depth += {"(": 1, ")": -1}.get(text[at], 0)
            at += 1
        yield _CLASSES.get(m[2], ""), m.start(1) - 1, at


def _misnamed(code: str, places: list[int], count: int | None) -> Iterator[tuple[str, int]]:
    """Names that nvcc does not know, and numbers that no operand has; `count` where it is known."""
    for m in _NAMED.finditer(code):
        if m[1]:
            yield f"nvcc knows no names of operands: write %0, not {m[0]}", places[m.start()]
        elif m[2] and count is not None and int(m[2]) >= count:
            numbers = "is one operand" if count == 1 else f"are {count} operands"
            yield f"{m[0]} is no operand: there {numbers}", places[m.start()]


def _kernel(
    code: str, places: list[int], classes: list[str], target: str
) -> tuple[str, dict[int, int]]:
    """The kernel that is checked, and of each place in it the place in the source."""
    out = _HEAD.format(target=target)
    out += "".join(f".reg .{c} %asm{k};\n" for k, c in enumerate(classes) if c) + "{\n"
    where: dict[int, int] = {}
    k = 0
    while k < len(code):
        m = re.compile(r"%(%|=|\d+)").match(code, k)
        where[len(out)] = places[k]
        if m is None:
            out += code[k]
        elif m[1] in "%=":
            out += {"%": "%", "=": "0"}[m[1]]  # "=": a number that no other statement has
        else:
            n = int(m[1])
            out += f"%asm{n}" if n < len(classes) and classes[n] else "1"
        k = m.end() if m is not None else k + 1
    written = re.sub(r"/\*.*?\*/|//[^\n]*", "", code, flags=re.S).rstrip()
    end = "" if not written or written.endswith((";", "}")) else ";"
    return f"{out}{end}\n}}\nret;\n}}\n", where


def _placed(d: Diagnostic, text: str, file: str, place: int) -> Diagnostic:
    line = text.count("\n", 0, place) + 1
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    shown = text[start : end if end >= 0 else len(text)]
    return attrs.evolve(d, file=file, line=line, col=place - start + 1, source=shown)
