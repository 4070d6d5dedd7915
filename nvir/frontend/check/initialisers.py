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

from nvir.frontend import tree
from nvir.frontend.check.errors import Mistake

if TYPE_CHECKING:
    from nvir.frontend.check.base import ExpressionBase

MAX_ELEMENTS = 1 << 24


def check_initialiser(
    c: ExpressionBase, e: tree.Expr, t: tree.CType
) -> tuple[tree.Expr, tree.CType]:
    """The initialiser of a variable of type `t`, and the type completed by it."""
    s = tree.strip(t)
    if isinstance(s, tree.Reference):
        return c.bind(e, t), t
    if isinstance(s, tree.Array) and isinstance(e, tree.InitList) and len(e.items) == 1:
        only = e.items[0]
        if isinstance(only, tree.StringLiteral) and _takes_string(s, only):
            e = only
    if isinstance(e, tree.StringLiteral) and isinstance(s, tree.Array) and _takes_string(s, e):
        return _string(e, s, t)
    if isinstance(e, tree.InitList):
        made = check_list(c, e, t)
        if isinstance(s, tree.Array) and s.count is None and isinstance(made, tree.InitList):
            t = tree.Array(s.element, len(made.items))
            made.type = t
        return made, t
    if isinstance(s, tree.Array):
        typed = c.expr(e)
        if isinstance(tree.strip(typed.type or t), tree.Array) and c.unit.trusted:
            return typed, t  # a copy of an array, as of a class's member
        raise Mistake("an array is initialised by braces or a string", e.place)
    return c.converted(e, t, "initialise"), t


def _takes_string(s: tree.Array, e: tree.StringLiteral) -> bool:
    element = tree.strip(s.element)
    return isinstance(element, tree.Arithmetic) and element.bits == 8 and element.kind == "int"


def _string(e: tree.StringLiteral, s: tree.Array, t: tree.CType) -> tuple[tree.Expr, tree.CType]:
    if s.count is None:
        t = tree.Array(s.element, len(e.value) + 1)
    elif len(e.value) > s.count:
        raise Mistake(f"the string has {len(e.value)} characters, the array {s.count}", e.place)
    # a copy, as one literal may stand in several places
    return tree.StringLiteral(e.value, type=t, place=e.place), t


@attrs.define
class _Cursor:
    """The items of one pair of braces, and how far they were used."""

    items: tuple[tree.Expr | None, ...]
    at: int = 0

    @property
    def done(self) -> bool:
        return self.at >= len(self.items)

    def peek(self) -> tree.Expr | None:
        return self.items[self.at]


def check_list(c: ExpressionBase, e: tree.InitList, t: tree.CType) -> tree.Expr:
    """A braced list for a type, in its ordered form; the object itself for `{object}`."""
    s = tree.strip(t)
    if e.ordered:
        return _again(c, e, t)
    if not isinstance(s, tree.Record | tree.Array | tree.Vector):
        return _scalar(c, e, t)
    if (
        isinstance(s, tree.Record)
        and len(e.items) == 1
        and not isinstance(e.items[0], tree.InitList)
    ):
        whole = _whole_record(c, e.items[0], s)
        if whole is not None:
            return whole
    cursor = _Cursor(e.items)
    made = _fill(c, cursor, t, e, braced=True)
    if not cursor.done:
        extra = cursor.peek()
        raise Mistake(f"more initialisers than '{tree.spell(t)}' takes", (extra or e).place)
    return made


def _again(c: ExpressionBase, e: tree.InitList, t: tree.CType) -> tree.InitList:
    """An ordered list: its items alone are looked at, in place."""
    s = tree.strip(t)
    items: list[tree.Expr | None] = []
    for k, item in enumerate(e.items):
        if isinstance(s, tree.Record):
            number = k if e.field is None else e.field
            if not 0 <= number < len(s.fields or ()):
                raise Mistake(f"more initialisers than '{tree.spell(t)}' takes", e.place)
            wanted: tree.CType = (s.fields or ())[number].type
        else:
            wanted = s.element if isinstance(s, tree.Array | tree.Vector) else t
        items.append(None if item is None else _value(c, item, wanted))
    e.items, e.type = tuple(items), e.type or t
    return e


def _whole_record(c: ExpressionBase, item: tree.Expr | None, s: tree.Record) -> tree.Expr | None:
    """`{other}` with another object of the type copies it."""
    if item is None or isinstance(item, tree.Designated | tree.InitList):
        return None
    typed = c.expr(item)
    return typed if typed.type is not None and tree.strip(typed.type) is s else None


def _scalar(c: ExpressionBase, e: tree.InitList, t: tree.CType) -> tree.InitList:
    if len(e.items) > 1:
        raise Mistake(f"more initialisers than '{tree.spell(t)}' takes", e.place)
    items = tuple(c.converted(i, t, "initialise") for i in e.items if i is not None)
    return tree.InitList(items, ordered=True, type=t, place=e.place)


