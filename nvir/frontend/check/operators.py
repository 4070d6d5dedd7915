"""Operators: their types, and what C converts their operands to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nvir.frontend import tree
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

if TYPE_CHECKING:
    pass


class Operators(ExpressionBase):
    """The rules of operators, assignments, steps, `?:` and casts."""

    # ------------------------------------------------------------ operators

    def unary(self, e: tree.Unary) -> tree.CType:
        if e.op not in tree.UNARY:
            raise Mistake(f"there is no unary operator '{e.op}'", e.place)
        if e.op == "&":
            return self.address(e)
        if e.op == "!":
            e.operand = self.condition(e.operand)
            return tree.BOOL if self.unit.cplusplus else tree.INT
        e.operand = self.value(e.operand)
        t = typed(e.operand)
        s = tree.strip(t)
        if e.op == "*":
            if not isinstance(s, tree.Pointer) or tree.is_void(s.pointee):
                raise Mistake(f"'*' of a value of type '{tree.spell(t)}'", e.place)
            return s.pointee
        if e.op == "+" and isinstance(s, tree.Pointer):
            return unqualified(t)
        if isinstance(s, tree.Vector):
            return unqualified(t)
        if not tree.is_arithmetic(t) or (e.op == "~" and tree.is_float(t)):
            raise Mistake(f"'{e.op}' of a value of type '{tree.spell(t)}'", e.place)
        to = self.wanted(e, self.promoted_type(e.operand))
        e.operand = self.converted(e.operand, to, "convert")
        return to

    def address(self, e: tree.Unary) -> tree.CType:
        self.expr(e.operand)
        t = typed(e.operand)
        if isinstance(tree.strip(t), tree.FunctionType):
            return tree.Pointer(t)
        self.lvalue(e.operand, "'&'")
        if bit_field(e.operand) is not None:
            raise Mistake("the address of a bit-field", e.place)
        return tree.Pointer(t)

    def step(self, e: tree.Step) -> tree.CType:
        self.modifiable(e.operand, f"'{e.op}'")
        t = typed(e.operand)
        if e.op not in ("++", "--"):
            raise Mistake(f"there is no step '{e.op}'", e.place)
        if not (tree.is_arithmetic(t) or tree.is_pointer(t)):
            raise Mistake(f"'{e.op}' of a value of type '{tree.spell(t)}'", e.place)
        if tree.is_pointer(t):
            self.pointee_size(t, e)
        return unqualified(t)

    def modifiable(self, e: tree.Expr, what: str) -> None:
        self.lvalue(e, what)
        t = typed(e)
        if isinstance(tree.strip(t), tree.Array | tree.FunctionType) and not self.unit.trusted:
            raise Mistake(f"{what} of '{tree.spell(t)}', which cannot be assigned", e.place)
        if tree.has_const_member(t) and not self.unit.trusted:
            raise Mistake(f"{what} of '{tree.spell(t)}', which is const", e.place)

    def pointee_size(self, t: tree.CType, e: tree.Expr) -> int:
        s = tree.strip(t)
        assert isinstance(s, tree.Pointer)
        if tree.is_void(s.pointee) or isinstance(tree.strip(s.pointee), tree.FunctionType):
            return 1  # as GNU C has it
        try:
            return tree.size_of(s.pointee)
        except tree.LayoutError as error:
            raise Mistake(f"arithmetic on '{tree.spell(t)}': {error}", e.place) from None

    def binary(self, e: tree.Binary) -> tree.CType:
        row = tree.BINARY.get(e.op)
        if row is None:
            raise Mistake(f"there is no operator '{e.op}'", e.place)
        if row.family == "comma":
            self.expr(e.left)
            self.expr(e.right)
            return typed(e.right)
        if row.family == "logical":
            e.left, e.right = self.condition(e.left), self.condition(e.right)
            return tree.BOOL if self.unit.cplusplus else tree.INT
        e.left, e.right = self.value(e.left), self.value(e.right)
        a, b = typed(e.left), typed(e.right)
        if isinstance(tree.strip(a), tree.Vector) or isinstance(tree.strip(b), tree.Vector):
            return self.vectors(e, a, b)
        if tree.is_pointer(a) or tree.is_pointer(b):
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

    def arithmetic_operands(
        self, e: tree.Expr, op: str, a: tree.CType, b: tree.CType, integers: bool
    ) -> None:
        fits = tree.is_integer if integers else tree.is_arithmetic
        if not (fits(a) and fits(b)):
            raise Mistake(f"'{op}' of '{tree.spell(a)}' and '{tree.spell(b)}'", e.place)

    def wanted(self, e: tree.Expr, computed: tree.CType) -> tree.CType:
        """The type in which to compute: C's, or the one that the tree gives."""
        given = e.type
        if given is None or tree.same(given, computed) or not tree.is_arithmetic(given):
            return computed
        return unqualified(given)

    def promoted_type(self, e: tree.Expr) -> tree.CType:
        return promote(typed(e), bit_field(e))

    def common(self, a: tree.Expr, b: tree.Expr) -> tree.CType:
        return usual_arithmetic(
            self.promoted_type(a) if tree.is_integer(typed(a)) else typed(a),
            self.promoted_type(b) if tree.is_integer(typed(b)) else typed(b),
        )

    def balance(self, e: Any, to: tree.CType) -> tree.CType:
        e.left = self.converted(e.left, to, "convert")
        e.right = self.converted(e.right, to, "convert")
        return to

    def compare(self, e: tree.Binary, a: tree.CType, b: tree.CType) -> tree.CType:
        if isinstance(tree.strip(a), tree.Enum) and tree.same(a, b):
            return tree.BOOL if self.unit.cplusplus else tree.INT
        self.arithmetic_operands(e, e.op, a, b, integers=False)
        self.balance(e, self.common(e.left, e.right))
        return tree.BOOL if self.unit.cplusplus else tree.INT

    def vectors(self, e: tree.Binary, a: tree.CType, b: tree.CType) -> tree.CType:
        to = unqualified(a if isinstance(tree.strip(a), tree.Vector) else b)
        self.balance(e, to)
        s = tree.strip(to)
        assert isinstance(s, tree.Vector)
        if tree.BINARY[e.op].family not in ("relational", "equality"):
            return to
        raise Mistake("comparison of vectors is not supported", e.place)

    def pointers(self, e: tree.Binary, family: str, a: tree.CType, b: tree.CType) -> tree.CType:
        if family in ("relational", "equality"):
            return self.compare_pointers(e, a, b)
        if family != "additive" or (e.op == "-" and not tree.is_pointer(a)):
            raise Mistake(f"'{e.op}' of '{tree.spell(a)}' and '{tree.spell(b)}'", e.place)
        if tree.is_pointer(a) and tree.is_pointer(b):
            x, y = tree.strip(a), tree.strip(b)
            assert isinstance(x, tree.Pointer)
            assert isinstance(y, tree.Pointer)
            alike = tree.same(x.pointee, y.pointee) or self.unit.trusted
            if e.op == "+" or not alike:
                raise Mistake(f"'{e.op}' of '{tree.spell(a)}' and '{tree.spell(b)}'", e.place)
            self.pointee_size(a, e)
            return tree.PTRDIFF_T
        pointer, number = (a, b) if tree.is_pointer(a) else (b, a)
        if not tree.is_integer(number):
            raise Mistake(f"'{e.op}' of '{tree.spell(a)}' and '{tree.spell(b)}'", e.place)
        self.pointee_size(pointer, e)
        return unqualified(pointer)

    def compare_pointers(self, e: tree.Binary, a: tree.CType, b: tree.CType) -> tree.CType:
        result = tree.BOOL if self.unit.cplusplus else tree.INT
        to = self.composite(e.left, e.right)
        if to is None:
            raise Mistake(f"comparison of '{tree.spell(a)}' and '{tree.spell(b)}'", e.place)
        e.left = self.pointer_operand(e.left, to)
        e.right = self.pointer_operand(e.right, to)
        return result

    def pointer_operand(self, e: tree.Expr, to: tree.CType) -> tree.Expr:
        source = typed(e)
        if tree.same(source, to):
            return e
        kind = cast_kind(source, to, is_null_constant(e))
        if kind is None:
            raise Mistake(f"'{tree.spell(source)}' is no '{tree.spell(to)}'", e.place)
        return cast(e, to, kind)

    def composite(self, a: tree.Expr, b: tree.Expr) -> tree.CType | None:
        """The pointer type that two operands share, or None."""
        s, u = tree.strip(typed(a)), tree.strip(typed(b))
        if is_null_constant(b) and isinstance(s, tree.Pointer):
            return s
        if is_null_constant(a) and isinstance(u, tree.Pointer):
            return u
        if not isinstance(s, tree.Pointer) or not isinstance(u, tree.Pointer):
            return None
        one, two = tree.qualifiers(s.pointee), tree.qualifiers(u.pointee)
        const, volatile = one[0] or two[0], one[1] or two[1]
        space = s.space if s.space == u.space else ""
        if tree.is_void(s.pointee) or tree.is_void(u.pointee):
            return tree.Pointer(tree.qualified(tree.VOID, const, volatile), space)
        if cast_kind(s, u) == "base":
            return u
        if (
            cast_kind(u, s) != "base"
            and not tree.same(s.pointee, u.pointee)
            and not self.unit.trusted
        ):
            return None
        return tree.Pointer(tree.qualified(s.pointee, const, volatile), space)

    # ----------------------------------------------------------- assignment

    def assign(self, e: tree.Assign) -> tree.CType:
        if e.op not in tree.ASSIGNMENT:
            raise Mistake(f"there is no assignment '{e.op}'", e.place)
        self.modifiable(e.target, f"'{e.op}'")
        t = typed(e.target)
        if e.op == "=":
            e.value = self.converted(e.value, t, "assign")
            return unqualified(t)
        e.value = self.value(e.value)
        op, v = e.op[:-1], typed(e.value)
        if tree.is_pointer(t):
            if op not in "+-" or not tree.is_integer(v):
                raise Mistake(f"'{e.op}' of '{tree.spell(t)}' and '{tree.spell(v)}'", e.place)
            self.pointee_size(t, e)
            return unqualified(t)
        if isinstance(tree.strip(t), tree.Vector):
            e.value, e.compute = self.converted(e.value, t, "convert"), unqualified(t)
            return unqualified(t)
        family = tree.BINARY[op].family
        integers = family in ("shift", "bitwise") or op == "%"
        self.arithmetic_operands(e, e.op, t, v, integers)
        if family == "shift":
            e.compute = e.compute or self.promoted_type(e.target)
            e.value = self.converted(e.value, self.promoted_type(e.value), "convert")
        else:
            e.compute = e.compute or self.common(e.target, e.value)
            e.value = self.converted(e.value, e.compute, "convert")
        return unqualified(t)

    def conditional(self, e: tree.Conditional) -> tree.CType:
        e.cond = self.condition(e.cond)
        self.expr(e.then)
        self.expr(e.other)
        a, b = typed(e.then), typed(e.other)
        if self.unit.cplusplus and is_lvalue(e.then) and is_lvalue(e.other) and tree.same(a, b):
            return a
        e.then, e.other = self.value(e.then), self.value(e.other)
        a, b = typed(e.then), typed(e.other)
        if tree.is_void(a) or tree.is_void(b):
            return tree.VOID
        if tree.is_arithmetic(a) and tree.is_arithmetic(b):
            alike = (
                isinstance(tree.strip(a), tree.Enum | tree.Arithmetic)
                and tree.same(a, b)
                and self.unit.cplusplus
            )
            to = unqualified(a) if alike else self.wanted(e, self.common(e.then, e.other))
        elif tree.is_pointer(a) or tree.is_pointer(b):
            shared = self.composite(e.then, e.other)
            if shared is None:
                raise Mistake(f"'?:' of '{tree.spell(a)}' and '{tree.spell(b)}'", e.place)
            to = shared
        elif tree.same(a, b):
            to = unqualified(a)
        else:
            raise Mistake(f"'?:' of '{tree.spell(a)}' and '{tree.spell(b)}'", e.place)
        e.then = self.branch(e.then, to)
        e.other = self.branch(e.other, to)
        return to

    def branch(self, e: tree.Expr, to: tree.CType) -> tree.Expr:
        return (
            self.pointer_operand(e, to) if tree.is_pointer(to) else self.converted(e, to, "convert")
        )

    def cast(self, e: tree.Cast) -> tree.CType:
        if e.type is None:
            raise Mistake("a cast names no type", e.place)
        to = e.type
        if isinstance(tree.strip(to), tree.Reference):
            e.to_lvalue, e.type = True, referent(to)
            to = e.type
        if e.to_lvalue:
            self.expr(e.operand)
            e.kind = self.lvalue_kind(e, to)
            return to
        if isinstance(e.operand, tree.InitList):
            e.operand = check_initialiser(self, e.operand, to)[0]
            e.kind = "noop"
            return to
        whole = tree.is_void(to) or e.kind in ("decay", "function")  # checked before
        e.operand = self.expr(e.operand) if whole else self.value(e.operand)
        source = typed(e.operand)
        kind = cast_kind(source, to, is_null_constant(e.operand))
        if kind is None:
            raise Mistake(f"cannot cast '{tree.spell(source)}' to '{tree.spell(to)}'", e.place)
        if e.kind not in (None, kind):  # of a tree that says it
            raise Mistake(f"'{tree.spell(source)}' to '{tree.spell(to)}' is a cast of kind "
                          f"'{kind}', not '{e.kind}'", e.place)
        e.kind = kind
        return to

    def lvalue_kind(self, e: tree.Cast, to: tree.CType) -> str:
        source = tree.strip(typed(e.operand))
        if not is_lvalue(e.operand):
            e.operand = tree.Temporary(e.operand, type=typed(e.operand), place=e.place)
        pointers = cast_kind(tree.Pointer(source), tree.Pointer(tree.strip(to)))
        return pointers if pointers in ("base", "derived") else "lvalue"
