"""Forms: what instructions of one spelling and shape have in common, held once.

An instruction such as

    @%p1 ld.global.v2.f32 {%f1, %f2}, [%rd1+8];

is the form `@ ld.global.v2.f32 {%s, %s}, [%s+%s]` filled with values. The form
knows the opcode row, the modifiers, which of its slots are results, addresses,
guard or tied, the effects that row and modifiers give together, and the
templates for printing. Forms are interned, so all this is worked out once for
each spelling in a program, the form itself is part of a value-numbering key,
and an instruction holds only what is its own.

Slots and operands. The slots of a shape are filled, in order, by the results
and then the written sources. `operands` of an instruction are

    written sources | tied sources | carry-in | guard | fallbacks

A tied source is the old value of a result that is read and written (`wgmma`).
A guard adds one fallback for each result: the value it has where the guard is
false. `ties` lists (result, operand) pairs that must share a register.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any

from nvir.ir.opcodes import ADDRESS, DEF, NVVM, ORI, TIED, UNKNOWN, Op, Operand
from nvir.ir.opcodes.legal import IN_BRACES, OperandPlace, places
from nvir.ir.types import CC, PRED, SCALARS, ScalarType

_SPACES = frozenset(
    [
        "global",
        "shared",
        "shared::cta",
        "shared::cluster",
        "local",
        "const",
        "param",
        "param::entry",
        "param::func",
    ]
)
_ORDERED = frozenset(["volatile", "acquire", "release", "acq_rel", "sc", "relaxed", "mmio"])
_SLOT = re.compile(r"%s")


class Form:
    """One spelling with one shape. Get it from `form(...)`; compare by identity.

    kind            what kind of operation the row is
    type            the instruction's type: its last type modifier, or None
    space           state space named by the modifiers ("" is generic)
    guard           None, "" (`@p`) or "!" (`@!p`)
    n_results       results, carry-out included
    n_sources       written sources
    n_operands      all operands; -1 where any number is allowed
    result_types    a type for each result by the row's rule (a builder's default)
    source_types    for each written source the types of which it has the class of one; () for
                    any class (addresses are among these)
    addresses       (base, offset) operand indices of each address; offset -1: none
    guard_index     operand index of the guard, -1 without
    ties            (result index, operand index) that share a register
    reads, writes, sync, pinned, convergent, pure, terminator, is_call
                    effects of row and modifiers together
    has_effect      an instruction stays although no result is used
    commutes        written sources 0 and 1 may change places
    invariant       a read that no store can change: .nc, .const, kernel .param
    """

    __slots__ = (
        "addresses",
        "carry_in",
        "carry_out",
        "commutes",
        "convergent",
        "guard",
        "guard_index",
        "has_effect",
        "invariant",
        "is_call",
        "is_phi",
        "key",
        "kind",
        "mods",
        "n_operands",
        "n_results",
        "n_sources",
        "name",
        "op",
        "order",
        "pinned",
        "ptx",
        "pure",
        "reads",
        "result_types",
        "shape",
        "slots",
        "source_types",
        "space",
        "spelling",
        "sync",
        "terminator",
        "text",
        "ties",
        "type",
        "volatile",
        "writes",
    )
    addresses: tuple[tuple[int, int], ...]
    order: tuple[int, ...] | None
    result_types: tuple[ScalarType, ...]
    slots: tuple[int, ...]
    source_types: tuple[tuple[ScalarType, ...], ...]
    ties: tuple[tuple[int, int], ...]

    def __init__(
        self, op: Op, spelling: str, mods: tuple[str, ...], shape: str, guard: str | None,
        volatile: bool,
    ) -> None:
        self.op, self.spelling, self.mods, self.shape, self.guard = op, spelling, mods, shape, guard
        self.name, self.kind = op.name, op.kind
        self.volatile = volatile
        self.is_phi = op.name == "phi"
        self.key = (spelling, shape, guard, volatile)
        self._read_modifiers()
        self._lay_out_slots()
        self._templates()

    # --------------------------------------------------------- modifiers

    def _read_modifiers(self) -> None:
        op = self.op
        types = [SCALARS[m] for m in self.mods if m in SCALARS]
        if op is UNKNOWN:
            types = [SCALARS[m] for m in self.spelling.split(".")[1:] if m in SCALARS]
        self.type: ScalarType | None = types[-1] if types else None
        self.space = next((m for m in self.mods if m in _SPACES), "")
        ordered = self.volatile or any(m in _ORDERED for m in self.mods)
        nc = "nc" in self.mods
        self.invariant = op.reads and not op.writes and (nc or self.space in ("const",))
        self.reads, self.writes = op.reads, op.writes
        self.sync = op.sync or (ordered and (op.reads or op.writes) and "relaxed" not in self.mods)
        self.pinned = op.pinned or ordered
        self.convergent, self.terminator, self.is_call = op.convergent, op.terminator, op.is_call
        self.has_effect = bool(
            self.writes or self.pinned or self.sync or self.terminator or self.is_call
            or self.convergent
        )
        self.pure = op.pure and not self.pinned
        # Mixed forms such as add.f32.f16 read sources of different types.
        self.commutes = op.commutes and len(set(types)) < 2

    def rule_type(self, rule: str, count: int = 1) -> ScalarType:
        """The type that a row's result rule gives each of `count` registers here."""
        types = [SCALARS[m] for m in self.mods if m in SCALARS]
        if rule in SCALARS:
            return SCALARS[rule]
        if not types:
            return SCALARS["b32"]
        if rule == "first":
            return types[0]
        last = types[-1]
        if rule == "wide" and "wide" in self.mods:
            wide = f"{last.kind}{last.bits * 2}"
            return SCALARS.get(wide) or SCALARS.get(f"b{last.bits * 2}", last)
        if rule == "packed":
            return types[0] if types[0].bits >= 32 else SCALARS["b32"]
        if rule == "split" and count > 1 and not {"v2", "v4"}.intersection(self.mods):
            return SCALARS.get(f"b{last.bits // count}", last)
        return last

    def _taken(self, operand: Operand, count: int, hint: bool) -> tuple[ScalarType, ...]:
        """The types of which a source written at an operand's place has the class of one."""
        rule = "b64" if hint else operand.type
        types = tuple([SCALARS[m] for m in self.mods if m in SCALARS])
        if not rule or rule == "any" or operand.role == ADDRESS:
            return types if not rule and operand.role != ADDRESS else ()
        if rule == "result":
            return (self.rule_type(self.op.result),)
        return (self.rule_type(rule, count),) if types or rule in SCALARS else ()

    # -------------------------------------------------------------- slots

    def _lay_out_slots(self) -> None:
        op = self.op
        parts = operand_parts(self.shape)
        if op.level == "nvvm" or op.is_call or op is UNKNOWN or self.is_phi:
            self._lay_out_loose(parts)
            return
        results: list[ScalarType] = []
        tied: list[int] = []  # result index of each tied slot
        slots: list[int] = []  # for each slot: result index, or ~source index
        addresses: list[tuple[int, int]] = []
        taken: list[tuple[ScalarType, ...]] = []
        hinted = any("cache_hint" in m for m in self.mods)  # by a policy, the last operand
        n = 0
        for part, operand in zip(parts, assign_operands(parts, op.operands), strict=True):
            count = part.count("%s")
            if operand.role in (DEF, TIED):
                pair = operand.paired and "|" in part
                for k in range(count):
                    second = pair and k == count - 1
                    type = PRED if second else self.rule_type(operand.type or op.result, count)
                    if operand.role == TIED:
                        tied.append(len(results))
                    slots.append(len(results))
                    results.append(type)
            else:
                if part.startswith("["):
                    addresses.extend(_addresses(part, n))
                slots.extend(~(n + k) for k in range(count))
                n += count
                hint = hinted and part is parts[-1]
                taken.extend([self._taken(operand, count, hint)] * count)
        self.source_types = tuple(taken)
        self._finish_layout(results, slots, n, tied, addresses)

    def _lay_out_loose(self, parts: list[str]) -> None:
        """Calls, unknown mnemonics and phis: the instruction says how many results it has."""
        self.slots, self.order = (), None
        self.addresses, self.ties = (), ()
        self.carry_in = self.carry_out = False
        self.n_results = self.n_sources = self.n_operands = self.guard_index = -1
        self.result_types, self.source_types = (), ()
        if self.op.level == "nvvm":
            self.n_results = 1 if any(o.role == DEF for o in self.op.operands) else 0

    def _finish_layout(
        self, results: list[ScalarType], slots: list[int], n: int, tied: list[int],
        addresses: list[tuple[int, int]],
    ) -> None:
        op = self.op
        self.n_sources = n
        ties = [(r, n + k) for k, r in enumerate(tied)]
        n += len(tied)
        self.carry_in, self.carry_out = op.carry_in, op.carry_out
        if self.carry_in:
            n += 1
        if self.carry_out:
            results = [*results, CC]
        self.guard_index = -1
        if self.guard is not None:
            self.guard_index = n
            ties += [(r, n + 1 + r) for r in range(len(results))]
            n += 1 + len(results)
        self.n_results, self.n_operands = len(results), n
        self.result_types = tuple(results)
        self.ties, self.addresses, self.slots = tuple(ties), tuple(addresses), tuple(slots)
        if ties and op.async_until:
            HOLDING.add(self)

    # ---------------------------------------------------------- templates

    def _templates(self) -> None:
        """`ptx` is filled by the names in `order` of (results + operands), or as they lie."""
        shape = self.shape
        lead = f"@{self.guard}%s " if self.guard is not None else ""
        head = self.spelling if not shape else f"{self.spelling} \t{shape}"
        self.ptx = f"\t{lead}{head};"
        self.order = None
        self.text: Any = ""  # what text.py keeps: its templates by type
        if self.n_results < 0 or self.op.level == "nvvm":
            return
        shown = [s if s >= 0 else self.n_results + ~s for s in self.slots]
        if self.guard is not None:
            shown.insert(0, self.n_results + self.guard_index)
        if shown != list(range(self.n_results + self.n_operands)):
            self.order = tuple(shown)

    def with_guard(self, guard: str | None) -> Form:
        """The same spelling and shape under another guard."""
        return form(self.spelling, self.shape, guard, self.volatile)

    def __repr__(self) -> str:
        lead = f"@{self.guard} " if self.guard is not None else ""
        return f"<Form {lead}{self.spelling} {self.shape}>"

    def __reduce__(self) -> tuple[object, ...]:
        if self.op.level == "nvvm":
            return nvvm_form, (self.spelling,)
        return form, self.key


