"""Writing a tree in Python, compactly.

    n, a, x, y, i = names("n a x y i")
    saxpy = kernel("saxpy", "int n, float a, const float *x, float *y",
        let("int i", blockIdx.x * blockDim.x + threadIdx.x),
        if_(i < n,
            assign(y[i], a * x[i] + y[i])))
    tree = unit(saxpy)

Expressions are wrapped in `E`, whose Python operators make C's: arithmetic, comparisons,
shifts, `[]`, calls, and `.field` for members. What Python cannot overload has a function:
`land lor lnot cond assign inc dec addr deref arrow cast sizeof comma init`. Python numbers and
strings become literals: an int is C's int (or the first of long, unsigned long that holds it), a
float a double, a str a string literal; `f32(1.5)` is a float.

Types are written as C declares them: "float x", "const int *p", "float4", "int a[4][2]",
"int (*f)(int, float)"; records, enums and typedefs are known by name once they are made here
with `record`, `union`, `enum`, `typedef`, in the `types` dict that is passed.

Each node takes its place from the line of Python that made it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import attrs

from nvir.frontend.declarators import ctype, parse_declaration, split_parameters
from nvir.frontend.tree import declarations as d
from nvir.frontend.tree import expressions as x
from nvir.frontend.tree import statements as s
from nvir.frontend.tree.place import NOWHERE, Place
from nvir.frontend.tree.types import (
    BOOL,
    CHAR,
    DOUBLE,
    FLOAT,
    HALF,
    INT,
    INT128,
    LONG,
    LONGLONG,
    UINT,
    UINT128,
    ULONG,
    ULONGLONG,
    Array,
    CType,
    Enum,
    Field,
    Pointer,
    Record,
    Typedef,
)
from nvir.frontend.tree.vectors import SPECIAL_VARIABLES


def _here() -> Place:
    """The line of Python outside this file that is being run."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    if frame is None:
        return NOWHERE
    return Place(os.path.basename(frame.f_code.co_filename), frame.f_lineno, 1)


# ------------------------------------------------------------------ expressions


class E:
    """An expression with Python's operators; `.node` is the tree's."""

    __slots__ = ("_node", "_used")
    __hash__ = None  # type: ignore[assignment]  # == makes a comparison

    def __init__(self, node: x.Expr) -> None:
        self._node, self._used = node, False

    @property
    def node(self) -> x.Expr:
        """The tree's expression; a copy from the second use on, as names are bound by place."""
        if isinstance(self._node, x.Name):
            return x.Name(self._node.name, self._node.decl, place=_here())
        if self._used:
            made: x.Expr = _copy(self._node)
            return made
        self._used = True
        return self._node

    def __getattr__(self, field: str) -> E:
        if field.startswith("__"):
            raise AttributeError(field)
        return E(x.Member(self.node, field, place=_here()))

    def __getitem__(self, index: Any) -> E:
        return E(x.Index(self.node, expr(index), place=_here()))

    def __call__(self, *args: Any) -> E:
        return E(x.Call(self.node, tuple(expr(a) for a in args), place=_here()))

    def __neg__(self) -> E:
        return E(x.Unary("-", self.node, place=_here()))

    def __pos__(self) -> E:
        return E(x.Unary("+", self.node, place=_here()))

    def __invert__(self) -> E:
        return E(x.Unary("~", self.node, place=_here()))

    if TYPE_CHECKING:  # made below, of a table
        def __add__(self, other: Any) -> E: ...
        def __radd__(self, other: Any) -> E: ...
        def __sub__(self, other: Any) -> E: ...
        def __rsub__(self, other: Any) -> E: ...
        def __mul__(self, other: Any) -> E: ...
        def __rmul__(self, other: Any) -> E: ...
        def __truediv__(self, other: Any) -> E: ...
        def __rtruediv__(self, other: Any) -> E: ...
        def __mod__(self, other: Any) -> E: ...
        def __rmod__(self, other: Any) -> E: ...
        def __lshift__(self, other: Any) -> E: ...
        def __rlshift__(self, other: Any) -> E: ...
        def __rshift__(self, other: Any) -> E: ...
        def __rrshift__(self, other: Any) -> E: ...
        def __and__(self, other: Any) -> E: ...
        def __rand__(self, other: Any) -> E: ...
        def __or__(self, other: Any) -> E: ...
        def __ror__(self, other: Any) -> E: ...
        def __xor__(self, other: Any) -> E: ...
        def __rxor__(self, other: Any) -> E: ...
        def __lt__(self, other: Any) -> E: ...
        def __le__(self, other: Any) -> E: ...
        def __gt__(self, other: Any) -> E: ...
        def __ge__(self, other: Any) -> E: ...
        def __eq__(self, other: Any) -> E: ...  # type: ignore[override]
        def __ne__(self, other: Any) -> E: ...  # type: ignore[override]

    def __bool__(self) -> bool:
        raise TypeError("a tree has no truth value: use if_, land, lor, lnot, cond")


