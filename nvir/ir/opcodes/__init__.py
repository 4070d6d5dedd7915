"""Opcodes are rows of a table; everything else reads the row.

A row names one operation of a level: its operands and what they are, its
result types, its effects. The reader learns from it what is a definition, the
verifier what to expect, every pass what may move. The meaning of a row lives in
`nvir.interp`, its micro-operations in `nvir.sm`, both keyed by the row's name.

Adding an opcode is one row (ori/ or opcodes/nvvm.py), one meaning, one
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
    b:b32      a source of another class than the modifiers say: of a type's spelling or a rule

A source without a rule has the class of one of the types that the modifiers name; "any" is not
checked, "result" is as the first result, "split" as under `mov` below; with `relaxed` rows
"last" may be wider than its type.

Result rules (`result=`): "last" the last type modifier (the instruction's
type), "first" the first, "wide" twice as wide as the last where `.wide` is
given, "packed" the first, in 32-bit registers where it is narrower, "split" the
last, shared out over the elements of a result in braces, or a type's spelling.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterable
from typing import Any

import attrs

# What an operand position is for.
DEF, USE, ADDRESS, TIED = "def", "use", "address", "tied"


class OpKind(enum.Enum):
    """What kind of operation a row is, at either level."""

    COPY = "the operand under another name, type or address space"
    SUM = "a sum or difference"
    MULTIPLY = "a product, or a product and a sum"
    DIVIDE = "a quotient or remainder"
    SPECIAL = "a root, reciprocal or transcendental function"
    EXTREMUM = "a minimum or maximum"
    SIGN = "a change of the sign"
    LOGIC = "a function of single bits"
    SHIFT = "a shift"
    FIELD = "a field of bits"
    COUNT = "a number of bits"
    COMPARE = "a test"
    SELECT = "one of two operands by a third"
    RESIZE = "an integer cut or extended"
    CONVERT = "another type's nearest value"
    LOAD = "a load"
    STORE = "a store"
    ATOMIC = "a read and write of memory in one"
    ADDRESS = "the address of an element"
    ASYNC_COPY = "a copy by a thread that does not wait for it"
    BULK_COPY = "a copy by the copy engine"
    COMMIT = "the end of a group of asynchronous operations"
    WAIT = "a wait for asynchronous operations"
    MBARRIER = "an operation on a barrier object in memory"
    MATRIX = "a matrix product"
    ASYNC_MATRIX = "a matrix product that nobody waits for"
    MATRIX_MOVE = "a matrix moved between memory and the registers of a warp"
    BARRIER = "a wait for other threads"
    ARRIVE = "an arrival at a barrier without a wait"
    FENCE = "an order of memory accesses"
    WARP = "an exchange between the lanes of a warp"
    BRANCH = "a jump, or one of two"
    SWITCH = "a jump to one of many places"
    RETURN = "the end of a function or thread"
    FREEZE = "some fixed value for an undefined one"
    OTHER = "none of these"


@attrs.frozen
class Operand:
    """One position of a signature. `role` is DEF, USE, ADDRESS or TIED."""

    name: str
    role: str
    type: str = ""  # where the row's rule does not hold: a type's spelling or a rule
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

    What passes and models ask beside:

    lanes           "agreed": the lanes that take part get one result, whatever the operands;
                    "apart": results differ although operands agree; "": as the operands do.
    scope           of a barrier: "warp", "block" or "cluster".
    memory          what the brackets name: "texture", "surface", "tensor", or "" for bytes.
    extent          bytes at the address: 0 as the type says, -1 not told by the instruction.
    linear          operands that the result is a linear function of, the others being constant.
    numeric         the result is a number, not an address, even if an operand is an address.
    signed          takes its operands as signed numbers, where a level has rows of either kind.
    low_bits        the low bits of the result depend on the low bits of the operands alone.
    width           of the result of a conversion: "narrower", "wider", or "": either.
    gathers         its lanes wait for each other first, all that the mask or barrier names.
    grouped         braces around operands or results stand for registers that follow one another.
    cheap           one short operation on registers: made again rather than kept.
    angle           its operand is an angle, which is brought into one turn first.
    uniform         for integers the uniform data path has it.
    in_registers    its operands stand in registers: no literal is part of the machine operation.
    relaxed         registers may be wider than the type.
    latency         the documented latency class, and those that modifiers change it to, as in
                    "6 f16,f16x2=7 shared.v2=14" (`nvir.sm.latency` tells what they mean).
    targets         number of successors of a terminator; -1: one or more.
    """

    name: str
    level: str
    operands: tuple[Operand, ...]
    kind: OpKind = OpKind.OTHER
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
    lanes: str = ""
    width: str = ""
    scope: str = ""
    memory: str = ""
    extent: int = 0
    linear: tuple[int, ...] = ()
    numeric: bool = False
    signed: bool = False
    low_bits: bool = False
    gathers: bool = False
    grouped: bool = False
    cheap: bool = False
    angle: bool = False
    uniform: bool = False
    in_registers: bool = False
    relaxed: bool = False
    targets: int = 0
    latency: str = "6"
    fold: Callable[..., Any] | None = None
    since: str = ""  # first PTX ISA version and target, for documentation
    doc: str = ""

    @property
    def fetches(self) -> bool:
        """Reads a texture or surface."""
        return self.memory in ("texture", "surface") and self.reads and not self.writes

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

    def op(
        self, name: str, signature: str = "", kind: OpKind = OpKind.OTHER, flags: str = "",
        **facts: Any,
    ) -> Op:
        """Add a row; `flags` are the columns that are true. Refuses duplicates, contradictions."""
        facts.update(dict.fromkeys(flags.split(), True))
        row = Op(name, self.level, parse_signature(signature), kind, **facts)
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

    def ops(
        self, names: Iterable[str] | str, signature: str = "", kind: OpKind = OpKind.OTHER,
        flags: str = "", **facts: Any,
    ) -> None:
        """Several rows that share everything but the name."""
        for name in names.split() if isinstance(names, str) else names:
            self.op(name, signature, kind, flags, **facts)

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
    "unknown", "", lanes="apart", reads=True, writes=True, pinned=True, convergent=True,
    doc="a mnemonic that the table does not know",
)
# Marks at a place in the code: `aux` is the label's name, or the pragma's text.
DEBUG_LABEL = ORI.op(
    "debug.label", "", pseudo=True, pinned=True,
    doc="a label that only debug data names; it ends no block",
)
PRAGMA = ORI.op("pragma", "", pseudo=True, pinned=True, doc="a .pragma in the middle of a block")