def operand_parts(shape: str) -> list[str]:
    """The operands of a shape: split at commas outside of all brackets."""
    if not shape:
        return []
    if "{" not in shape and "[" not in shape and "(" not in shape:
        return [p.strip() for p in shape.split(",")]
    parts, depth, start = [], 0, 0
    for i, c in enumerate(shape):
        if c in "{[(":
            depth += 1
        elif c in "}])":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append(shape[start:i].strip())
            start = i + 1
    parts.append(shape[start:].strip())
    return parts


def assign_operands(parts: list[str], operands: tuple[Operand, ...]) -> list[Operand]:
    """Which operand of the row each written part is. Surplus parts are sources.

    An optional result is absent when its place holds an address, or when fewer
    parts are written than the row requires without it.
    """
    out: list[Operand] = []
    rest = list(operands)
    required = sum(not (o.optional or o.variadic) for o in rest)
    for k, part in enumerate(parts):
        while rest and rest[0].optional and rest[0].role == DEF:
            if part.startswith("[") or len(parts) - k <= required:
                rest.pop(0)
            else:
                break
        if not rest:
            out.append(_SURPLUS)
            continue
        operand = rest[0]
        if not operand.variadic:
            rest.pop(0)
            required -= not operand.optional
        out.append(operand)
    return out


