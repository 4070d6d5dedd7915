"""What an assembler would refuse of the `asm` statements of a CUDA source, at its place there.

Each statement is checked alone, in a kernel that declares its operands by their constraints; a
place in that kernel is led back to the character of the string that stands there.

Not seen: names that only the whole module declares, and strings that macros make.
"""

from __future__ import annotations

import functools
import itertools
import re
import sys
from bisect import bisect_right
from collections.abc import Iterator

import attrs

from nvir.ir.errors import Diagnostic
from nvir.ptx.check import check_kernel
from nvir.ptx.source import PtxText, line_starts

# What is not closed goes on to the end of the text, so that no other place is tried from each.
_RAW = r"\bR\"(?P<mark>[^\s()\\]{0,16})\((?P<raw>.*?)(?:\)(?P=mark)\"|\Z)"
_ASM = re.compile(
    rf"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"|{_RAW}"
    r"|'(?:\\.|[^'\\\n])'|\basm\b(?:\s+(?:volatile|__volatile__))?\s*\(|[()]", re.S
)
_BLANK = r"(?:\s|\\\n|/\*.*?\*/|//[^\n]*\n)*+"
_STRING = re.compile(rf"{_BLANK}(?:\"(?P<text>(?:\\.|[^\"\\\n])*)\"|{_RAW})", re.S)
_BEHIND = re.compile(rf"{_BLANK}[:)]", re.S)  # the strings of a statement
_OPERAND = re.compile(
    rf"{_BLANK},?{_BLANK}(?:\[\w+\]{_BLANK})?\"([=+]?)([a-zA-Z])\"{_BLANK}\(", re.S)
_END = re.compile(rf"(?:{_BLANK}:)*{_BLANK}(?:\)|\"\w+\"{_BLANK}[,)])", re.S)
_NAMED = re.compile(r"%%|%(\[\w+\])|%(\d+)")
_PARENTHESIS = re.compile(r"[()]")
_COLON = re.compile(rf"{_BLANK}:", re.S)
_PIECE = re.compile(r"[^\\]+|\\(.)", re.S)  # of a string; 1: what is escaped
_PART = re.compile(r"[^%]+|%(?:([%=])|(\d+))?")  # of its text
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}
_CLASSES = {"h": "b16", "r": "b32", "l": "b64", "q": "b128", "f": "f32", "d": "f64"}
LONGEST = 1 << 12  # characters of a statement whose errors are kept for when it comes again
NEWEST = "sm_100a"  # what statements are checked for unless something else is asked
_HEAD = ".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k()\n{{\n"
_OPEN = "{{\n"  # before a string that is read as the body of a kernel, in a scope of its own


@attrs.frozen
class AsmStatement:
    """The string of an `asm` statement as PTX by itself.

    ptx        a kernel that declares the operands by their constraints and holds the string
    places     offset in `ptx` -> offset in the source of the character that stands there
    start, end the string literals in the source
    operands   the register class of each operand, and where it stands in the source
    """

    ptx: str
    places: dict[int, int]
    start: int
    end: int
    operands: tuple[tuple[str, int, int], ...]


def asm_statements(text: str, target: str = NEWEST) -> Iterator[AsmStatement]:
    """The `asm` statements of a CUDA source, in the text's order."""
    for at, part in _parts(text):
        s = _Statement.read(part)
        if s is not None:
            registers = "".join(f".reg .{c} {name};\n" for name, c in s.registers)
            head = f"{_HEAD.format(target=target)}{registers}{{\n"
            places = {k + len(head): at + found for k in range(len(s.code))
                      if (found := s.place(k)) is not None}
            yield AsmStatement(
                f"{head}{s.code}\n}}\nret;\n}}\n", places, at + s.start, at + s.end,
                tuple((c, at + a, at + b) for c, a, b in s.operands),
            )