def _copy(n: Any) -> Any:
    """A copy of an expression and all in it; declarations and types are shared."""
    if isinstance(n, tuple):
        return tuple(_copy(k) for k in n)
    if not isinstance(n, x.Expr | s.Stmt | s.AsmOperand):
        return n
    parts = {a.name: getattr(n, a.name) for a in attrs.fields(type(n))}
    return type(n)(**{k: v if k == "decl" else _copy(v) for k, v in parts.items()})


def _operator(symbol: str, swap: bool = False) -> Any:
    def method(self: E, other: Any) -> E:
        a, b = (expr(other), self.node) if swap else (self.node, expr(other))
        return E(x.Binary(symbol, a, b, place=_here()))

    return method


for _name, _symbol in {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "mod": "%", "lshift": "<<",
    "rshift": ">>", "and": "&", "or": "|", "xor": "^",
}.items():
    setattr(E, f"__{_name}__", _operator(_symbol))
    setattr(E, f"__r{_name}__", _operator(_symbol, swap=True))
for _name, _symbol in {
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
}.items():
    setattr(E, f"__{_name}__", _operator(_symbol))


def expr(value: Any) -> x.Expr:
    """A tree expression of an `E`, a number, a bool, a str, bytes or None (`nullptr`)."""
    if isinstance(value, E):
        return value.node
    if isinstance(value, x.Expr):
        return value
    at = _here()
    if isinstance(value, bool):
        return x.IntLiteral(int(value), type=BOOL, place=at)
    if isinstance(value, int):
        fits = next((t for t in (INT, LONG, INT128) if -(1 << t.bits - 1) <= value
                     < 1 << t.bits - 1), None)
        if fits is INT128 or fits is None:
            fits = ULONG if 0 <= value < 1 << 64 else fits or UINT128
        return x.IntLiteral(value, type=fits, place=at)
    if isinstance(value, float):
        return x.FloatLiteral(value, type=DOUBLE, place=at)
    if isinstance(value, str):
        return x.StringLiteral(value.encode(), place=at)
    if isinstance(value, bytes):
        return x.StringLiteral(value, place=at)
    if value is None:
        return x.NullPointer(place=at)
    raise TypeError(f"{value!r} is no expression")


def name(text: str) -> E:
    return E(x.Name(text, place=_here()))


def names(text: str) -> list[E]:
    """`names("i n x")`: one for each word."""
    return [E(x.Name(t, place=_here())) for t in text.split()]


def _literal(t: CType) -> Any:
    def make(value: Any) -> E:
        if isinstance(value, float) or t in (FLOAT, DOUBLE, HALF):
            return E(x.FloatLiteral(float(value), type=t, place=_here()))
        return E(x.IntLiteral(int(value), type=t, place=_here()))

    return make


f32, f64, f16 = _literal(FLOAT), _literal(DOUBLE), _literal(HALF)
u32, s64, u64 = _literal(UINT), _literal(LONGLONG), _literal(ULONGLONG)
char = _literal(CHAR)

