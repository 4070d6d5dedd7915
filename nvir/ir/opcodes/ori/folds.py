"""Exact constant folding of the rows: integers here, floats by `float_folds`.

Each function takes the form and one int for each written source and gives the
first result's bit pattern, or None where it does not fold: other types, packed
pairs, operand shapes that the pattern does not cover, and whatever the ISA
leaves undefined (division by zero). Sources may be any ints: they are cut to
the width at which the instruction reads them, so a literal -1 is all ones.
Results are never negative.

Rows of both kinds ask here first: what is no plain integer type goes to the
floating folds, which decline what is none of theirs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.ir.opcodes.ori import float_folds
from nvir.ir.types import SCALARS, ScalarType

if TYPE_CHECKING:
    from nvir.ir.opcodes.form import Form

_INTEGERS = frozenset(SCALARS[f"{kind}{bits}"] for kind in "usb" for bits in (8, 16, 32, 64))
_PRED = SCALARS["pred"]


def _int(form: Form) -> ScalarType | None:
    """The instruction's type where it is a plain integer; also None for negated operands."""
    t = form.type
    return t if t in _INTEGERS and "!" not in form.shape else None


def _cut(t: ScalarType, x: int) -> int:
    return x & ((1 << t.bits) - 1)


def _num(t: ScalarType, x: int) -> int:
    """The number that the low bits of x mean in type t."""
    x = _cut(t, x)
    return x - (1 << t.bits) if t.kind == "s" and x >> (t.bits - 1) else x


def _saturate(t: ScalarType, x: int) -> int:
    """The nearest number of type t."""
    low, high = (-1 << (t.bits - 1), (1 << (t.bits - 1)) - 1) if t.kind == "s" else (
        0, (1 << t.bits) - 1)
    return max(low, min(high, x))


# ------------------------------------------------------------- arithmetic


def add(form: Form, a: int, b: int) -> int | None:
    t = _int(form)
    if t is None:
        return float_folds.add(form, a, b)
    if "sat" in form.mods:
        return _cut(t, _saturate(t, _num(t, a) + _num(t, b)))
    return _cut(t, a + b)


def sub(form: Form, a: int, b: int) -> int | None:
    t = _int(form)
    if t is None:
        return float_folds.sub(form, a, b)
    if "sat" in form.mods:
        return _cut(t, _saturate(t, _num(t, a) - _num(t, b)))
    return _cut(t, a - b)


def _product(form: Form, t: ScalarType, a: int, b: int) -> tuple[int, int] | None:
    """The part of a * b that the modifiers ask for, and its width; no part, no fold."""
    p = _num(t, a) * _num(t, b)
    if "wide" in form.mods:
        return p, 2 * t.bits
    if "hi" in form.mods:
        return p >> t.bits, t.bits
    return (p, t.bits) if "lo" in form.mods else None


def mul(form: Form, a: int, b: int) -> int | None:
    t = _int(form)
    if t is None:
        return float_folds.mul(form, a, b)
    part = _product(form, t, a, b)
    return part[0] & ((1 << part[1]) - 1) if part is not None else None


def mad(form: Form, a: int, b: int, c: int) -> int | None:
    t = _int(form)
    if t is None:
        return float_folds.fma(form, a, b, c)
    part = _product(form, t, a, b)
    if part is None:
        return None
    if "sat" in form.mods:  # mad.hi.sat.s32
        return _cut(t, _saturate(t, _num(t, part[0]) + _num(t, c)))
    return (part[0] + c) & ((1 << part[1]) - 1)


def _product24(form: Form, t: ScalarType, a: int, b: int) -> int:
    """Bits 0..31 or 16..47 of the product of the low 24 bits."""
    sign = 1 << 23 if t.kind == "s" else 0
    x, y = (((v & 0xFFFFFF) ^ sign) - sign for v in (a, b))
    return x * y >> 16 if "hi" in form.mods else x * y


def mul24(form: Form, a: int, b: int) -> int | None:
    t = _int(form)
    return _cut(t, _product24(form, t, a, b)) if t is not None else None


def mad24(form: Form, a: int, b: int, c: int) -> int | None:
    t = _int(form)
    if t is None or "sat" in form.mods:
        return None
    return _cut(t, _product24(form, t, a, b) + c)


def sad(form: Form, a: int, b: int, c: int) -> int | None:
    t = _int(form)
    return _cut(t, c + abs(_num(t, a) - _num(t, b))) if t is not None else None


def div(form: Form, a: int, b: int) -> int | None:
    t = _int(form)
    if t is None:
        return float_folds.div(form, a, b)
    if _cut(t, b) == 0:
        return None
    x, y = _num(t, a), _num(t, b)
    q = abs(x) // abs(y)
    return _cut(t, q if (x < 0) == (y < 0) else -q)


