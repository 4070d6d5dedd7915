"""Opcodes are rows of a table; everything else reads the row.

A row names one operation of a level: its operands and what they are, its
result types, its effects. The reader learns from it what is a definition, the
verifier what to expect, every pass what may move. The meaning of a row lives in
`nvir.interp`, its micro-operations in `nvir.sm`, both keyed by the row's name.

Adding an opcode is one row (ori/ or nvvm_rows.py), one meaning, one
template, one test.

Operand signatures are the operands in the order in which PTX writes them:

    d          result: a register, or a vector {…} of them, or the sink _
    d|p        result with an optional second one, a predicate
    a          source: register, literal, symbol, or a vector of them
    [a]        address: base, base+offset, or a tuple [t, {x, y}]
    +d         read and written (tied): a result and a source, one register
    x?         optional, at the end or as an absent result
    a*         any number of sources
    d:pred     the result's type, where the row's rule does not hold

Result rules (`result=`): "last" the last type modifier (the instruction's
type), "first" the first, "wide" twice as wide as the last where `.wide` is
given, "packed" the first, in 32-bit registers where it is narrower, "split" the
last, shared out over the elements of a result in braces, or a type's spelling.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import attrs

# What an operand position is for.
DEF, USE, ADDRESS, TIED = "def", "use", "address", "tied"


@attrs.frozen
class Operand:
    """One position of a signature. `role` is DEF, USE, ADDRESS or TIED."""

    name: str
    role: str
    type: str = ""  # of a result, where the row's rule does not hold
    paired: bool = False  # d|p: a second, predicate result may follow
    optional: bool = False
    variadic: bool = False


@attrs.frozen(eq=False)
class Op:
    """A row of an opcode table. Rows are singletons, compared by identity.

    reads, writes   memory. Which state space the modifiers or the addresses say.
    pinned          has an effect beyond its results and memory (traps, prints,
                    changes machine state): never removed, duplicated or moved.
    sync            orders memory accesses of other threads around it.
    convergent      its meaning depends on which lanes execute it together.
    commutes        operands 0 and 1 may change places where their types agree
                    (`Form.commutes` is the answer for one spelling).
    terminator      ends a block.
    async_until     opcodes that end what this one starts: until then its tied
                    and written registers, or the memory, are in flight.
    fold            (form, *ints) -> int or None, on bit patterns.
    """

    name: str
    level: str
    operands: tuple[Operand, ...]
    result: str = "last"
    reads: bool = False
    writes: bool = False
    pinned: bool = False
    sync: bool = False
    convergent: bool = False
    commutes: bool = False
    bits: bool = False  # PTX writes its type as plain bits: and.b32, popc.b64
    terminator: bool = False
    is_call: bool = False
    carry_in: bool = False  # reads the carry flag, an operand that PTX does not write
    carry_out: bool = False  # writes the carry flag, a result that PTX does not write
    pseudo: bool = False  # no machine operation: phi, debug labels
    async_until: tuple[str, ...] = ()
    fold: Callable[..., Any] | None = None
    since: str = ""  # first PTX ISA version and target, for documentation
    doc: str = ""

    @property
    def pure(self) -> bool:
        """The result depends on the operands alone, wherever and however often it runs."""
        return not (
            self.reads or self.writes or self.pinned or self.sync or self.convergent
            or self.terminator or self.is_call or self.pseudo
        )

    def __repr__(self) -> str:
        return f"<{self.level}.{self.name}>"


_TOKEN = re.compile(
    r"(?P<tied>\+)?(?P<open>\[)?(?P<name>\w+)(?:(?P<pair>\|)\w+)?\]?(?::(?P<type>\w+))?"
    r"(?P<opt>\?)?(?P<var>\*)?$"
)


def parse_signature(text: str) -> tuple[Operand, ...]:
    """The operand positions of a signature such as "d|p, a, [b], c?"."""
    out = []
    for token in filter(None, (t.strip() for t in text.split(","))):
        m = _TOKEN.match(token)
        if m is None:
            raise ValueError(f"operand {token!r} of signature {text!r} has no known form")
        if m["tied"]:
            role = TIED
        elif m["open"]:
            role = ADDRESS
        else:
            role = DEF if m["name"][0] == "d" else USE
        out.append(
            Operand(
                m["name"], role, m["type"] or "", bool(m["pair"]), bool(m["opt"]), bool(m["var"])
            )
        )
    return tuple(out)


class Table:
    """The rows of one level, by name. `find` takes a spelling with modifiers."""

    def __init__(self, level: str) -> None:
        self.level = level
        self.rows: dict[str, Op] = {}
        self._longest = 0

    def op(self, name: str, signature: str = "", **facts: Any) -> Op:
        """Add a row; refuses duplicates and contradictions."""
        row = Op(name, self.level, parse_signature(signature), **facts)
        if name in self.rows:
            raise ValueError(f"{self.level} has two rows named {name!r}")
        sources = [o for o in row.operands if o.role != DEF]
        if row.commutes and len(sources) < 2:
            raise ValueError(f"{name}: commutes, but has {len(sources)} sources")
        if row.fold is not None and not row.pure:
            raise ValueError(f"{name}: folds, but is not pure")
        self.rows[name] = row
        self._longest = max(self._longest, name.count(".") + 1)
        return row

    def ops(self, names: Iterable[str] | str, signature: str = "", **facts: Any) -> None:
        """Several rows that share everything but the name."""
        for name in names.split() if isinstance(names, str) else names:
            self.op(name, signature, **facts)

    def __getitem__(self, name: str) -> Op:
        return self.rows[name]

    def __contains__(self, name: str) -> bool:
        return name in self.rows

    def find(self, spelling: str) -> tuple[Op, tuple[str, ...]] | None:
        """The row whose name is the longest prefix of a PTX spelling, and the modifiers left.

        "ld.global.v2.f32" gives row `ld` and ("global", "v2", "f32"); None where
        no row fits.
        """
        parts = spelling.split(".")
        for n in range(min(len(parts), self._longest), 0, -1):
            row = self.rows.get(".".join(parts[:n]))
            if row is not None:
                return row, tuple(parts[n:])
        return None


ORI = Table("ori")
NVVM = Table("nvvm")

# Rows that both levels have.
PHI = ORI.op("phi", "d, a*", pseudo=True, doc="one value for each predecessor block")
NVVM.op("phi", "d, a*", pseudo=True, doc="one value for each predecessor block")
# An unknown mnemonic reads and writes every register that it names.
UNKNOWN = ORI.op(
    "unknown", "", reads=True, writes=True, pinned=True, convergent=True,
    doc="a mnemonic that the table does not know",
)
# Marks at a place in the code: `aux` is the label's name, or the pragma's text.
DEBUG_LABEL = ORI.op(
    "debug.label", "", pseudo=True, pinned=True,
    doc="a label that only debug data names; it ends no block",
)
PRAGMA = ORI.op("pragma", "", pseudo=True, pinned=True, doc="a .pragma in the middle of a block")
