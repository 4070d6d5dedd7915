"""What the assembler always makes one operation of, across PTX instructions.

    setp + and.pred, or.pred, xor.pred    ISETP.AND, ISETP.OR, …    of a comparison read once
    mul.wide.s32 + add.s64                IMAD.WIDE                 of a product read once
    mul.f32 + add.f32, sub.f32            FFMA                      where neither states a rounding
    add.s64 with a literal + ld, st       an offset in the address  where nothing else reads the sum

Only within a block: the later operation takes over the operands of the earlier one, which goes.

Cost    linear; a table of who makes which register.
Source  SASS of ptxas 13.0.88 (benchmarks/templates.py, loops of examples/).
"""

from __future__ import annotations

from collections.abc import Callable

from nvir.ir import Constant, Instruction, OpKind
from nvir.sm.operation import MachineInstruction, Register

_COMPARISONS = frozenset(("ISETP", "FSETP", "DSETP", "HSETP2"))
_PRODUCTS = {"FMUL": ("FADD", "FFMA"), "DMUL": ("DADD", "DFMA")}
_ROUNDINGS = frozenset(("rn", "rz", "rm", "rp", "sat"))
_OFFSETS = 1 << 23  # an address takes a signed literal of 24 bits

_Makers = dict[Register, MachineInstruction]


def fuse(operations: list[MachineInstruction]) -> None:
    """Fuse in place. Operations whose every reader took their operands over are removed."""
    makers: _Makers = {}
    gone: set[int] = set()
    for op in operations:
        rule = _RULES.get(op.family or "")
        if rule is not None:
            rule(op, makers, gone)
        for r in op.results:
            makers[r] = op
    if gone:
        operations[:] = [op for op in operations if id(op) not in gone]


def _maker(
    register: Register, makers: _Makers, reader: MachineInstruction
) -> MachineInstruction | None:
    """Who makes a register that one instruction alone reads, in the block of the reader."""
    maker = makers.get(register)
    if maker is None or maker.guard is not None or maker.parent.block is not reader.parent.block:
        return None
    value = register[0]
    if not isinstance(value, Instruction) or value.use_count != 1:
        return None
    return maker


def _predicates(op: MachineInstruction, makers: _Makers, gone: set[int]) -> None:
    """A logical operation on predicates is part of the comparison that makes one of them."""
    if op.guard is not None or len(op.sources) > 2:
        return
    for k in reversed(range(len(op.sources))):
        maker = _maker(op.sources[k], makers, op)
        if maker is None or maker.family not in _COMPARISONS or len(maker.results) != 1:
            continue
        if any(_is_predicate(r) for r in maker.sources):
            continue
        others = op.sources[:k] + op.sources[k + 1 :]
        op.family, op.sources = maker.family, (*maker.sources, *others)
        gone.add(id(maker))
        return


def _is_predicate(register: Register) -> bool:
    value = register[0]
    return getattr(value, "is_predicate", False) or (
        isinstance(value, Instruction) and value.type.bits == 1
    )


def _sum(op: MachineInstruction, makers: _Makers, gone: set[int]) -> None:
    """A product and a sum of floats, rounded once."""
    if op.guard is not None or _ROUNDINGS.intersection(op.parent.form.mods):
        return
    for register in op.sources:
        maker = _maker(register, makers, op)
        if maker is None or _PRODUCTS.get(maker.family or "", ("",))[0] != op.family:
            continue
        mods = set(maker.parent.form.mods)
        if mods & _ROUNDINGS or ("ftz" in mods) != ("ftz" in op.parent.form.mods):
            continue
        if maker.parent.form.name != "mul" or op.parent.form.kind is not OpKind.SUM:
            continue
        mine = [r for r in op.sources if r[0] is not register[0]]
        op.family = _PRODUCTS[maker.family or ""][1]
        op.sources = (*maker.sources, *mine)
        gone.add(id(maker))
        return


def _address_sum(op: MachineInstruction, makers: _Makers, gone: set[int]) -> None:
    """The high half of a 64-bit sum, its low half being made before: a product or an offset."""
    i = op.parent
    if op.guard is not None or i.form.name != "add" or len(op.results) != 1:
        return
    low = makers.get((i, 0))
    if low is None or low.parent is not i or low.family != "IADD3":
        return
    addends = [r for r in (*low.sources, *op.sources) if not getattr(r[0], "is_predicate", False)]
    for value in i.operands[:2]:
        maker = makers.get((value, 0))
        if maker is None or maker.family != "IMAD.WIDE" or not isinstance(value, Instruction):
            continue
        mods = value.form.mods
        if value.use_count != 1 or value.form.name != "mul" or "s32" not in mods:
            continue
        if maker.parent.block is not i.block or len(addends) != 4:
            continue
        others = tuple(r for r in addends if r[0] is not value)
        op.family = "IMAD.WIDE"
        op.results = ((i, 0), (i, 1))
        op.sources = (*maker.sources, *others)
        gone.update((id(maker), id(low)))
        makers[i, 0] = op
        return


def _access(op: MachineInstruction, makers: _Makers, gone: set[int]) -> None:
    """An address that is a register and a literal: the literal stands in the access."""
    sources = op.sources
    for r in sources:
        value = r[0]
        if r[1] != 0 or not isinstance(value, Instruction) or value.form.name != "add":
            continue
        low, high = makers.get((value, 0)), makers.get((value, 1))
        if low is None or high is None or low.parent is not value or high.parent is not value:
            continue
        literal = value.operands[1]
        if not isinstance(literal, Constant) or not -_OFFSETS <= int(literal.value) < _OFFSETS:
            continue
        if value.block is not op.parent.block or not _only_addresses(value):
            continue
        base = (*low.sources, *(s for s in high.sources if s not in low.results))
        op.sources = (*(s for s in op.sources if s[0] is not value), *base)
        gone.update((id(low), id(high)))


def _only_addresses(value: Instruction) -> bool:
    """Whether all readers are accesses of the same block with this value as their address."""
    for user in value.users:
        f = user.form
        if user.block is not value.block or f.is_phi or not f.addresses or f.name == "atom":
            return False
        bases = {base for base, _ in f.addresses}
        if any(v is value and k not in bases for k, v in enumerate(user.operands)):
            return False
        if f.kind not in (OpKind.LOAD, OpKind.STORE):
            return False
    return True


_Rule = Callable[[MachineInstruction, _Makers, "set[int]"], None]
_RULES: dict[str, _Rule] = {
    "PLOP3": _predicates, "FADD": _sum, "DADD": _sum, "IADD3.X": _address_sum,
    **dict.fromkeys(("LDG", "STG", "LD", "ST", "LDS", "STS"), _access),
}