threadIdx, blockDim, blockIdx, gridDim, warpSize = (
    E(x.Name(v.name, decl=v)) for v in SPECIAL_VARIABLES.values()
)


def land(a: Any, b: Any) -> E:
    return E(x.Binary("&&", expr(a), expr(b), place=_here()))


def lor(a: Any, b: Any) -> E:
    return E(x.Binary("||", expr(a), expr(b), place=_here()))


def lnot(a: Any) -> E:
    return E(x.Unary("!", expr(a), place=_here()))


def comma(a: Any, b: Any) -> E:
    return E(x.Binary(",", expr(a), expr(b), place=_here()))


def cond(c: Any, then: Any, other: Any) -> E:
    return E(x.Conditional(expr(c), expr(then), expr(other), place=_here()))


def assign(target: Any, value: Any, op: str = "=") -> E:
    """`target op value`, op being "=" or a compound one such as "+="."""
    return E(x.Assign(op, expr(target), expr(value), place=_here()))


def inc(a: Any, prefix: bool = True) -> E:
    return E(x.Step("++", expr(a), prefix, place=_here()))


def dec(a: Any, prefix: bool = True) -> E:
    return E(x.Step("--", expr(a), prefix, place=_here()))


def addr(a: Any) -> E:
    return E(x.Unary("&", expr(a), place=_here()))


def deref(a: Any) -> E:
    return E(x.Unary("*", expr(a), place=_here()))


def arrow(a: Any, field: str) -> E:
    return E(x.Member(expr(a), field, arrow=True, place=_here()))


def cast(to: CType | str, a: Any, types: dict[str, CType] | None = None) -> E:
    return E(x.Cast(expr(a), type=ctype(to, types), place=_here()))


def sizeof(a: CType | str | Any, types: dict[str, CType] | None = None) -> E:
    if isinstance(a, CType | str):
        return E(x.SizeOf(ctype(a, types), place=_here()))
    return E(x.SizeOf(None, expr(a), place=_here()))


def alignof(a: CType | str, types: dict[str, CType] | None = None) -> E:
    return E(x.SizeOf(ctype(a, types), align=True, place=_here()))


def init(*items: Any, **fields: Any) -> E:
    """`{...}`; keywords are designated fields, `(index, value)` tuples designated elements."""
    made: list[x.Expr | None] = []
    for item in items:
        if isinstance(item, tuple):
            made.append(x.Designated(item[0], expr(item[1]), place=_here()))
        else:
            made.append(expr(item))
    made += [x.Designated(k, expr(v), place=_here()) for k, v in fields.items()]
    return E(x.InitList(tuple(made), place=_here()))


def compound(t: CType | str, *items: Any, types: dict[str, CType] | None = None,
             **fields: Any) -> E:
    """`(type){items}`."""
    literal = init(*items, **fields).node
    return E(x.CompoundLiteral(literal, type=ctype(t, types), place=_here()))


def call(function: Any, *args: Any, reversed_order: bool = False,
         preserve: tuple[int, int, int] = (-1, -1, -1)) -> E:
    callee = name(function) if isinstance(function, str) else function
    return E(x.Call(expr(callee), tuple(expr(a) for a in args), reversed_order, preserve,
                    place=_here()))


def temporary(value: Any) -> E:
    return E(x.Temporary(expr(value), place=_here()))


def statement_expr(*body: Any) -> E:
    return E(x.StatementExpr(block(*body), place=_here()))


# ------------------------------------------------------------------- statements


def stmt(value: Any) -> s.Stmt:
    """A statement of a statement or an expression; None is `;`, a list a block's part."""
    if isinstance(value, s.Stmt):
        return value
    if value is None:
        return s.Empty(place=_here())
    if isinstance(value, list | tuple):
        return s.Compound(tuple(stmt(v) for v in value), scope=False, place=_here())
    e = expr(value)
    return s.ExprStmt(e, place=e.place)