def _fill(
    c: ExpressionBase, cursor: _Cursor, t: tree.CType, at: tree.Expr, braced: bool
) -> tree.InitList:
    s = tree.strip(t)
    if isinstance(s, tree.Record):
        if s.fields is None:
            raise Mistake(f"'{tree.spell(t)}' is incomplete", at.place)
        if s.kind == "union":
            return _fill_union(c, cursor, t, s, at, braced)
        return _fill_struct(c, cursor, t, s, at, braced)
    assert isinstance(s, tree.Array | tree.Vector)
    return _fill_array(c, cursor, t, s, at, braced)


def _fill_struct(c: ExpressionBase, cursor: _Cursor, t: tree.CType, s: tree.Record, at: tree.Expr,
                 braced: bool) -> tree.InitList:
    items: dict[int, tree.Expr | None] = {}
    fields = s.fields or ()
    k = 0
    while not cursor.done:
        item = cursor.peek()
        if isinstance(item, tree.Designated):
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
    return tree.InitList(ordered, ordered=True, type=t, place=at.place)


def _takes_item(f: tree.Field) -> bool:
    """Unnamed bit-fields are skipped; unnamed records and bases are not."""
    return bool(f.name) or f.bits is None


def _designated_field(c: ExpressionBase, cursor: _Cursor, item: tree.Designated, s: tree.Record,
                      items: dict[int, tree.Expr | None]) -> int:
    path = tree.find_member(s, item.target) if isinstance(item.target, str) else None
    if path is None:
        raise Mistake(f"'{tree.spell(s)}' has no member '{item.target}'", item.place)
    cursor.at += 1
    field = (s.fields or ())[path[0]]
    if len(path) == 1:
        items[path[0]] = _value(c, item.value, field.type)
    else:
        inner = tree.InitList((item,), place=item.place)
        items[path[0]] = check_list(c, inner, field.type)
    return path[0] + 1


def _fill_union(c: ExpressionBase, cursor: _Cursor, t: tree.CType, s: tree.Record, at: tree.Expr,
                braced: bool) -> tree.InitList:
    item = None if cursor.done else cursor.peek()
    if item is None:
        cursor.at += not cursor.done
        return tree.InitList((), ordered=True, type=t, place=at.place)
    items: dict[int, tree.Expr | None] = {}
    if isinstance(item, tree.Designated) and braced:
        k = _designated_field(c, cursor, item, s, items) - 1
    else:
        k = next((j for j, f in enumerate(s.fields or ()) if _takes_item(f)), -1)
        if k < 0:
            raise Mistake(f"more initialisers than '{tree.spell(t)}' takes", item.place)
        items[k] = _item(c, cursor, (s.fields or ())[k].type, at)
    return tree.InitList((items[k],), field=k, ordered=True, type=t, place=at.place)


def _fill_array(
    c: ExpressionBase,
    cursor: _Cursor,
    t: tree.CType,
    s: tree.Array | tree.Vector,
    at: tree.Expr,
    braced: bool,
) -> tree.InitList:
    items: dict[int, tree.Expr | None] = {}
    bound = MAX_ELEMENTS if s.count is None else s.count
    k = 0
    while not cursor.done:
        item = cursor.peek()
        if isinstance(item, tree.Designated):
            if not braced:
                break
            if not isinstance(item.target, int) or not 0 <= item.target < bound:
                raise Mistake(f"'{tree.spell(t)}' has no element '{item.target}'", item.place)
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
    return tree.InitList(ordered, ordered=True, type=t, place=at.place)


def _item(c: ExpressionBase, cursor: _Cursor, t: tree.CType, at: tree.Expr) -> tree.Expr | None:
    """The next item for a member of type `t`, taking several where braces are left out."""
    item = cursor.peek()
    if item is None:
        cursor.at += 1
        return None
    s = tree.strip(t)
    if not isinstance(s, tree.Record | tree.Array | tree.Vector) or isinstance(item, tree.InitList):
        cursor.at += 1
        return _value(c, item, t)
    if (
        isinstance(item, tree.StringLiteral)
        and isinstance(s, tree.Array)
        and _takes_string(s, item)
    ):
        cursor.at += 1
        return _string(item, s, t)[0]
    if isinstance(s, tree.Record | tree.Vector):
        typed = c.expr(item)
        if typed.type is not None and tree.strip(typed.type) is s:
            cursor.at += 1
            return typed
    return _fill(c, cursor, t, at, braced=False)


def _value(c: ExpressionBase, item: Any, t: tree.CType) -> tree.Expr:
    return check_initialiser(c, item, t)[0]
