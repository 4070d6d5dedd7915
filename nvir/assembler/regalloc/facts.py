"""What lowering asks of a form, worked out once for each spelling, and of a value's readers."""

from __future__ import annotations

from nvir.assembler.regalloc.code import FENCE, LOAD, PLAIN, STORE
from nvir.assembler.regalloc.tables import (
    ALU,
    CONSTANT,
    DOUBLE,
    GLOBAL,
    ISSUE,
    ISSUE_ACCESS,
    ISSUE_CONSTANT,
    ISSUE_SLOW,
    MATRIX,
    SCRATCH,
    SHARED,
    SPECIAL,
)
from nvir.ir.instruction import Instruction
from nvir.ir.opcodes import OpKind
from nvir.ir.opcodes.form import Form
from nvir.ir.types import SCALARS, Type
from nvir.ir.values import Constant, Value

_SLOW = (OpKind.DIVIDE, OpKind.SPECIAL)
_SPACES = {"global": 1, "shared": 2, "local": 4, "param": 8, "const": 16}
_ANY = 1 | 2 | 4
_NAME_UNIFORM = (OpKind.COMPARE, OpKind.SELECT, OpKind.CONVERT, OpKind.RESIZE, OpKind.COPY)
_BY_WORDS = (OpKind.SUM, OpKind.MULTIPLY, OpKind.COMPARE, OpKind.CONVERT, OpKind.LOGIC)
_ONE_OUTSIDE = (
    OpKind.SUM, OpKind.MULTIPLY, OpKind.LOGIC, OpKind.EXTREMUM, OpKind.COMPARE, OpKind.SELECT,
    OpKind.SHIFT,
)
_ROUNDED = frozenset(("rn", "rz", "rm", "rp", "sat", "hi", "wide"))
_WHOLE = frozenset(("rni", "rzi", "rmi", "rpi"))
_WIDE = frozenset(("s64", "u64"))
_NARROW = frozenset(("s32", "u32"))


class Facts:
    """One form.

    rule     how it may need no register: "copy", "parameter", "offset", "wide", "sign", or ""
    uniform  an integer operation that the uniform datapath has
    fused    the kind of rows whose operation does it as well (LEA, IADD3, LOP3, FFMA), or None
    names_uniform  it can read a uniform register
    operands  how many operands one alone of which may be no vector register; 0: any
    high     the high word of an unsigned product of words
    sum64    a 64-bit sum, which takes over products and scaled indices
    product  a product of 64 bits (see `steps`)
    by_words a 64-bit operation that is one on each word
    steps    a division that is made of several operations (see `steps`)
    ends     it has a slow path, which ends a block of the machine's
    issue    cycles until the next operation can be issued
    packs    a conversion of a word to a float (I2FP, of later machines)
    masked   results that nothing reads take no register
    groups   operand indices of each vector between braces
    scratch  as in `code.Op`: of vector operands, with another dividend, with another divisor
    The others are as in `code.Op`.
    """

    __slots__ = (
        "by_words", "ends", "fused", "global_access", "grouped", "groups", "high", "issue",
        "kind", "latency", "masked", "names_uniform", "operands", "packs", "pairs", "product",
        "rule", "scratch", "space", "steps", "sum64", "uniform", "variable",
    )

    def __init__(self, f: Form) -> None:
        integer = f.type is not None and f.type.kind in "usb"
        self.rule = _rule(f, integer)
        self.uniform = (
            f.guard is None and f.n_results == 1 and integer and f.op.uniform
            and all(m[0] in "usb" for m in f.mods if m in SCALARS)
        )
        self.names_uniform = self.uniform or f.kind in _NAME_UNIFORM
        self.fused = _fused(f)
        self.operands = f.n_sources if f.kind in _ONE_OUTSIDE else 0
        self.sum64 = integer and f.kind is OpKind.SUM and f.commutes and _bits(f) == 64
        self.product = (
            integer and f.guard is None and f.kind is OpKind.MULTIPLY and f.n_results == 1
            and (("lo" in f.mods and _bits(f) == 64) or (f.name == "mul" and "wide" in f.mods))
        )
        self.high = f.name == "mul" and "hi" in f.mods and integer and f.guard is None and (
            f.type is not None and f.type.name == "u32")
        self.by_words = (
            integer and f.guard is None and f.n_results == 1 and _bits(f) == 64
            and f.kind in (OpKind.LOGIC, OpKind.SHIFT, OpKind.SUM, OpKind.SELECT)
            and not f.carry_in and not f.carry_out
        )
        if self.sum64 or self.product:
            self.operands = 0
        self.kind = _kind(f)
        self.space = _SPACES.get(f.space.split("::")[0], _ANY)
        self.global_access = bool(self.space & 1)
        self.latency = _latency(f)
        self.packs = _packs(f)
        self.scratch = _scratch(f)
        self.issue = _issue(f)
        self.steps = f.kind is OpKind.DIVIDE and integer and _bits(f) == 32 and f.guard is None
        self.pairs = self.scratch[0] > 0 and integer and _bits(f) == 64
        self.ends = f.is_call or (self.scratch[0] > 0 and _has_slow_path(f))
        self.grouped = f.n_results > 1 and f.op.grouped
        self.masked = f.op.fetches
        self.groups = _groups(f)
        double = f.type is not None and f.type.name == "f64"
        late = f.reads or f.name.startswith("shfl") or (f.kind in _SLOW and not double)
        self.variable = self.kind != PLAIN or late


