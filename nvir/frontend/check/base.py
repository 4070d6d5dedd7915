"""What every rule of expressions asks: types, values, conversions, places.

    expr(e)              typed; an lvalue, an array or a function stays what it is
    value(e)             typed, as a value: arrays and functions decayed
    converted(e, t, …)   as a value of type t, an implicit cast around it where types differ
    condition(e)         as something that can be tested
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from nvir.frontend import tree
from nvir.frontend.check.conversions import (
    cast,
    cast_kind,
    decayed,
    implicit_problem,
    is_null_constant,
    is_reference,
    referent,
    unqualified,
)
from nvir.frontend.check.errors import Mistake
from nvir.frontend.check.initialisers import check_initialiser
from nvir.frontend.check.scopes import DeclarationScopes


def is_lvalue(e: tree.Expr) -> bool:
    """Whether a typed expression names a place in memory that can be assigned to or bound."""
    while True:
        if isinstance(e, tree.Name):
            return isinstance(e.decl, tree.Variable | tree.Parameter)
        if isinstance(e, tree.Member):
            if e.arrow:
                return True
            e = e.base
        elif isinstance(e, tree.Index):
            if e.base.type is None or not isinstance(tree.strip(e.base.type), tree.Vector):
                return True
            e = e.base
        elif isinstance(e, tree.Unary):
            return e.op == "*"
        elif isinstance(e, tree.Binary):
            if e.op != ",":
                return False
            e = e.right
        elif isinstance(e, tree.Conditional):
            return is_lvalue(e.then) and is_lvalue(e.other)
        elif isinstance(e, tree.Call):
            return returns_reference(e)
        elif isinstance(e, tree.Step):
            return e.prefix
        elif isinstance(e, tree.Cast):
            return e.to_lvalue
        else:
            return isinstance(
                e, tree.Assign | tree.StringLiteral | tree.CompoundLiteral | tree.Temporary
            )


def returns_reference(e: tree.Call) -> bool:
    t = tree.strip(e.callee.type) if e.callee.type is not None else tree.VOID
    if isinstance(t, tree.Pointer):
        t = tree.strip(t.pointee)
    return isinstance(t, tree.FunctionType) and is_reference(t.result)


class ExpressionBase:
    """Types expressions of one unit; statements and scopes are the caller's.

    rules   the method of each class of expressions; see `expressions.py`
    """

    rules: ClassVar[dict[type[tree.Expr], Any]] = {}

    def __init__(self, unit: tree.Unit) -> None:
        self.unit = unit
        self.constructors: dict[str, tree.Function] = {}  # `make_float4` and its like, by name
        self.scopes = DeclarationScopes(unit)
        self.done: dict[int, tree.Expr] = {}  # by identity: operands are asked for more than once
        self.check_block: Callable[[tree.Compound], tree.CType] = lambda body: tree.VOID

    # ------------------------------------------------------------ entry points

    def expr(self, e: tree.Expr) -> tree.Expr:
        if id(e) in self.done:
            return e
        rule = self.rules.get(type(e))
        if rule is None:
            raise Mistake("unsupported expression!", e.place)
        try:
            computed = rule(self, e)
        except tree.LayoutError as error:
            raise Mistake(str(error), e.place) from None
        if e.type is None:
            e.type = computed
        elif not _alike(e.type, computed):
            raise Mistake(f"this is of type '{tree.spell(computed)}', not '{tree.spell(e.type)}'",
                          e.place)
        self.done[id(e)] = e
        return e

    def value(self, e: tree.Expr) -> tree.Expr:
        self.expr(e)
        t = typed(e)
        s = tree.strip(t)
        if isinstance(s, tree.Array | tree.FunctionType):
            made = cast(e, decayed(t), "decay" if isinstance(s, tree.Array) else "function")
            self.done[id(made)] = made
            return made
        return e

    def converted(self, e: tree.Expr, to: tree.CType, what: str) -> tree.Expr:
        """`e` as a value of type `to`; `what` says what for ("assign", "pass", "return")."""
        if isinstance(e, tree.InitList):
            return check_initialiser(self, e, to)[0]
        e = self.value(e)
        source, to = typed(e), unqualified(to)
        if tree.same(source, to):
            return e
        null = is_null_constant(e)
        kind = cast_kind(source, to, null)
        if kind is None or kind == "void":
            raise Mistake(f"cannot {what} '{tree.spell(source)}' as '{tree.spell(to)}'", e.place)
        problem = None if self.unit.trusted else implicit_problem(source, to, null)
        if problem is not None:
            text = f"cannot {what} '{tree.spell(source)}' as '{tree.spell(to)}': {problem}"
            raise Mistake(text, e.place)
        made = cast(e, to, kind)
        self.done[id(made)] = made
        return made

    def condition(self, e: tree.Expr) -> tree.Expr:
        e = self.value(e)
        if not tree.is_scalar(typed(e)):
            raise Mistake(f"'{tree.spell(typed(e))}' where a scalar is tested", e.place)
        return e

    def lvalue(self, e: tree.Expr, what: str) -> tree.Expr:
        self.expr(e)
        if not is_lvalue(e):
            raise Mistake(f"{what} needs an lvalue", e.place)
        return e

    def bind(self, e: tree.Expr, to: tree.CType) -> tree.Expr:
        """`e` as what a reference of type `to` refers to."""
        s = tree.strip(to)
        assert isinstance(s, tree.Reference)
        want = s.referent
        if not isinstance(e, tree.InitList):
            self.expr(e)
            have = typed(e)
            if is_lvalue(e) or isinstance(tree.strip(have), tree.FunctionType):
                if tree.same(have, want):
                    return e
                kind = cast_kind(have, want)
                if kind == "base" or (self.unit.trusted and kind in ("noop", "decay")):
                    return tree.Cast(e, True, kind, to_lvalue=True, type=want, place=e.place)
        if not (tree.qualifiers(want)[0] or s.rvalue or self.unit.trusted):
            raise Mistake(f"'{tree.spell(to)}' must refer to an lvalue of its type", e.place)
        made = self.converted(e, want, "bind")
        return tree.Temporary(made, type=unqualified(want), place=e.place)


def _alike(said: tree.CType, computed: tree.CType) -> bool:
    """Whether a tree may say so of an expression: any scalar of a scalar, else what it is."""
    a, b = referent(said), referent(computed)
    return (tree.is_scalar(a) and tree.is_scalar(b)) or tree.same(a, b)


def typed(e: tree.Expr) -> tree.CType:
    assert e.type is not None
    return e.type


def bit_field(e: tree.Expr) -> int | None:
    """The width of the bit-field that an expression names, or None."""
    if not isinstance(e, tree.Member) or e.path is None or e.base.type is None:
        return None
    t = tree.strip(e.base.type)
    if e.arrow and isinstance(t, tree.Pointer):
        t = tree.strip(t.pointee)
    for k in e.path:
        if not isinstance(t, tree.Record) or t.fields is None or k >= len(t.fields):
            return None
        found = t.fields[k]
        t = tree.strip(found.type)
    return found.bits
