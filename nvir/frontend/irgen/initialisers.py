"""Initialising objects in memory, item by item or from a constant.

An initialiser of many constants is copied from a variable that holds it; one with gaps is
cleared first, then filled.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import TYPE_CHECKING

from nvir.frontend import tree
from nvir.frontend.irgen.constants import emit_constant
from nvir.frontend.irgen.places import (
    clear,
    copy,
    emit_lvalue,
    field_address,
    generic,
    store,
    typed,
)
from nvir.frontend.irgen.state import LValue
from nvir.frontend.irgen.variables import constant_variable
from nvir.frontend.irgen.walk import emit_aggregate, emit_value
from nvir.ir.nvvm import const
from nvir.ir.types import I64

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState

MANY = 16  # items from which on a constant initialiser is copied from memory


def emit_init(g: IRGenState, e: tree.Expr, to: LValue) -> None:
    """Fill a place with the value of an initialiser."""
    t = tree.strip(to.type)
    if isinstance(t, tree.Reference):
        store(g, generic(g, emit_lvalue(g, e).pointer), to)
    elif not tree.is_aggregate(t):
        store(g, emit_value(g, e), to)
    elif isinstance(e, tree.InitList):
        _list(g, e, to)
    elif isinstance(e, tree.StringLiteral):
        _string(g, e, to)
    else:
        made = emit_aggregate(g, e, to)
        copy(g, to, made)


def _string(g: IRGenState, e: tree.StringLiteral, to: LValue) -> None:

    t = tree.strip(to.type)
    assert isinstance(t, tree.Array)
    value = emit_constant(g.shared, e, to.type)
    assert value is not None
    source = constant_variable(g.shared, value, f"__const_{g.decl.symbol}", 1)
    copy(g, to, LValue(source, to.type, 1))


def _list(g: IRGenState, e: tree.InitList, to: LValue) -> None:

    items = _count(e)
    if not items:
        clear(g, to)
        return
    if items >= MANY and not to.volatile:
        value = emit_constant(g.shared, e, to.type)
        if value is not None:
            source = constant_variable(g.shared, value, f"__const_{g.decl.symbol}", to.align)
            copy(g, to, LValue(source, to.type, to.align))
            return
    if not _is_full(e, to.type):
        clear(g, to)
    _fill(g, e, to)


def _count(e: tree.InitList) -> int:
    """Scalars that are given, at any depth."""
    n, work = 0, [e]
    while work:
        for item in work.pop().items:
            if isinstance(item, tree.InitList):
                work.append(item)
            elif isinstance(item, tree.StringLiteral):
                n += len(item.value)
            else:
                n += item is not None
    return n


def _is_full(e: tree.InitList, t: tree.CType) -> bool:
    """Whether a list gives every byte that somebody may read: no item is missing."""
    s = tree.strip(t)
    if isinstance(s, tree.Record):
        if s.kind == "union" or any(f.bits is not None for f in s.fields or ()):
            return False
        wanted: Iterable[tree.CType] = [f.type for f in s.fields or ()]
        count = len(s.fields or ())
    else:
        assert isinstance(s, tree.Array)
        wanted, count = repeat(s.element), s.count or 0
    if len(e.items) < count:
        return False
    for item, part in zip(e.items, wanted, strict=False):
        if item is None or (isinstance(item, tree.InitList) and tree.is_aggregate(part)
                            and not _is_full(item, part)):
            return False
    return True


def _fill(g: IRGenState, e: tree.InitList, to: LValue) -> None:
    """Store the items that are given; the rest is zero already."""
    s = tree.strip(to.type)
    for k, item in enumerate(e.items):
        if item is None:
            continue
        if isinstance(s, tree.Record):
            place = field_address(g, to, k if e.field is None else e.field, e)
        else:
            assert isinstance(s, tree.Array)
            place = element_address(g, to, s, k)
        if isinstance(item, tree.InitList) and tree.is_aggregate(typed_or(item, place.type)):
            _fill(g, item, place)
        else:
            emit_init(g, item, place)


def typed_or(e: tree.Expr, t: tree.CType) -> tree.CType:
    return t if e.type is None else typed(e)


def element_address(g: IRGenState, base: LValue, s: tree.Array, k: int) -> LValue:
    """Element `k` of an array at a place."""
    step = tree.size_of(s.element)
    p = base.pointer
    if k:
        p = g.builder.gep(p, [const(I64, 0), const(I64, k)], g.types.memory(base.type),
                          inbounds=True, name="arrayinit.element")
    align = min(base.align, k * step & -(k * step)) if k else base.align
    return LValue(p, s.element, max(align, 1), base.volatile or tree.is_volatile(s.element))
