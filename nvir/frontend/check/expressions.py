"""Expressions: their types, and the conversions that C makes by itself.

    expr(e)              typed; an lvalue, an array or a function stays what it is
    value(e)             typed, as a value: arrays and functions decayed
    converted(e, t, …)   as a value of type t, an implicit cast around it where types differ
    condition(e)         as something that can be tested

A type that stands in the tree already is kept. Where it is arithmetic and C would compute in
another one, the operands are converted to it.
"""

from __future__ import annotations

from nvir.frontend import tree
from nvir.frontend.builtins.declarations import builtin_declaration
from nvir.frontend.check.base import bit_field, is_lvalue, returns_reference, typed
from nvir.frontend.check.conversions import (
    is_reference,
    referent,
    unqualified,
    usual_arithmetic,
)
from nvir.frontend.check.errors import Mistake
from nvir.frontend.check.initialisers import check_initialiser
from nvir.frontend.check.operators import Operators


class ExpressionChecker(Operators):
    """Leaves, members, subscripts, calls and made objects; the table of all rules."""

    # -------------------------------------------------------------- leaves

    def int_literal(self, e: tree.IntLiteral) -> tree.CType:
        if e.type is not None and not (
            tree.is_integer(e.type) or isinstance(tree.strip(e.type), tree.Enum)
        ):
            raise Mistake(f"an integer of type '{tree.spell(e.type)}'", e.place)
        return tree.INT

    def float_literal(self, e: tree.FloatLiteral) -> tree.CType:
        if e.type is not None and not tree.is_float(e.type):
            raise Mistake(f"a floating-point number of type '{tree.spell(e.type)}'", e.place)
        return tree.DOUBLE

    def string(self, e: tree.StringLiteral) -> tree.CType:
        element = tree.qualified(tree.CHAR, const=self.unit.cplusplus)
        return tree.Array(element, len(e.value) + 1)

    def null(self, e: tree.NullPointer) -> tree.CType:
        return tree.Pointer(tree.VOID)

    def name(self, e: tree.Name) -> tree.CType:
        if e.decl is None:
            e.decl = self.scopes.find(e.name)
        d = e.decl
        if d is None:
            raise Mistake(f"use of undeclared name '{e.name}'", e.place)
        if isinstance(d, tree.Variable | tree.Parameter):
            t = referent(d.type)
            if e.type is not None and type(tree.strip(e.type)) is not type(tree.strip(t)):
                raise Mistake(f"'{e.name}' is of type '{tree.spell(t)}', the tree says "
                              f"'{tree.spell(e.type)}'", e.place)
            return t
        if isinstance(d, tree.Function):
            return d.type
        if isinstance(d, tree.Enumerator):
            return d.type if self.unit.cplusplus else tree.INT
        raise Mistake(f"'{e.name}' is no value", e.place)

    def sizeof(self, e: tree.SizeOf) -> tree.CType:
        if e.of_expr is not None:
            self.expr(e.of_expr)
        of = e.of_type or (e.of_expr.type if e.of_expr is not None else None)
        if of is None:
            raise Mistake("sizeof needs a type or an expression", e.place)
        (tree.align_of if e.align else tree.size_of)(referent(of))
        return tree.SIZE_T

    # -------------------------------------------------------------- places

    def member(self, e: tree.Member) -> tree.CType:
        if e.arrow:
            e.base = self.value(e.base)
        else:
            self.expr(e.base)
        t = typed(e.base)
        s = tree.strip(t)
        if e.arrow:
            if not isinstance(s, tree.Pointer):
                raise Mistake(f"'->' of a value of type '{tree.spell(t)}'", e.place)
            t, s = s.pointee, tree.strip(s.pointee)
        if isinstance(s, tree.Vector) and len(e.field) == 1 and e.field in "xyzw"[: s.count]:
            e.path = ("xyzw".index(e.field),)
            return tree.qualified(s.element, *tree.qualifiers(t)[:2])
        if not isinstance(s, tree.Record):
            raise Mistake(f"'{tree.spell(t)}' has no members", e.place)
        if s.fields is None:
            raise Mistake(f"'{tree.spell(t)}' is incomplete", e.place)
        if e.path is None:
            e.path = tree.find_member(s, e.field)
        found: tree.CType | None = self.member_type(t, e.path)
        if found is None:
            raise Mistake(f"'{tree.spell(t)}' has no member '{e.field}'", e.place)
        return referent(found)

    def member_type(self, t: tree.CType, path: tuple[int, ...] | None) -> tree.CType | None:
        """The type of what a path leads to, with the qualifiers on its way."""
        for k in path or ():
            s = tree.strip(t)
            if not isinstance(s, tree.Record) or not 0 <= k < len(s.fields or ()):
                return None
            t = tree.qualified((s.fields or ())[k].type, *tree.qualifiers(t)[:2])
        return t if path else None

    def index(self, e: tree.Index) -> tree.CType:
        if isinstance(tree.strip(typed(self.expr(e.base))), tree.Vector):
            e.index = self.value(e.index)
            s = tree.strip(typed(e.base))
            assert isinstance(s, tree.Vector)
            return tree.qualified(s.element, *tree.qualifiers(typed(e.base))[:2])
        e.base, e.index = self.value(e.base), self.value(e.index)
        a, b = typed(e.base), typed(e.index)
        if tree.is_integer(a) and tree.is_pointer(b):
            e.base, e.index = e.index, e.base
            a, b = b, a
        s = tree.strip(a)
        if not isinstance(s, tree.Pointer) or not tree.is_integer(b) or tree.is_void(s.pointee):
            raise Mistake(f"'{tree.spell(a)}' indexed by '{tree.spell(b)}'", e.place)
        self.pointee_size(a, e)
        return s.pointee

    # --------------------------------------------------------------- calls

    def call(self, e: tree.Call) -> tree.CType:
        callee = e.callee
        if isinstance(callee, tree.Name) and callee.decl is None:
            callee.decl = self.scopes.find(callee.name) or self.builtin(callee, e)
        e.callee = self.expr(callee)
        t = tree.strip(typed(e.callee))
        if not isinstance(t, tree.FunctionType):
            e.callee = self.value(e.callee)
            t = tree.strip(typed(e.callee))
            if not isinstance(t, tree.Pointer):
                raise Mistake("Expected pointer to function!", e.place)
            t = tree.strip(t.pointee)
            if not isinstance(t, tree.FunctionType):
                raise Mistake("unexpected: Callee does not have routine type!", e.place)
        e.args = self.arguments(e, t)
        return referent(t.result)

    def builtin(self, callee: tree.Name, e: tree.Call) -> tree.Function | None:
        """A function that the compiler knows of itself, for these arguments."""
        e.args = tuple(self.value(a) for a in e.args)
        known = builtin_declaration(callee.name, tuple(unqualified(typed(a)) for a in e.args))
        return known or self.constructor(callee.name)

    def constructor(self, name: str) -> tree.Function | None:
        """`make_float4` and its like: functions of the unit, made at their first use."""
        t = tree.VECTORS.get(name.removeprefix("make_"))
        if t is None or t is tree.DIM3 or not name.startswith("make_"):
            return None
        made = self.constructors.get(name)
        if made is None:
            params = tuple(tree.Parameter(f.name, f.type) for f in t.fields or ())
            items = tuple(tree.Name(p.name, p) for p in params)
            body = tree.Compound((tree.Return(tree.CompoundLiteral(tree.InitList(items), type=t)),))
            made = tree.Function(name, t, params, body, storage="static",
                            attributes=tree.Attributes(inline="always"))
            self.constructors[name] = made
        return made

    def arguments(self, e: tree.Call, t: tree.FunctionType) -> tuple[tree.Expr, ...]:
        few, many = len(e.args) < len(t.params), len(e.args) > len(t.params) and not t.variadic
        if few or many:
            text = f"too {'few' if few else 'many'} arguments: {len(e.args)} for {len(t.params)}"
            raise Mistake(text, e.place)
        made = [
            self.bind(a, p) if is_reference(p) else self.converted(a, p, "pass")
            for a, p in zip(e.args, t.params, strict=False)
        ]
        for a in e.args[len(t.params) :]:
            v = self.value(a)
            source = typed(v)
            if tree.is_float(source):
                source = usual_arithmetic(source, tree.DOUBLE)
            elif tree.is_integer(source):
                source = self.promoted_type(v)
            made.append(self.converted(v, source, "pass"))
        return tuple(made)

    # -------------------------------------------------------- made objects

    def init_list(self, e: tree.InitList) -> tree.CType:
        if e.type is None:
            raise Mistake("braces where no type is known", e.place)
        check_initialiser(self, e, e.type)
        return e.type

    def compound_literal(self, e: tree.CompoundLiteral) -> tree.CType:
        if e.type is None:
            raise Mistake("a compound literal names no type", e.place)
        e.init, e.type = check_initialiser(self, e.init, e.type)
        return e.type

    def temporary(self, e: tree.Temporary) -> tree.CType:
        if e.type is not None:
            e.value = self.converted(e.value, e.type, "convert")
            return e.type
        e.value = self.value(e.value)
        return unqualified(typed(e.value))

    def statement_expr(self, e: tree.StatementExpr) -> tree.CType:
        return self.check_block(e.body)

    def designated(self, e: tree.Designated) -> tree.CType:
        raise Mistake("a designator outside of braces", e.place)


ExpressionChecker.rules = {
    tree.IntLiteral: ExpressionChecker.int_literal,
    tree.FloatLiteral: ExpressionChecker.float_literal,
    tree.StringLiteral: ExpressionChecker.string, tree.NullPointer: ExpressionChecker.null,
    tree.Name: ExpressionChecker.name, tree.Unary: ExpressionChecker.unary,
    tree.Step: ExpressionChecker.step, tree.Binary: ExpressionChecker.binary,
    tree.Assign: ExpressionChecker.assign, tree.Conditional: ExpressionChecker.conditional,
    tree.Cast: ExpressionChecker.cast, tree.Member: ExpressionChecker.member,
    tree.Index: ExpressionChecker.index, tree.Call: ExpressionChecker.call,
    tree.SizeOf: ExpressionChecker.sizeof, tree.InitList: ExpressionChecker.init_list,
    tree.CompoundLiteral: ExpressionChecker.compound_literal,
    tree.Temporary: ExpressionChecker.temporary,
    tree.StatementExpr: ExpressionChecker.statement_expr,
    tree.Designated: ExpressionChecker.designated,
}

__all__ = ["ExpressionChecker", "bit_field", "is_lvalue", "returns_reference", "typed"]
