"""Expressions: their types, and the conversions that C makes by itself.

    expr(e)              typed; an lvalue, an array or a function stays what it is
    value(e)             typed, as a value: arrays and functions decayed
    converted(e, t, …)   as a value of type t, an implicit cast around it where types differ
    condition(e)         as something that can be tested

A type that stands in the tree already is kept. Where it is arithmetic and C would compute in
another one, the operands are converted to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nvir.frontend.check.conversions import (
    cast,
    cast_kind,
    decayed,
    implicit_problem,
    is_null_constant,
    is_reference,
    promote,
    referent,
    unqualified,
    usual_arithmetic,
)
from nvir.frontend.check.errors import Mistake
from nvir.frontend.check.initialisers import check_initialiser
from nvir.frontend.check.scopes import Scopes
from nvir.frontend.tree.declarations import Enumerator, Function, Parameter, Unit, Variable
from nvir.frontend.tree.expressions import (
    ASSIGNMENT,
    BINARY,
    UNARY,
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
from nvir.frontend.tree.layout import LayoutError, align_of, find_member, has_const_member, size_of
from nvir.frontend.tree.types import (
    BOOL,
    CHAR,
    DOUBLE,
    INT,
    PTRDIFF_T,
    SIZE_T,
    VOID,
    Arithmetic,
    Array,
    CType,
    Enum,
    FunctionType,
    Pointer,
    Record,
    Reference,
    Vector,
    is_arithmetic,
    is_float,
    is_integer,
    is_pointer,
    is_scalar,
    is_void,
    qualified,
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


class ExpressionChecker:
    """Types expressions of one unit; statements and scopes are the caller's."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.scopes = Scopes(unit)
        self.done: dict[int, Expr] = {}  # by identity: operands are asked for more than once
        self.check_block: Callable[[Compound], CType] = lambda body: VOID

    # ------------------------------------------------------------ entry points

    def expr(self, e: Expr) -> Expr:
        if id(e) in self.done:
            return e
        rule = _RULES.get(type(e))
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
            return cast(e, decayed(t), "decay" if isinstance(s, Array) else "function")
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
        return cast(e, to, kind)

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

    # ------------------------------------------------------------ operators

    def unary(self, e: Unary) -> CType:
        if e.op not in UNARY:
            raise Mistake(f"there is no unary operator '{e.op}'", e.place)
        if e.op == "&":
            return self.address(e)
        if e.op == "!":
            e.operand = self.condition(e.operand)
            return BOOL if self.unit.cplusplus else INT
        e.operand = self.value(e.operand)
        t = typed(e.operand)
        s = strip(t)
        if e.op == "*":
            if not isinstance(s, Pointer) or is_void(s.pointee):
                raise Mistake(f"'*' of a value of type '{spell(t)}'", e.place)
            return s.pointee
        if e.op == "+" and isinstance(s, Pointer):
            return unqualified(t)
        if isinstance(s, Vector):
            return unqualified(t)
        if not is_arithmetic(t) or (e.op == "~" and is_float(t)):
            raise Mistake(f"'{e.op}' of a value of type '{spell(t)}'", e.place)
        to = self.wanted(e, self.promoted_type(e.operand))
        e.operand = self.converted(e.operand, to, "convert")
        return to

    def address(self, e: Unary) -> CType:
        self.expr(e.operand)
        t = typed(e.operand)
        if isinstance(strip(t), FunctionType):
            return Pointer(t)
        self.lvalue(e.operand, "'&'")
        if bit_field(e.operand) is not None:
            raise Mistake("the address of a bit-field", e.place)
        return Pointer(t)

    def step(self, e: Step) -> CType:
        self.modifiable(e.operand, f"'{e.op}'")
        t = typed(e.operand)
        if e.op not in ("++", "--"):
            raise Mistake(f"there is no step '{e.op}'", e.place)
        if not (is_arithmetic(t) or is_pointer(t)):
            raise Mistake(f"'{e.op}' of a value of type '{spell(t)}'", e.place)
        if is_pointer(t):
            self.pointee_size(t, e)
        return unqualified(t)

    def modifiable(self, e: Expr, what: str) -> None:
        self.lvalue(e, what)
        t = typed(e)
        if isinstance(strip(t), Array | FunctionType) and not self.unit.trusted:
            raise Mistake(f"{what} of '{spell(t)}', which cannot be assigned", e.place)
        if has_const_member(t) and not self.unit.trusted:
            raise Mistake(f"{what} of '{spell(t)}', which is const", e.place)

    def pointee_size(self, t: CType, e: Expr) -> int:
        s = strip(t)
        assert isinstance(s, Pointer)
        if is_void(s.pointee) or isinstance(strip(s.pointee), FunctionType):
            return 1  # as GNU C has it
        try:
            return size_of(s.pointee)
        except LayoutError as error:
            raise Mistake(f"arithmetic on '{spell(t)}': {error}", e.place) from None

    def binary(self, e: Binary) -> CType:
        row = BINARY.get(e.op)
        if row is None:
            raise Mistake(f"there is no operator '{e.op}'", e.place)
        if row.family == "comma":
            self.expr(e.left)
            self.expr(e.right)
            return typed(e.right)
        if row.family == "logical":
            e.left, e.right = self.condition(e.left), self.condition(e.right)
            return BOOL if self.unit.cplusplus else INT
        e.left, e.right = self.value(e.left), self.value(e.right)
        a, b = typed(e.left), typed(e.right)
        if isinstance(strip(a), Vector) or isinstance(strip(b), Vector):
            return self.vectors(e, a, b)
        if is_pointer(a) or is_pointer(b):
            return self.pointers(e, row.family, a, b)
        if row.family in ("relational", "equality"):
            return self.compare(e, a, b)
        integers = row.family in ("shift", "bitwise") or e.op == "%"
        self.arithmetic_operands(e, e.op, a, b, integers)
        if row.family == "shift":
            to = self.wanted(e, self.promoted_type(e.left))
            e.left = self.converted(e.left, to, "convert")
            e.right = self.converted(e.right, self.promoted_type(e.right), "convert")
            return to
        return self.balance(e, self.wanted(e, self.common(e.left, e.right)))

    def arithmetic_operands(self, e: Expr, op: str, a: CType, b: CType, integers: bool) -> None:
        fits = is_integer if integers else is_arithmetic
        if not (fits(a) and fits(b)):
            raise Mistake(f"'{op}' of '{spell(a)}' and '{spell(b)}'", e.place)

    def wanted(self, e: Expr, computed: CType) -> CType:
        """The type in which to compute: C's, or the one that the tree gives."""
        given = e.type
        if given is None or same(given, computed) or not is_arithmetic(given):
            return computed
        return unqualified(given)

    def promoted_type(self, e: Expr) -> CType:
        return promote(typed(e), bit_field(e))

    def common(self, a: Expr, b: Expr) -> CType:
        return usual_arithmetic(
            self.promoted_type(a) if is_integer(typed(a)) else typed(a),
            self.promoted_type(b) if is_integer(typed(b)) else typed(b),
        )

    def balance(self, e: Any, to: CType) -> CType:
        e.left = self.converted(e.left, to, "convert")
        e.right = self.converted(e.right, to, "convert")
        return to

    def compare(self, e: Binary, a: CType, b: CType) -> CType:
        if isinstance(strip(a), Enum) and same(a, b):
            return BOOL if self.unit.cplusplus else INT
        self.arithmetic_operands(e, e.op, a, b, integers=False)
        self.balance(e, self.common(e.left, e.right))
        return BOOL if self.unit.cplusplus else INT

    def vectors(self, e: Binary, a: CType, b: CType) -> CType:
        to = unqualified(a if isinstance(strip(a), Vector) else b)
        self.balance(e, to)
        s = strip(to)
        assert isinstance(s, Vector)
        if BINARY[e.op].family not in ("relational", "equality"):
            return to
        raise Mistake("comparison of vectors is not supported", e.place)

    def pointers(self, e: Binary, family: str, a: CType, b: CType) -> CType:
        if family in ("relational", "equality"):
            return self.compare_pointers(e, a, b)
        if family != "additive" or (e.op == "-" and not is_pointer(a)):
            raise Mistake(f"'{e.op}' of '{spell(a)}' and '{spell(b)}'", e.place)
        if is_pointer(a) and is_pointer(b):
            x, y = strip(a), strip(b)
            assert isinstance(x, Pointer)
            assert isinstance(y, Pointer)
            alike = same(x.pointee, y.pointee) or self.unit.trusted
            if e.op == "+" or not alike:
                raise Mistake(f"'{e.op}' of '{spell(a)}' and '{spell(b)}'", e.place)
            self.pointee_size(a, e)
            return PTRDIFF_T
        pointer, number = (a, b) if is_pointer(a) else (b, a)
        if not is_integer(number):
            raise Mistake(f"'{e.op}' of '{spell(a)}' and '{spell(b)}'", e.place)
        self.pointee_size(pointer, e)
        return unqualified(pointer)

    def compare_pointers(self, e: Binary, a: CType, b: CType) -> CType:
        result = BOOL if self.unit.cplusplus else INT
        to = self.composite(e.left, e.right)
        if to is None:
            raise Mistake(f"comparison of '{spell(a)}' and '{spell(b)}'", e.place)
        e.left = self.pointer_operand(e.left, to)
        e.right = self.pointer_operand(e.right, to)
        return result

    def pointer_operand(self, e: Expr, to: CType) -> Expr:
        source = typed(e)
        if same(source, to):
            return e
        kind = cast_kind(source, to, is_null_constant(e))
        if kind is None:
            raise Mistake(f"'{spell(source)}' is no '{spell(to)}'", e.place)
        return cast(e, to, kind)

    def composite(self, a: Expr, b: Expr) -> CType | None:
        """The pointer type that two operands share, or None."""
        s, u = strip(typed(a)), strip(typed(b))
        if is_null_constant(b) and isinstance(s, Pointer):
            return s
        if is_null_constant(a) and isinstance(u, Pointer):
            return u
        if not isinstance(s, Pointer) or not isinstance(u, Pointer):
            return None
        one, two = qualifiers(s.pointee), qualifiers(u.pointee)
        const, volatile = one[0] or two[0], one[1] or two[1]
        space = s.space if s.space == u.space else ""
        if is_void(s.pointee) or is_void(u.pointee):
            return Pointer(qualified(VOID, const, volatile), space)
        if cast_kind(s, u) == "base":
            return u
        if cast_kind(u, s) != "base" and not same(s.pointee, u.pointee) and not self.unit.trusted:
            return None
        return Pointer(qualified(s.pointee, const, volatile), space)

    # ----------------------------------------------------------- assignment

    def assign(self, e: Assign) -> CType:
        if e.op not in ASSIGNMENT:
            raise Mistake(f"there is no assignment '{e.op}'", e.place)
        self.modifiable(e.target, f"'{e.op}'")
        t = typed(e.target)
        if e.op == "=":
            e.value = self.converted(e.value, t, "assign")
            return unqualified(t)
        e.value = self.value(e.value)
        op, v = e.op[:-1], typed(e.value)
        if is_pointer(t):
            if op not in "+-" or not is_integer(v):
                raise Mistake(f"'{e.op}' of '{spell(t)}' and '{spell(v)}'", e.place)
            self.pointee_size(t, e)
            return unqualified(t)
        if isinstance(strip(t), Vector):
            e.value, e.compute = self.converted(e.value, t, "convert"), unqualified(t)
            return unqualified(t)
        family = BINARY[op].family
        integers = family in ("shift", "bitwise") or op == "%"
        self.arithmetic_operands(e, e.op, t, v, integers)
        if family == "shift":
            e.compute = e.compute or self.promoted_type(e.target)
            e.value = self.converted(e.value, self.promoted_type(e.value), "convert")
        else:
            e.compute = e.compute or self.common(e.target, e.value)
            e.value = self.converted(e.value, e.compute, "convert")
        return unqualified(t)

    def conditional(self, e: Conditional) -> CType:
        e.cond = self.condition(e.cond)
        self.expr(e.then)
        self.expr(e.other)
        a, b = typed(e.then), typed(e.other)
        if self.unit.cplusplus and is_lvalue(e.then) and is_lvalue(e.other) and same(a, b):
            return a
        e.then, e.other = self.value(e.then), self.value(e.other)
        a, b = typed(e.then), typed(e.other)
        if is_void(a) or is_void(b):
            return VOID
        if is_arithmetic(a) and is_arithmetic(b):
            alike = isinstance(strip(a), Enum | Arithmetic) and same(a, b) and self.unit.cplusplus
            to = unqualified(a) if alike else self.wanted(e, self.common(e.then, e.other))
        elif is_pointer(a) or is_pointer(b):
            shared = self.composite(e.then, e.other)
            if shared is None:
                raise Mistake(f"'?:' of '{spell(a)}' and '{spell(b)}'", e.place)
            to = shared
        elif same(a, b):
            to = unqualified(a)
        else:
            raise Mistake(f"'?:' of '{spell(a)}' and '{spell(b)}'", e.place)
        e.then = self.branch(e.then, to)
        e.other = self.branch(e.other, to)
        return to

    def branch(self, e: Expr, to: CType) -> Expr:
        return self.pointer_operand(e, to) if is_pointer(to) else self.converted(e, to, "convert")

    def cast(self, e: Cast) -> CType:
        if e.type is None:
            raise Mistake("a cast names no type", e.place)
        to = e.type
        if isinstance(strip(to), Reference):
            e.to_lvalue, e.type = True, referent(to)
            to = e.type
        if e.to_lvalue:
            self.expr(e.operand)
            if e.kind not in ("base", "derived"):
                e.kind = self.lvalue_kind(e, to)
            return to
        if isinstance(e.operand, InitList):
            e.operand = check_initialiser(self, e.operand, to)[0]
            e.kind = e.kind or "noop"
            return to
        e.operand = self.expr(e.operand) if is_void(to) else self.value(e.operand)
        source = typed(e.operand)
        e.kind = e.kind or cast_kind(source, to, is_null_constant(e.operand))
        if e.kind is None:
            raise Mistake(f"cannot cast '{spell(source)}' to '{spell(to)}'", e.place)
        return to

    def lvalue_kind(self, e: Cast, to: CType) -> str:
        source = strip(typed(e.operand))
        if not is_lvalue(e.operand):
            e.operand = Temporary(e.operand, type=typed(e.operand), place=e.place)
        pointers = cast_kind(Pointer(source), Pointer(strip(to)))
        return pointers if pointers in ("base", "derived") else "lvalue"

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
        from nvir.frontend.irgen.builtins import builtin_declaration

        e.args = tuple(self.value(a) for a in e.args)
        return builtin_declaration(callee.name, tuple(unqualified(typed(a)) for a in e.args))

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


_RULES: dict[type[Expr], Any] = {
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
}  # fmt: skip

__all__ = ["ExpressionChecker", "bit_field", "is_lvalue", "typed"]
