"""nvir's own mathematics: functions written as trees, generated into the modules that call them.

    function(shared, "sinf") -> ir Function    generated at its first use in a module
    libdevice(shared, "sinf")                  NVIDIA's function of that name, declared

Method   argument reduction and polynomials whose coefficients are the Taylor series' own fractions,
         computed here; double-double arithmetic where a last bit depends on it (pow, hypot).
         Payne and Hanek's reduction for large arguments of sines.
Floats   Functions of float compute in double and round once, so their error is half a unit in the
         last place (ulp) and a hair; `__expf` and its like are the fast ones.
Errors   of double, in ulp, as `tests/frontend/test_fe_libm.py` finds them: see `BOUNDS`.
Source   Payne, Hanek, "Radian reduction for trigonometric functions", SIGNUM 18(1), 1983; Cody,
         Waite, "Software Manual for the Elementary Functions", 1980; Dekker, "A floating-point
         technique for extending the available precision", 1971; Shepherd, Laframboise, "Chebyshev
         approximation of (1+2x)exp(x²)erfc x", Math. Comp. 36, 1981.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.frontend.irgen.function_symbols import function_symbol
from nvir.frontend.irgen.walk import define
from nvir.frontend.libm.library import BOUNDS, NAMES, make
from nvir.ir.errors import Unsupported
from nvir.ir.function import Function as IRFunction

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import ModuleState

__all__ = ["BOUNDS", "NAMES", "function", "libdevice"]


def function(shared: ModuleState, name: str) -> IRFunction:
    """The function of a module that computes `name` ("sin", "sinf", …)."""
    from nvir.frontend.check import check
    from nvir.frontend.tree.declarations import Declaration, Function, Unit

    if name not in NAMES:
        raise Unsupported(f"the mathematical function {name}")
    symbol = f"__nvir_{name}"
    known = shared.by_name.get(symbol)
    if known is None:
        f, needs, tables = make(name)
        before: list[Declaration] = list(tables)
        for n in needs:
            function(shared, n)
            g = shared.by_name[f"__nvir_{n}"]
            before.append(Function(g.name, g.result, g.params, attributes=g.attributes))
        check(Unit([*before, f], file="libm", trusted=True))
        known = shared.by_name[symbol] = f
        define(shared, f).linkage = "internal"
    return function_symbol(shared, known)


def libdevice(shared: ModuleState, name: str) -> IRFunction:
    """NVIDIA's function for `name`, `__nv_sinf`, declared in a module that libdevice is linked to.
    It has the parameters of nvir's own."""
    from nvir.frontend.tree.declarations import Function

    if name not in NAMES:
        raise Unsupported(f"the mathematical function {name}")
    symbol = f"__nv_{name}"
    known = shared.by_name.get(symbol)
    if known is None:
        own = make(name)[0]
        known = shared.by_name[symbol] = Function(symbol, own.result, own.params)
    return function_symbol(shared, known)
