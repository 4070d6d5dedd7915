"""Expressions: their types, and the conversions that C makes by itself.

    expr(e)              typed; an lvalue, an array or a function stays what it is
    value(e)             typed, as a value: arrays and functions decayed
    converted(e, t, …)   as a value of type t, an implicit cast around it where types differ
    condition(e)         as something that can be tested

A type that stands in the tree already is kept. Where it is arithmetic and C would compute in
another one, the operands are converted to it.
"""

from __future__ import annotations

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
from nvir.frontend.tree.declarations import (
    Attributes,
    Enumerator,
    Function,
    Parameter,
    Variable,
)
from nvir.frontend.tree.expressions import (
    Assign,
    Binary,
    Call,
    Cast,
    CompoundLiteral,
    Conditional,
    Designated,
    Expr,
    FloatLiteral,
    Index,
    InitList,
    IntLiteral,
    Member,
    Name,
    NullPointer,
    SizeOf,
    StatementExpr,
    Step,
    StringLiteral,
    Temporary,
    Unary,
)
from nvir.frontend.tree.layout import align_of, find_member, size_of
from nvir.frontend.tree.statements import Compound, Return
from nvir.frontend.tree.types import (
    CHAR,
    DOUBLE,
    INT,
    SIZE_T,
    VOID,
    Array,
    CType,
    FunctionType,
    Pointer,
    Record,
    Vector,
    is_float,
    is_integer,
    is_pointer,
    is_void,
    qualified,
    qualifiers,
    spell,
    strip,
)
from nvir.frontend.tree.vectors import DIM3, VECTORS