_SURPLUS = Operand("x", "use")


def _addresses(part: str, first: int) -> list[tuple[int, int]]:
    """(base, offset) operand indices in an address part whose first source is number `first`."""
    inner = part[1:].rstrip("]")
    head = inner.split(",")[0]
    slots = head.count("%s")
    if slots == 0:
        return []
    return [(first, first + 1 if slots > 1 and "+" in head else -1)]


@functools.cache
def lanes(f: Form) -> int:
    """How many numbers a vector access moves; 1 of any other operation."""
    return next((int(m[1:]) for m in f.mods if m[0] == "v" and m[1:].isdigit()), 1)


def misfit_operands(f: Form) -> str | None:
    """How the operands of a form differ from those of its row: too few, too many, no address."""
    if f.op is UNKNOWN or f.is_call or f.op.pseudo:
        return None
    required = sum(not (o.optional or o.variadic) for o in f.op.operands)
    given = len(operand_parts(f.shape))
    if given < required and f.name != "brx.idx":
        return f"'{f.name}' needs {_operands(required)}, {given} given"
    if given > len(f.op.operands) and not any(o.variadic for o in f.op.operands):
        return f"'{f.name}' takes {_operands(len(f.op.operands))}, {given} given"
    named = sum(o.role == ADDRESS and not (o.optional or o.variadic) for o in f.op.operands)
    if len(f.addresses) < named:
        return f"'{f.name}' needs an address in brackets"
    if f.op.pure and f.op.name not in IN_BRACES and any(
        part.startswith("{") for part in operand_parts(f.shape)
    ):
        return f"'{f.name}' takes no operand in braces"
    return None