def block(*body: Any) -> s.Compound:
    return s.Compound(tuple(stmt(b) for b in body), place=_here())


def _body(body: tuple[Any, ...]) -> s.Stmt:
    return stmt(body[0]) if len(body) == 1 else block(*body)


def let(declaration: str | tuple[CType, str], init: Any = ..., *, memory: str = "",
        storage: str = "", align: int = 0, cleanup: Any = None,
        types: dict[str, CType] | None = None) -> s.DeclStmt:
    """A variable of a block: `let("int i", 0)`, `let("float tile[32]", memory="shared")`."""
    v = variable(declaration, init, memory=memory, storage=storage, align=align, types=types)
    v.cleanup = None if cleanup is None else expr(cleanup)
    return s.DeclStmt((v,), place=v.place)


def if_(c: Any, *body: Any, otherwise: Any = ...) -> s.If:
    other = None if otherwise is ... else stmt(otherwise)
    return s.If(expr(c), _body(body), other, place=_here())


def _unroll(unroll: int | str | None) -> s.Unroll | None:
    return None if unroll is None else s.Unroll(None if unroll == "full" else int(unroll))


def while_(c: Any, *body: Any, unroll: int | str | None = None) -> s.While:
    return s.While(expr(c), _body(body), _unroll(unroll), place=_here())


def do_(c: Any, *body: Any, unroll: int | str | None = None) -> s.Do:
    """`do body while (c)`; the condition comes first here."""
    return s.Do(_body(body), expr(c), _unroll(unroll), place=_here())


def for_(start: Any, c: Any, step: Any, *body: Any, unroll: int | str | None = None) -> s.For:
    """`unroll`: a count, "full", or None for no pragma."""
    return s.For(
        None if start is None else stmt(start),
        None if c is None else expr(c),
        None if step is None else expr(step),
        _body(body), _unroll(unroll), place=_here(),
    )


def switch(value: Any, *body: Any) -> s.Switch:
    return s.Switch(expr(value), block(*body), place=_here())


def case(value: Any, body: Any = None, last: Any = None) -> s.Case:
    return s.Case(expr(value), stmt(body), None if last is None else expr(last), place=_here())


def default(body: Any = None) -> s.Default:
    return s.Default(stmt(body), place=_here())


def goto(text: str) -> s.Goto:
    return s.Goto(text, place=_here())


def label(text: str, body: Any = None) -> s.Label:
    return s.Label(text, stmt(body), place=_here())


def break_() -> s.Break:
    return s.Break(place=_here())


def continue_() -> s.Continue:
    return s.Continue(place=_here())


def ret(value: Any = ...) -> s.Return:
    return s.Return(None if value is ... else expr(value), place=_here())


def asm(template: str, outputs: Iterable[tuple[str, Any]] = (),
        inputs: Iterable[tuple[str, Any]] = (), clobbers: Iterable[str] = (),
        volatile: bool = False) -> s.Asm:
    """`asm("add.s32 %0, %1, %2;", [("=r", d)], [("r", a), ("r", b)])`."""
    made = [
        tuple(s.AsmOperand(c, expr(e), place=_here()) for c, e in operands)
        for operands in (outputs, inputs)
    ]
    return s.Asm(template, made[0], made[1], tuple(clobbers), volatile, place=_here())


# ----------------------------------------------------------------- declarations


def variable(declaration: str | tuple[CType, str], init: Any = ..., *, memory: str = "",
             storage: str = "", align: int = 0,
             types: dict[str, CType] | None = None) -> d.Variable:
    """A variable of a file: `variable("float table[4]", init(...), memory="constant")`."""
    t, text = _declared(declaration, types)
    start = None if init is ... else expr(init)
    return d.Variable(text, t, start, memory=memory, storage=storage, align=align, place=_here())


def _declared(text: str | tuple[CType, str], types: dict[str, CType] | None) -> tuple[CType, str]:
    return parse_declaration(text, types) if isinstance(text, str) else text


