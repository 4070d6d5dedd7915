"""Words of 64-bit values that nothing asks for, and signs that their readers take along.

An address of local or constant memory has 32 bits in the machine, and so has all arithmetic that
leads to such addresses or to a low word alone. A float's sign is changed, or dropped, by what reads
it.

Cost    linear in the 64-bit operations; nothing where no low word is asked for.
"""

from __future__ import annotations

from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.opcodes import OpKind
from nvir.ir.opcodes.form import Form
from nvir.ir.values import Constant

_LOW_TO_LOW = (
    OpKind.SUM, OpKind.MULTIPLY, OpKind.LOGIC, OpKind.COPY, OpKind.CONVERT, OpKind.SELECT,
)
_SIGNED = (  # they take a float operand negated or without its sign
    OpKind.SUM, OpKind.MULTIPLY, OpKind.COMPARE, OpKind.EXTREMUM, OpKind.SPECIAL, OpKind.CONVERT,
)
_NARROW = ("local", "const")  # spaces of 32-bit addresses
_WORD = 32


def low_words(function: Function) -> set[Instruction]:
    """64-bit results of which only the low word is ever asked for."""
    found: set[Instruction] = set()
    asked = False
    for block in function.rpo:
        for i in block:
            f = i.form
            if f.space in _NARROW or _cuts(f):
                asked = True
            if i._results is None and i.type.bits == 2 * _WORD and _is_low_to_low(i):
                found.add(i)
    if not asked:
        return set()
    work = [i for i in found if not all(u in found or _asks_low(u, i) for u in i.users)]
    found.difference_update(work)
    while work:
        for o in work.pop()._operands:
            if isinstance(o, Instruction) and o in found:
                found.discard(o)
                work.append(o)
    return found


def _cuts(f: Form) -> bool:
    """Whether it takes the low word of an integer."""
    t = f.type
    return (
        f.kind is OpKind.CONVERT and t is not None and t.kind in "usb" and t.bits == 2 * _WORD
        and f.n_results == 1 and f.mods[0][0] in "usb" and not f.mods[0].endswith("64")
    )


def _is_low_to_low(i: Instruction) -> bool:
    """Whether the low word of a result needs the low words of its operands alone."""
    f = i.form
    if f.is_phi:
        return True
    t = f.type
    if f.guard is not None or t is None or t.kind not in "usb" or f.n_results != 1:
        return False
    if f.kind is OpKind.SHIFT:
        n = i._operands[1]
        return f.name == "shl" and isinstance(n, Constant) and int(n.value) < _WORD
    if f.kind is OpKind.COPY and len(i._operands) != 1:
        return False
    return f.kind in _LOW_TO_LOW and "hi" not in f.mods and not f.carry_in and not f.carry_out


def _asks_low(user: Instruction, value: Instruction) -> bool:
    """Whether a reader asks for the low word alone."""
    f = user.form
    if _cuts(f):
        return True
    if f.space not in _NARROW or not f.addresses:
        return False
    bases = {base for base, _ in f.addresses}
    return all(k in bases for k, v in enumerate(user._operands) if v is value)


def takes_sign(i: Instruction) -> bool:
    """Whether all readers of a negation or absolute value do it themselves."""
    t = i.form.type
    if t is None:
        return False
    for user in i.users:
        f = user.form
        if f.guard is not None or f.type is None:
            return False
        if t.kind == "f":
            if f.type.kind != "f" or t.bits < _WORD:
                return False
            selects = f.kind is OpKind.SELECT and t.bits == _WORD
            if "ftz" in i.form.mods and ("ftz" not in f.mods or selects):
                return False  # it flushes what its reader does not
            passes = f.kind is OpKind.SIGN and takes_sign(user)
            if f.kind not in _SIGNED and not selects and not passes:
                return False
        elif f.kind is not OpKind.SUM or f.type.bits != _WORD or i.form.name != "neg":
            return False
    return True