@functools.cache
def form_places(f: Form) -> tuple[OperandPlace, ...] | None:
    """The operands of a form as operands.txt has them, or None where it does not tell."""
    parts = operand_parts(f.shape)
    braces = ("{}",) if len(parts) > 1 and parts[1].startswith("{") else ()
    return places(f.op.name, f.mods + braces)


def present(wanted: Sequence[OperandPlace], given: int) -> list[OperandPlace] | None:
    """Which of the places so many operands stand at; None where there are too few or too many."""
    left = list(wanted)
    for k in reversed(range(len(left))):
        if len(left) > given and left[k].optional:
            del left[k]
    return left if len(left) == given else None


def count_problem(f: Form) -> str | None:
    """What is wrong with the number of operands for these modifiers, or None."""
    wanted, given = form_places(f), len(operand_parts(f.shape))
    if wanted is None or present(wanted, given) is not None:
        return None
    names = ", ".join(str(p) + (" or nothing" if p.optional else "") for p in wanted)
    return f"{f.spelling} takes {names or 'no operands'}; {given} given"


def _operands(n: int) -> str:
    return "1 operand" if n == 1 else f"{n or 'no'} operands"


HOLDING: set[Form] = set()  # all made so far that hold registers while an operation is in flight
_forms: dict[tuple[str, str, str | None, bool], Form] = {}
_nvvm_forms: dict[str, Form] = {}


def form(spelling: str, shape: str = "", guard: str | None = None, volatile: bool = False) -> Form:
    """The `ori` form of this opcode spelling and operand shape; one object for each.

    `shape` is the operand text in canonical spacing with `%s` for each
    register, literal or symbol. A mnemonic that no row fits gives a form of
    row `unknown`.
    """
    key = (spelling, shape, guard, volatile)
    f = _forms.get(key)
    if f is None:
        found = find_row(spelling)
        op, mods = found if found is not None else (UNKNOWN, ())
        f = _forms[key] = Form(op, spelling, mods, shape, guard, volatile)
    return f


def nvvm_form(spelling: str) -> Form:
    """The `nvvm` form of an opcode with its flags, e.g. "add nsw nuw" or "icmp slt"."""
    f = _nvvm_forms.get(spelling)
    if f is None:
        load_rows()
        name, *flags = spelling.split()
        f = Form(NVVM[name], spelling, tuple(flags), "", None, "volatile" in flags)
        _nvvm_forms[spelling] = f
    return f


# Words in the names of rows that the assembler takes behind other modifiers, too, in any order:
# `vote.ballot.sync.b32` is of row `vote.sync`, `add.u32.cc` of `add.cc`.
_ANYWHERE = frozenset(("sp", "sp::ordered_metadata", "any", "all", "sync", "cc", "mbarrier_init",
                       "tensormap::generic", "acquire", "release"))


def find_row(spelling: str) -> tuple[Op, tuple[str, ...]] | None:
    """The `ori` row of a spelling and the modifiers left, or None for an unknown mnemonic."""
    load_rows()
    found = ORI.find(spelling)
    name, *mods = spelling.split(".")
    if _ANYWHERE.isdisjoint(mods if found is None else found[1]):
        return found
    for row, fixed, loose in _loose_rows(name):
        enough = found is None or row.name.count(".") >= found[0].name.count(".")
        if enough and tuple(mods[: len(fixed)]) == fixed and loose.issubset(mods):
            return row, tuple(m for m in mods[len(fixed):] if m not in loose)
    return found


@functools.cache
def _loose_rows(name: str) -> list[tuple[Op, tuple[str, ...], frozenset[str]]]:
    """Rows of a mnemonic with words that stand anywhere: the others, and those; most first."""
    found = []
    for row in ORI.rows.values():
        head, *words = row.name.split(".")
        fixed = tuple(w for w in words if w not in _ANYWHERE)
        if head == name and len(fixed) < len(words):
            found.append((row, fixed, _ANYWHERE.intersection(words)))
    return sorted(found, key=lambda x: -len(x[2]))


def load_rows() -> None:
    """Fill the opcode tables; once."""
    if "bra" not in ORI:
        import nvir.ir.opcodes.ori  # registers its rows on import
    if "br" not in NVVM:
        import nvir.ir.opcodes.nvvm  # noqa: F401
