"""Statements of clang as the tree's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nvir.frontend.cuda.base import Base
from nvir.frontend.cuda.libclang import (
    children,
    evaluate,
    initialiser,
    is_expression,
    kind_of,
    pointer_of,
)
from nvir.frontend.cuda.text import call_tokens, for_header, header, parse_asm, pragma, substituted
from nvir.frontend.cuda.unroll import written_out
from nvir.frontend.tree import expressions as x
from nvir.frontend.tree import statements as s
from nvir.frontend.tree.declarations import Variable
from nvir.frontend.tree.types import BOOL, INT, LONG, Array, Enum, Pointer, Record, Reference, strip

if TYPE_CHECKING:
    pass

_TYPES = {"STRUCT_DECL", "CLASS_DECL", "UNION_DECL", "ENUM_DECL", "TYPEDEF_DECL", "TYPE_ALIAS_DECL",
          "USING_DIRECTIVE", "USING_DECLARATION", "STATIC_ASSERT", "NAMESPACE_ALIAS",
          "UNEXPOSED_DECL", "FUNCTION_DECL", "CLASS_TEMPLATE"}


class StatementReader(Base):
    """Bodies of functions."""

    def compound(self, c: Any, before: Sequence[s.Stmt] = ()) -> s.Compound:
        made = [*before, *(self.stmt(k) for k in children(c))]
        return s.Compound(tuple(made), place=self.place(c))

    def stmt(self, c: Any) -> s.Stmt:
        self.at = c
        self.budget += 1
        rule = _RULES.get(kind_of(c))
        if rule is not None:
            made: s.Stmt = rule(self, c)
            return made
        if is_expression(c):
            e = self.effect(c)
            return s.ExprStmt(e, place=self.place(c))
        raise self.unsupported(_called(c), c)

    # -------------------------------------------------------- declarations

    def declarations(self, c: Any) -> s.Stmt:
        made: list[s.Stmt] = []
        for k in children(c):
            if kind_of(k) == "VAR_DECL":
                made += self.local(k)
            elif kind_of(k) == "UNEXPOSED_DECL" and k.spelling.startswith("["):
                made += self.bindings(k)
            elif kind_of(k) not in _TYPES:
                raise self.unsupported(_called(k), k)
        return made[0] if len(made) == 1 else s.Compound(tuple(made), False, place=self.place(c))

    def bindings(self, c: Any) -> list[s.Stmt]:
        """`auto [a, b] = e`: a variable without a name, whose fields the names are."""
        kids = children(c)
        names = [k for k in kids if kind_of(k) == "UNEXPOSED_DECL"]
        start = next(k for k in reversed(kids) if is_expression(k))
        t = self.types.read(c.type)
        v = Variable(f"__bound{self.fresh()}", t, place=self.place(c))
        copy = isinstance(strip(t), Record | Reference)
        if not copy:
            raise self.unsupported("structured bindings of a copied array", c)
        v.init = self.initial_value(start, t)
        for k, name in enumerate(names):
            self.bound[pointer_of(name)] = (v, k)
        return [s.DeclStmt((v,), place=v.place)]

    def local(self, c: Any) -> list[s.Stmt]:
        """A variable of a block, and what constructs it."""
        self.at = c
        if "(lambda at" in c.type.spelling:
            return self.closure_variable(c)
        v = self.variable(c)
        self.declared[pointer_of(c)] = v
        if c.storage_class.name == "STATIC" and not v.memory:
            v.storage = "static"
        if v.memory == "shared":
            v.link_name = "" if v.storage == "extern" else c.mangled_name.lstrip("\x01")
            if v.storage == "extern":
                v.link_name = v.name
            return [s.DeclStmt((v,), place=v.place)]
        start = initialiser(c)
        if start is None:
            return [s.DeclStmt((v,), place=v.place)]
        record = self.record_of(v.type) if not isinstance(strip(v.type), Reference) else None
        built = self.construction(start) if record is not None else None
        element = strip(v.type)
        if isinstance(element, Array) and self.construction(start) is not None:
            return [s.DeclStmt((v,), place=v.place), *self.construct_elements(v, start)]
        if built is not None:
            after = self.construct_at(lambda: self.address_of(v, c), built, c)
            if after is not None:
                self.cleanup(v, record)
                return [s.DeclStmt((v,), place=v.place), *after]
        v.init = self.initial_value(start, v.type)
        self.cleanup(v, record)
        return [s.DeclStmt((v,), place=v.place)]

    def cleanup(self, v: Variable, record: Record | None) -> None:
        destructor = self.destructor(record)
        if destructor is not None:
            this = x.Unary("&", x.Name(v.name, v, place=v.place), place=v.place)
            v.cleanup = x.Call(x.Name(destructor.name, destructor), (this,), place=v.place)

    def address_of(self, v: Variable, c: Any) -> x.Expr:
        at = self.place(c)
        return x.Unary("&", x.Name(v.name, v, place=at), place=at)

    def construct_elements(self, v: Variable, start: Any) -> list[s.Stmt]:
        """`T a[n];` with a constructor that does something: a loop over the elements."""
        t = strip(v.type)
        assert isinstance(t, Array)
        element, count = t.element, t.count or 0
        while isinstance(inner := strip(element), Array):
            element, count = inner.element, count * (inner.count or 0)
        built = self.construction(start)
        at = v.place
        i = Variable(f"__element{self.fresh()}", INT, x.IntLiteral(0, type=INT), place=at)

        def this() -> x.Expr:
            first = x.Cast(x.Unary("&", x.Name(v.name, v, place=at)), type=Pointer(element))
            return x.Binary("+", first, x.Name(i.name, i, place=at), place=at)

        body = self.construct_at(this, built, start)
        if not body:
            return []
        cond = x.Binary("<", x.Name(i.name, i), x.IntLiteral(count, type=INT))
        step = x.Step("++", x.Name(i.name, i))
        return [s.For(s.DeclStmt((i,)), cond, step, s.Compound(tuple(body)), place=at)]

    # ------------------------------------------------------------- branches

    def if_(self, c: Any) -> s.Stmt:
        kids = children(c)
        before, kids = self.condition_variables(kids)
        cond, then = kids[0], kids[1]
        known = evaluate(cond) if re.match(r"if\s+constexpr", self.spelled(c, 40)) else None
        if known is not None:
            taken = kids[1] if known else kids[2] if len(kids) > 2 else None
            made: s.Stmt = s.Empty(place=self.place(c)) if taken is None else self.stmt(taken)
        else:
            other = self.stmt(kids[2]) if len(kids) > 2 else None
            made = s.If(self.expr(cond), self.stmt(then), other, place=self.place(c))
        return s.Compound((*before, made), place=self.place(c)) if before else made

    def condition_variables(self, kids: list[Any]) -> tuple[list[s.Stmt], list[Any]]:
        """The declarations in front of a condition."""
        before: list[s.Stmt] = []
        while kids and kind_of(kids[0]) in ("DECL_STMT", "VAR_DECL"):
            k = kids.pop(0)
            before += self.local(k) if kind_of(k) == "VAR_DECL" else [self.stmt(k)]
        return before, kids

    def switch(self, c: Any) -> s.Stmt:
        hidden = self.switch_variables(c)
        before, kids = self.condition_variables(children(c))
        before = hidden + before
        cond = self.expr(kids[0])
        t = strip(self.types.read(kids[0].type))
        if isinstance(t, Enum):
            cond = x.Cast(cond, type=t.underlying, implicit=True, place=cond.place)
        made = s.Switch(cond, self.stmt(kids[-1]), place=self.place(c))
        return s.Compound((*before, made), place=self.place(c)) if before else made

    def switch_variables(self, c: Any) -> list[s.Stmt]:
        """What `switch (T v = e; …)` declares: libclang leaves it out of the children, and gives
        it away only where the variable is named."""
        start = c.extent.start
        text = self.parsed.text(start.file.name) if start.file is not None else ""
        found = header(text, start.offset, "switch")
        if found is None or len(found) < 2:
            return []
        declared: dict[int, Any] = {}
        todo = children(c)
        while todo:
            k = todo.pop()
            todo += children(k)
            d = k.referenced if kind_of(k) == "DECL_REF_EXPR" else None
            if d is not None and kind_of(d) == "VAR_DECL" and d.location.file is not None \
                    and d.location.file.name == start.file.name \
                    and start.offset < d.location.offset < found[0]:
                declared[d.location.offset] = d
        if not declared:
            raise self.unsupported("what stands before the condition of a switch", c)
        return [one for at in sorted(declared) for one in self.local(declared[at])]

    def case(self, c: Any) -> s.Stmt:
        kids = children(c)
        values = [self.case_value(k) for k in kids[:-1]]
        body = self.stmt(kids[-1])
        return s.Case(values[0], body, values[1] if len(values) > 1 else None,
                      place=self.place(c))

    def case_value(self, c: Any) -> x.Expr:
        known = evaluate(c)
        if known is None:
            return self.expr(c)
        return x.IntLiteral(int(known), type=LONG if abs(int(known)) >> 31 else INT,
                            place=self.place(c))

    def default(self, c: Any) -> s.Stmt:
        kids = children(c)
        return s.Default(self.stmt(kids[-1]) if kids else None, place=self.place(c))

    # ---------------------------------------------------------------- loops

    def for_(self, c: Any, unroll: s.Unroll | None = None) -> s.Stmt:
        parts = self.for_parts(c)
        made, read = written_out(self, c, parts, unroll) if self.unrolls else (None, None)
        if made is not None:
            return made
        init, cond, step, body = parts
        if read is not None:
            return s.For(read[0], self.expr(cond), read[2], read[1], unroll, place=self.place(c))
        made_init = None if init is None else self.stmt(init)
        made_cond, inner = None, []
        if isinstance(cond, list):
            inner = self.condition_breaks(cond)
        elif cond is not None:
            made_cond = self.expr(cond)
        made_step = None if step is None else self.effect(step)
        made_body = self.stmt(body)
        if inner:
            made_body = s.Compound((*inner, made_body))
        return s.For(made_init, made_cond, made_step, made_body, unroll, place=self.place(c))

    def for_parts(self, c: Any) -> tuple[Any, Any, Any, Any]:
        """(init, cond, step, body) of a for, each but the body possibly None; the condition of
        one that declares a variable is a list."""
        kids = children(c)
        body = kids.pop()
        if len(kids) == 3:
            return kids[0], kids[1], kids[2], body
        start = c.extent.start
        text = self.parsed.text(start.file.name) if start.file is not None else ""
        header = for_header(text, start.offset)
        parts: list[list[Any]] = [[], [], []]
        for k in kids:
            at = k.extent.start.offset
            if header is None:
                where = _guess(k, parts)
            else:
                where = 0 if at < header[0] else 1 if at < header[1] else 2
            parts[where].append(k)
        if len(parts[0]) > 1 or len(parts[2]) > 1:  # of a header that clang has mended
            raise self.unsupported("a 'for' without a clear end of its parts", c)
        one = [p[0] if len(p) == 1 else p or None for p in parts]
        return one[0], one[1], one[2], body

    def condition_breaks(self, kids: list[Any]) -> list[s.Stmt]:
        """`T v = e` as a condition: at the head of the body, with a way out."""
        before, rest = self.condition_variables(list(kids))
        leave = s.If(x.Unary("!", self.expr(rest[0])), s.Break())
        return [*before, leave]

    def while_(self, c: Any, unroll: s.Unroll | None = None) -> s.Stmt:
        kids = children(c)
        body = kids.pop()
        if len(kids) > 1:
            inner = self.condition_breaks(kids)
            whole = s.Compound((*inner, self.stmt(body)), place=self.place(body))
            true = x.IntLiteral(1, type=BOOL)
            return s.While(true, whole, unroll, place=self.place(c))
        return s.While(self.expr(kids[0]), self.stmt(body), unroll, place=self.place(c))

    def do(self, c: Any, unroll: s.Unroll | None = None) -> s.Stmt:
        body, cond = children(c)
        return s.Do(self.stmt(body), self.expr(cond), unroll, place=self.place(c))

    def range_for(self, c: Any, unroll: s.Unroll | None = None) -> s.Stmt:
        """`for (T v : array)` over a pointer to the elements."""
        kids = children(c)
        declared, body = kids[0], kids[-1]
        over = next(k for k in kids[1:-1] if is_expression(k))
        t = strip(self.types.read(over.type))
        if not isinstance(t, Array) or t.count is None:
            raise self.unsupported("a range-based for over anything but an array", c)
        at, n = self.place(c), self.fresh()
        first = Variable(f"__begin{n}", Pointer(t.element), self.expr(over), place=at)
        last = Variable(
            f"__end{n}", Pointer(t.element),
            x.Binary("+", x.Name(first.name, first), x.IntLiteral(t.count, type=INT)), place=at,
        )
        v = self.variable(declared)
        self.declared[pointer_of(declared)] = v
        v.init = x.Unary("*", x.Name(first.name, first), place=at)
        loop = s.For(
            s.DeclStmt((first,)), x.Binary("!=", x.Name(first.name, first),
                                           x.Name(last.name, last)),
            x.Step("++", x.Name(first.name, first)),
            s.Compound((s.DeclStmt((v,), place=v.place), self.stmt(body))), unroll, place=at,
        )
        loop.init = s.Compound((s.DeclStmt((first,)), s.DeclStmt((last,))), False)
        return loop

    def attributed(self, c: Any) -> s.Stmt:
        """A statement with attributes in front, of which loop pragmas matter."""
        kids = children(c)
        inner = kids[-1]
        rule = _LOOPS.get(kind_of(inner))
        if rule is None:
            return self.stmt(inner)
        self.at = inner
        made: s.Stmt = rule(self, inner, self.unroll_of(c, inner))
        return made

    def unroll_of(self, c: Any, inner: Any) -> s.Unroll | None:
        start, end = c.extent.start, inner.extent.start
        if start.file is None:
            return s.Unroll(None)
        text = self.parsed.text(start.file.name)
        between = text[start.offset : max(end.offset, start.offset)] or self.spelled(c, 200)
        found = pragma(between)
        if found is None:  # in a macro
            word = re.match(r"\w+", text[start.offset :])
            body = " ".join(self.macro(word[0]) or []) if word is not None else ""
            found = pragma(body.replace("\\", ""))
        if found is None:
            return None
        kind, argument = found
        if kind == "nounroll":
            return s.Unroll(1)
        return s.Unroll(self.number(argument) if argument else None)

    # ----------------------------------------------------------- jumps, asm

    def goto(self, c: Any) -> s.Stmt:
        target = next(iter(children(c)), None)
        if target is None:
            raise self.unsupported("a goto whose label libclang does not show", c)
        return s.Goto(target.spelling, place=self.place(c))

    def label(self, c: Any) -> s.Stmt:
        kids = children(c)
        return s.Label(c.spelling, self.stmt(kids[-1]) if kids else None, place=self.place(c))

    def return_(self, c: Any) -> s.Stmt:
        kids = children(c)
        if not kids:
            return s.Return(place=self.place(c))
        t = self.types.read(kids[0].type)
        e = self.object_value(kids[0], t)
        return s.Return(e, place=self.place(c))

    def asm(self, c: Any) -> s.Stmt:
        tokens = self.expanded(c)
        starts = [k for k, t in enumerate(tokens) if t in _ASM]
        if len(starts) > 1:  # a macro of several: which of them this one is, its order tells
            at = self.order_in_macro(c)
            if at is None or at[1] != len(starts):
                raise self.unsupported("inline assembly of a macro with several such statements", c)
            tokens = tokens[starts[at[0]] :]
        parts = parse_asm(tokens)
        if parts is None:
            raise self.unsupported("inline assembly that a macro builds", c)
        operands = children(c)
        if len(operands) != len(parts.outputs) + len(parts.inputs):
            raise self.unsupported("inline assembly whose operands a macro builds", c)
        made = []
        for (constraint, name), k in zip((*parts.outputs, *parts.inputs), operands, strict=True):
            e = self.expr(k)
            made.append(s.AsmOperand(constraint, e, name, place=self.place(k)))
        n = len(parts.outputs)
        return s.Asm(parts.template, tuple(made[:n]), tuple(made[n:]), parts.clobbers,
                     parts.volatile or not n, place=self.place(c))

    def order_in_macro(self, c: Any) -> tuple[int, int] | None:
        """(the place of inline assembly among that of the function which begins where it does,
        how much there is): a macro's statements all begin where the macro is named."""
        def begin(k: Any) -> tuple[str, int]:
            return str(k.extent.start.file), k.extent.start.offset

        found: list[Any] = []
        todo = [self.cursors[-1]] if self.cursors else []
        while todo:
            k = todo.pop()
            todo += reversed(children(k))
            if kind_of(k) in ("ASM_STMT", "MS_ASM_STMT") and begin(k) == begin(c):
                found.append(k)
        at = next((n for n, k in enumerate(found) if k == c), None)
        return None if at is None else (at, len(found))

    def expanded(self, c: Any) -> list[str]:
        """The tokens of a statement, macros expanded as far as strings go."""
        tokens = [t.spelling for t in c.get_tokens()]
        call = call_tokens(self.spelled(c, 4000))
        body = self.macro(call[0]) if call else None
        if body is not None:
            tokens = substituted(body, call)
        out: list[str] = []
        todo = [(t, 0) for t in reversed(tokens)]
        while todo:
            t, depth = todo.pop()
            if re.match(r"[A-Za-z_]\w*$", t) and depth < 8:
                body = self.macro(t)
                if body and any('"' in b for b in body):
                    todo += [(b, depth + 1) for b in reversed(body)]
                    continue
            out.append(t)
        return out


