"""What generates each kind of node, for the files that stand below the one that does.

Places hold expressions, expressions hold calls, calls hold places again. The files of irgen import
each other downwards only; what stands above is called through here. `module.py`, which stands above
them all, says what does the work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nvir.frontend import tree
from nvir.frontend.irgen.state import LValue
from nvir.ir.function import Function as IRFunction
from nvir.ir.values import Value

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState, ModuleState

_work: dict[str, Callable[..., Any]] = {}


def connect(**functions: Callable[..., Any]) -> None:
    """Say what does the work of the functions below, by their names."""
    _work.update(functions)


def emit_value(g: IRGenState, e: tree.Expr) -> Value:
    """The value of a scalar expression (expressions.py)."""
    made: Value = _work["emit_value"](g, e)
    return made


def emit_bool(g: IRGenState, e: tree.Expr) -> Value:
    """Whether an expression is not zero, as i1 (expressions.py)."""
    made: Value = _work["emit_bool"](g, e)
    return made


def emit_effect(g: IRGenState, e: tree.Expr) -> None:
    """Evaluate an expression whose value nobody wants (expressions.py)."""
    _work["emit_effect"](g, e)


def emit_aggregate(g: IRGenState, e: tree.Expr, to: LValue | None = None) -> LValue:
    """The place of an object; what makes a new one may make it at `to` (expressions.py)."""
    made: LValue = _work["emit_aggregate"](g, e, to)
    return made


def emit_statement_expr(g: IRGenState, e: tree.StatementExpr, to: LValue | None) -> Value | None:
    """`({ … })`: its value, or its object left at `to` (statements.py)."""
    made: Value | None = _work["emit_statement_expr"](g, e, to)
    return made


def emit_init(g: IRGenState, e: Any, to: LValue, *rest: Any) -> None:
    """Initialise a place (initialisers.py)."""
    _work["emit_init"](g, e, to, *rest)


def emit_call(g: IRGenState, e: tree.Call) -> Value | None:
    """A call whose result is a scalar, a reference or nothing (calls.py)."""
    made: Value | None = _work["emit_call"](g, e)
    return made


def emit_call_aggregate(g: IRGenState, e: tree.Call, to: LValue | None) -> LValue:
    """A call that gives an object, left at `to` or in a temporary (calls.py)."""
    made: LValue = _work["emit_call_aggregate"](g, e, to)
    return made


def emit_builtin(g: IRGenState, e: tree.Call, f: tree.Function) -> Value | None:
    """A call of a builtin (intrinsic/builtins.py)."""
    made: Value | None = _work["emit_builtin"](g, e, f)
    return made


def emit_assign_place(g: IRGenState, e: tree.Expr) -> LValue:
    """Assign; the place that was assigned to (operators.py)."""
    made: LValue = _work["emit_assign_place"](g, e)
    return made


def emit_conditional(
    g: IRGenState, e: tree.Conditional, side: Callable[[tree.Expr], Value | None]
) -> Value | None:
    """`a ? b : c`, where `side` generates one of the two (operators.py)."""
    made: Value | None = _work["emit_conditional"](g, e, side)
    return made


def special_aggregate(g: IRGenState, e: tree.Name) -> LValue | None:
    """`threadIdx` as a whole (intrinsic/special_variables.py)."""
    made: LValue | None = _work["special_aggregate"](g, e)
    return made


def define(shared: ModuleState, f: tree.Function) -> IRFunction:
    """Generate a function's body into its symbol (module.py)."""
    made: IRFunction = _work["define"](shared, f)
    return made
