"""Expressions. `type` is None until the checker, or a reader that knows it, has set it.

An expression of reference type does not exist: a name of such a variable, or a call that
returns one, has the referent's type and is an lvalue. Conversions are `Cast`s; the one from
an lvalue to its value is not written, it happens wherever a value is needed.

The operators are rows (`OPERATORS`), with the number of the real front end's operator where
it is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from nvir.frontend.tree.place import Node
from nvir.frontend.tree.types import CType

if TYPE_CHECKING:
    from nvir.frontend.tree.declarations import Declaration
    from nvir.frontend.tree.statements import Compound


@attrs.frozen
class Operator:
    """A row of the operator table.

    family  "sign", "bits", "not", "memory", "step", "additive", "multiplicative", "shift",
            "bitwise", "relational", "equality", "logical", "pointer", "comma", "assign",
            "compound", "conditional", "decay"
    opcode  the real front end's number where it is known, else None
    """

    name: str
    symbol: str
    arity: int
    family: str
    opcode: int | None = None


_ROWS: list[tuple[str, str, int, str, int | None]] = [
    ("plus", "+", 1, "sign", None), ("minus", "-", 1, "sign", None),
    ("compl", "~", 1, "bits", None), ("lnot", "!", 1, "not", 0x1D),
    ("deref", "*", 1, "memory", None), ("addr", "&", 1, "memory", None),
    ("preinc", "++", 1, "step", None), ("predec", "--", 1, "step", None),
    ("postinc", "++", 1, "step", None), ("postdec", "--", 1, "step", None),
    ("arraydecay", "", 1, "decay", 0x15),
    ("add", "+", 2, "additive", None), ("sub", "-", 2, "additive", None),
    ("mul", "*", 2, "multiplicative", None), ("div", "/", 2, "multiplicative", None),
    ("rem", "%", 2, "multiplicative", None),
    ("shl", "<<", 2, "shift", None), ("shr", ">>", 2, "shift", None),
    ("and", "&", 2, "bitwise", None), ("or", "|", 2, "bitwise", None),
    ("xor", "^", 2, "bitwise", None),
    ("lt", "<", 2, "relational", None), ("gt", ">", 2, "relational", None),
    ("le", "<=", 2, "relational", None), ("ge", ">=", 2, "relational", None),
    ("eq", "==", 2, "equality", None), ("ne", "!=", 2, "equality", None),
    ("land", "&&", 2, "logical", 0x57), ("lor", "||", 2, "logical", 0x58),
    ("padd", "+", 2, "pointer", None), ("psub", "-", 2, "pointer", None),
    ("pdiff", "-", 2, "pointer", 0x34),
    ("comma", ",", 2, "comma", None), ("assign", "=", 2, "assign", None),
    ("add_assign", "+=", 2, "compound", None), ("sub_assign", "-=", 2, "compound", None),
    ("mul_assign", "*=", 2, "compound", None), ("div_assign", "/=", 2, "compound", None),
    ("rem_assign", "%=", 2, "compound", None), ("shl_assign", "<<=", 2, "compound", None),
    ("shr_assign", ">>=", 2, "compound", None), ("and_assign", "&=", 2, "compound", None),
    ("or_assign", "|=", 2, "compound", None), ("xor_assign", "^=", 2, "compound", None),
    ("padd_assign", "+=", 2, "compound", None), ("psub_assign", "-=", 2, "compound", None),
    ("cond", "?:", 3, "conditional", 0x67),
]
OPERATORS: dict[str, Operator] = {row[0]: Operator(*row) for row in _ROWS}
UNARY = {o.symbol: o for o in OPERATORS.values() if o.arity == 1 and o.family not in
         ("step", "decay")}
BINARY = {o.symbol: o for o in OPERATORS.values() if o.arity == 2 and o.family not in
          ("pointer", "compound", "assign")}
ASSIGNMENT = {o.symbol: o for o in OPERATORS.values() if o.family in ("compound", "assign")
              and not o.name.startswith("p")}


@attrs.define(eq=False)
class Expr(Node):
    """Root of expressions."""

    type: CType | None = attrs.field(default=None, kw_only=True)


@attrs.define(eq=False)
class IntLiteral(Expr):
    """An integer, character or boolean constant; enumerators too."""

    value: int


@attrs.define(eq=False)
class FloatLiteral(Expr):
    value: float


@attrs.define(eq=False)
class StringLiteral(Expr):
    """Bytes without the NUL that ends them; an lvalue array of char."""

    value: bytes


@attrs.define(eq=False)
class NullPointer(Expr):
    """`nullptr`."""


@attrs.define(eq=False)
class Name(Expr):
    """A variable, parameter, function or enumerator. `decl` is bound by scope where None."""

    name: str
    decl: Declaration | None = attrs.field(default=None, repr=False)


@attrs.define(eq=False)
class Unary(Expr):
    """`+ - ~ ! * &` before an operand."""

    op: str
    operand: Expr


@attrs.define(eq=False)
class Step(Expr):
    """`++` or `--` (`op`), before or after its operand."""

    op: str
    operand: Expr
    prefix: bool = True


@attrs.define(eq=False)
class Binary(Expr):
    """Arithmetic, shifts, comparisons, `&& ||` and the comma."""

    op: str
    left: Expr
    right: Expr


@attrs.define(eq=False)
class Assign(Expr):
    """`=` and the compound assignments.

    `compute` is the type in which a compound one computes: the target is converted to it,
    the result back. None until checked.
    """

    op: str
    target: Expr
    value: Expr
    compute: CType | None = None


@attrs.define(eq=False)
class Conditional(Expr):
    """`cond ? then : other`."""

    cond: Expr
    then: Expr
    other: Expr


@attrs.define(eq=False)
class Cast(Expr):
    """A conversion to `type`. `kind` says which, None until checked (see `check.conversions`).

    to_lvalue   the cast is to a reference: the same place seen as `type`
    """

    operand: Expr
    implicit: bool = False
    kind: str | None = None
    to_lvalue: bool = False


@attrs.define(eq=False)
class Member(Expr):
    """`base.field`, or `base->field` with `arrow`.

    `path` holds the numbers of the fields that lead there, through unnamed members and bases;
    None until checked.
    """

    base: Expr
    field: str
    arrow: bool = False
    path: tuple[int, ...] | None = None


@attrs.define(eq=False)
class Index(Expr):
    """`base[index]`; either may be the pointer."""

    base: Expr
    index: Expr


@attrs.define(eq=False)
class Call(Expr):
    """A call. Methods are plain functions whose first argument is `this`.

    reversed_order  evaluate the arguments from right to left
    preserve        (data, control, after) register hints, -1 for none
    """

    callee: Expr
    args: tuple[Expr, ...] = ()
    reversed_order: bool = False
    preserve: tuple[int, int, int] = (-1, -1, -1)


@attrs.define(eq=False)
class SizeOf(Expr):
    """`sizeof` of a type or an expression; with `align`, `alignof`."""

    of_type: CType | None = None
    of_expr: Expr | None = None
    align: bool = False


@attrs.define(eq=False)
class Designated(Expr):
    """`.field = value` or `[index] = value` in an initialiser list."""

    target: str | int
    value: Expr


@attrs.define(eq=False)
class InitList(Expr):
    """`{a, b, ...}`; what is not given is zero. Nested braces may be left out, as in C.

    An `ordered` one, as the checker makes them, has the item of field or element k at k, None
    for zero, and nothing for the rest; that of a union has one item, and `field` says whose.
    """

    items: tuple[Expr | None, ...] = ()
    field: int | None = None
    ordered: bool = False


@attrs.define(eq=False)
class CompoundLiteral(Expr):
    """`(type){...}`: an unnamed variable; an lvalue."""

    init: Expr


@attrs.define(eq=False)
class Temporary(Expr):
    """A value put into memory for the length of the statement, so that it has an address."""

    value: Expr


@attrs.define(eq=False)
class StatementExpr(Expr):
    """`({ ...; value; })`: its value is that of the last expression statement."""

    body: Compound