_FACTS: dict[Form, Facts] = {}


def facts_of(f: Form) -> Facts:
    """The facts of a form; the same object for the same form."""
    found = _FACTS.get(f)
    if found is None:
        found = _FACTS[f] = Facts(f)
    return found


def _bits(f: Form) -> int:
    return f.type.bits if f.type is not None else 0


def _fused(f: Form) -> OpKind | None:
    """The kind of the rows whose operation can do this one as well, where it is their operand."""
    t = f.type
    if t is None or f.guard is not None or f.n_results != 1 or f.n_sources > 2:
        return None
    if t.bits == 16 and t.kind != "f" and f.kind is OpKind.LOGIC:
        return OpKind.LOGIC
    if t.bits not in (32, 64) or _ROUNDED.intersection(f.mods):
        return None
    if f.kind is OpKind.MULTIPLY:
        return OpKind.SUM
    if t.kind == "f":
        return None
    if f.kind is OpKind.SUM or f.name == "shl" or (f.name == "shr" and t.bits == 32):
        return OpKind.SUM
    return OpKind.LOGIC if f.kind is OpKind.LOGIC else None


def _rule(f: Form, integer: bool) -> str:
    if f.guard is not None:
        return ""
    if f.name == "ld":
        return "parameter" if f.space.startswith(("param", "const")) else ""
    if f.n_results != 1:
        return ""
    if f.kind is OpKind.COPY:
        return "copy"
    if f.kind is OpKind.SIGN and f.n_sources == 1:
        return "sign"
    if f.name == "add":
        return "offset" if integer else ""
    if f.name == "cvt":
        types = [SCALARS[m] for m in f.mods if m in SCALARS]
        if len(types) == 2 and all(map(_is_word, types)):
            return "word"
    if f.name == "cvt" and _WIDE.intersection(f.mods[1:]) and _NARROW.intersection(f.mods[:1]):
        return "low"
    widens = f.name == "cvt" and _WIDE.intersection(f.mods[:1]) and _NARROW.intersection(f.mods[1:])
    scales = f.name == "shl" and f.type is not None and f.type.bits == 64
    if widens or scales:
        return "wide"
    return ""


def _is_word(t: Type) -> bool:
    return t.name[0] in "usb" and t.bits <= 32


def _kind(f: Form) -> int:
    if f.sync or f.is_call or (f.pinned and not f.reads):
        return FENCE
    if f.writes:
        return STORE
    if f.reads and not f.invariant and not f.space.startswith("param"):
        return LOAD
    return PLAIN


def _latency(f: Form) -> int:
    name = f.name
    if f.reads:
        if f.space.startswith("param"):
            return 1
        if f.space == "const":
            return CONSTANT
        return SHARED if f.space.startswith("shared") or name == "ldmatrix" else GLOBAL
    if name.startswith("shfl"):
        return SHARED
    if "mma" in name:
        return MATRIX
    if f.kind in _SLOW or (f.kind is OpKind.CONVERT and _changes_numbers(f)):
        return SPECIAL
    return DOUBLE if f.type is not None and f.type.name == "f64" else ALU