@attrs.frozen
class _Statement:
    """What stands in the parentheses of an `asm`, in which its places are.

    code       the string with registers for operands
    spans      runs of the code that stand in the string as they are: where they begin, and which
               of `places` are theirs
    places     where each character of the string stands
    wrong      what is wrong with the names of operands in the string, and where
    """

    code: str
    spans: tuple[tuple[int, int, int], ...]
    places: list[int]
    end: int
    operands: tuple[tuple[str, int, int], ...]
    wrong: tuple[tuple[str, int], ...]

    @staticmethod
    def read(part: str) -> _Statement | None:
        """None where a macro makes the string, or a part of it."""
        string, places, end = _string(part, 0)
        if _BEHIND.match(part, end) is None:
            return None
        operands = tuple(_operands(part, end, _closed(part)))
        code, spans = _code(string, [c for c, _, _ in operands])
        told = ":" in part[end:] and _END.match(part, operands[-1][2] if operands else end)
        wrong = tuple(_misnamed(string, places, len(operands) if told else None))
        return _Statement(code, tuple(spans), places, end, operands, wrong)

    @property
    def start(self) -> int:
        return self.places[0] if self.places else 0

    @property
    def registers(self) -> list[tuple[str, str]]:
        """Names and classes of the operands that have one."""
        return [(f"%asm{k}", c) for k, (c, _, _) in enumerate(self.operands) if c]

    def place(self, offset: int) -> int | None:
        """Where a character of the code stands in the string."""
        k = bisect_right(self.spans, (offset, sys.maxsize, 0)) - 1
        if k < 0 or offset - self.spans[k][0] >= self.spans[k][2]:
            return None
        return self.places[self.spans[k][1] + offset - self.spans[k][0]]


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """What stands in the parentheses of each `asm`, and where it begins; up to the next one where
    they are not closed."""
    starts: list[int] = []
    ends: dict[int, int] = {}  # by number
    open: list[int] = []  # numbers, -1 for other parentheses
    for m in _ASM.finditer(text):
        word = m[0]
        if word == "(":
            open.append(-1)
        elif word[0] == "a":
            open.append(len(starts))
            starts.append(m.end())
        elif word == ")" and open and (k := open.pop()) >= 0:
            ends[k] = m.end()
    for k, (start, following) in enumerate(itertools.pairwise([*starts, len(text)])):
        yield start, text[start : ends.get(k, following)]


def check_inline(
    text: str, file: str, arch: str | None = None
) -> list[tuple[str, Diagnostic]]:
    """Code and diagnostic of everything found in the `asm` statements, in the text's order."""
    found: list[tuple[str, Diagnostic]] = []
    starts = line_starts(text)
    for at, part in _parts(text):
        told = _known_errors if len(part) < LONGEST else _errors
        found.extend((kind, _placed(d, text, file, at + place, starts))
                     for kind, d, place in told(part, arch or NEWEST))
    return found


def _errors(part: str, target: str) -> tuple[tuple[str, Diagnostic, int], ...]:
    """What is wrong with a statement, and at which of its characters."""
    asm = _Statement.read(part)
    if asm is None:
        return ()
    if asm.wrong:
        return tuple(("operands", Diagnostic(message), place) for message, place in asm.wrong)
    text = PtxText(f"{_OPEN}{asm.code}\n}}}}\n", "<text>")
    wrong = [x for x in check_kernel(text, target, asm.registers) if x[1].severity == "error"]
    offsets = (text.line_starts[d.line - 1] + d.col - 1 - len(_OPEN) for _, d in wrong)
    places = (asm.place(offset) for offset in offsets)
    return tuple((kind, d, asm.start if at is None else at)
                 for (kind, d), at in zip(wrong, places, strict=True))


_known_errors = functools.lru_cache(maxsize=1 << 14)(_errors)  # of an edited text all but one


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


def _code(string: str, classes: list[str]) -> tuple[str, list[tuple[int, int, int]]]:
    """A string with registers for its operands, and what of it stands there as it is: (where in
    the code, where in the string, how many characters)."""
    out: list[str] = []
    spans = []
    end = 0
    for m in _PART.finditer(string):
        if m[1]:
            out.append("%" if m[1] == "%" else "0")  # "=": a number that no other statement has
        elif m[2]:
            n = int(m[2])
            out.append(f"%asm{n}" if n < len(classes) and classes[n] else "1")
        else:
            out.append(m[0])
        spans.append((end, m.start(), len(m[0]) if m[0][0] != "%" else 1))
        end += len(out[-1])
    return "".join(out), spans


def _placed(d: Diagnostic, text: str, file: str, place: int, starts: list[int]) -> Diagnostic:
    line = bisect_right(starts, place)
    start = starts[line - 1]
    end = text.find("\n", place)
    shown = text[start : end if end >= 0 else len(text)]
    return attrs.evolve(d, file=file, line=line, col=place - start + 1, source=shown, cut=0)
