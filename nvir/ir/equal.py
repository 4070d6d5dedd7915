"""Whether two modules or functions are the same.

`difference(a, b)` is exact: the same blocks, instructions, names, locations, marks,
declarations; `equal_up_to_renaming(f, g)` lets names of values, blocks and symbols differ as
long as one renaming explains them all, and ignores locations and notes, which is what
tests of passes compare. Both say what differs first, or None.

Method   Blocks and instructions are paired in layout order. Values and blocks are
         paired when first met, in both directions, so that a pairing once made
         must hold throughout.
Cost     Linear.
"""

from __future__ import annotations

from typing import Any

import attrs

from nvir.ir.block import Block
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.module import Module
from nvir.ir.symbols import Param, Variable
from nvir.ir.text.datum import fields_of
from nvir.ir.types import ArrayType, StructType, Type, VectorType
from nvir.ir.values import Argument, Constant, Symbol, SymbolOffset, Value

_VARIABLE = ("linkage", "space", "align", "vector", "attributes", "loc")
_FUNCTION = ("kind", "linkage", "directives", "pragmas", "flags", "prototypes", "loc")
_MODULE = (
    "level", "name", "target", "target_options", "version", "address_size", "pragmas",
)


class _Differs(Exception):
    """Carries the text of the first difference."""


def structurally_equal(a: Module, b: Module) -> bool:
    """Whether two modules agree in everything that a text can say."""
    return difference(a, b) is None


def difference(a: Module, b: Module) -> str | None:
    """The first thing in which two modules differ, or None."""
    try:
        _modules(a, b, _Pairs(exact=True))
    except _Differs as d:
        return str(d)
    return None


def equal_up_to_renaming(f: Function, g: Function) -> str | None:
    """The first difference of two functions that no renaming explains, or None.

    The order of a phi's entries does not count, nor do locations, marks, name
    hints, or the names of the functions themselves.
    """
    pairs = _Pairs(exact=False)
    try:
        _functions(f, g, pairs)
    except _Differs as d:
        return str(d)
    return None


class _Pairs:
    """What stands for what. `of` and `back` lead from one side's objects to the other's."""

    def __init__(self, exact: bool) -> None:
        self.exact = exact
        self.of: dict[Any, Any] = {}
        self.back: dict[Any, Any] = {}

    def pair(self, a: Any, b: Any) -> bool:
        """Pair two objects; False if either has another partner."""
        if a in self.of or b in self.back:
            return self.of.get(a) is b and self.back.get(b) is a
        self.of[a], self.back[b] = b, a
        return True

    def same(self, a: Any, b: Any) -> bool:
        """Whether two operands, or two pieces of aux data, stand for each other."""
        if a is b and not isinstance(a, Block | Symbol):
            return not (isinstance(a, Value) and a.is_tracked) or self.pair(a, b)
        if a.__class__ is not b.__class__:
            return False
        if isinstance(a, Constant):
            return self.same(a.type, b.type) and self.same(a.value, b.value)
        if isinstance(a, SymbolOffset):
            return (a.offset, a.generic, a.mask) == (b.offset, b.generic, b.mask) and self.same(
                a.symbol, b.symbol
            )
        if isinstance(a, Symbol):
            return (a.name == b.name or not self.exact) and self.pair(a, b)
        if isinstance(a, Block) or (isinstance(a, Value) and a.is_tracked):
            return self.pair(a, b)
        if isinstance(a, StructType) and a.label is not None:
            return a.label == b.label and self.pair(a, b)
        if isinstance(a, ArrayType | VectorType):
            return bool(a.count == b.count) and self.same(a.element, b.element)
        return self._same_data(a, b)

    def _same_data(self, a: Any, b: Any) -> bool:
        if isinstance(a, tuple | list):
            return len(a) == len(b) and all(map(self.same, a, b))
        if isinstance(a, dict):
            return list(a) == list(b) and all(self.same(a[k], b[k]) for k in a)
        names = fields_of(a)
        if names is not None:
            return all(self.same(getattr(a, n), getattr(b, n)) for n in names)
        if isinstance(a, Type):
            return bool(a.name == b.name)
        return bool(a == b)


def _require(same: bool, what: str, a: Any, b: Any) -> None:
    if not same:
        raise _Differs(f"{what}: {a} / {b}")


def _fields(a: Any, b: Any, names: tuple[str, ...], pairs: _Pairs, what: str) -> None:
    for name in names:
        x, y = getattr(a, name), getattr(b, name)
        _require(pairs.same(x, y), f"{what}: {name}", x, y)


