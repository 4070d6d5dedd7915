"""What every rule of expressions asks: types, values, conversions, places.

    expr(e)              typed; an lvalue, an array or a function stays what it is
    value(e)             typed, as a value: arrays and functions decayed
    converted(e, t, …)   as a value of type t, an implicit cast around it where types differ
    condition(e)         as something that can be tested
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from nvir.frontend.check.conversions import (
    cast,
    cast_kind,
    decayed,
    implicit_problem,
    is_null_constant,
    is_reference,
    unqualified,
)
from nvir.frontend.check.errors import Mistake
from nvir.frontend.check.initialisers import check_initialiser
from nvir.frontend.check.scopes import DeclarationScopes
from nvir.frontend.tree.declarations import Function, Parameter, Unit, Variable
from nvir.frontend.tree.expressions import (
    Assign,
    Binary,
    Call,
    Cast,
    CompoundLiteral,
    Conditional,
    Expr,
    Index,
    InitList,
    Member,
    Name,
    Step,
    StringLiteral,
    Temporary,
    Unary,
)
from nvir.frontend.tree.layout import LayoutError
from nvir.frontend.tree.types import (
    VOID,
    Array,
    CType,
    FunctionType,
    Pointer,
    Record,
    Reference,
    Vector,
    is_scalar,
    qualifiers,
    same,
    spell,
    strip,
)

if TYPE_CHECKING:
    from nvir.frontend.tree.statements import Compound


def is_lvalue(e: Expr) -> bool:
    """Whether a typed expression names a place in memory that can be assigned to or bound."""
    while True:
        if isinstance(e, Name):
            return isinstance(e.decl, Variable | Parameter)
        if isinstance(e, Member):
            if e.arrow:
                return True
            e = e.base
        elif isinstance(e, Index):
            if e.base.type is None or not isinstance(strip(e.base.type), Vector):
                return True
            e = e.base
        elif isinstance(e, Unary):
            return e.op == "*"
        elif isinstance(e, Binary):
            if e.op != ",":
                return False
            e = e.right
        elif isinstance(e, Conditional):
            return is_lvalue(e.then) and is_lvalue(e.other)
        elif isinstance(e, Call):
            return returns_reference(e)
        elif isinstance(e, Step):
            return e.prefix
        elif isinstance(e, Cast):
            return e.to_lvalue
        else:
            return isinstance(e, Assign | StringLiteral | CompoundLiteral | Temporary)


def returns_reference(e: Call) -> bool:
    t = strip(e.callee.type) if e.callee.type is not None else VOID
    if isinstance(t, Pointer):
        t = strip(t.pointee)
    return isinstance(t, FunctionType) and is_reference(t.result)


class ExpressionBase:
    """Types expressions of one unit; statements and scopes are the caller's.

    rules   the method of each class of expressions; see `expressions.py`
    """

    rules: ClassVar[dict[type[Expr], Any]] = {}

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.constructors: dict[str, Function] = {}  # `make_float4` and its like, by name
        self.scopes = DeclarationScopes(unit)
        self.done: dict[int, Expr] = {}  # by identity: operands are asked for more than once
        self.check_block: Callable[[Compound], CType] = lambda body: VOID

    # ------------------------------------------------------------ entry points

    def expr(self, e: Expr) -> Expr:
        if id(e) in self.done:
            return e
        rule = self.rules.get(type(e))
        if rule is None:
            raise Mistake("unsupported expression!", e.place)
        try:
            computed = rule(self, e)
        except LayoutError as error:
            raise Mistake(str(error), e.place) from None
        if e.type is None:
            e.type = computed
        self.done[id(e)] = e
        return e

    def value(self, e: Expr) -> Expr:
        self.expr(e)
        t = typed(e)
        s = strip(t)
        if isinstance(s, Array | FunctionType):
            made = cast(e, decayed(t), "decay" if isinstance(s, Array) else "function")
            self.done[id(made)] = made
            return made
        return e

    def converted(self, e: Expr, to: CType, what: str) -> Expr:
        """`e` as a value of type `to`; `what` says what for ("assign", "pass", "return")."""
        if isinstance(e, InitList):
            return check_initialiser(self, e, to)[0]
        e = self.value(e)
        source, to = typed(e), unqualified(to)
        if same(source, to):
            return e
        null = is_null_constant(e)
        kind = cast_kind(source, to, null)
        if kind is None or kind == "void":
            raise Mistake(f"cannot {what} '{spell(source)}' as '{spell(to)}'", e.place)
        problem = None if self.unit.trusted else implicit_problem(source, to, null)
        if problem is not None:
            text = f"cannot {what} '{spell(source)}' as '{spell(to)}': {problem}"
            raise Mistake(text, e.place)
        made = cast(e, to, kind)
        self.done[id(made)] = made
        return made

    def condition(self, e: Expr) -> Expr:
        e = self.value(e)
        if not is_scalar(typed(e)):
            raise Mistake(f"'{spell(typed(e))}' where a scalar is tested", e.place)
        return e

    def lvalue(self, e: Expr, what: str) -> Expr:
        self.expr(e)
        if not is_lvalue(e):
            raise Mistake(f"{what} needs an lvalue", e.place)
        return e

    def bind(self, e: Expr, to: CType) -> Expr:
        """`e` as what a reference of type `to` refers to."""
        s = strip(to)
        assert isinstance(s, Reference)
        want = s.referent
        if not isinstance(e, InitList):
            self.expr(e)
            have = typed(e)
            if is_lvalue(e) or isinstance(strip(have), FunctionType):
                if same(have, want):
                    return e
                kind = cast_kind(have, want)
                if kind == "base" or (self.unit.trusted and kind in ("noop", "decay")):
                    return Cast(e, True, kind, to_lvalue=True, type=want, place=e.place)
        if not (qualifiers(want)[0] or s.rvalue or self.unit.trusted):
            raise Mistake(f"'{spell(to)}' must refer to an lvalue of its type", e.place)
        made = self.converted(e, want, "bind")
        return Temporary(made, type=unqualified(want), place=e.place)


def typed(e: Expr) -> CType:
    assert e.type is not None
    return e.type


def bit_field(e: Expr) -> int | None:
    """The width of the bit-field that an expression names, or None."""
    if not isinstance(e, Member) or e.path is None or e.base.type is None:
        return None
    t = strip(e.base.type)
    if e.arrow and isinstance(t, Pointer):
        t = strip(t.pointee)
    for k in e.path:
        if not isinstance(t, Record) or t.fields is None or k >= len(t.fields):
            return None
        found = t.fields[k]
        t = strip(found.type)
    return found.bits
