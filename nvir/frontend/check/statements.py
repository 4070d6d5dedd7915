"""Statements, functions and the unit.

A mistake spoils its statement; checking goes on with the next, so that all are told at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from nvir.frontend import tree
from nvir.frontend.check.conversions import is_reference, unqualified
from nvir.frontend.check.errors import Mistake, TreeError, diagnostic
from nvir.frontend.check.evaluate import evaluate, fit
from nvir.frontend.check.expressions import ExpressionChecker, typed
from nvir.frontend.check.initialisers import check_initialiser
from nvir.frontend.depth import MAX_NESTING, room
from nvir.ir.errors import Diagnostic

MAX_ERRORS = 50


def check(unit: tree.Unit) -> tree.Unit:
    """Type a unit in place and return it. Raises `TreeError` with all mistakes."""
    deepest = _depth(unit)
    if deepest is not None:
        raise TreeError(diagnostic(f"nested deeper than {MAX_NESTING} levels", deepest.place,
                                   unit.source.splitlines(), file=unit.file))
    checker = Checker(unit)
    with room(MAX_NESTING):
        checker.unit_()
    if checker.errors:
        raise TreeError(checker.errors)
    return unit


def _children(n: Any) -> Iterator[tree.Node]:
    for a in n.__attrs_attrs__:
        if a.name == "decl":
            continue
        value = getattr(n, a.name)
        if isinstance(value, tree.Node):
            yield value
        elif isinstance(value, tuple):
            for v in value:
                if isinstance(v, tree.Node):
                    yield v


def _depth(unit: tree.Unit) -> tree.Node | None:
    """A node that lies too deep, or None. Shared subtrees are looked at once a level."""
    level: list[tree.Node] = list(unit.declarations)
    for _ in range(MAX_NESTING):
        below = {id(c): c for n in level for c in _children(n)}
        if not below:
            return None
        level = list(below.values())
    return level[0]


@attrs.define
class _Switch:
    """An open switch: the type of its cases, and what they were."""

    type: tree.CType
    seen: dict[int, tree.Node] = attrs.Factory(dict)
    has_default: bool = False


class Checker(ExpressionChecker):
    def __init__(self, unit: tree.Unit) -> None:
        super().__init__(unit)
        self.errors: list[Diagnostic] = []
        self.source = unit.source.splitlines()
        self.function: tree.Function | None = None
        self.loops = 0
        self.switches: list[_Switch] = []
        self.breakable = 0
        self.labels: set[str] = set()
        self.gotos: list[tree.Goto] = []
        self.check_block = self.block_value

    def mistake(self, message: str, place: Any) -> None:
        if len(self.errors) < MAX_ERRORS:
            self.errors.append(diagnostic(message, place, self.source, file=self.unit.file))

    def guarded(self, rule: Any, node: tree.Node) -> None:
        try:
            rule(node)
        except Mistake as m:
            self.mistake(m.message, m.place)
        except tree.LayoutError as e:
            self.mistake(str(e), node.place)

    # ---------------------------------------------------------------- unit

    def unit_(self) -> None:
        for d in self.unit.declarations:
            old = self.scopes.declare(d)
            if old is not None:
                self.mistake(f"redefinition of '{d.name}', declared at {old.place}", d.place)
        for d in self.unit.declarations:
            if isinstance(d, tree.Variable):
                self.guarded(self.variable, d)
            elif isinstance(d, tree.Function):
                self.guarded(self.function_, d)
        for f in self.constructors.values():
            self.guarded(self.function_, f)
            self.unit.declarations.append(f)

    def variable(self, v: tree.Variable) -> None:
        t = tree.strip(v.type)
        if isinstance(t, tree.FunctionType) or tree.is_void(t):
            raise Mistake(f"variable '{v.name}' of type '{tree.spell(v.type)}'", v.place)
        if v.memory == "shared" and v.init is not None and not _is_trivial(v.init):
            raise Mistake(f"__shared__ variable '{v.name}' cannot have an initialiser", v.place)
        if v.init is not None and v.storage == "extern" and self.function is not None:
            raise Mistake(f"extern variable '{v.name}' with an initialiser", v.place)
        if v.align & (v.align - 1) or v.align < 0:
            raise Mistake(f"an alignment of {v.align}", v.place)
        if is_reference(v.type):
            if v.init is None:
                raise Mistake(f"reference '{v.name}' refers to nothing", v.place)
            v.init = self.bind(v.init, v.type)
        elif v.init is not None:
            v.init, v.type = check_initialiser(self, v.init, v.type)
        if v.storage != "extern":
            try:
                tree.size_of(v.type)
            except tree.LayoutError as e:
                raise Mistake(f"variable '{v.name}': {e}", v.place) from None
        if v.cleanup is not None:
            v.cleanup = self.expr(v.cleanup)

    def function_(self, f: tree.Function) -> None:
        for p in f.params:
            p.type = _parameter_type(p.type)
        if f.is_kernel and not tree.is_void(f.result):
            raise Mistake(f"kernel '{f.name}' must return void", f.place)
        if f.is_kernel and f.variadic:
            raise Mistake(f"kernel '{f.name}' takes a variable number of arguments", f.place)
        if isinstance(tree.strip(f.result), tree.Array | tree.FunctionType):
            raise Mistake(f"'{f.name}' returns '{tree.spell(f.result)}'", f.place)
        if f.body is None:
            return
        self.function, self.labels, self.gotos = f, set(_labels(f.body)), []
        self.scopes.push()
        for p in f.params:
            self.guarded(self.parameter, p)
        self.block(f.body, scope=False)
        self.scopes.pop()
        for g in self.gotos:
            if g.label not in self.labels:
                self.mistake(f"use of undeclared label '{g.label}'", g.place)
        self.duplicate_labels(f.body)
        self.function = None

    def parameter(self, p: tree.Parameter) -> None:
        if tree.is_void(p.type):
            raise Mistake(f"parameter '{p.name}' of type void", p.place)
        tree.size_of(p.type)
        if p.name and self.scopes.declare(p) is not None:
            raise Mistake(f"redefinition of parameter '{p.name}'", p.place)

    def duplicate_labels(self, body: tree.Stmt) -> None:
        seen: set[str] = set()
        for s in _walk(body):
            if isinstance(s, tree.Label):
                if s.name in seen:
                    self.mistake(f"redefinition of label '{s.name}'", s.place)
                seen.add(s.name)

    # ----------------------------------------------------------- statements

    def stmt(self, s: tree.Stmt) -> None:
        rule = _RULES.get(type(s))
        if rule is None:
            self.mistake(f"unsupported statement {type(s).__name__}", s.place)
            return
        self.guarded(rule.__get__(self), s)

    def block(self, s: tree.Compound, scope: bool | None = None) -> None:
        opens = s.scope if scope is None else scope
        if opens:
            self.scopes.push()
        for inner in s.body:
            self.stmt(inner)
        if opens:
            self.scopes.pop()

    def block_value(self, s: tree.Compound) -> tree.CType:
        """The type of `({ … })`."""
        self.block(s)
        last = s.body[-1] if s.body else None
        if isinstance(last, tree.ExprStmt) and last.expr.type is not None:
            if not tree.is_void(last.expr.type):
                last.expr = self.value(last.expr)
            return unqualified(typed(last.expr))
        return tree.VOID

    def empty(self, s: tree.Empty) -> None:
        pass

    def expression(self, s: tree.ExprStmt) -> None:
        s.expr = self.expr(s.expr)

    def declaration(self, s: tree.DeclStmt) -> None:
        for v in s.variables:
            # visible in its own initialiser, as in C; an array's bound may come from there
            old = self.scopes.declare(v)
            if old is not None:
                self.mistake(f"redefinition of '{v.name}', declared at {old.place}", v.place)
            self.variable(v)

    def inner(self, s: tree.Stmt) -> None:
        """A statement that is a scope of its own, whether it has braces or not."""
        self.scopes.push()
        self.stmt(s)
        self.scopes.pop()

    def if_(self, s: tree.If) -> None:
        s.cond = self.tried_condition(s.cond)
        self.inner(s.then)
        if s.other is not None:
            self.inner(s.other)

    def tried_condition(self, e: tree.Expr) -> tree.Expr:
        """A condition; a mistake in it is told, and what it governs is still looked at."""
        try:
            return self.condition(e)
        except Mistake as m:
            self.mistake(m.message, m.place)
            return e

    def body(self, s: tree.Stmt) -> None:
        self.loops += 1
        self.breakable += 1
        self.inner(s)
        self.loops -= 1
        self.breakable -= 1

    def while_(self, s: tree.While) -> None:
        self.unroll(s)
        s.cond = self.tried_condition(s.cond)
        self.body(s.body)

    def do(self, s: tree.Do) -> None:
        self.unroll(s)
        self.body(s.body)
        s.cond = self.tried_condition(s.cond)

    def for_(self, s: tree.For) -> None:
        self.unroll(s)
        self.scopes.push()
        if s.init is not None:
            self.stmt(s.init)
        if s.cond is not None:
            s.cond = self.tried_condition(s.cond)
        try:
            s.step = None if s.step is None else self.expr(s.step)
        except Mistake as m:
            self.mistake(m.message, m.place)
        self.body(s.body)
        self.scopes.pop()

    def unroll(self, s: tree.While | tree.Do | tree.For) -> None:
        if s.unroll is not None and s.unroll.count is not None and s.unroll.count < 0:
            self.mistake(f"an unroll count of {s.unroll.count}", s.place)

    def switch(self, s: tree.Switch) -> None:
        e = self.value(s.cond)
        if not tree.is_integer(typed(e)):
            raise Mistake(f"switch on a value of type '{tree.spell(typed(e))}'", e.place)
        t = self.promoted_type(e)
        s.cond = self.converted(e, t, "convert")
        self.switches.append(_Switch(t))
        self.breakable += 1
        self.inner(s.body)
        self.breakable -= 1
        self.switches.pop()

    def case(self, s: tree.Case) -> None:
        if not self.switches:
            raise Mistake("'case' outside of a switch", s.place)
        where = self.switches[-1]
        low, s.value = self.case_value(s.value, where)
        high = low
        if s.last is not None:
            high, s.last = self.case_value(s.last, where)
        if high < low or high - low > 4096:
            raise Mistake(f"a case range from {low} to {high}", s.place)
        for v in range(low, high + 1):
            if v in where.seen:
                raise Mistake(f"case {v} twice, first at {where.seen[v].place}", s.place)
            where.seen[v] = s
        if s.body is not None:
            self.stmt(s.body)

    def case_value(self, e: tree.Expr, where: _Switch) -> tuple[int, tree.Expr]:
        e = self.converted(e, where.type, "convert")
        v = evaluate(e)
        made = None if v is None else fit(v, where.type)
        if not isinstance(made, int):
            raise Mistake("a case is no integer constant", e.place)
        return made, e

    def default(self, s: tree.Default) -> None:
        if not self.switches:
            raise Mistake("'default' outside of a switch", s.place)
        if self.switches[-1].has_default:
            raise Mistake("a second 'default'", s.place)
        self.switches[-1].has_default = True
        if s.body is not None:
            self.stmt(s.body)

    def goto(self, s: tree.Goto) -> None:
        self.gotos.append(s)

    def label(self, s: tree.Label) -> None:
        if s.body is not None:
            self.stmt(s.body)

    def break_(self, s: tree.Break) -> None:
        if not self.breakable:
            raise Mistake("'break' outside of a loop or switch", s.place)

    def continue_(self, s: tree.Continue) -> None:
        if not self.loops:
            raise Mistake("'continue' outside of a loop", s.place)

    def return_(self, s: tree.Return) -> None:
        f = self.function
        assert f is not None
        if tree.is_void(f.result):
            if s.value is not None:
                s.value = self.expr(s.value)
                if not tree.is_void(typed(s.value)):
                    raise Mistake(f"'{f.name}' returns void, not a value", s.place)
        elif s.value is None:
            raise Mistake(f"'{f.name}' returns '{tree.spell(f.result)}', here nothing", s.place)
        elif is_reference(f.result):
            s.value = self.bind(s.value, f.result)
        else:
            s.value = self.converted(s.value, f.result, "return")

    def asm(self, s: tree.Asm) -> None:
        for o in s.outputs:
            self.modifiable(o.expr, "an asm output")
        for o in s.inputs:
            o.expr = self.value(o.expr)


def _is_trivial(e: tree.Expr) -> bool:
    """An initialiser that a reader made of an implicit constructor that does nothing."""
    return isinstance(e, tree.InitList) and not e.items and e.ordered


def _parameter_type(t: tree.CType) -> tree.CType:
    s = tree.strip(t)
    if isinstance(s, tree.Array):
        return tree.Pointer(s.element)
    return tree.Pointer(s) if isinstance(s, tree.FunctionType) else t


def _walk(s: tree.Stmt) -> Iterator[tree.Stmt]:
    """A statement and all in it, in source order."""
    work: list[tree.Node] = [s]
    while work:
        n = work.pop()
        if isinstance(n, tree.Stmt):
            yield n
            work.extend(reversed([c for c in _children(n) if isinstance(c, tree.Stmt)]))


def _labels(s: tree.Stmt) -> Iterator[str]:
    return (n.name for n in _walk(s) if isinstance(n, tree.Label))


_RULES: dict[type[tree.Stmt], Any] = {
    tree.Empty: Checker.empty, tree.ExprStmt: Checker.expression,
    tree.DeclStmt: Checker.declaration, tree.Compound: Checker.block, tree.If: Checker.if_,
    tree.While: Checker.while_, tree.Do: Checker.do, tree.For: Checker.for_,
    tree.Switch: Checker.switch, tree.Case: Checker.case, tree.Default: Checker.default,
    tree.Goto: Checker.goto, tree.Label: Checker.label, tree.Break: Checker.break_,
    tree.Continue: Checker.continue_, tree.Return: Checker.return_, tree.Asm: Checker.asm,
}

__all__ = ["Checker", "check"]