def rem(form: Form, a: int, b: int) -> int | None:
    t = _int(form)
    if t is None or _cut(t, b) == 0:
        return None
    x, y = _num(t, a), _num(t, b)
    r = abs(x) % abs(y)
    return _cut(t, -r if x < 0 else r)


def abs_(form: Form, a: int) -> int | None:
    t = _int(form)
    return _cut(t, abs(_num(t, a))) if t is not None else float_folds.abs_(form, a)


def neg(form: Form, a: int) -> int | None:
    t = _int(form)
    return _cut(t, -a) if t is not None else float_folds.neg(form, a)


def minimum(form: Form, *sources: int) -> int | None:
    t = _int(form)
    if t is None:
        return float_folds.extreme(form, sources, least=True)
    if "relu" in form.mods:
        return None
    return _cut(t, min(_num(t, x) for x in sources))


def maximum(form: Form, *sources: int) -> int | None:
    t = _int(form)
    if t is None:
        return float_folds.extreme(form, sources, least=False)
    if "relu" in form.mods:
        return None
    return _cut(t, max(_num(t, x) for x in sources))


# ------------------------------------------------------------------- bits


def popc(form: Form, a: int) -> int | None:
    t = _int(form)
    return _cut(t, a).bit_count() if t is not None else None


def clz(form: Form, a: int) -> int | None:
    t = _int(form)
    return t.bits - _cut(t, a).bit_length() if t is not None else None


def bfind(form: Form, a: int) -> int | None:
    t = _int(form)
    if t is None:
        return None
    x = _num(t, a)
    position = (~x if x < 0 else x).bit_length() - 1
    if position < 0:
        return 0xFFFFFFFF
    return t.bits - 1 - position if "shiftamt" in form.mods else position


def brev(form: Form, a: int) -> int | None:
    t = _int(form)
    return int(f"{_cut(t, a):0{t.bits}b}"[::-1], 2) if t is not None else None


def bfe(form: Form, a: int, b: int, c: int) -> int | None:
    t = _int(form)
    position, length = b & 0xFFFFFFFF, c & 0xFFFFFFFF
    if t is None or position > 255 or length > 255:  # the ISA restricts both to 8 bits
        return None
    if length == 0:
        return 0
    # Bits beyond the top of a are copies of its sign, as if a were wider.
    field = _num(t, a) >> position & ((1 << length) - 1)
    last = min(position + length - 1, t.bits - 1)
    if t.kind == "s" and _cut(t, a) >> last & 1:
        field |= -1 << length
    return _cut(t, field)


def bfi(form: Form, a: int, b: int, c: int, e: int) -> int | None:
    t = _int(form)
    position, length = c & 0xFFFFFFFF, e & 0xFFFFFFFF
    if t is None or position > 255 or length > 255:
        return None
    mask = (1 << length) - 1 << position
    return _cut(t, b & ~mask | a << position & mask)


def bmsk(form: Form, a: int, b: int) -> int | None:
    t = _int(form)
    if t is None:
        return None
    position, length = _cut(t, a), _cut(t, b)
    if "clamp" in form.mods:
        position, length = min(position, t.bits), min(length, t.bits)
    else:
        position, length = position & 31, length & 31
    return _cut(t, (1 << length) - 1 << position)


def szext(form: Form, a: int, b: int) -> int | None:
    t = _int(form)
    if t is None:
        return None
    length = _cut(t, b)
    length = min(length, t.bits) if "clamp" in form.mods else length & 31
    field = a & (1 << length) - 1
    if t.kind == "s" and length and field >> (length - 1) & 1:
        field -= 1 << length
    return _cut(t, field)


# ------------------------------------------------------- logic and shifts


def _bits(form: Form) -> ScalarType | None:
    """As `_int`, and predicates."""
    t = form.type
    return t if t is _PRED and "!" not in form.shape else _int(form)


def and_(form: Form, a: int, b: int) -> int | None:
    t = _bits(form)
    return _cut(t, a & b) if t is not None else None


def or_(form: Form, a: int, b: int) -> int | None:
    t = _bits(form)
    return _cut(t, a | b) if t is not None else None


def xor(form: Form, a: int, b: int) -> int | None:
    t = _bits(form)
    return _cut(t, a ^ b) if t is not None else None


def not_(form: Form, a: int) -> int | None:
    t = _bits(form)
    return _cut(t, ~a) if t is not None else None


def cnot(form: Form, a: int) -> int | None:
    t = _int(form)
    return int(_cut(t, a) == 0) if t is not None else None


