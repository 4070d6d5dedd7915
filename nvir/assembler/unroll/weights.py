"""What each PTX instruction weighs when ptxas decides on unrolling: weights.txt.

Units are ptxas's own instructions at the time of its unroll phase, which lie
between PTX and SASS: a sign change is none, `mad.wide` is four. Three figures:

    d      in the body as it is
    a      what is left of it in one copy of a fully unrolled loop
    extra  how much it adds to the savings beside d - a

Rows are tried in order; the first whose opcode and modifiers fit holds, and what
no row names weighs one. The weights were measured on ptxas 13.0.88 by where its
decisions flip as the instruction is added to bodies of known size
(`benchmarks/unroll_agreement.py` holds them to it).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import attrs

from nvir.ir import Form, OpKind


@attrs.frozen
class Weight:
    """One row. `names` are opcodes, `needs` modifiers that must be there, `lacks` that must not.

    `spelled` is what the spelling must begin with, where the order of modifiers tells (the type
    of a conversion's result comes first). `arch` is the first architecture that the row holds for,
    `until` the first that it does not; a row with `literal` false holds only where the second
    source is no literal. The sequence of some holds `branches` of its own.
    """

    names: tuple[str, ...]
    a: int = 1
    d: int = 1
    extra: int = 0
    needs: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    arch: int = 0
    until: int = 1000
    literal: bool = True
    spelled: re.Pattern[str] | None = None
    branches: int = 0

    def fits(self, form: Form, arch: int) -> bool:
        mods = form.mods
        return (
            form.name in self.names
            and self.arch <= arch < self.until
            and all(m in mods for m in self.needs)
            and not any(m in mods for m in self.lacks)
            and (self.spelled is None or self.spelled.match(form.spelling) is not None)
        )


ONE = Weight((), 1, 1)
TWO = Weight((), 2, 2)
FREE = Weight((), 0, 0)
HOPPER = 90
BLACKWELL = 100


def _read(table: str) -> tuple[Weight, ...]:
    """The rows of the table, one for each combination of alternatives."""
    found = []
    for line in table.strip().splitlines():
        if not line.startswith("#"):
            names, wanted, said = re.split(r"  +", line, maxsplit=2)
            found += [_weight(names, w, said.split()) for w in _spread(wanted.split())]
    return tuple(found)


def _spread(wanted: list[str]) -> Iterator[list[str]]:
    return map(list, product(*(w.split("|") if w[0] != "~" else [w] for w in wanted)))


def _weight(names: str, wanted: list[str], said: list[str]) -> Weight:
    figures = [int(word) for word in said if word.isdigit()]
    options = {k: int(v) for k, _, v in (word.partition("=") for word in said) if v}
    return Weight(
        tuple(names.split()), figures[-1], figures[0],
        needs=tuple(w for w in wanted if w[0] not in "-~*"),
        lacks=tuple(w[1:] for w in wanted if w[0] == "-"),
        literal="register" not in said,
        spelled=next((re.compile(w[1:]) for w in wanted if w[0] == "~"), None),
        arch=options.get("arch", 0), until=options.get("until", 1000),
        branches=options.get("branches", 0),
    )


WEIGHTS = _read(Path(__file__).with_name("weights.txt").read_text("utf-8"))


@functools.cache
def weight(form: Form, arch: int, literal: bool = False) -> Weight:
    """The row of a form on an architecture (80, 90 …).

    `literal` says whether the second source is a literal.
    """
    if form.op.pseudo:
        return FREE
    if form.name == "mov":
        return ONE if "{" in form.shape else FREE
    for row in WEIGHTS:
        if row.fits(form, arch) and (row.literal or not literal):
            divides = literal and row.a >= DIVISOR_FOLDS and form.kind is OpKind.DIVIDE
            return divided_by_literal(form, False) if divides else row
    return ONE


@functools.cache
def divided_by_literal(form: Form, power_of_two: bool) -> Weight:
    """Integer division by a literal: eight instructions of the sequence are of the divisor."""
    row = weight(form, 0)
    d = row.d - (2 if power_of_two else 3) - (form.type is not None and form.type.name == "s32")
    return attrs.evolve(row, a=d - DIVISOR_FOLDS, d=d)


# --------------------------------------------------------------- whole bodies

DIVISOR_FOLDS = 8  # that much of an integer division by a literal folds in copies
CONSTANT_REGISTERS = frozenset(("ntid", "nctaid", "gridid", "nsmid", "nwarpid"))  # operands
LOOP_CONTROL = 3  # induction add, compare, back branch: in every size and every saving
ADDRESS_KNOWN = 4  # saved where a shared or constant access gets a known address
FETCH_SAVING = 5  # once, where the body fetches a texture
CARRIED_BY_NEST = 1  # what an unrolled inner loop leaves beside its copies
CONTROL_OF_COPY = 2  # add and compare of each copy of an unrolled inner loop, all of which fold

PARTIAL_LIMIT = 350  # instructions of a partially unrolled loop with its remainder
PARTIAL_SAVING = 4  # percent saved that make a partial factor worth it
SMALL_WITH_LOADS = 49  # a body with global loads up to this hides latency by copies
SHARE_STEP = 20  # the share of the kernel that doubles the limit, over the percent saved
SHARED_SYMBOL = 3  # from Hopper on: the window's base, fetched and added at each access

# A kernel's size beside its loop: each carried value, each other phi, and in every kernel.
CARRIED, JOINED, OUTSIDE_BASE = 2, 1, 1
