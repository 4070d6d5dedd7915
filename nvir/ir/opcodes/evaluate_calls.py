"""What intrinsics of floats give for constants, bit for bit.

    folded("minnum", format, format, patterns)    llvm.minnum of two patterns
    saturated(x, signed, bits)                    llvm.fptosi.sat, llvm.fptoui.sat of a number
    nan(format, values)                           the NaN that an operation gives

NaNs     LLVM leaves open which NaN comes out. Folds give the one of its own folds: the first
         operand that is a NaN, quiet, with its sign and payload; else a positive one without
         payload. What runs gives the machine's, 0x7FFFFFFF of floats: none may be relied on.
Declined (None): roots of negative numbers and NaNs, subnormals where the machine may take them for
         zeros (but by what only moves bits).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from nvir.ir import floats
from nvir.ir.floats import Format

_NVIDIAS = {"fabs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "rint",
            "fmin": "minnum", "fmax": "maxnum", "fma.rn": "fma", "sqrt.rn": "sqrt"}
_MODES = {"floor": "rm", "ceil": "rp", "trunc": "rz", "rint": "rn", "nearbyint": "rn",
          "roundeven": "rn"}


def plain_name(name: str) -> str:
    """LLVM's name of what an intrinsic does: `fabs` of NVIDIA's llvm.nvvm.fabs.d, too."""
    words = name.split(".")[1:]
    if words[0] != "nvvm":
        return words[0]
    return "" if "ftz" in words else _NVIDIAS.get(".".join(words[1:-1]), "")


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
    if made is None and name != "sqrt":
        return nan(f, values if name[-3:] != "num" else values[::-1])
    return None if made is None or floats.is_tiny(f, made) else made


def nan(f: Format, values: Sequence[int]) -> int:
    """The NaN that LLVM folds an operation to which gives one."""
    quiet = 1 << f.precision - 2
    return next((v | quiet for v in values if is_nan(f, v)), f.infinity | quiet)


def nan_in(f: Format, bits: int, to: Format) -> int:
    """A NaN in another format: the payload's first bits, quiet."""
    payload, shift = bits & ((1 << f.precision - 1) - 1), to.precision - f.precision
    payload = payload << shift if shift > 0 else payload >> -shift
    sign = to.sign if bits & f.sign else 0
    return sign | nan(to, [to.infinity | payload | 1 << to.precision - 2])


def is_nan(f: Format, bits: int) -> bool:
    return bits & (f.sign - 1) > f.infinity


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
            return a | b if least else a & b  # zeros of two signs: -0 is less
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


def _fma(f: Format, a: int, b: int, c: int) -> int | None:
    made = floats.fma(f, a, b, c)
    if made is None and not (is_nan(f, a) or is_nan(f, b)) and floats.mul(f, a, b) is None:
        return nan(f, ())  # of infinity times zero, whatever is added
    return made


_FUNCTIONS: dict[str, Callable[..., int | None]] = {
    "minnum": _extremum(True, False), "maxnum": _extremum(False, False),
    "minimum": _extremum(True, True), "maximum": _extremum(False, True),
    **{name: _integral(mode) for name, mode in _MODES.items()},
    "round": _round, "sqrt": floats.sqrt, "fma": _fma,
}