def lop3(form: Form, a: int, b: int, c: int, table: int, *rest: int) -> int | None:
    t = _int(form)
    if t is None or rest or "|" in form.shape:
        return None
    out = 0
    for row in range(8):
        if table >> row & 1:
            x = a if row & 4 else ~a
            y = b if row & 2 else ~b
            z = c if row & 1 else ~c
            out |= x & y & z
    return _cut(t, out)


def shl(form: Form, a: int, b: int) -> int | None:
    t = _int(form)
    return _cut(t, a << min(b & 0xFFFFFFFF, t.bits)) if t is not None else None


def shr(form: Form, a: int, b: int) -> int | None:
    t = _int(form)
    return _cut(t, _num(t, a) >> min(b & 0xFFFFFFFF, t.bits)) if t is not None else None


def shf(form: Form, a: int, b: int, c: int) -> int | None:
    t = _int(form)
    if t is None or t.bits != 32:
        return None
    amount = c & 0xFFFFFFFF
    amount = min(amount, 32) if "clamp" in form.mods else amount & 31
    pair = _cut(t, b) << 32 | _cut(t, a)
    return _cut(t, pair << amount >> 32 if "l" in form.mods else pair >> amount)


# ---------------------------------------------- comparison and selection

_COMPARE = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "lo": lambda a, b: a < b, "ls": lambda a, b: a <= b,
    "hi": lambda a, b: a > b, "hs": lambda a, b: a >= b,
}
_COMBINE = {
    "and": lambda a, c: a & c, "or": lambda a, c: a | c, "xor": lambda a, c: a ^ c,
}


def _compare(form: Form, sources: tuple[int, ...]) -> int | None:
    """0 or 1: the comparison, combined with the third source where there is one."""
    t = _int(form)
    compare = _COMPARE.get(form.mods[0]) if form.mods else None
    if t is None:
        holds = float_folds.compare(form, sources[0], sources[1])
    else:
        holds = int(compare(_num(t, sources[0]), _num(t, sources[1]))) if compare else None
    if holds is None or len(sources) == 2:
        return holds
    combine = _COMBINE.get(form.mods[1])
    return combine(holds, sources[2] & 1) if combine is not None else None


def setp(form: Form, *sources: int) -> int | None:
    return None if "|" in form.shape else _compare(form, sources)


def set_(form: Form, *sources: int) -> int | None:
    types = [SCALARS[m] for m in form.mods if m in SCALARS]
    holds = _compare(form, sources)
    if holds is None or types[0] not in _INTEGERS:
        return None
    return _cut(types[0], -holds)


def selp(form: Form, a: int, b: int, c: int) -> int | None:
    """Any type: nothing is computed, only chosen. A negated predicate is not folded."""
    t = form.type
    if t is None or "!" in form.shape:
        return None
    return _cut(t, a if c & 1 else b)


def slct(form: Form, a: int, b: int, c: int) -> int | None:
    if form.type is None or form.type.name != "s32":
        return None
    return _cut(form.rule_type("first"), a if not c & 0x80000000 else b)


# ----------------------------------------------------- moves, conversions


def mov(form: Form, *sources: int) -> int | None:
    """A copy, or the packing of a vector, whose first element is the lowest."""
    t = form.type
    if t is None or form.n_results != 1 or t.bits % len(sources):
        return None
    width = t.bits // len(sources)
    out = 0
    for x in reversed(sources):
        out = out << width | x & ((1 << width) - 1)
    return out


def prmt(form: Form, a: int, b: int, c: int) -> int | None:
    t = _int(form)
    if t is None or form.mods != ("b32",):
        return None
    pair = ((b & 0xFFFFFFFF) << 32 | a & 0xFFFFFFFF).to_bytes(8, "little")
    out = bytearray(4)
    for i in range(4):
        selector = c >> 4 * i & 0xF
        byte = pair[selector & 7]
        out[i] = (0xFF if byte & 0x80 else 0) if selector & 8 else byte
    return int.from_bytes(out, "little")


def cvt(form: Form, *sources: int) -> int | None:
    """The destination register may be wider than its type, and is then filled by sign, so a
    negative number of fewer than 32 bits is left alone."""
    types = [SCALARS[m] for m in form.mods if m in SCALARS]
    if len(sources) != 1 or len(types) != 2:
        return None
    if not _INTEGERS.issuperset(types):
        return float_folds.cvt(form, sources[0])
    x = _num(types[1], sources[0])
    x = _saturate(types[0], x) if "sat" in form.mods else _num(types[0], x)
    return None if x < 0 and types[0].bits < 32 else _cut(types[0], x)