def _changes_numbers(f: Form) -> bool:
    """Whether a conversion is between integers and floats, to whole floats, or of doubles."""
    types = [SCALARS[m] for m in f.mods if m in SCALARS]
    if len(types) != 2:  # a modifier that nvir does not know
        return False
    to, of = types
    if to.kind == "f" or of.kind == "f":
        return to.kind != of.kind or 64 in (to.bits, of.bits) or (
            not _WHOLE.isdisjoint(f.mods) and to.bits == of.bits)
    return False


def _packs(f: Form) -> bool:
    """Whether a conversion of a word to a float, which later machines have among the ALU's."""
    if f.kind is not OpKind.CONVERT or "f32" not in f.mods[:-1]:
        return False
    return f.mods[-1] in ("s32", "u32", "u16")


def _scratch(f: Form) -> tuple[int, int, int]:
    t = f.type.name if f.type is not None else ""
    for rows, types, mods, n in SCRATCH:
        if f.name in rows and t in types and (not mods or mods.intersection(f.mods)):
            return n
    return 0, 0, 0


def _issue(f: Form) -> int:
    """Cycles that an operation holds the issue of its warp."""
    if f.reads and f.space == "const":
        return ISSUE_CONSTANT
    if f.addresses:
        return ISSUE_ACCESS
    return ISSUE_SLOW if _latency(f) > ALU else ISSUE


def _has_slow_path(f: Form) -> bool:
    """Whether unusual operands of a slow operation branch away; a 32-bit division does not."""
    t = f.type
    if t is None or f.kind is OpKind.MULTIPLY:
        return False
    return t.kind == "f" or t.bits == 64


def _groups(f: Form) -> tuple[tuple[int, ...], ...]:
    """Operand indices that stand between braces: one vector of registers each."""
    if f.name == "atom" and "cas" in f.mods:
        return ((f.n_sources - 2, f.n_sources - 1),)
    if not f.op.grouped:
        return ()
    found = []
    n = 0
    for part in f.shape.replace("}", "{").split("{"):
        k = part.count("%s")
        if part.startswith("%") and k > 1:
            slots = tuple(-1 - s for s in f.slots[n : n + k])
            if min(slots) >= 0:
                found.append(slots)
        n += k
    return tuple(found)


def only_sums(value: Instruction) -> bool:
    """Whether all readers add a wide value to another."""
    return value.use_count > 0 and all(
        u.form.guard is None and facts_of(u.form).sum64 for u in value.users
    )


def one_sum(value: Instruction) -> bool:
    """Whether one sum of its block alone reads a value."""
    return value.use_count == 1 and only_sums(value) and all(
        u.block is value.block for u in value.users
    )


def is_extended(i: Instruction, v: Value) -> bool:
    """Whether a conversion among integers of up to 32 bits leaves its operand as it is."""
    to, of = (SCALARS[m] for m in i.form.mods if m in SCALARS)
    if to.bits <= of.bits:
        return to.bits >= 16
    made = v.definer
    if made is None or of.bits < v.type.bits:
        return False
    f = made.form
    if f.kind is OpKind.LOGIC and f.name == "and":
        return any(isinstance(o, Constant) and 0 <= int(o.value) < 1 << 15 for o in made._operands)
    return f.reads and f.type is not None and (f.type.kind == "s") is (of.kind == "s")


def only_low_words(value: Instruction) -> bool:
    """Whether all readers of a zero-extended value work on words, so that the high one is RZ."""
    return all(u.form.kind in _BY_WORDS and u.form.guard is None for u in value.users)


def is_address_of(user: Instruction, value: Instruction) -> bool:
    """Whether an instruction is an access that has this value as its address and nothing else."""
    f = user.form
    accesses = f.kind in (OpKind.LOAD, OpKind.STORE) or f.name == "ldmatrix"
    if not f.addresses or not accesses:
        return False
    bases = {base for base, _ in f.addresses}
    return all(v is not value or k in bases for k, v in enumerate(user._operands))


def is_parameter(i: Instruction) -> bool:
    """Whether an instruction loads a parameter."""
    return i.form.name == "ld" and i.form.space.startswith("param")


def is_zero(v: Value) -> bool:
    return isinstance(v, Constant) and not v.value
