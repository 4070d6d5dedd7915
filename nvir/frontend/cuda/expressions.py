"""Expressions of clang as the tree's.

libclang shows implicit conversions as expressions without a kind of their own; what they do
follows from the two types. The checker computes the types of the rest anew.
"""

from __future__ import annotations

import ast
from typing import Any

from nvir.frontend import tree
from nvir.frontend.cuda.base import Base
from nvir.frontend.cuda.libclang import (
    binary_operator,
    children,
    evaluate,
    initialiser,
    is_value,
    kind_of,
    pointer_of,
    unary_operator,
)
from nvir.frontend.cuda.own_header import constants
from nvir.frontend.cuda.text import cast_target
from nvir.frontend.tree import expressions as x

_REFERENCES = {"TYPE_REF", "TEMPLATE_REF", "NAMESPACE_REF", "MEMBER_REF", "VARIABLE_REF",
               "OVERLOADED_DECL_REF", "LABEL_REF"}


def operands(c: Any) -> list[Any]:
    """The children that are expressions, not names of types."""
    return [k for k in children(c) if is_value(k) and kind_of(k) not in _REFERENCES]


class ExpressionReader(Base):
    """Operators, names, members, literals, conversions."""

    def expr(self, c: Any) -> x.Expr:
        self.budget += 1
        rule = _RULES.get(kind_of(c))
        if rule is None:
            self.at = c
            name = kind_of(c).lower().replace("_", " ").replace("cxx ", "C++ ")
            raise self.unsupported(name, c)
        made: x.Expr = rule(self, c)
        return made

    def effect(self, c: Any) -> x.Expr:
        """An expression whose value nobody wants."""
        return self.expr(c)

    # ---------------------------------------------------------- conversions

    def implicit(self, c: Any) -> x.Expr:
        kids = operands(c)
        t = self.types.read(c.type)
        if not kids:
            return self.without_children(c, t)
        inner = kids[-1]
        if len(kids) > 1 and kind_of(inner) != "STRING_LITERAL":
            known = evaluate(c)
            if known is None:
                raise self.unsupported("an expression that libclang does not show", c)
            return self.literal(known, t, c)
        source = self.types.read(inner.type)
        e = self.expr(inner)
        if kind_of(inner) == "INIT_LIST_EXPR" and tree.is_aggregate(t):
            return e
        return self.converted(e, source, t, c)

    def converted(self, e: x.Expr, source: tree.CType, t: tree.CType, c: Any) -> x.Expr:
        a, b = tree.strip(source), tree.strip(t)
        if isinstance(a, tree.Array | tree.FunctionType):
            return e  # decays by itself
        if a is b or tree.same(a, b):
            return e
        at = self.place(c)
        if isinstance(a, tree.Record) and isinstance(b, tree.Record):
            return x.Cast(e, type=t, implicit=True, to_lvalue=True, place=at)
        if isinstance(b, tree.Record):
            return e  # a converting constructor stands inside
        return x.Cast(e, type=b, implicit=True, place=at)

    def without_children(self, c: Any, t: tree.CType) -> x.Expr:
        """`T()`, defaults, and what only evaluation knows."""
        known = evaluate(c)
        if known is not None and tree.is_scalar(t):
            return self.literal(known, t, c)
        if c.location.line == 0:
            raise self.unsupported("a default that is no constant")
        return self.zero(t, c)

    def zero(self, t: tree.CType, c: Any) -> x.Expr:
        at, s = self.place(c), tree.strip(t)
        if tree.is_float(s):
            return x.FloatLiteral(0.0, type=s, place=at)
        if isinstance(s, tree.Pointer):
            return x.Cast(x.NullPointer(place=at), type=s, place=at)
        if tree.is_aggregate(s) or isinstance(s, tree.Vector):
            return x.CompoundLiteral(x.InitList((), place=at), type=t, place=at)
        if tree.is_void(s):
            return x.Cast(x.IntLiteral(0, type=tree.INT, place=at), type=s, place=at)
        return x.IntLiteral(0, type=s, place=at)

    def literal(self, v: int | float, t: tree.CType, c: Any) -> x.Expr:
        at, s = self.place(c), tree.strip(t)
        if tree.is_float(s):
            return x.FloatLiteral(float(v), type=s, place=at)
        if isinstance(s, tree.Pointer):
            return x.Cast(x.IntLiteral(int(v), type=tree.ULONG, place=at), type=s, place=at)
        return x.IntLiteral(int(v), type=s, place=at)

    def cast(self, c: Any) -> x.Expr:
        t = self.types.read(c.type)
        kids = operands(c)
        if not kids:
            return self.without_children(c, t)
        inner = kids[-1]
        at = self.place(c)
        if tree.is_void(t):
            return x.Cast(self.effect(inner), type=t, place=at)
        e = self.expr(inner)
        source = self.types.read(inner.type)
        if cast_target(k.spelling for k in c.get_tokens()) in ("&", "&&") and (
            not isinstance(tree.strip(t), tree.Pointer)
            or not isinstance(tree.strip(source), tree.Array)
        ):
            if tree.same(tree.strip(source), tree.strip(t)):
                return e
            return x.Cast(e, type=t, to_lvalue=True, place=at)
        s = tree.strip(t)
        if isinstance(s, tree.Record):
            if tree.same(source, t) or kind_of(inner) == "INIT_LIST_EXPR":
                return e
            return x.Cast(e, type=t, to_lvalue=True, place=at)
        return x.Cast(e, type=s, place=at)

    # ---------------------------------------------------------------- names

    def name(self, c: Any) -> x.Expr:
        d = c.referenced
        kids = operands(c)
        if d is None:
            if kids:  # a template's parameter, substituted
                return self.expr(kids[-1])
            known = evaluate(c)
            if known is None:
                raise self.unsupported(f"the name '{c.spelling}'", c)
            return self.literal(known, self.types.read(c.type), c)
        kind = kind_of(d)
        if kind == "ENUM_CONSTANT_DECL":
            return x.IntLiteral(d.enum_value, type=self.types.read(c.type), place=self.place(c))
        if kind in ("FUNCTION_DECL", "CXX_METHOD"):
            f = self.function(d)
            return self.function_name(f, c)
        if kind == "TEMPLATE_NON_TYPE_PARAMETER":
            return self.evaluated(c)
        return self.variable_name(c, d)

    def function_name(self, f: tree.Function, c: Any) -> x.Name:
        """A function's name; the checker looks up what the compiler knows by the arguments."""
        known = f.attributes.builtin and not f.name.startswith("llvm.")
        return x.Name(f.name, None if known else f, place=self.place(c))

    def evaluated(self, c: Any) -> x.Expr:
        known = evaluate(c)
        if known is None:
            raise self.unsupported(f"'{c.spelling}', which is no constant", c)
        return self.literal(known, self.types.read(c.type), c)

    def variable_name(self, c: Any, d: Any) -> x.Expr:
        at, key = self.place(c), pointer_of(d)
        if key in self.bound:
            return self.bound_name(c, *self.bound[key])
        if kind_of(d) not in ("VAR_DECL", "PARM_DECL"):
            raise self.unsupported(f"the name '{c.spelling}'", c)
        captured = self.captures.get(key)
        if captured is not None and self.this is not None:
            this = x.Name("this", self.this, place=at)
            return x.Member(this, captured, arrow=True, place=at)
        found = self.declared.get(key) or self.declared.get(pointer_of(d.canonical))
        if found is None:
            if d.spelling in tree.SPECIAL_VARIABLES and self.is_own(d):
                found = tree.SPECIAL_VARIABLES[d.spelling]
            elif kind_of(d) == "PARM_DECL":
                raise self.unsupported(f"the parameter '{d.spelling}' here", c)
            else:
                known = self.constant_of(c, d)
                if known is not None:
                    return known
                found = self.global_variable(d)
        return x.Name(found.name, found, place=at)

    def bound_name(self, c: Any, v: tree.Variable, k: int) -> x.Expr:
        """The name of a structured binding: the field or element that it stands for."""
        at = self.place(c)
        whole = x.Name(v.name, v, place=at)
        t = tree.strip(v.type)
        t = tree.strip(t.referent) if isinstance(t, tree.Reference) else t
        if isinstance(t, tree.Record) and t.fields is not None and k < len(t.fields):
            return x.Member(whole, t.fields[k].name, place=at)
        if isinstance(t, tree.Array):
            return x.Index(whole, x.IntLiteral(k, type=tree.INT, place=at), place=at)
        raise self.unsupported(f"the structured binding '{c.spelling}'", c)

    def constant_of(self, c: Any, d: Any) -> x.Expr | None:
        """A constant of the host's, which device code sees as its value."""
        t = self.types.read(d.type)
        if (
            isinstance(tree.strip(t), tree.Reference)
            or not tree.qualifiers(t)[0]
            or not tree.is_scalar(t)
        ):
            return None
        known = evaluate(c)
        if known is None:
            start = initialiser(d)
            known = None if start is None else evaluate(start)
        return None if known is None else self.literal(known, t, c)

    def named_constant(self, name: str) -> int | None:
        for _, value in constants(self.parsed.cursor, name):
            return value
        if self.parsed.own is not None and name in self.parsed.own.constants:
            return self.parsed.own.constants[name]
        for d in reversed(list(self.declared.values())):
            if d.name == name and isinstance(getattr(d, "init", None), x.IntLiteral):
                return int(d.init.value)  # type: ignore[union-attr]  # an IntLiteral
        return None

    def this_(self, c: Any) -> x.Expr:
        if self.this is None:
            raise self.unsupported("'this' outside of a method", c)
        captured = self.captures.get(0)
        this = x.Name("this", self.this, place=self.place(c))
        return x.Member(this, captured, arrow=True, place=self.place(c)) if captured else this

    # -------------------------------------------------------------- members

    def member(self, c: Any) -> x.Expr:
        d = c.referenced
        kind = kind_of(d) if d is not None else ""
        if kind == "VAR_DECL":
            return self.variable_name(c, d)
        if kind == "ENUM_CONSTANT_DECL":
            return x.IntLiteral(d.enum_value, type=self.types.read(c.type), place=self.place(c))
        if kind != "FIELD_DECL":
            raise self.unsupported("a bound method that is not called", c)
        base, arrow = self.object(c)
        return x.Member(base, d.spelling, arrow=arrow, place=self.place(c))

    def object(self, c: Any) -> tuple[x.Expr, bool]:
        """What a member is taken of, and whether that is a pointer."""
        kids = operands(c)
        if not kids:
            return self.this_(c), True
        base = kids[0]
        while kind_of(base) == "MEMBER_REF_EXPR" and _unnamed(base.referenced):
            inner = operands(base)
            if not inner:
                return self.this_(c), True
            base = inner[0]
        e = self.expr(base)
        return e, isinstance(tree.strip(self.types.read(base.type)), tree.Pointer)

    def index(self, c: Any) -> x.Expr:
        base, index = operands(c)
        return x.Index(self.expr(base), self.expr(index), place=self.place(c))

    # ------------------------------------------------------------ operators

    def binary(self, c: Any) -> x.Expr:
        op = binary_operator(c)
        left, right = operands(c)
        at = self.place(c)
        if op == "=":
            return x.Assign("=", self.expr(left), self.object_value(
                right, self.types.read(left.type)), place=at)
        if op.endswith("=") and op not in ("==", "!=", "<=", ">="):
            return x.Assign(op, self.expr(left), self.expr(right), place=at)
        if op in (".*", "->*", "<=>", "?"):
            raise self.unsupported(f"the operator '{op}'", c)
        a = self.effect(left) if op == "," else self.expr(left)
        return x.Binary(op, a, self.expr(right), place=at)

    def unary(self, c: Any) -> x.Expr:
        op = unary_operator(c)
        (inner,) = operands(c)
        at = self.place(c)
        if op == "__extension__":
            return self.expr(inner)
        if op.startswith("__") or op == "co_await" or op == "?":
            raise self.unsupported(f"the operator '{op}'", c)
        e = self.expr(inner)
        if op in ("x++", "x--", "++x", "--x"):
            return x.Step(op.replace("x", ""), e, op.endswith("x"), place=at)
        if op == "-" and isinstance(e, x.IntLiteral | x.FloatLiteral):
            known = evaluate(c)
            if known is not None:
                return self.literal(known, self.types.read(c.type), c)
        return x.Unary(op, e, place=at)

    def conditional(self, c: Any) -> x.Expr:
        kids = operands(c)
        if len(kids) != 3:
            raise self.unsupported("'?:' without a middle", c)
        known = evaluate(kids[0]) if kind_of(kids[0]) != "UNEXPOSED_EXPR" else None
        t = self.types.read(c.type)
        if known is not None and tree.is_scalar(t):
            return self.expr(kids[1] if known else kids[2])
        then, other = (self.object_value(k, t) for k in kids[1:])
        return x.Conditional(self.expr(kids[0]), then, other, place=self.place(c))

    # ------------------------------------------------------------- literals

    def integer(self, c: Any) -> x.Expr:
        return self.evaluated(c)

    def boolean(self, c: Any) -> x.Expr:
        known = evaluate(c)
        if known is None:
            known = int(next(iter(c.get_tokens())).spelling == "true")
        return x.IntLiteral(int(known), type=tree.BOOL, place=self.place(c))

    def string(self, c: Any) -> x.Expr:
        spelled = c.spelling or c.displayname
        if not spelled.startswith('"'):
            raise self.unsupported("a string of wide characters", c)
        try:
            value = ast.literal_eval("b" + spelled)
        except (ValueError, SyntaxError):
            value = ast.literal_eval(spelled).encode("utf-8")
        return x.StringLiteral(value, place=self.place(c))

    def null(self, c: Any) -> x.Expr:
        return x.NullPointer(place=self.place(c))

    def paren(self, c: Any) -> x.Expr:
        return self.expr(operands(c)[-1])

    def sizeof(self, c: Any) -> x.Expr:
        return self.evaluated(c)

    def statements(self, c: Any) -> x.Expr:
        block = next(k for k in children(c) if kind_of(k) == "COMPOUND_STMT")
        return x.StatementExpr(self.compound(block), place=self.place(c))

    # ------------------------------------------------------- initialisation

    def list_(self, c: Any) -> x.Expr:
        """`{...}` where a value is wanted."""
        t = self.types.read(c.type)
        if tree.is_aggregate(t):
            return x.CompoundLiteral(self.braces(c, t), type=_plain(t), place=self.place(c))
        kids = operands(c)
        return self.expr(kids[0]) if kids else self.zero(t, c)

    def braces(self, c: Any, t: tree.CType) -> x.Expr:
        """The items of braces that initialise an object of type `t`."""
        s = tree.strip(t)
        kids = operands(c)
        if not tree.is_aggregate(s):
            return self.expr(kids[0]) if kids else self.zero(t, c)
        at = self.place(c)
        if isinstance(s, tree.Record):
            if len(kids) == 1 and self.types.read(kids[0].type) is not None:
                only = tree.strip(self.types.read(kids[0].type))
                if only is s and kind_of(kids[0]) != "INIT_LIST_EXPR":
                    return self.expr(kids[0])
            items = [self.item(k) for k in kids]
            if any(isinstance(i, x.Designated) for i in items):
                return x.InitList(tuple(items), type=_plain(t), place=at)
            items += self.field_defaults(s, len(items), c)
            return x.InitList(tuple(items), type=_plain(t), place=at)
        return x.InitList(tuple(self.item(k) for k in kids), type=_plain(t), place=at)

    def item(self, c: Any) -> x.Expr:
        """An item of braces; `.field = value` and `[index] = value` keep what they name."""
        t = self.types.read(c.type)
        if kind_of(c) == "UNEXPOSED_EXPR" and tree.is_void(t):
            return self.designated(c)
        if kind_of(c) == "INIT_LIST_EXPR":
            return self.braces(c, t)
        return self.object_value(c, t)

    def designated(self, c: Any) -> x.Expr:
        kids = children(c)
        target: str | int | float | None = next(
            (k.spelling for k in kids if kind_of(k) == "MEMBER_REF"), None
        )
        if target is None and len(kids) > 1:
            target = evaluate(kids[0])
        if not isinstance(target, str | int) or len(kids) != 2:
            raise self.unsupported("a designator of several steps", c)
        return x.Designated(target, self.item(kids[-1]), place=self.place(c))

    def field_defaults(self, s: tree.Record, given: int, c: Any) -> list[x.Expr]:
        """What fields that braces leave out have by default."""
        if s.kind == "union" or not s.fields or any(f.base for f in s.fields):
            return []
        declaration = self.types.declared.get(s)
        if declaration is None:
            return []
        starts = [self.field_default(f) for f in declaration.type.get_fields()][given:]
        if all(v is None for v in starts):
            return []
        zeros = [f.type for f in s.fields][given:]
        return [self.item(v) if v is not None else self.zero_item(t, c)
                for v, t in zip(starts, zeros, strict=True)]

    def zero_item(self, t: tree.CType, c: Any) -> x.Expr:
        return x.InitList((), place=self.place(c)) if tree.is_aggregate(t) else self.zero(t, c)

    def field_default(self, f: Any) -> Any:
        """The default initialiser of a field, or None."""
        kids = operands(f)
        if f.is_bitfield() and kids:
            kids = kids[1:]
        if not kids:
            return None
        last = kids[-1]
        if isinstance(tree.strip(self.types.read(f.type)), tree.Array):
            return last if kind_of(last) == "INIT_LIST_EXPR" else None
        return last

    def initial_value(self, c: Any, t: tree.CType) -> x.Expr:
        """The initialiser of a variable of type `t`."""
        while kind_of(c) == "UNEXPOSED_EXPR" and len(operands(c)) == 1 and (
            kind_of(operands(c)[0]) == "INIT_LIST_EXPR"
        ):
            c = operands(c)[0]
        if kind_of(c) == "INIT_LIST_EXPR" and not isinstance(tree.strip(t), tree.Reference):
            return self.braces(c, t)
        if kind_of(c) == "STRING_LITERAL":
            return self.string(c)
        s = tree.strip(t)
        if isinstance(s, tree.Reference):
            return self.expr(c)
        return self.object_value(c, t)


