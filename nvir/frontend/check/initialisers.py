"""Initialiser lists against types: braces left out, designators, arrays of unknown bound.

A checked list has an item for each field or element up to the last one given; None and what
is missing are zero. That of a union has one item and says its field.

Method   C's own: a cursor over the items; a sub-aggregate without braces takes as many as it
         needs. A designator moves the cursor of the list that it stands in.
Source   C11 6.7.9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from nvir.frontend.check.errors import Mistake
from nvir.frontend.tree.expressions import (
    Designated,
    Expr,
    InitList,
    StringLiteral,
)
from nvir.frontend.tree.layout import find_member
from nvir.frontend.tree.types import (
    Arithmetic,
    Array,
    CType,
    Field,
    Record,
    Reference,
    Vector,
    spell,
    strip,
)

if TYPE_CHECKING:
    from nvir.frontend.check.base import ExpressionBase

MAX_ELEMENTS = 1 << 24


def check_initialiser(c: ExpressionBase, e: Expr, t: CType) -> tuple[Expr, CType]:
    """The initialiser of a variable of type `t`, and the type completed by it."""
    s = strip(t)
    if isinstance(s, Reference):
        return c.bind(e, t), t
    if isinstance(s, Array) and isinstance(e, InitList) and len(e.items) == 1:
        only = e.items[0]
        if isinstance(only, StringLiteral) and _takes_string(s, only):
            e = only
    if isinstance(e, StringLiteral) and isinstance(s, Array) and _takes_string(s, e):
        return _string(e, s, t)
    if isinstance(e, InitList):
        made = check_list(c, e, t)
        if isinstance(s, Array) and s.count is None and isinstance(made, InitList):
            t = Array(s.element, len(made.items))
            made.type = t
        return made, t
    if isinstance(s, Array):
        typed = c.expr(e)
        if isinstance(strip(typed.type or t), Array) and c.unit.trusted:
            return typed, t  # a copy of an array, as of a class's member
        raise Mistake("an array is initialised by braces or a string", e.place)
    return c.converted(e, t, "initialise"), t


def _takes_string(s: Array, e: StringLiteral) -> bool:
    element = strip(s.element)
    return isinstance(element, Arithmetic) and element.bits == 8 and element.kind == "int"


def _string(e: StringLiteral, s: Array, t: CType) -> tuple[Expr, CType]:
    if s.count is None:
        t = Array(s.element, len(e.value) + 1)
    elif len(e.value) > s.count:
        raise Mistake(f"the string has {len(e.value)} characters, the array {s.count}", e.place)
    # a copy, as one literal may stand in several places
    return StringLiteral(e.value, type=t, place=e.place), t


@attrs.define
class _Cursor:
    """The items of one pair of braces, and how far they were used."""

    items: tuple[Expr | None, ...]
    at: int = 0

    @property
    def done(self) -> bool:
        return self.at >= len(self.items)

    def peek(self) -> Expr | None:
        return self.items[self.at]


def check_list(c: ExpressionBase, e: InitList, t: CType) -> Expr:
    """A braced list for a type, in its ordered form; the object itself for `{object}`."""
    s = strip(t)
    if e.ordered:
        return _again(c, e, t)
    if not isinstance(s, Record | Array | Vector):
        return _scalar(c, e, t)
    if isinstance(s, Record) and len(e.items) == 1 and not isinstance(e.items[0], InitList):
        whole = _whole_record(c, e.items[0], s)
        if whole is not None:
            return whole
    cursor = _Cursor(e.items)
    made = _fill(c, cursor, t, e, braced=True)
    if not cursor.done:
        extra = cursor.peek()
        raise Mistake(f"more initialisers than '{spell(t)}' takes", (extra or e).place)
    return made


def _again(c: ExpressionBase, e: InitList, t: CType) -> InitList:
    """An ordered list: its items alone are looked at, in place."""
    s = strip(t)
    items: list[Expr | None] = []
    for k, item in enumerate(e.items):
        if isinstance(s, Record):
            number = k if e.field is None else e.field
            if not 0 <= number < len(s.fields or ()):
                raise Mistake(f"more initialisers than '{spell(t)}' takes", e.place)
            wanted: CType = (s.fields or ())[number].type
        else:
            wanted = s.element if isinstance(s, Array | Vector) else t
        items.append(None if item is None else _value(c, item, wanted))
    e.items, e.type = tuple(items), e.type or t
    return e


def _whole_record(c: ExpressionBase, item: Expr | None, s: Record) -> Expr | None:
    """`{other}` with another object of the type copies it."""
    if item is None or isinstance(item, Designated | InitList):
        return None
    typed = c.expr(item)
    return typed if typed.type is not None and strip(typed.type) is s else None


def _scalar(c: ExpressionBase, e: InitList, t: CType) -> InitList:
    if len(e.items) > 1:
        raise Mistake(f"more initialisers than '{spell(t)}' takes", e.place)
    items = tuple(c.converted(i, t, "initialise") for i in e.items if i is not None)
    return InitList(items, ordered=True, type=t, place=e.place)


def _fill(c: ExpressionBase, cursor: _Cursor, t: CType, at: Expr, braced: bool) -> InitList:
    s = strip(t)
    if isinstance(s, Record):
        if s.fields is None:
            raise Mistake(f"'{spell(t)}' is incomplete", at.place)
        if s.kind == "union":
            return _fill_union(c, cursor, t, s, at, braced)
        return _fill_struct(c, cursor, t, s, at, braced)
    assert isinstance(s, Array | Vector)
    return _fill_array(c, cursor, t, s, at, braced)


def _fill_struct(c: ExpressionBase, cursor: _Cursor, t: CType, s: Record, at: Expr,
                 braced: bool) -> InitList:
    items: dict[int, Expr | None] = {}
    fields = s.fields or ()
    k = 0
    while not cursor.done:
        item = cursor.peek()
        if isinstance(item, Designated):
            if not braced:
                break
            k = _designated_field(c, cursor, item, s, items)
            continue
        while k < len(fields) and not _takes_item(fields[k]):
            k += 1
        if k >= len(fields):
            break
        items[k] = _item(c, cursor, fields[k].type, at)
        k += 1
    last = max(items, default=-1) + 1
    ordered = tuple(items.get(j) for j in range(last))
    return InitList(ordered, ordered=True, type=t, place=at.place)


def _takes_item(f: Field) -> bool:
    """Unnamed bit-fields are skipped; unnamed records and bases are not."""
    return bool(f.name) or f.bits is None


def _designated_field(c: ExpressionBase, cursor: _Cursor, item: Designated, s: Record,
                      items: dict[int, Expr | None]) -> int:
    path = find_member(s, item.target) if isinstance(item.target, str) else None
    if path is None:
        raise Mistake(f"'{spell(s)}' has no member '{item.target}'", item.place)
    cursor.at += 1
    field = (s.fields or ())[path[0]]
    if len(path) == 1:
        items[path[0]] = _value(c, item.value, field.type)
    else:
        inner = InitList((item,), place=item.place)
        items[path[0]] = check_list(c, inner, field.type)
    return path[0] + 1


def _fill_union(c: ExpressionBase, cursor: _Cursor, t: CType, s: Record, at: Expr,
                braced: bool) -> InitList:
    item = None if cursor.done else cursor.peek()
    if item is None:
        cursor.at += not cursor.done
        return InitList((), ordered=True, type=t, place=at.place)
    items: dict[int, Expr | None] = {}
    if isinstance(item, Designated) and braced:
        k = _designated_field(c, cursor, item, s, items) - 1
    else:
        k = next((j for j, f in enumerate(s.fields or ()) if _takes_item(f)), -1)
        if k < 0:
            raise Mistake(f"more initialisers than '{spell(t)}' takes", item.place)
        items[k] = _item(c, cursor, (s.fields or ())[k].type, at)
    return InitList((items[k],), field=k, ordered=True, type=t, place=at.place)


def _fill_array(c: ExpressionBase, cursor: _Cursor, t: CType, s: Array | Vector, at: Expr,
                braced: bool) -> InitList:
    items: dict[int, Expr | None] = {}
    bound = MAX_ELEMENTS if s.count is None else s.count
    k = 0
    while not cursor.done:
        item = cursor.peek()
        if isinstance(item, Designated):
            if not braced:
                break
            if not isinstance(item.target, int) or not 0 <= item.target < bound:
                raise Mistake(f"'{spell(t)}' has no element '{item.target}'", item.place)
            cursor.at += 1
            items[item.target] = _value(c, item.value, s.element)
            k = item.target + 1
            continue
        if k >= bound:
            break
        items[k] = _item(c, cursor, s.element, at)
        k += 1
    last = max(items, default=-1) + 1
    ordered = tuple(items.get(j) for j in range(last))
    return InitList(ordered, ordered=True, type=t, place=at.place)


def _item(c: ExpressionBase, cursor: _Cursor, t: CType, at: Expr) -> Expr | None:
    """The next item for a member of type `t`, taking several where braces are left out."""
    item = cursor.peek()
    if item is None:
        cursor.at += 1
        return None
    s = strip(t)
    if not isinstance(s, Record | Array | Vector) or isinstance(item, InitList):
        cursor.at += 1
        return _value(c, item, t)
    if isinstance(item, StringLiteral) and isinstance(s, Array) and _takes_string(s, item):
        cursor.at += 1
        return _string(item, s, t)[0]
    if isinstance(s, Record | Vector):
        typed = c.expr(item)
        if typed.type is not None and strip(typed.type) is s:
            cursor.at += 1
            return typed
    return _fill(c, cursor, t, at, braced=False)


def _value(c: ExpressionBase, item: Any, t: CType) -> Expr:
    return check_initialiser(c, item, t)[0]
