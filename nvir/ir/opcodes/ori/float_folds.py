"""Exact constant folding of the floating-point rows.

As in `folds`: the form and one bit pattern for each written source give the
result's bit pattern, or None. Folded is what IEEE 754 determines: operations with
a rounding mode (none written is .rn), conversions, comparisons, moves of the sign.
Not folded are approximate functions (no one result is right: see
`nvir.ir.opcodes.evaluate` for the assembler's own choice), NaNs on either
side, packed pairs, and where .ftz decides on a result at the edge of the
subnormals.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from nvir.ir import floats
from nvir.ir.floats import FORMATS, Format
from nvir.ir.types import SCALARS

if TYPE_CHECKING:
    from nvir.ir.opcodes.form import Form

_ARITHMETIC = frozenset(("rn", "rz", "rm", "rp", "ftz", "sat", *FORMATS))
_INTEGERS = {f"{k}{n}" for k in "us" for n in (8, 16, 32, 64)}


def _format(form: Form, known: frozenset[str] = _ARITHMETIC) -> Format | None:
    """The format of all operands; None where a modifier is none of the known ones."""
    if form.type is None or "!" in form.shape or not known.issuperset(form.mods):
        return None
    if sum(m in FORMATS for m in form.mods) != 1:
        return None
    return FORMATS.get(form.type.name)


def _mode(form: Form) -> str:
    return next((m for m in form.mods if m in floats.MODES), "rn")


def _flush(form: Form, f: Format, bits: int) -> int:
    """A source as the instruction sees it."""
    bits &= (1 << f.bits) - 1
    return bits & f.sign if "ftz" in form.mods and floats.is_tiny(f, bits) else bits


def _finish(form: Form, f: Format, bits: int | None) -> int | None:
    if bits is None:
        return None
    magnitude = bits & (f.sign - 1)
    if "ftz" in form.mods and 0 < magnitude <= f.least_normal:
        return None
    if "sat" not in form.mods:
        return bits
    if bits & f.sign:
        return 0
    return min(bits, floats.pattern(f, 1.0) or 0)


def arithmetic(compute: Callable[..., int | None]) -> Callable[..., int | None]:
    """The fold of an operation of `floats` that takes a mode."""

    def fold(form: Form, *sources: int) -> int | None:
        f = _format(form)
        if f is None:
            return None
        values = [_flush(form, f, x) for x in sources]
        return _finish(form, f, compute(f, *values, mode=_mode(form)))

    return fold


add = arithmetic(floats.add)
sub = arithmetic(floats.sub)
mul = arithmetic(floats.mul)
fma = arithmetic(floats.fma)


def _rounded_only(fold: Callable[..., int | None]) -> Callable[..., int | None]:
    """Of rows that are approximate without a rounding mode."""

    def checked(form: Form, *sources: int) -> int | None:
        return fold(form, *sources) if any(m in floats.MODES for m in form.mods) else None

    return checked


div = _rounded_only(arithmetic(floats.div))
sqrt = _rounded_only(arithmetic(floats.sqrt))
rcp = _rounded_only(
    arithmetic(lambda f, a, mode: floats.div(f, floats.pattern(f, 1.0) or 0, a, mode))
)


def neg(form: Form, a: int) -> int | None:
    return _sign(form, a, lambda bits, sign: bits ^ sign)


def abs_(form: Form, a: int) -> int | None:
    return _sign(form, a, lambda bits, sign: bits & ~sign)


def _sign(form: Form, a: int, change: Callable[[int, int], int]) -> int | None:
    f = _format(form)
    if f is None:
        return None
    a = _flush(form, f, a)
    return None if floats.number(f, a) != floats.number(f, a) else change(a, f.sign)


def extreme(form: Form, sources: tuple[int, ...], least: bool) -> int | None:
    """min, max: -0 is below +0."""
    f = _format(form)
    if f is None:
        return None
    values = [_flush(form, f, x) for x in sources]
    if any(floats.number(f, x) != floats.number(f, x) for x in values):
        return None
    keys = {x: (floats.number(f, x), not x & f.sign) for x in values}
    return (min if least else max)(values, key=keys.__getitem__)


_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a < b or a > b,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "num": lambda a, b: a == a and b == b, "nan": lambda a, b: a != a or b != b,
}
_UNORDERED = {"equ": "ne", "neu": "eq", "ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt"}


def compare(form: Form, a: int, b: int) -> int | None:
    """The comparison that the first modifier names: 0 or 1."""
    f = FORMATS.get(form.type.name) if form.type is not None and "!" not in form.shape else None
    if f is None or not form.mods:
        return None
    name = form.mods[0]
    holds = _COMPARE.get(_UNORDERED.get(name, name))
    if holds is None:
        return None
    x, y = (floats.number(f, _flush(form, f, v)) for v in (a, b))
    return int(holds(x, y) != (name in _UNORDERED))


_CVT = _ARITHMETIC | {"rni", "rzi", "rmi", "rpi"} | _INTEGERS


def cvt(form: Form, a: int) -> int | None:
    """Conversions from or to a floating type."""
    types = [m for m in form.mods if m in SCALARS]
    if len(types) != 2 or "!" in form.shape or not _CVT.issuperset(form.mods):
        return None
    to, of = FORMATS.get(types[0]), FORMATS.get(types[1])
    if of is None:
        return _from_integer(form, to, types[1], a) if to is not None else None
    a = _flush(form, of, a) if of is floats.F32 else a & ((1 << of.bits) - 1)
    x = floats.number(of, a)
    if x != x:
        return None
    whole = next((m[:2] for m in form.mods if m in ("rni", "rzi", "rmi", "rpi")), None)
    if to is None:
        return _to_integer(types[0], x, whole)
    bits: int | None = a
    if to is of:
        bits = floats.integral(of, a, whole) if whole is not None else a
    elif whole is not None:
        return None
    else:
        bits = floats.pattern(to, x, _mode(form))
    if to is not floats.F32 and "ftz" in form.mods:
        return bits if "sat" not in form.mods else None
    return _finish(form, to, bits)


def _from_integer(form: Form, to: Format, of: str, a: int) -> int | None:
    t = SCALARS[of]
    a &= (1 << t.bits) - 1
    if t.kind == "s" and a >> (t.bits - 1):
        a -= 1 << t.bits
    if a == 0:
        return 0
    return _finish(form, to, floats.rounded(a, to, _mode(form)))


def _to_integer(to: str, x: float, mode: str | None) -> int | None:
    """Rounded, and clamped to the type; a register wider than the type gets no negative number."""
    t = SCALARS[to]
    if mode is None:
        return None
    low, high = (-1 << (t.bits - 1), (1 << (t.bits - 1)) - 1) if t.kind == "s" else (
        0, (1 << t.bits) - 1)
    if math.isinf(x):
        n = high if x > 0 else low
    else:
        n = max(low, min(high, floats.to_whole(x, mode)))
    return None if n < 0 and t.bits < 32 else n & ((1 << t.bits) - 1)
