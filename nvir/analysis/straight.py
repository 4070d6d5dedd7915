"""Loops of the source that the front end made straight-line code of.

Such a loop leaves no branch; what it leaves are the operations of its body, as often as it had
iterations, each with the place of its statement. So a loop is told where the source is at hand, its
statement is no loop of the code, and most operations of its body stand equally often, twice or
more.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

import attrs

from nvir.analysis.macros import Macros
from nvir.analysis.source_loops import AGREEING, Place, Places, Signature, heavy
from nvir.ir import Function
from nvir.ir.loops import Loop

_QUIET = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
_HEAD = re.compile(r"\b(?:(for|while)\s*(?=\()|do\b)")
_ENDLESS = re.compile(r"\s*\(([^;]*;\s*;|\s*(1|true)\s*\))")
_BREAK = re.compile(r"\b(break|return|goto)\b")
_TAIL = re.compile(r"\s*(?=while\b)")
_COUNTED = re.compile(
    r"\(\s*(?:(?:const|unsigned|signed|long|short|auto|int|char|size_t|u?int\d+_t)\s+)*(\w+)\s*=\s*"
    r"(-?\d+)\s*;\s*\1\s*([<>]=?)\s*(-?\d+)\s*;\s*"
    r"(?:(?:\+\+|--)\s*\1|\1\s*(?:\+\+|--)|\1\s*[+-]=\s*([1-9]\d*))\s*\)$"
)
_ASKS = re.compile(
    r"(?:#\s*pragma\s+|\b_Pragma\s*\(\s*\")(?:GCC\s+)?(unroll|nounroll)\b"
    r"[ \t(]*([^\s()\"]*)[\s\")]*$"
)
_NAME = re.compile(r"[A-Za-z_]\w*")
_PAIRS = {"(": ")", "{": "}"}
Calls = tuple[Place, ...]


@attrs.frozen
class LoopStatement:
    """A loop's lines: of its head and of its body; `word` is "for", "while" or "do-while", of which
    the test stands on line `tail`; `breaks` are the lines that leave a loop without a test; `trips`
    where the head counts from one literal to another; `unroll` the argument of the `#pragma unroll`
    before it."""

    word: str
    head: range
    body: range
    breaks: frozenset[int] = frozenset()
    tail: int = 0
    trips: int | None = None
    unroll: str | None = None

    def stands_at(self, line: int) -> bool:
        """Whether the place of the loop's branch may be that line."""
        return line in self.head or line == self.tail


@attrs.frozen
class Straight:
    """A loop of which `copies` bodies stand in straight-line code; `places` as of a loop."""

    places: tuple[Place, ...]
    copies: int


def quiet(lines: Sequence[str]) -> str:
    """The text without what comments and strings say, but for that of `_Pragma`."""
    def blank(m: re.Match[str]) -> str:
        kept = m.string[max(m.start() - 20, 0):m.start()].rstrip().endswith("_Pragma(")
        return m[0] if kept else re.sub(r"[^\n]", " ", m[0])

    return _QUIET.sub(blank, "\n".join(lines))


