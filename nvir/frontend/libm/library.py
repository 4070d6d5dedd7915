"""The names, what each needs, and the functions of float that go by way of double."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nvir.frontend import build as b
from nvir.frontend.libm import exponential, special, trigonometric
from nvir.frontend.libm.kit import own
from nvir.frontend.tree.declarations import Declaration, Function

# name → (what makes it, the functions of this library that it calls, its constant tables)
Row = tuple[Callable[[], Function], tuple[str, ...], tuple[Any, ...]]
ROWS: dict[str, Row] = {**exponential.ROWS, **trigonometric.ROWS, **special.ROWS}

ONE = ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
       "atanh", "exp", "exp2", "exp10", "expm1", "log", "log2", "log10", "log1p", "cbrt", "erf",
       "erfc", "sinpi", "cospi", "rcbrt", "logb", "normcdf")
TWO = ("pow", "fmod", "hypot", "atan2", "fdim")
# Largest errors in double, in ulp, where results are normal numbers; floats are within 0.51.
BOUNDS = {
    "sin": 2, "cos": 2, "tan": 3, "asin": 1, "acos": 1, "atan": 1, "sinh": 3, "cosh": 1,
    "tanh": 3, "asinh": 1, "acosh": 1, "atanh": 2, "exp": 1, "exp2": 1, "exp10": 1,
    "expm1": 4, "log": 1, "log2": 1, "log10": 2, "log1p": 1, "cbrt": 1, "erf": 2, "erfc": 4,
    "pow": 1, "hypot": 1, "atan2": 1, "rsqrt": 1, "fmod": 0,
}


def _float_one(name: str) -> Function:
    x = b.cast("double", b.name("x"))
    return b.function(f"float __nvir_{name}f", "float x", b.ret(b.cast("float", own(name, x))))


def _float_two(name: str) -> Function:
    args = [b.cast("double", b.name(v)) for v in "xy"]
    return b.function(
        f"float __nvir_{name}f", "float x, float y", b.ret(b.cast("float", own(name, *args)))
    )


for _n in ONE:
    ROWS[f"{_n}f"] = (lambda n=_n: _float_one(n), (_n,), ())  # type: ignore[misc]
for _n in TWO:
    ROWS[f"{_n}f"] = (lambda n=_n: _float_two(n), (_n,), ())  # type: ignore[misc]
NAMES = frozenset(ROWS)


def make(name: str) -> tuple[Function, tuple[str, ...], tuple[Declaration, ...]]:
    """A new tree of a function; the functions and tables that it needs."""
    row = ROWS[name]
    return row[0](), row[1], tuple(t() for t in row[2])
