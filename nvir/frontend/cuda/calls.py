"""Calls: functions, methods, operators, constructors, lambdas.

A constructor is a function whose first parameter is `this`; a value `T(a, b)` is a statement
expression that makes a temporary, constructs it and gives it. Constructors and assignments that
the compiler writes copy the object.

A lambda is a record with a field for each variable that it captures, a reference or a copy as
its brackets say; its body is the method `operator()`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nvir.frontend import tree
from nvir.frontend.builtins.registry import rows
from nvir.frontend.cuda.base import Base
from nvir.frontend.cuda.expressions import operands
from nvir.frontend.cuda.libclang import (
    children,
    evaluate,
    initialiser,
    is_expression,
    kind_of,
    pointer_of,
    type_kind,
)
from nvir.frontend.tree import expressions as x
from nvir.frontend.tree import statements as s

# clang's function → the row that computes it, what the result is too great by
_BITS = {
    f"{name}{suffix}": (own + ("ll" if suffix else ""), less)
    for name, own, less in (("popcount", "__popc", 0), ("parity", "__popc", 0), ("clz", "__clz", 0),
                            ("ctz", "__ffs", 1), ("ffs", "__ffs", 0))
    for suffix in ("", "l", "ll")
}


class CallReader(Base):
    """Calls and made objects."""

    def call(self, c: Any) -> x.Expr:
        self.at = c
        d = c.referenced
        kind = kind_of(d) if d is not None else ""
        if kind == "CONSTRUCTOR":
            return self.constructed(c)
        if self.calls_result(c):
            kind = ""
        if kind in ("CXX_METHOD", "CONVERSION_FUNCTION") and self.is_method(d):
            return self.method(c, d)
        if kind == "DESTRUCTOR":
            return x.IntLiteral(0, type=self.types.read(c.type))
        if kind in ("FUNCTION_DECL", "CXX_METHOD"):
            return self.plain(c, d)
        kids = operands(c)
        if not kids:
            raise self.unsupported("a call that libclang does not show", c)
        args = tuple(self.expr(k) for k in kids[1:])
        return x.Call(self.expr(kids[0]), args, place=self.place(c))

    def calls_result(self, c: Any) -> bool:
        """Whether what is called is the pointer that a call gives, `pick(k)(x)`: libclang names the
        inner function."""
        kids = operands(c)
        callee = kids[0] if kids else c
        while kind_of(callee) in ("UNEXPOSED_EXPR", "PAREN_EXPR") and operands(callee):
            callee = operands(callee)[0]
        if kind_of(callee) != "CALL_EXPR":
            return False
        t = callee.type.get_canonical()
        while type_kind(t) in ("POINTER", "LVALUEREFERENCE", "RVALUEREFERENCE"):
            t = t.get_pointee()
        return type_kind(t).startswith("FUNCTION")

    def plain(self, c: Any, d: Any) -> x.Expr:
        name = d.spelling
        given = list(c.get_arguments())
        if name.startswith("__builtin_") or name in ("assert",):
            made = self.clang_builtin(c, name, given)
            if made is not None:
                return made
        f = self.function(d)
        made = x.Call(self.function_name(f, c), self.arguments(given, d), place=self.place(c))
        if f.attributes.builtin:
            made.type = f.result
        return made

    def clang_builtin(self, c: Any, name: str, given: list[Any]) -> x.Expr | None:
        if name in ("__builtin_expect", "__builtin_assume_aligned"):
            return self.expr(given[0])
        known = evaluate(c)
        t = self.types.read(c.type)
        if known is not None and tree.is_scalar(t):
            return self.literal(known, t, c)
        if name in ("__builtin_assume", "__builtin_unreachable", "__builtin_prefetch"):
            return self.zero(t, c)
        if name == "assert":
            return None
        return self.own_builtin(c, name.removeprefix("__builtin_"), given)

    def own_builtin(self, c: Any, name: str, given: list[Any]) -> x.Expr:
        """A function of clang's in terms of one that the compiler lowers."""
        at = self.place(c)
        bits = _BITS.get(name)
        own, less = bits or (name, 0)
        if own not in rows():
            raise self.unsupported(f"the function '__builtin_{name}'", c)
        args = tuple(self.expr(a) for a in given)
        made: x.Expr = x.Call(x.Name(own, None, place=at), args, place=at)
        if less:
            made = x.Binary("-", made, x.IntLiteral(less, type=tree.INT), place=at)
        if name.startswith("parity"):
            made = x.Binary("&", made, x.IntLiteral(1, type=tree.INT), place=at)
        return made

    def arguments(self, given: list[Any], d: Any) -> tuple[x.Expr, ...]:
        params = list(d.get_arguments())
        made = []
        for k, a in enumerate(given):
            t = self.types.read(params[k].type) if k < len(params) else None
            if a.location.line == 0 and not operands(a):
                made.append(self.default_argument(a, d, k))
            elif t is not None and isinstance(tree.strip(t), tree.Reference):
                made.append(self.expr(a))
            else:
                made.append(self.object_value(a, self.types.read(a.type)))
        return tuple(made)

    def default_argument(self, a: Any, d: Any, k: int) -> x.Expr:
        known = evaluate(a)
        t = self.types.read(a.type)
        if known is not None and tree.is_scalar(t):
            return self.literal(known, t, a)
        for declaration in (d, d.canonical, d.get_definition()):
            params = list(declaration.get_arguments()) if declaration is not None else []
            start = initialiser(params[k]) if k < len(params) else None
            if start is None and k < len(params):
                found = operands(params[k])
                start = found[-1] if found else None
            if start is not None:
                return self.object_value(start, t)
        raise self.unsupported("a default argument that libclang does not show")

    # -------------------------------------------------------------- methods

    def method(self, c: Any, d: Any) -> x.Expr:
        at = self.place(c)
        kids = operands(c)
        callee = kids[0] if kids else c
        while kind_of(callee) in ("UNEXPOSED_EXPR", "PAREN_EXPR") and operands(callee):
            callee = operands(callee)[0]
        args = list(c.get_arguments())
        if kind_of(callee) == "MEMBER_REF_EXPR" and callee.referenced == d:
            base, arrow = self.object(callee)
            this = base if arrow else self.address(base, callee)
        else:  # an operator: the object is the first argument
            if not args:
                raise self.unsupported("a call that libclang does not show", c)
            this = self.address(self.expr(args[0]), c)
            args = args[1:]
        if d.is_virtual_method():
            raise self.unsupported(f"the virtual function '{d.spelling}'", c)
        if self.is_implicit(d):
            return self.implicit_assignment(this, args, d, at)
        f = self.function(d)
        name = x.Name(f.name, f, place=at)
        return x.Call(name, (self.upcast(this, f), *self.arguments(args, d)), place=at)

    def upcast(self, this: x.Expr, f: tree.Function) -> x.Expr:
        return x.Cast(this, type=tree.strip(f.params[0].type), implicit=True, place=this.place)

    def address(self, e: x.Expr, c: Any) -> x.Expr:
        """The address of an object; of a value, that of a temporary."""
        if isinstance(e, x.Unary) and e.op == "*":
            return e.operand
        if isinstance(e, x.Call | x.StatementExpr | x.Conditional):
            reference = isinstance(e, x.Call) and isinstance(e.callee, x.Name) and (
                isinstance(e.callee.decl, tree.Function)
                and isinstance(tree.strip(e.callee.decl.result), tree.Reference)
            )
            if not reference:
                e = x.Temporary(e, place=e.place)
        return x.Unary("&", e, place=self.place(c))

    def is_implicit(self, d: Any) -> bool:
        """Whether the compiler wrote a function: it stands where its class does."""
        parent = d.semantic_parent
        if parent is None or kind_of(d) == "CONVERSION_FUNCTION" or d.spelling == "operator()":
            return False
        if any(kind_of(k) == "COMPOUND_STMT" for k in (d.get_definition() or d).get_children()):
            return bool(d.location == parent.location)
        if d.location == parent.location:
            return True
        return bool(d.is_default_method()) if hasattr(d, "is_default_method") else False

    def implicit_assignment(self, this: x.Expr, args: list[Any], d: Any, at: Any) -> x.Expr:
        if d.spelling != "operator=" or len(args) != 1:
            raise self.unsupported(f"the implicit function '{d.spelling}'")
        target = x.Unary("*", this, place=at)
        return x.Assign("=", target, self.expr(args[0]), place=at)

    # --------------------------------------------------------- constructors

    def construction(self, c: Any) -> Any:
        """The constructor call behind an initialiser, or None."""
        while kind_of(c) in ("UNEXPOSED_EXPR", "CXX_FUNCTIONAL_CAST_EXPR", "PAREN_EXPR",
                              "CXX_STATIC_CAST_EXPR", "CSTYLE_CAST_EXPR"):
            kids = operands(c)
            if len(kids) != 1:
                return None
            c = kids[0]
        if kind_of(c) != "CALL_EXPR":
            return None
        d = c.referenced
        return c if d is not None and kind_of(d) == "CONSTRUCTOR" else None

    def construct_at(self, this: Callable[[], x.Expr], c: Any, where: Any
                     ) -> list[s.Stmt] | None:
        """Statements that construct an object at an address; None where its value is to be
        copied instead, an empty list where nothing is to do."""
        d = c.referenced
        given = list(c.get_arguments())
        at = self.place(where)
        if self.is_implicit(d) or self.is_closure_type(c):
            if len(given) == 1:
                return None
            return self.default_construction(this, d.semantic_parent, where)
        f = self.function(d)
        call = x.Call(x.Name(f.name, f, place=at), (this(), *self.arguments(given, d)), place=at)
        return [s.ExprStmt(call, place=at)]

    def is_closure_type(self, c: Any) -> bool:
        return "(lambda at" in c.type.spelling

    def default_construction(self, this: Callable[[], x.Expr], declaration: Any, where: Any
                             ) -> list[s.Stmt]:
        """What a default constructor does that the compiler writes."""
        made: list[s.Stmt] = []
        record = self.types.record(declaration, declaration.type)
        for f in record.fields or ():
            if f.base:
                kind = tree.strip(f.type)
                inner = self.types.declared.get(kind) if isinstance(kind, tree.Record) else None
                if inner is not None:
                    made += self.construct_default(_seen_as(this, f.type), inner, where)
        for f in declaration.type.get_fields():
            made += self.construct_field(this, f, where)
        return made

    def construct_field(self, this: Callable[[], x.Expr], f: Any, where: Any) -> list[s.Stmt]:
        at = self.place(where)
        t = self.types.read(f.type)

        def field() -> x.Expr:
            return x.Member(this(), f.spelling, arrow=True, place=at)

        start = self.field_default(f)
        if start is not None:
            return self.set_field(field, start, t, at)
        inner = tree.strip(t)
        if isinstance(inner, tree.Record) and inner.name and f.spelling:
            declaration = self.types.declared.get(inner)
            if declaration is not None:
                return self.construct_default(
                    lambda: x.Unary("&", field(), place=at), declaration, where
                )
        return []

    def construct_default(self, this: Callable[[], x.Expr], declaration: Any, where: Any
                          ) -> list[s.Stmt]:
        """Default construction of a member or base: its own constructor, or the compiler's."""
        for k in children(declaration):
            if kind_of(k) == "CONSTRUCTOR" and k.is_default_constructor():
                if self.is_implicit(k):
                    break
                f = self.function(k)
                at = self.place(where)
                name = x.Name(f.name, f, place=at)
                defaults = [initialiser(p) for p in k.get_arguments()]
                values = tuple(self.expr(v) for v in defaults if v is not None)
                return [s.ExprStmt(x.Call(name, (this(), *values), place=at), place=at)]
        return self.default_construction(this, declaration, where)

    def set_field(self, field: Callable[[], x.Expr], start: Any, t: tree.CType, at: Any
                  ) -> list[s.Stmt]:
        """A field's initialiser as a statement."""
        kind = tree.strip(t)
        built = self.construction(start) if isinstance(kind, tree.Record) else None
        if built is not None:
            made = self.construct_at(lambda: x.Unary("&", field(), place=at), built, start)
            if made is not None:
                return made
        value = self.initial_value(start, t)
        if isinstance(value, x.InitList):
            value = x.CompoundLiteral(value, type=t, place=at)
        if hasattr(kind, "element") and isinstance(value, x.CompoundLiteral):
            return self.copy_elements(field, value, kind, at)
        return [s.ExprStmt(x.Assign("=", field(), value, place=at), place=at)]

    def copy_elements(self, field: Callable[[], x.Expr], value: x.CompoundLiteral, t: Any, at: Any
                      ) -> list[s.Stmt]:
        items = value.init.items if isinstance(value.init, x.InitList) else ()
        made: list[s.Stmt] = []
        for k in range(t.count or 0):

            target = x.Index(field(), x.IntLiteral(k, type=tree.INT), place=at)
            item = items[k] if k < len(items) else None
            element = tree.strip(t.element)
            if item is None:
                item = x.InitList((), place=at)
            if isinstance(item, x.InitList):
                if isinstance(element, tree.Record):
                    item = x.CompoundLiteral(item, type=element, place=at)
                elif tree.is_scalar(element):
                    item = x.Cast(x.IntLiteral(0, type=tree.INT, place=at), type=element, place=at)
                else:
                    raise self.unsupported("an initialiser of an array of arrays as a member")
            made.append(s.ExprStmt(x.Assign("=", target, item, place=at), place=at))
        return made

    def constructed(self, c: Any) -> x.Expr:
        """An object as a value: `T(a, b)`, or a copy."""
        t = self.types.read(c.type)
        at = self.place(c)
        v = tree.Variable(f"__made{self.fresh()}", tree.strip(t), place=at)

        def this() -> x.Expr:
            return x.Unary("&", x.Name(v.name, v, place=at), place=at)

        built = self.construct_at(this, c, c)
        if built is None:
            return self.expr(next(iter(c.get_arguments())))
        if not built and not list(c.get_arguments()):
            return x.CompoundLiteral(x.InitList((), place=at), type=tree.strip(t), place=at)
        last = s.ExprStmt(x.Name(v.name, v, place=at), place=at)
        body = s.Compound((s.DeclStmt((v,), place=at), *built, last), place=at)
        return x.StatementExpr(body, place=at)

    def object_value(self, c: Any, t: tree.CType) -> x.Expr:
        """A value that is copied to where it goes."""
        if kind_of(c) == "INIT_LIST_EXPR":
            return self.expr(c)
        return self.expr(c)

    def member_initialisers(self, c: Any) -> list[s.Stmt]:
        """What stands between a constructor's parameters and its body, and the defaults of the
        fields that it leaves out, in the order of the fields."""
        assert self.this is not None
        param = self.this
        at = self.place(c)

        def this() -> x.Expr:
            return x.Name("this", param, place=at)

        named, bases, whole = self.written_initialisers(c)
        if whole is not None:
            built = self.construct_at(this, whole, whole)
            return built or []
        made: list[s.Stmt] = []
        owner = c.semantic_parent
        record = self.types.record(owner, owner.type)
        for f in record.fields or ():
            if f.base:
                made += self.base_initialiser(f.type, bases, this, c)
        for f in owner.type.get_fields():
            start = named.get(pointer_of(f.canonical))
            if start is None:
                made += self.construct_field(this, f, c)
                continue
            t = self.types.read(f.type)
            if isinstance(tree.strip(t), tree.Reference):
                raise self.unsupported("a reference member that a constructor binds", f)
            made += self.set_field(_field_of(this, f.spelling, at), start, t, at)
        return made

    def written_initialisers(self, c: Any) -> tuple[dict[int, Any], list[Any], Any]:
        """By field; of bases; and the constructor that this one delegates to."""
        named: dict[int, Any] = {}
        bases: list[Any] = []
        whole, key = None, None
        for k in children(c):
            kind = kind_of(k)
            if kind == "MEMBER_REF":
                key = pointer_of(k.referenced.canonical)
            elif kind in ("TYPE_REF", "TEMPLATE_REF"):
                key = None
            elif kind == "COMPOUND_STMT":
                break
            elif is_expression(k):
                built = self.construction(k)
                if key is not None:
                    named[key] = k
                    key = None
                elif built is not None and self.types.read(k.type) is self.types.read(
                    c.semantic_parent.type
                ):
                    whole = built
                else:
                    bases.append(k)
        return named, bases, whole

    def base_initialiser(self, t: tree.CType, bases: list[Any], this: Callable[[], x.Expr], c: Any
                         ) -> list[s.Stmt]:
        at = self.place(c)
        record = tree.strip(t)
        assert isinstance(record, tree.Record)

        def base() -> x.Expr:
            return x.Cast(this(), type=tree.Pointer(t), implicit=True, place=at)

        for k in bases:
            if tree.strip(self.types.read(k.type)) is record:
                return self.set_field(lambda: x.Unary("*", base(), place=at), k, t, at)
        declaration = self.types.declared.get(record)
        return [] if declaration is None else self.construct_default(base, declaration, c)

    def destructor(self, record: tree.Record | None) -> tree.Function | None:
        declaration = None if record is None else self.types.declared.get(record)
        for k in children(declaration) if declaration is not None else ():
            if kind_of(k) == "DESTRUCTOR" and not self.is_implicit(k):
                block = next((b for b in (k.get_definition() or k).get_children()
                              if kind_of(b) == "COMPOUND_STMT"), None)
                if block is not None and children(block):
                    return self.function(k)
        return None

    # -------------------------------------------------------------- lambdas

    def closure_variable(self, c: Any) -> list[s.Stmt]:
        start = initialiser(c)
        made = self.expr(start)
        v = self.variable(c)
        v.init = made
        self.declared[pointer_of(c)] = v
        return [s.DeclStmt((v,), place=v.place)]

    def closure(self, c: Any) -> x.Expr:
        """A lambda: its record, filled with what it captures."""
        record = tree.strip(self.types.read(c.type))
        assert isinstance(record, tree.Record)
        at = self.place(c)
        captured = self.captured(c)
        by_reference, named, copies = self.capture_list(c)
        items: list[x.Expr] = []
        fields: list[tree.Field] = []
        names: dict[int, str] = {}
        for key, name, t, value in captured:
            known = tree.strip(t)
            inner = known.referent if isinstance(known, tree.Reference) else t
            reference = name in named or (by_reference and name not in copies)
            if key == 0:
                inner, reference = t, False
            fields.append(
                tree.Field(name, tree.Reference(inner) if reference else tree.strip(inner))
            )
            items.append(value)
            names[key] = name
        if record.fields is None:
            record.set_fields(fields)
            for d in self.call_operators(c):
                self.closures[pointer_of(d.canonical)] = names
        self.closures[pointer_of(c.type.get_declaration())] = names
        init = x.InitList(tuple(items), type=record, place=at)
        return x.CompoundLiteral(init, type=record, place=at)

    def call_operators(self, c: Any) -> list[Any]:
        declaration = c.type.get_declaration()
        return [k for k in children(declaration) if k.spelling == "operator()"]

    def captured_names(self, c: Any) -> dict[int, str]:
        """The variables that are fields of the closure whose operator() this is."""
        if c.spelling != "operator()":
            return {}
        return self.closures.get(pointer_of(c.semantic_parent), {})

    def captured(self, c: Any) -> list[tuple[int, str, tree.CType, x.Expr]]:
        """(declaration, name, type, value) of each variable around that a lambda's body names."""
        found: dict[int, tuple[int, str, tree.CType, x.Expr]] = {}
        todo = children(c)
        while todo:
            k = todo.pop()
            todo += children(k)
            if kind_of(k) == "CXX_THIS_EXPR" and self.this is not None and 0 not in found:
                value = x.Name("this", self.this, place=self.place(k))
                found[0] = (0, "__this", tree.strip(self.this.type), value)
            if kind_of(k) != "DECL_REF_EXPR":
                continue
            d = k.referenced
            if d is None or kind_of(d) not in ("VAR_DECL", "PARM_DECL"):
                continue
            key = pointer_of(d)
            local = self.declared.get(key)
            outer = key in self.captures
            if key in found or (local is None and not outer):
                continue
            if isinstance(local, tree.Variable) and (local.memory or local.storage):
                continue  # not on the stack: the body names it itself
            if isinstance(local, tree.Variable) and local in self.globals:
                continue
            t = self.types.read(d.type)
            found[key] = (key, d.spelling, t, self.variable_name(k, d))
        return list(found.values())

    def capture_list(self, c: Any) -> tuple[bool, set[str], set[str]]:
        """(whether the default is by reference, names by reference, names by value)."""
        by_reference = False
        named: set[str] = set()
        copies: set[str] = set()
        tokens = [t.spelling for t in c.get_tokens()]
        depth, pending = 0, False
        for t in tokens:
            if t == "[":
                depth += 1
            elif t == "]":
                depth -= 1
                if depth == 0:
                    by_reference = by_reference or pending
                    break
            elif t == "&":
                pending = True
            elif t == ",":
                by_reference, pending = by_reference or pending, False
            elif t.isidentifier():
                (named if pending else copies).add(t)
                pending = False
        return by_reference, named, copies


def _seen_as(this: Callable[[], x.Expr], t: tree.CType) -> Callable[[], x.Expr]:
    """An object's address as that of its base."""
    return lambda: x.Cast(this(), type=tree.Pointer(t), implicit=True)


def _field_of(this: Callable[[], x.Expr], name: str, at: tree.Place) -> Callable[[], x.Expr]:
    return lambda: x.Member(this(), name, arrow=True, place=at)
