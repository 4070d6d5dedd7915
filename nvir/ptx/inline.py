"""What an assembler would refuse of the `asm` statements of a CUDA source, at its place there.

Each statement is checked alone, in a kernel that declares its operands by their constraints; a
place in that kernel is led back to the character of the string that stands there.

Not seen: names that only the whole module declares, and strings that macros make.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Iterator

import attrs

from nvir.ir.errors import Diagnostic
from nvir.ptx.check import check
from nvir.ptx.source import line_starts

# What is not closed goes on to the end of the text, so that no other place is tried from each.
_RAW = r"\bR\"(?P<mark>[^\s()\\]{0,16})\((?P<raw>.*?)(?:\)(?P=mark)\"|\Z)"
_ASM = re.compile(
    rf"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|{_RAW}"
    r"|\basm\b(?:\s+(?:volatile|__volatile__))?\s*\(", re.S
)
_BLANK = r"(?:\s|\\\n|/\*.*?\*/|//[^\n]*\n)*+"
_STRING = re.compile(rf"{_BLANK}(?:\"(?P<text>(?:\\.|[^\"\\\n])*)\"|{_RAW})", re.S)
_BEHIND = re.compile(rf"{_BLANK}[:)]", re.S)  # the strings of a statement
_OPERAND = re.compile(r"\s*,?\s*(?:\[\w+\]\s*)?\"([=+]?)([a-zA-Z])\"\s*\(")
_END = re.compile(rf"(?:{_BLANK}:)*{_BLANK}(?:\)|\"\w+\"{_BLANK}[,)])", re.S)
_NAMED = re.compile(r"%%|%(\[\w+\])|%(\d+)")
_PARENTHESIS = re.compile(r"[()]")
_COLON = re.compile(r"\s*:")
_PIECE = re.compile(r"[^\\]+|\\(.)", re.S)  # of a string; 1: what is escaped
_PART = re.compile(r"[^%]+|%(?:([%=])|(\d+))?")  # of its text
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
    closed = _closed(text)
    for at in _ASM.finditer(text):
        if at.group().startswith("asm"):
            code, places, end = _string(text, at.end())
            if _BEHIND.match(text, end) is None:
                continue  # a macro makes it, or a part of it
            operands = tuple(_operands(text, end, closed))
            made, where = _kernel(code, places, [c for c, _, _ in operands], target)
            start = places[0] if places else at.start()
            behind = operands[-1][2] if operands else end
            told = text.find(":", end) >= 0 and _END.match(text, behind)
            count = len(operands) if told else None
            wrong = tuple(_misnamed(code, places, count))
            yield AsmStatement(made, where, start, end, operands, wrong)


def check_inline(
    text: str, file: str, arch: str | None = None
) -> list[tuple[str, Diagnostic]]:
    """Code and diagnostic of everything found in the `asm` statements, in the text's order."""
    found: list[tuple[str, Diagnostic]] = []
    starts = line_starts(text)
    for asm in asm_statements(text, arch or NEWEST):
        found.extend(("operands", _placed(Diagnostic(message), text, file, place, starts))
                     for message, place in asm.wrong)
        for kind, d, at in () if asm.wrong else _errors(asm.ptx, arch):
            found.append((kind, _placed(d, text, file, asm.place(at), starts)))
    return found


@functools.lru_cache(maxsize=1 << 14)  # of a text that is edited all but one are known
def _errors(ptx: str, arch: str | None) -> tuple[tuple[str, Diagnostic, int], ...]:
    """What is wrong with a statement's kernel, and at which of its characters."""
    wrong = [(kind, d) for kind, d in check(ptx, (), arch) if d.severity == "error"]
    starts = line_starts(ptx) if wrong else []
    return tuple((kind, d, starts[d.line - 1] + d.col - 1) for kind, d in wrong)


def _closed(text: str) -> dict[int, int]:
    """Behind each '(' the place behind the ')' that closes it."""
    found, open = {}, []
    for m in _PARENTHESIS.finditer(text):
        if m[0] == "(":
            open.append(m.end())
        elif open:
            found[open.pop()] = m.end()
    return found


def _string(text: str, at: int) -> tuple[str, list[int], int]:
    """The adjacent string literals from a place on: their text, where each character of it
    stands, and where they end."""
    out: list[str] = []
    places: list[int] = []
    while (m := _STRING.match(text, at)) is not None:
        kind = "raw" if m["text"] is None else "text"
        start, at = m.start(kind), m.end()
        if kind == "raw":
            out.append(m[kind])
            places.extend(range(start, m.end(kind)))
            continue
        for piece in _PIECE.finditer(text, start, m.end(kind)):
            out.append(_ESCAPES.get(piece[1], piece[1]) if piece[1] else piece[0])
            places.extend(range(piece.start(), piece.start() + len(out[-1])))
    return "".join(out), places, at


def _operands(text: str, at: int, closed: dict[int, int]) -> Iterator[tuple[str, int, int]]:
    """The register class of each operand behind the string, and where it stands."""
    while at < len(text):
        colon = _COLON.match(text, at)
        if colon is not None:
            at = colon.end()
            continue
        m = _OPERAND.match(text, at)
        if m is None:
            return
        at = closed.get(m.end(), len(text))
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
    registers = "".join(f".reg .{c} %asm{k};\n" for k, c in enumerate(classes) if c)
    out = [f"{_HEAD.format(target=target)}{registers}{{\n"]
    where: dict[int, int] = {}
    end = len(out[0])
    for m in _PART.finditer(code):
        if m[1]:
            out.append("%" if m[1] == "%" else "0")  # "=": a number that no other statement has
        elif m[2]:
            n = int(m[2])
            out.append(f"%asm{n}" if n < len(classes) and classes[n] else "1")
        else:
            out.append(m[0])
        here = places[m.start() : m.end() if m[0][0] != "%" else m.start() + 1]
        where.update(zip(range(end, end + len(here)), here, strict=True))
        end += len(out[-1])
    written = re.sub(r"/\*.*?\*/|//[^\n]*", "", code, flags=re.S).rstrip()
    closing = "" if not written or written.endswith((";", "}")) else ";"
    return f"{''.join(out)}{closing}\n}}\nret;\n}}\n", where


def _placed(d: Diagnostic, text: str, file: str, place: int, starts: list[int]) -> Diagnostic:
    line = bisect_right(starts, place)
    start = starts[line - 1]
    end = text.find("\n", place)
    shown = text[start : end if end >= 0 else len(text)]
    return attrs.evolve(d, file=file, line=line, col=place - start + 1, source=shown)