def _modules(a: Module, b: Module, pairs: _Pairs) -> None:
    _fields(a, b, _MODULE, pairs, "module")
    _require(attrs.asdict(a.debug) == attrs.asdict(b.debug), "debug data", a.debug, b.debug)
    for key in ("order", "globals", "functions"):
        xs, ys = getattr(a, key), getattr(b, key)
        _require(
            [x.name for x in xs] == [y.name for y in ys], f"module: {key}",
            [x.name for x in xs], [y.name for y in ys],
        )
        for x, y in zip(xs, ys, strict=True):
            _require(pairs.pair(x, y), f"module: {key}", x, y)
    for x, y in zip(a.globals, b.globals, strict=True):
        _variables(x, y, pairs)
    for f, g in zip(a.functions, b.functions, strict=True):
        _functions(f, g, pairs)
    _require(pairs.same(a.aux, b.aux), "module: aux", a.aux, b.aux)


def _variables(a: Any, b: Any, pairs: _Pairs) -> None:
    what = f"variable {a.name}"
    _require(a.__class__ is b.__class__, what, a, b)
    if pairs.exact:
        _require(a.name == b.name, what, a.name, b.name)
    _require(pairs.pair(a, b), what, a, b)
    _require(pairs.same(a.type, b.type), f"{what}: type", a.type, b.type)
    if isinstance(a, Argument):
        _fields(a, b, ("index", "attributes"), pairs, what)
        return
    assert isinstance(a, Variable)
    _fields(a, b, ("value_type", *_VARIABLE, "init"), pairs, what)
    if isinstance(a, Param):
        _fields(a, b, ("index",), pairs, what)


def _functions(f: Function, g: Function, pairs: _Pairs) -> None:
    what = f"function {f.name}"
    if not pairs.exact:
        pairs.pair(f, g)
    names = _FUNCTION if pairs.exact else ("kind", "directives", "prototypes")
    _fields(f, g, (*names, "type", "return_type"), pairs, what)
    for key in ("params", "returns", "locals"):
        xs, ys = getattr(f, key), getattr(g, key)
        _require(len(xs) == len(ys), f"{what}: {key}", len(xs), len(ys))
        for x, y in zip(xs, ys, strict=True):
            _variables(x, y, pairs)
    _require(pairs.same(f.aux, g.aux), f"{what}: aux", f.aux, g.aux)
    _require(len(f.blocks) == len(g.blocks), f"{what}: blocks", len(f.blocks), len(g.blocks))
    for b, c in zip(f.blocks, g.blocks, strict=True):
        if not pairs.pair(b, c) or (pairs.exact and b.name != c.name):
            raise _Differs(f"{what}: block {b.name} / {c.name}")
        if pairs.exact:
            _fields(b, c, ("pragmas", "flags", "loc", "aux"), pairs, f"block {b.name}")
    for b, c in zip(f.blocks, g.blocks, strict=True):
        _block(b, c, pairs, what)
    if pairs.exact:
        marks = {pairs.of.get(i): m for i, m in f.marks.items()}
        _require(marks == g.marks, f"{what}: marks", f.marks, g.marks)


def _block(b: Block, c: Block, pairs: _Pairs, what: str) -> None:
    i, j = b.first, c.first
    while i is not None and j is not None:
        if not _instructions(i, j, pairs):
            raise _Differs(f"{what}, block {b.name}:\n    {i}\n    {j}")
        i, j = i.next, j.next
    if i is not j:
        longer, one = ("first", i) if i is not None else ("second", j)
        raise _Differs(f"{what}, block {b.name}: only the {longer} has\n    {one}")


def _instructions(i: Instruction, j: Instruction, pairs: _Pairs) -> bool:
    if i.form is not j.form or len(i._operands) != len(j._operands):
        return False
    rs, qs = i.results, j.results
    if len(rs) != len(qs) or not all(
        pairs.same(r.type, q.type) and (r.name == q.name or not pairs.exact) for r, q in
        zip(rs, qs, strict=True)
    ):
        return False
    if not pairs.pair(i, j) or not all(map(pairs.pair, rs, qs)):
        return False
    if i.form.is_phi and not pairs.exact:
        mine = {pairs.of.get(b): v for v, b in i.incoming}
        return len(mine) == len(j.aux) and all(
            b in mine and pairs.same(mine[b], v) for v, b in j.incoming
        )
    if not all(map(pairs.same, i._operands, j._operands)):
        return False
    if pairs.exact and i.loc != j.loc:
        return False
    if i.form.terminator:
        return pairs.same(i.aux or (), j.aux or ())
    return pairs.same(i.aux, j.aux)