def _plain(t: tree.CType) -> tree.CType:
    return t.type if isinstance(t, tree.Qualified) else t


def _unnamed(d: Any) -> bool:
    return d is not None and kind_of(d) == "FIELD_DECL" and (not d.spelling or "(" in d.spelling)


_RULES: dict[str, Any] = {
    "UNEXPOSED_EXPR": ExpressionReader.implicit, "PAREN_EXPR": ExpressionReader.paren,
    "DECL_REF_EXPR": ExpressionReader.name, "MEMBER_REF_EXPR": ExpressionReader.member,
    "CXX_THIS_EXPR": ExpressionReader.this_, "ARRAY_SUBSCRIPT_EXPR": ExpressionReader.index,
    "BINARY_OPERATOR": ExpressionReader.binary,
    "COMPOUND_ASSIGNMENT_OPERATOR": ExpressionReader.binary,
    "UNARY_OPERATOR": ExpressionReader.unary, "CONDITIONAL_OPERATOR": ExpressionReader.conditional,
    "INTEGER_LITERAL": ExpressionReader.integer, "FLOATING_LITERAL": ExpressionReader.integer,
    "CHARACTER_LITERAL": ExpressionReader.integer,
    "CXX_BOOL_LITERAL_EXPR": ExpressionReader.boolean,
    "STRING_LITERAL": ExpressionReader.string, "CXX_NULL_PTR_LITERAL_EXPR": ExpressionReader.null,
    "GNU_NULL_EXPR": ExpressionReader.null,
    "CXX_UNARY_EXPR": ExpressionReader.sizeof, "UNARY_EXPR": ExpressionReader.sizeof,
    "SIZE_OF_PACK_EXPR": ExpressionReader.sizeof, "PACK_EXPANSION_EXPR": ExpressionReader.paren,
    "CSTYLE_CAST_EXPR": ExpressionReader.cast, "CXX_STATIC_CAST_EXPR": ExpressionReader.cast,
    "CXX_REINTERPRET_CAST_EXPR": ExpressionReader.cast,
    "CXX_CONST_CAST_EXPR": ExpressionReader.cast,
    "CXX_FUNCTIONAL_CAST_EXPR": ExpressionReader.cast,
    "CXX_ADDRSPACE_CAST_EXPR": ExpressionReader.cast,
    "INIT_LIST_EXPR": ExpressionReader.list_, "COMPOUND_LITERAL_EXPR": ExpressionReader.paren,
    "StmtExpr": ExpressionReader.statements,
    "CALL_EXPR": lambda r, c: r.call(c), "LAMBDA_EXPR": lambda r, c: r.closure(c),
}
