"""Statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from nvir.frontend.tree.expressions import Expr
from nvir.frontend.tree.place import Node

if TYPE_CHECKING:
    from nvir.frontend.tree.declarations import Variable


@attrs.define(eq=False)
class Stmt(Node):
    """Root of statements."""


@attrs.define(eq=False)
class Empty(Stmt):
    """`;`"""


@attrs.define(eq=False)
class ExprStmt(Stmt):
    expr: Expr


@attrs.define(eq=False)
class DeclStmt(Stmt):
    """Variables of a block; static `__shared__` ones among them become globals."""

    variables: tuple[Variable, ...]


@attrs.define(eq=False)
class Compound(Stmt):
    """`{ ... }`, a scope of its own unless `scope` is False (declarations split by a reader)."""

    body: tuple[Stmt, ...] = ()
    scope: bool = True


@attrs.define(eq=False)
class If(Stmt):
    cond: Expr
    then: Stmt
    other: Stmt | None = None


@attrs.frozen
class Unroll:
    """`#pragma unroll`: `count` None is fully, 1 is `#pragma nounroll`, else that often."""

    count: int | None = None


@attrs.define(eq=False)
class While(Stmt):
    cond: Expr
    body: Stmt
    unroll: Unroll | None = None


@attrs.define(eq=False)
class Do(Stmt):
    body: Stmt
    cond: Expr
    unroll: Unroll | None = None


@attrs.define(eq=False)
class For(Stmt):
    """`for (init; cond; step) body`; each part but the body may be None."""

    init: Stmt | None
    cond: Expr | None
    step: Expr | None
    body: Stmt
    unroll: Unroll | None = None


@attrs.define(eq=False)
class Switch(Stmt):
    """`switch`: cases may lie anywhere in the body, also inside its loops."""

    cond: Expr
    body: Stmt


@attrs.define(eq=False)
class Case(Stmt):
    """`case value:`, or `case value ... last:`; labels the statement `body`."""

    value: Expr
    body: Stmt | None = None
    last: Expr | None = None


@attrs.define(eq=False)
class Default(Stmt):
    body: Stmt | None = None


@attrs.define(eq=False)
class Goto(Stmt):
    label: str


@attrs.define(eq=False)
class Label(Stmt):
    name: str
    body: Stmt | None = None


@attrs.define(eq=False)
class Break(Stmt):
    pass


@attrs.define(eq=False)
class Continue(Stmt):
    pass


@attrs.define(eq=False)
class Return(Stmt):
    value: Expr | None = None


@attrs.define(eq=False)
class AsmOperand(Node):
    """An operand of inline asm; `name` is GCC's `[name]`, which the real front end refuses."""

    constraint: str
    expr: Expr
    name: str = ""


@attrs.define(eq=False)
class Asm(Stmt):
    """`asm volatile ("template" : outputs : inputs : clobbers)`."""

    template: str
    outputs: tuple[AsmOperand, ...] = ()
    inputs: tuple[AsmOperand, ...] = ()
    clobbers: tuple[str, ...] = ()
    volatile: bool = False

    def constraints(self) -> list[str]:
        """Those of the outputs, then those of the inputs."""
        return [o.constraint for o in (*self.outputs, *self.inputs)]