_ASM = ("asm", "__asm__", "__asm")


def _guess(k: Any, parts: list[list[Any]]) -> int:
    if kind_of(k) == "DECL_STMT":
        return 0
    return 1 if k.type.spelling == "bool" and not parts[1] else 2


def _called(c: Any) -> str:
    return str(kind_of(c)).lower().replace("_", " ").replace("cxx ", "C++ ")


_LOOPS: dict[str, Any] = {
    "FOR_STMT": StatementReader.for_, "WHILE_STMT": StatementReader.while_,
    "DO_STMT": StatementReader.do, "CXX_FOR_RANGE_STMT": StatementReader.range_for,
}
_RULES: dict[str, Any] = {
    **_LOOPS, "COMPOUND_STMT": StatementReader.compound, "DECL_STMT": StatementReader.declarations,
    "IF_STMT": StatementReader.if_, "SWITCH_STMT": StatementReader.switch,
    "CASE_STMT": StatementReader.case, "DEFAULT_STMT": StatementReader.default,
    "GOTO_STMT": StatementReader.goto, "LABEL_STMT": StatementReader.label,
    "RETURN_STMT": StatementReader.return_, "ASM_STMT": StatementReader.asm,
    "MS_ASM_STMT": StatementReader.asm, "UNEXPOSED_STMT": StatementReader.attributed,
    "BREAK_STMT": lambda r, c: s.Break(place=r.place(c)),
    "CONTINUE_STMT": lambda r, c: s.Continue(place=r.place(c)),
    "NULL_STMT": lambda r, c: s.Empty(place=r.place(c)),
}
