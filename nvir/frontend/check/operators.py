"""Operators: their types, and what C converts their operands to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvir.frontend.check.base import ExpressionBase, bit_field, is_lvalue, typed
from nvir.frontend.check.conversions import (
    cast,
    cast_kind,
    is_null_constant,
    promote,
    referent,
    unqualified,
    usual_arithmetic,
)
from nvir.frontend.check.errors import Mistake
from nvir.frontend.check.initialisers import check_initialiser
from nvir.frontend.tree.expressions import (
    ASSIGNMENT,
    BINARY,
    UNARY,
    Assign,
    Binary,
    Cast,
    Conditional,
    Expr,
    InitList,
    Step,
    Temporary,
    Unary,
)
from nvir.frontend.tree.layout import LayoutError, has_const_member, size_of
from nvir.frontend.tree.types import (
    BOOL,
    INT,
    PTRDIFF_T,
    VOID,
    Arithmetic,
    Array,
    CType,
    Enum,
    FunctionType,
    Pointer,
    Reference,
    Vector,
    is_arithmetic,
    is_float,
    is_integer,
    is_pointer,
    is_void,
    qualified,
    qualifiers,
    same,
    spell,
    strip,
)

if TYPE_CHECKING:
    pass


class Operators(ExpressionBase):
    """The rules of operators, assignments, steps, `?:` and casts."""

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
        whole = is_void(to) or e.kind in ("decay", "function")  # checked before
        e.operand = self.expr(e.operand) if whole else self.value(e.operand)
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
