"""What lowering asks of a form, worked out once for each spelling."""

from __future__ import annotations

from nvir.assembler.regalloc.code import FENCE, LOAD, PLAIN, STORE
from nvir.assembler.regalloc.tables import ALU, DOUBLE, GLOBAL, MATRIX, SCRATCH, SHARED, SPECIAL
from nvir.ir.opcodes import OpKind
from nvir.ir.opcodes.form import Form
from nvir.ir.types import SCALARS

_SLOW = (OpKind.DIVIDE, OpKind.SPECIAL)
_SPACES = {"global": 1, "shared": 2, "local": 4, "param": 8, "const": 16}
_ANY = 1 | 2 | 4
_WIDE = frozenset(("s64", "u64"))
_NARROW = frozenset(("s32", "u32"))


class Facts:
    """One form.

    rule     how it may need no register: "copy", "parameter", "offset", "wide", or ""
    uniform  an integer operation that the uniform datapath has
    masked   results that nothing reads take no register
    groups   operand indices of each vector between braces
    The others are as in `code.Op`.
    """

    __slots__ = (
        "global_access", "grouped", "groups", "kind", "latency", "masked", "rule", "scratch",
        "space", "uniform", "variable",
    )

    def __init__(self, f: Form) -> None:
        integer = f.type is not None and f.type.kind in "usb"
        self.rule = _rule(f, integer)
        self.uniform = (
            f.guard is None and f.n_results == 1 and integer and f.op.uniform
            and all(m[0] in "usb" for m in f.mods if m in SCALARS)
        )
        self.kind = _kind(f)
        self.space = _SPACES.get(f.space.split("::")[0], _ANY)
        self.global_access = bool(self.space & 1)
        self.latency = _latency(f)
        self.scratch = _scratch(f)
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


def _rule(f: Form, integer: bool) -> str:
    if f.guard is not None or f.n_results != 1:
        return ""
    if f.kind is OpKind.COPY:
        return "copy"
    if f.name == "ld":
        return "parameter" if f.space.startswith("param") else ""
    if f.name == "add":
        return "offset" if integer else ""
    widens = f.name == "cvt" and _WIDE.intersection(f.mods[:1]) and _NARROW.intersection(f.mods[1:])
    scales = f.name == "shl" and f.type is not None and f.type.bits == 64
    if widens or scales or (f.name == "mul" and "wide" in f.mods):
        return "wide"
    return ""


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
            return ALU
        return SHARED if f.space.startswith("shared") or name == "ldmatrix" else GLOBAL
    if name.startswith("shfl"):
        return SHARED
    if "mma" in name:
        return MATRIX
    if f.kind in _SLOW:
        return SPECIAL
    return DOUBLE if f.type is not None and f.type.name == "f64" else ALU


def _scratch(f: Form) -> int:
    t = f.type.name if f.type is not None else ""
    for rows, types, mods, n in SCRATCH:
        if f.name in rows and t in types and (not mods or mods.intersection(f.mods)):
            return n
    return 0


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