def _parameters(params: Any, types: dict[str, CType] | None) -> tuple[d.Parameter, ...]:
    if isinstance(params, str):
        params = split_parameters(params)
    made = []
    for p in params:
        if isinstance(p, d.Parameter):
            made.append(p)
            continue
        t, text = _declared(p, types)
        if isinstance(t, Array):
            t = Pointer(t.element)
        made.append(d.Parameter(text, t, place=_here()))
    return tuple(made)


def function(declaration: str, params: Any = (), *body: Any, types: dict[str, CType] | None = None,
             variadic: bool = False, storage: str = "", link_name: str = "",
             **attributes: Any) -> d.Function:
    """`function("float square", "float x", ret(x * x))`; without a body, a declaration.

    Parameters are C's text or a sequence of such texts, (type, name) pairs and `Parameter`s.
    Further keywords are the fields of `Attributes`.
    """
    t, text = parse_declaration(declaration, types)
    return d.Function(
        text, t, _parameters(params, types), block(*body) if body else None, variadic=variadic,
        storage=storage, link_name=link_name, attributes=d.Attributes(**attributes),
        place=_here(),
    )


def kernel(text: str, params: Any, *body: Any, types: dict[str, CType] | None = None,
           **attributes: Any) -> d.Function:
    """A `__global__` function with a body (`block()` for an empty one)."""
    return function(
        f"void {text}", params, *(body or (None,)), types=types, kernel=True, **attributes
    )


def unit(*declarations: d.Declaration, file: str = "<tree>", cplusplus: bool = False,
         types: dict[str, CType] | None = None) -> d.Unit:
    """A translation unit; the enumerators of `types` are known by name in it."""
    named = [t for t in (types or {}).values() if isinstance(t, Record | Enum | Typedef)]
    return d.Unit(list(declarations), named, file=file, cplusplus=cplusplus)


def record(text: str, fields: str | Iterable[str | Field], types: dict[str, CType] | None = None,
           kind: str = "struct", packed: bool = False, align: int = 0) -> Record:
    """`record("pair", "int a, unsigned b : 3", types)`: added to `types` before its fields are
    read, so that it may point to itself."""
    made = Record(text, kind, packed=packed, align=align, place=_here())
    if types is not None:
        types[text] = made
    parts = split_parameters(fields) if isinstance(fields, str) else fields
    return made.set_fields([_field(f, types) for f in parts])


def union(text: str, fields: str | Iterable[str | Field],
          types: dict[str, CType] | None = None) -> Record:
    return record(text, fields, types, kind="union")


def _field(text: str | Field, types: dict[str, CType] | None) -> Field:
    if isinstance(text, Field):
        return text
    declared, colon, width = text.partition(":")
    t, n = parse_declaration(declared, types)
    return Field(n, t, int(width) if colon else None, place=_here())


def enum(text: str, types: dict[str, CType] | None = None, underlying: CType = UINT,
         **constants: int) -> Enum:
    made = Enum(text, underlying, tuple(constants.items()))
    if types is not None:
        types[text] = made
    return made


def typedef(declaration: str, types: dict[str, CType]) -> Typedef:
    """`typedef("float matrix[4][4]", types)`."""
    t, text = parse_declaration(declaration, types)
    made = types[text] = Typedef(text, t)
    return made

__all__ = [
    "E", "addr", "alignof", "arrow", "asm", "assign", "block", "blockDim", "blockIdx", "break_",
    "call", "case", "cast", "char", "comma", "compound", "cond", "continue_", "ctype", "d", "dec",
    "default", "deref", "do_", "enum", "expr", "f16", "f32", "f64", "for_", "function", "goto",
    "gridDim", "if_", "inc", "init", "kernel", "label", "land", "let", "lnot", "lor", "name",
    "names", "parse_declaration", "record", "ret", "s", "s64", "sizeof", "split_parameters",
    "statement_expr", "stmt", "switch", "temporary", "threadIdx", "typedef", "u32", "u64", "union",
    "unit", "variable", "warpSize", "while_", "x",
]
