"""The template table: what the machine runs for each row of the opcode table.

A rule belongs to rows of the opcode table and writes, for one way to use them, a text such as

    IADD3 d.l p0, a.l b.l; IADD3.X d.h, a.h b.h p0

Statements are apart by `;`. Each is an operation of the SASS with its results, a comma, its
sources; `= d.l a.l` makes no operation, the two are one register from then on. Names:

    d d1 d2   results            a b c e s4 s5 …   written sources; literals have no register
    D A       all results, all sources
    .l .h     low and high half  .0 .1 .2 .3       32-bit words; without one, all words
    t0 … t9   temporaries of 32 bits               p0 … p9   temporary predicates
    i0 i1     carry in           o0                carry out
    0         no register: zero, or what is known

Behind `|` stands what only rare inputs run (the way out of a division's fast path).

Rules see a `Shape`: the modifiers, the types, which sources are literals and of what value, and
the features of the machine. They return None for what they have no template for. Rules are called
once for each shape and set of features; the result is kept.

Source  what ptxas 13.0.88 makes of kernels of one operation (benchmarks/templates.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import attrs

from nvir.ir import Form, ScalarType

# (kind, index, word): what a name in a template stands for. Word -1: all of them.
Slot = tuple[str, int, int]


@attrs.frozen
class Step:
    """One operation of a template, or (`family` "=") one register under two names."""

    family: str
    results: tuple[Slot, ...]
    sources: tuple[Slot, ...]
    rare: bool = False


Template = tuple[Step, ...]


@attrs.frozen
class Shape:
    """One way to use a row: the form, the source literals (None: a register), the machine.

    `symbols` are the indices of sources that are addresses of variables, `special` the name of a
    special register among the sources, `result_bits` the width of the only result's register.
    """

    form: Form
    literals: tuple[int | None, ...]
    features: frozenset[str]
    symbols: frozenset[int] = frozenset()
    special: str = ""
    result_bits: int = 0

    @property
    def name(self) -> str:
        return self.form.name

    @property
    def mods(self) -> tuple[str, ...]:
        return self.form.mods

    @property
    def type(self) -> str:
        """The last type modifier's spelling, or ""."""
        t = self.form.type
        return t.name if t is not None else ""

    @property
    def types(self) -> list[ScalarType]:
        """All type modifiers in order."""
        from nvir.ir.types import SCALARS

        return [SCALARS[m] for m in self.form.mods if m in SCALARS]

    @property
    def bits(self) -> int:
        return self.form.type.bits if self.form.type is not None else 32

    @property
    def kind(self) -> str:
        """ "u", "s", "f", "b" or "p", of the instruction's type."""
        return self.form.type.kind if self.form.type is not None else ""

    def on(self, feature: str) -> bool:
        """Whether the machine has a feature (`nvir.sm.profile.FEATURES`)."""
        return feature in self.features

    def has(self, *mods: str) -> bool:
        """Does any of these modifiers stand in the spelling?"""
        return any(m in self.form.mods for m in mods)

    def literal(self, index: int) -> int | None:
        """The value of source `index` where it is a literal, else None."""
        return self.literals[index] if index < len(self.literals) else None

    def power(self, index: int) -> int | None:
        """n where source `index` is the literal 2**n."""
        v = self.literal(index)
        return v.bit_length() - 1 if v is not None and v > 0 and v & (v - 1) == 0 else None

    @property
    def results(self) -> int:
        return self.form.n_results - self.form.carry_out


Rule = Callable[[Shape], str | None]

RULES: dict[str, Rule] = {}


def rule(names: str) -> Callable[[Rule], Rule]:
    """Register a rule for rows of the opcode table, by name."""

    def register(function: Rule) -> Rule:
        for name in names.split():
            if name in RULES:
                raise ValueError(f"two templates for the row {name!r}")
            RULES[name] = function
        return function

    return register


def fixed(rows: dict[str, str]) -> None:
    """Rows whose template is always the same text."""
    for names, text in rows.items():
        rule(names)(lambda shape, text=text: text)  # type: ignore[misc]


# ------------------------------------------------------------------------------ the text

_SLOT = re.compile(r"(?P<name>[dstpio])(?P<index>\d+)?(?:\.(?P<word>[lh0-9]))?$|(?P<whole>[DA])$|"
                   r"(?P<source>[abce])(?:\.(?P<part>[lh0-9]))?$")
_WORDS = {None: -1, "l": 0, "h": 1}
_LETTERS = {"a": 0, "b": 1, "c": 2, "e": 3}
_TEXTS: dict[str, Template] = {}


def parse(text: str) -> Template:
    """A template's text as steps. Raises ValueError for what is no template."""
    found = _TEXTS.get(text)
    if found is None:
        main, _, rare = text.partition("|")
        steps = [*_steps(main, False), *_steps(rare, True)]
        found = _TEXTS[text] = tuple(steps)
    return found


def _steps(text: str, rare: bool) -> Iterable[Step]:
    for statement in text.split(";"):
        left, _, right = statement.partition(",")
        words = left.split()
        if not words:
            continue
        if words[0] == "=":
            target, *source = (s for w in words[1:] for s in _slots(w))
            yield Step("=", (target,), tuple(source), rare)
            continue
        results = tuple(s for w in words[1:] for s in _slots(w))
        yield Step(words[0], results, tuple(s for w in right.split() for s in _slots(w)), rare)


def _slots(word: str) -> list[Slot]:
    if word == "0":
        return []
    m = _SLOT.match(word)
    if m is None:
        raise ValueError(f"template: {word!r} is no operand")
    if m["whole"]:
        return [(m["whole"], 0, -1)]
    if m["source"]:
        part = m["part"]
        return [("s", _LETTERS[m["source"]], _WORDS[part] if part in _WORDS else int(part))]
    word_ = m["word"]
    return [(m["name"], int(m["index"] or 0), _WORDS[word_] if word_ in _WORDS else int(word_))]
