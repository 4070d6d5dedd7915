"""Words for writing the mathematics: literals with every bit, polynomials, exponents."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from nvir.frontend import build as b
from nvir.frontend.tree import declarations as d
from nvir.frontend.tree import expressions as x
from nvir.frontend.tree.types import DOUBLE, LONGLONG, CType

TYPES: dict[str, CType] = {}
REDUCED = b.record("__nvir_reduced", "double r, int q", TYPES)
PAIR = b.record("__nvir_pair", "double hi, double lo", TYPES)

INFINITY, NAN = float("inf"), float("nan")


def num(v: float) -> b.E:
    """A double literal; infinities and NaN by their bits."""
    if v != v or v in (INFINITY, -INFINITY):
        bits = struct.unpack("<q", struct.pack("<d", v))[0]
        return b.call("__longlong_as_double", b.E(x.IntLiteral(bits, type=LONGLONG)))
    return b.E(x.FloatLiteral(v, type=DOUBLE))


def fma(p: Any, q: Any, r: Any) -> b.E:
    return b.call("fma", *(num(v) if isinstance(v, float) else v for v in (p, q, r)))


def poly(z: Any, coefficients: Sequence[float]) -> b.E:
    """c0 + c1 z + c2 z² + …, by Horner's rule."""
    *rest, last = coefficients
    made = num(last)
    for c in reversed(rest):
        made = fma(made, b.name(z), c)
    return made


def bits(v: Any) -> b.E:
    return b.call("__double_as_longlong", v)


def real(v: Any) -> b.E:
    return b.call("__longlong_as_double", v)


def power_of_2(k: Any) -> b.E:
    """2^k for -1022 <= k <= 1023."""
    return real((b.cast("long long", k) + 1023) << 52)


def let(text: str, value: Any = ...) -> Any:
    return b.let(text, num(value) if isinstance(value, float) else value, types=TYPES)


def give(value: Any) -> Any:
    return b.ret(num(value) if isinstance(value, float) else value)


def define(name: str, declared: str, params: str, *body: Any) -> d.Function:
    """A function `__nvir_NAME`."""
    return b.function(f"{declared} __nvir_{name}", params, *body, types=TYPES, inline="inline")


def own(name: str, *args: Any) -> b.E:
    """A call of another function of this library."""
    return b.call(f"__nvir_{name}", *(num(v) if isinstance(v, float) else v for v in args))
