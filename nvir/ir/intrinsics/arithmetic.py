"""What intrinsics of arithmetic compute, of instructions of level nvvm; scalars.

The reader takes it for what selection lacks, `legalize` for what a dialect of libnvvm lacks.

Source   LLVM Language Reference: funnel shifts, saturating arithmetic and conversions.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from nvir.ir import types as ty
from nvir.ir.nvvm import Builder, const, const_like
from nvir.ir.values import Value

# By what a reduction of floats goes on from element to element, without the name of a type.
EXTREMA = {"fmax": "maxnum", "fmin": "minnum", "fmaximum": "maximum", "fminimum": "minimum"}


def in_more_bits(b: Builder, what: str, x: Value, y: Value, bits: int) -> tuple[Value, Value]:
    """The low bits of sadd, umul … and whether they are not the whole: by a type of so many bits,
    which holds it."""
    t, wide = x.type, ty.int_type(bits)
    extend = b.sext if what[0] == "s" else b.zext
    exact = b.insert(what[1:], (extend(x, wide), extend(y, wide)), wide)
    low = b.trunc(exact, t)
    return low, b.icmp_signed("!=", extend(low, wide), exact)


def funnel_shift(b: Builder, left: bool, x: Value, y: Value, n: Value) -> Value:
    """The upper half of x:y shifted to the left by n modulo the width, or the lower half of it
    shifted to the right."""
    bits = x.type.bits
    if bits == 1:
        return x if left else y
    n = b.urem(n, const_like(n, bits))
    rest, one = b.sub(const_like(n, bits - 1), n), const_like(x, 1)
    if left:
        return b.or_(b.shl(x, n), b.lshr(b.lshr(y, one), rest))
    return b.or_(b.shl(b.shl(x, one), rest), b.lshr(y, n))


def saturating(
    b: Builder, what: str, x: Value, y: Value, overflowing: Callable[[], tuple[Value, Value]]
) -> Value:
    """`what` is sadd, usub, sshl …: the result, or the end that it is beyond. `overflowing` gives
    the sum or difference, and whether it overflowed."""
    t, signed = x.type, what[0] == "s"
    most = const(t, (1 << t.bits - signed) - 1)
    end: Value = b.xor(b.ashr(x, const(t, t.bits - 1)), most) if signed else most
    if what[1:] == "shl":  # what does not come back has overflowed
        total: Value = b.shl(x, y)
        back = b.ashr(total, y) if signed else b.lshr(total, y)
        return b.select(b.icmp_signed("!=", back, x), end, total)
    total, over = overflowing()
    return b.select(over, const(t, 0) if what == "usub" else end, total)


def saturated_integer(b: Builder, x: Value, t: ty.Type, signed: bool) -> Value:
    """A float or double as the integer, or the end that it is beyond; NaN is 0."""
    size = t.bits - signed
    end = 2.0**size if size < (128 if x.type is ty.FLOAT else 1024) else math.inf
    made: Value = b.fptosi(x, t) if signed else b.fptoui(x, t)
    over = b.fcmp_ordered(">=", x, const_like(x, end))
    made = b.select(over, const(t, (1 << size) - 1), made)
    under = b.fcmp_ordered("<", x, const_like(x, -end if signed else 0.0))
    made = b.select(under, const(t, -1 << size if signed else 0), made)
    return b.select(b.fcmp_unordered("uno", x, x), const(t, 0), made)