def statements(text: str, macros: Macros | None = None) -> list[LoopStatement]:
    """The loops that a C++ source has, which is given as `quiet` leaves it, in the order of their
    heads."""
    constants: Mapping[str, str] = {}
    if macros is not None:
        text, constants = macros.put_in(text), macros.constants
    out = []
    tails = set()  # where a `while` ends a `do`
    for m in _HEAD.finditer(text):
        inside = _closed(text, m.end()) if m[1] else m.end()
        end = None if inside is None else _statement_end(text, inside)
        if inside is None or end is None or m.start() in tails:
            continue
        tail = None if m[1] else _TAIL.match(text, end)
        if tail is not None:
            tails.add(tail.end())
        first, last = text.count("\n", 0, m.start()) + 1, text.count("\n", 0, inside) + 1
        said = _NAME.sub(lambda n: constants.get(n[0], n[0]), text[m.end():inside])
        counted = _COUNTED.match(said)
        trips = None
        if counted is not None:
            apart = abs(int(counted[4]) - int(counted[2])) + counted[3].endswith("=")
            trips = -(-apart // int(counted[5] or 1))
        begins = inside + len(text[inside:]) - len(text[inside:].lstrip(" \t\n{"))
        body = range(text.count("\n", 0, begins) + 1, text.count("\n", 0, end) + 2)
        asks = _ASKS.search(text[max(m.start() - 200, 0):m.start()])
        unroll = asks and ("1" if asks[1] == "nounroll" else asks[2])
        test = text[m.end():inside] if tail is None else text[tail.end() + 5:][:20]
        out.append(LoopStatement(
            m[1] or "do-while", range(first, last + 1), body,
            frozenset(text.count("\n", 0, x.start()) + 1 for x in _BREAK.finditer(text, begins, end)
                      if _ENDLESS.match(test)),
            text.count("\n", 0, tail.end()) + 1 if tail is not None else 0, trips, unroll))
    return out


def _closed(text: str, start: int) -> int | None:
    """Where the bracket that opens at `start` is closed, and one more."""
    opened, closed = text[start], _PAIRS[text[start]]
    depth = 0
    for m in re.finditer(rf"[{re.escape(opened + closed)}]", text[start:]):
        depth += 1 if m[0] == opened else -1
        if depth == 0:
            return start + m.end()
    return None


def _statement_end(text: str, start: int) -> int | None:
    """Where the statement ends that begins at `start` or behind blanks."""
    at = start + len(text[start:]) - len(text[start:].lstrip())
    if at >= len(text):
        return None
    if text[at] == "{":
        return _closed(text, at)
    nested = _HEAD.match(text, at) or re.compile(r"if\s*(?=\()").match(text, at)
    if nested is not None and text[nested.end():nested.end() + 1] == "(":
        inside = _closed(text, nested.end())
        return None if inside is None else _statement_end(text, inside)
    found = text.find(";", at)
    return found + 1 if found >= 0 else None


def straight_loops(
    function: Function, loops: Sequence[Loop], told: Sequence[Calls], places: Places,
    found: Mapping[int, Sequence[LoopStatement]],
) -> Iterator[Straight]:
    """The loops of the source that the code has as straight lines alone.

    `told` are the places of the loops that the code has, one for each; `found` the statements of
    source files by number.
    """
    ops = list(_operations(function, loops, places))
    counts: dict[tuple[int, Calls], dict[int, int]] = {}
    for number, here in found.items():
        for k, s in enumerate(here):
            within = [x.body for x in here[k + 1:] if x.body.start < s.body.stop]
            own = _counts(number, s, within, ops)
            if s.trips:  # a literal count may be seen in the loops within
                own = {**_counts(number, s, (), ops), **own}
            for calls, n in own.items():
                counts.setdefault((number, calls), {})[k] = n
    loops_at = Counter(told)
    gone = {(n, calls): _fewer(found[n], n, calls, loops_at) for n, calls in counts}
    made: dict[tuple[int, int, Calls], int] = {}  # 0: not told
    for number, calls in sorted(counts, key=lambda x: len(x[1])):
        for k, s in enumerate(found[number]):
            there = k not in gone.get((number, calls), ()) and any(
                p and p[1:] == calls and p[0][0] == number and s.stands_at(p[0][1]) for p in told)
            inner = [m for p, m in loops_at.items() if p and p[1:] == calls and p[0][0] == number
                     and p[0][1] in s.body and p[0][1] not in s.head]
            n = 1 if there else counts[number, calls].get(k, 0)
            n = s.trips if not there and s.trips and s.trips in inner else n
            chain = ((number, s.head.start), *calls)
            around = [
                made.get((file, j, chain[at + 1:]), 0)
                for at, (file, line) in enumerate(chain if not there else ())
                for j, outer in enumerate(found.get(file, ()))
                if line in outer.body and (at or j < k)
            ]
            times = math.prod(around)
            n = n // times if times and n % times == 0 else n if s.trips and not times else 0
            if s.trips and not there:
                n = s.trips if n and n % s.trips == 0 else 0
            made[number, k, calls] = n
            if n > 1:
                yield Straight(chain, n)


def _fewer(
    found: Sequence[LoopStatement], number: int, calls: Calls, loops_at: Mapping[Calls, int]
) -> set[int]:
    """Of the lines that have more statements than the code has loops of them: those that are left
    over, the last with literal counts, which are the inner ones of a nest."""
    lines: dict[int, list[int]] = defaultdict(list)
    for k, s in enumerate(found):
        lines[s.head.start].append(k)
    out: set[int] = set()
    for line, here in lines.items():
        there = loops_at.get(((number, line), *calls), 0)
        if len(here) > 1 and 0 < there < len(here):
            out.update([k for k in here if found[k].trips][there - len(here):])
    return out


Operation = tuple[tuple[Place, ...], tuple[object, ...], Loop | None]


def _operations(
    function: Function, loops: Sequence[Loop], places: Places
) -> Iterator[Operation]:
    """Places, spelling and innermost loop of each operation on memory or floating point; what a
    line inlines twice is spelled apart."""
    home = {b: x for x in loops for b in x.blocks}  # inner loops come after those around them
    for block in function.blocks:
        for i in block:
            f = i.form
            if heavy(f) and not (f.op.pseudo or f.is_phi or f.terminator) and i.loc is not None:
                spelling = (i.loc.col, i.loc.inlined, f.name, f.type, f.space)
                yield tuple(places(i)), spelling, home.get(block)


def _counts(
    number: int, s: LoopStatement, within: Sequence[range], ops: Sequence[Operation]
) -> dict[Calls, int]:
    """The calls that a statement is inlined through, and how often its body stands with each:
    in the innermost loop of the code, as what is invariant stands outside."""
    counts: dict[Calls, dict[Loop | None, Signature]] = defaultdict(dict)
    for places, spelling, loop in ops:
        for k, (file, line) in enumerate(places):
            if file == number and line in s.body and not any(line in x for x in within):
                here = counts[places[k + 1:]].setdefault(loop, Counter())
                here[(*places[:k + 1], spelling)] += 1
                break
    out = {}
    for calls, by_loop in counts.items():
        deepest = max(x.depth if x else 0 for x in by_loop)
        out[calls] = min(_agreed(n, s.trips) for x, n in by_loop.items()
                         if (x.depth if x else 0) == deepest)
    return out


def _agreed(found: Signature, trips: int | None) -> int:
    """The number that divides how often most operations stand; 1 where they do not agree. Of a
    literal count half of them are enough, as accesses may be joined."""
    counts = Counter(found.values())
    fitting = Counter({c: n for c, n in counts.items() if trips and c % trips == 0})
    (n, votes), = (fitting or counts).most_common(1)
    if votes >= (0.5 if fitting else AGREEING) * len(found):
        return n
    fits = (n for n in sorted(counts) if n > 1
            and sum(c % n == 0 for c in found.values()) >= AGREEING * len(found))
    return next(fits, 1)
