"""What intrinsics of floats give for constants, bit for bit.

    folded("minnum", format, format, patterns)    llvm.minnum of two patterns
    saturated(x, signed, bits)                    llvm.fptosi.sat, llvm.fptoui.sat of a number

Declined (None): NaNs as results, minima of zeros of two signs, subnormals where the machine may
take them for zeros (but by what only moves bits).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from nvir.ir import floats
from nvir.ir.floats import Format

_MODES = {"floor": "rm", "ceil": "rp", "trunc": "rz", "rint": "rn", "nearbyint": "rn",
          "roundeven": "rn"}


def folded(name: str, f: Format, values: Sequence[int]) -> int | None:
    """The result's pattern of an intrinsic on patterns of its own format."""
    size = f.sign - 1
    if name == "fabs":
        return values[0] & size
    if name == "copysign":
        return (values[0] & size) | (values[1] & f.sign)
    function = _FUNCTIONS.get(name)
    if function is None or any(floats.is_tiny(f, v) for v in values):
        return None
    made = function(f, *values)
    return None if made is None or floats.is_tiny(f, made) else made


def saturated(x: float, signed: bool, bits: int) -> int:
    """A number cut off to an integer, or the nearest that there is; 0 of a NaN."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if x != x:
        return 0
    if math.isinf(x):
        return (high if x > 0 else low) & ((1 << bits) - 1)
    return min(max(int(x), low), high) & ((1 << bits) - 1)


def _extremum(least: bool, keeps_nan: bool) -> Callable[[Format, int, int], int | None]:
    def function(f: Format, a: int, b: int) -> int | None:
        x, y = floats.number(f, a), floats.number(f, b)
        if x != x or y != y:
            return None if keeps_nan or (x != x and y != y) else b if x != x else a
        if x == y:
            return a if a == b else None
        return a if (x < y) is least else b

    return function


def _integral(mode: str) -> Callable[[Format, int], int | None]:
    return lambda f, a: floats.integral(f, a, mode)


def _round(f: Format, a: int) -> int | None:
    """To nearest, halves away from zero."""
    x = floats.number(f, a)
    if not math.isfinite(x):
        return floats.pattern(f, x)
    cut = math.trunc(x)
    away = abs(x - cut) >= 0.5
    return floats.pattern(f, math.copysign(float(abs(cut) + away), x))


_FUNCTIONS: dict[str, Callable[..., int | None]] = {
    "minnum": _extremum(True, False), "maxnum": _extremum(False, False),
    "minimum": _extremum(True, True), "maximum": _extremum(False, True),
    **{name: _integral(mode) for name, mode in _MODES.items()},
    "round": _round, "sqrt": floats.sqrt, "fma": floats.fma,
}