class ExpressionChecker(Operators):
    """Leaves, members, subscripts, calls and made objects; the table of all rules."""

    # -------------------------------------------------------------- leaves

    def int_literal(self, e: IntLiteral) -> CType:
        return INT

    def float_literal(self, e: FloatLiteral) -> CType:
        return DOUBLE

    def string(self, e: StringLiteral) -> CType:
        element = qualified(CHAR, const=self.unit.cplusplus)
        return Array(element, len(e.value) + 1)

    def null(self, e: NullPointer) -> CType:
        return Pointer(VOID)

    def name(self, e: Name) -> CType:
        if e.decl is None:
            e.decl = self.scopes.find(e.name)
        d = e.decl
        if d is None:
            raise Mistake(f"use of undeclared name '{e.name}'", e.place)
        if isinstance(d, Variable | Parameter):
            return referent(d.type)
        if isinstance(d, Function):
            return d.type
        if isinstance(d, Enumerator):
            return d.type if self.unit.cplusplus else INT
        raise Mistake(f"'{e.name}' is no value", e.place)

    def sizeof(self, e: SizeOf) -> CType:
        if e.of_expr is not None:
            self.expr(e.of_expr)
        of = e.of_type or (e.of_expr.type if e.of_expr is not None else None)
        if of is None:
            raise Mistake("sizeof needs a type or an expression", e.place)
        (align_of if e.align else size_of)(referent(of))
        return SIZE_T

    # -------------------------------------------------------------- places

    def member(self, e: Member) -> CType:
        if e.arrow:
            e.base = self.value(e.base)
        else:
            self.expr(e.base)
        t = typed(e.base)
        s = strip(t)
        if e.arrow:
            if not isinstance(s, Pointer):
                raise Mistake(f"'->' of a value of type '{spell(t)}'", e.place)
            t, s = s.pointee, strip(s.pointee)
        if isinstance(s, Vector) and len(e.field) == 1 and e.field in "xyzw"[: s.count]:
            e.path = ("xyzw".index(e.field),)
            return qualified(s.element, *qualifiers(t)[:2])
        if not isinstance(s, Record):
            raise Mistake(f"'{spell(t)}' has no members", e.place)
        if s.fields is None:
            raise Mistake(f"'{spell(t)}' is incomplete", e.place)
        if e.path is None:
            e.path = find_member(s, e.field)
        found: CType | None = self.member_type(t, e.path)
        if found is None:
            raise Mistake(f"'{spell(t)}' has no member '{e.field}'", e.place)
        return referent(found)

    def member_type(self, t: CType, path: tuple[int, ...] | None) -> CType | None:
        """The type of what a path leads to, with the qualifiers on its way."""
        for k in path or ():
            s = strip(t)
            if not isinstance(s, Record) or not 0 <= k < len(s.fields or ()):
                return None
            t = qualified((s.fields or ())[k].type, *qualifiers(t)[:2])
        return t if path else None

    def index(self, e: Index) -> CType:
        if isinstance(strip(typed(self.expr(e.base))), Vector):
            e.index = self.value(e.index)
            s = strip(typed(e.base))
            assert isinstance(s, Vector)
            return qualified(s.element, *qualifiers(typed(e.base))[:2])
        e.base, e.index = self.value(e.base), self.value(e.index)
        a, b = typed(e.base), typed(e.index)
        if is_integer(a) and is_pointer(b):
            e.base, e.index = e.index, e.base
            a, b = b, a
        s = strip(a)
        if not isinstance(s, Pointer) or not is_integer(b) or is_void(s.pointee):
            raise Mistake(f"'{spell(a)}' indexed by '{spell(b)}'", e.place)
        self.pointee_size(a, e)
        return s.pointee

    # --------------------------------------------------------------- calls

    def call(self, e: Call) -> CType:
        callee = e.callee
        if isinstance(callee, Name) and callee.decl is None:
            callee.decl = self.scopes.find(callee.name) or self.builtin(callee, e)
        e.callee = self.expr(callee)
        t = strip(typed(e.callee))
        if not isinstance(t, FunctionType):
            e.callee = self.value(e.callee)
            t = strip(typed(e.callee))
            if not isinstance(t, Pointer):
                raise Mistake("Expected pointer to function!", e.place)
            t = strip(t.pointee)
            if not isinstance(t, FunctionType):
                raise Mistake("unexpected: Callee does not have routine type!", e.place)
        e.args = self.arguments(e, t)
        return referent(t.result)

    def builtin(self, callee: Name, e: Call) -> Function | None:
        """A function that the compiler knows of itself, for these arguments."""
        e.args = tuple(self.value(a) for a in e.args)
        known = builtin_declaration(callee.name, tuple(unqualified(typed(a)) for a in e.args))
        return known or self.constructor(callee.name)

    def constructor(self, name: str) -> Function | None:
        """`make_float4` and its like: functions of the unit, made at their first use."""
        t = VECTORS.get(name.removeprefix("make_"))
        if t is None or t is DIM3 or not name.startswith("make_"):
            return None
        made = self.constructors.get(name)
        if made is None:
            params = tuple(Parameter(f.name, f.type) for f in t.fields or ())
            items = tuple(Name(p.name, p) for p in params)
            body = Compound((Return(CompoundLiteral(InitList(items), type=t)),))
            made = Function(name, t, params, body, storage="static",
                            attributes=Attributes(inline="always"))
            self.constructors[name] = made
        return made

    def arguments(self, e: Call, t: FunctionType) -> tuple[Expr, ...]:
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
            if is_float(source):
                source = usual_arithmetic(source, DOUBLE)
            elif is_integer(source):
                source = self.promoted_type(v)
            made.append(self.converted(v, source, "pass"))
        return tuple(made)

    # -------------------------------------------------------- made objects

    def init_list(self, e: InitList) -> CType:
        if e.type is None:
            raise Mistake("braces where no type is known", e.place)
        check_initialiser(self, e, e.type)
        return e.type

    def compound_literal(self, e: CompoundLiteral) -> CType:
        if e.type is None:
            raise Mistake("a compound literal names no type", e.place)
        e.init, e.type = check_initialiser(self, e.init, e.type)
        return e.type

    def temporary(self, e: Temporary) -> CType:
        if e.type is not None:
            e.value = self.converted(e.value, e.type, "convert")
            return e.type
        e.value = self.value(e.value)
        return unqualified(typed(e.value))

    def statement_expr(self, e: StatementExpr) -> CType:
        return self.check_block(e.body)

    def designated(self, e: Designated) -> CType:
        raise Mistake("a designator outside of braces", e.place)


ExpressionChecker.rules = {
    IntLiteral: ExpressionChecker.int_literal, FloatLiteral: ExpressionChecker.float_literal,
    StringLiteral: ExpressionChecker.string, NullPointer: ExpressionChecker.null,
    Name: ExpressionChecker.name, Unary: ExpressionChecker.unary, Step: ExpressionChecker.step,
    Binary: ExpressionChecker.binary, Assign: ExpressionChecker.assign,
    Conditional: ExpressionChecker.conditional, Cast: ExpressionChecker.cast,
    Member: ExpressionChecker.member, Index: ExpressionChecker.index,
    Call: ExpressionChecker.call, SizeOf: ExpressionChecker.sizeof,
    InitList: ExpressionChecker.init_list, CompoundLiteral: ExpressionChecker.compound_literal,
    Temporary: ExpressionChecker.temporary, StatementExpr: ExpressionChecker.statement_expr,
    Designated: ExpressionChecker.designated,
}

__all__ = ["ExpressionChecker", "bit_field", "is_lvalue", "returns_reference", "typed"]
