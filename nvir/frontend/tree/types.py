"""C's types as CUDA has them, with the data layout of 64-bit device code.

    Void  Arithmetic  Pointer  Reference  Array  Vector  Record  Enum  Typedef
    FunctionType  Qualified

A type is a value (equal by structure), but for records and enums, which are identified by
themselves: two structs of one spelling differ. A record may be declared before its body is
known, so records can name each other.

`strip(t)` follows typedef chains and drops qualifiers; every question about a type's kind is
asked of the stripped type. Numbers of the real front end's type nodes (its tags, its class
byte, its qualifier words) are given by `type_tag`, `type_class` and `space_of_qualifier`.

Source   C11 6.2.5, 6.7; Itanium C++ ABI (layout in `layout.py`); CUDA C++ Programming Guide.
"""

from __future__ import annotations

from typing import Any

import attrs

from nvir.frontend.tree.place import NOWHERE, Place
from nvir.ir.errors import NvirError


class CType:
    """Root of all C types."""

    __slots__ = ()

    def __str__(self) -> str:
        return spell(self)


@attrs.frozen(str=False)
class Void(CType):
    """`void`, a type without values."""


@attrs.frozen(str=False)
class Arithmetic(CType):
    """bool, an integer, or a floating type.

    kind    "bool", "int" or "float"
    rank    C's conversion rank: greater wins where two types meet
    """

    name: str
    kind: str
    bits: int
    signed: bool
    rank: int


VOID = Void()
BOOL = Arithmetic("bool", "bool", 8, False, 0)
CHAR = Arithmetic("char", "int", 8, True, 1)
SCHAR = Arithmetic("signed char", "int", 8, True, 1)
UCHAR = Arithmetic("unsigned char", "int", 8, False, 1)
SHORT = Arithmetic("short", "int", 16, True, 2)
USHORT = Arithmetic("unsigned short", "int", 16, False, 2)
CHAR16 = Arithmetic("char16_t", "int", 16, False, 2)
WCHAR = Arithmetic("wchar_t", "int", 32, True, 3)
CHAR32 = Arithmetic("char32_t", "int", 32, False, 3)
INT = Arithmetic("int", "int", 32, True, 3)
UINT = Arithmetic("unsigned int", "int", 32, False, 3)
LONG = Arithmetic("long", "int", 64, True, 4)
ULONG = Arithmetic("unsigned long", "int", 64, False, 4)
LONGLONG = Arithmetic("long long", "int", 64, True, 5)
ULONGLONG = Arithmetic("unsigned long long", "int", 64, False, 5)
INT128 = Arithmetic("__int128", "int", 128, True, 6)
UINT128 = Arithmetic("unsigned __int128", "int", 128, False, 6)
BFLOAT16 = Arithmetic("__bf16", "float", 16, True, 10)
HALF = Arithmetic("_Float16", "float", 16, True, 11)
FLOAT = Arithmetic("float", "float", 32, True, 12)
DOUBLE = Arithmetic("double", "float", 64, True, 13)

ARITHMETIC: dict[str, Arithmetic] = {
    t.name: t
    for t in (
        BOOL, CHAR, SCHAR, UCHAR, SHORT, USHORT, CHAR16, WCHAR, CHAR32, INT, UINT, LONG, ULONG,
        LONGLONG, ULONGLONG, INT128, UINT128, BFLOAT16, HALF, FLOAT, DOUBLE,
    )
}
SIZE_T, PTRDIFF_T = ULONG, LONG

SPACES = {"": 0, "device": 1, "shared": 3, "constant": 4, "local": 5}


@attrs.frozen(str=False)
class Qualified(CType):
    """A type with `const`, `volatile`, `restrict`."""

    type: CType
    const: bool = False
    volatile: bool = False
    restrict: bool = False


@attrs.frozen(str=False)
class Pointer(CType):
    """`pointee *`. `space` says in which memory the pointee is known to lie ("" is generic)."""

    pointee: CType
    space: str = attrs.field(default="", validator=attrs.validators.in_(SPACES))


@attrs.frozen(str=False)
class Reference(CType):
    """`referent &`, or `&&`: a pointer that is followed wherever its name stands."""

    referent: CType
    rvalue: bool = False


@attrs.frozen(str=False)
class Array(CType):
    """`element[count]`; `count` None is an array of unknown bound (`extern __shared__ x[]`)."""

    element: CType
    count: int | None


@attrs.frozen(str=False)
class Vector(CType):
    """A machine vector (`__attribute__((vector_size))`). float4 is a record: `vectors.py`."""

    element: CType
    count: int


@attrs.frozen(str=False)
class FunctionType(CType):
    """`result (params)`; parameters that are arrays or functions are written as pointers."""

    result: CType
    params: tuple[CType, ...] = ()
    variadic: bool = False


@attrs.frozen(str=False)
class Typedef(CType):
    """Another name of a type."""

    name: str
    type: CType


@attrs.frozen
class Field:
    """A member of a record.

    bits    width of a bit-field, None for a plain member; 0 ends an allocation unit
    offset  bits from the record's start, where a reader knows it; else None: computed
    base    whether it stands for a base class, whose members are found through it
    An unnamed field of record type lends its members to the record around it.
    """

    name: str
    type: CType
    bits: int | None = None
    offset: int | None = None
    base: bool = False
    align: int = 0
    place: Place = attrs.field(default=NOWHERE, eq=False, repr=False)


@attrs.define(eq=False, str=False, repr=False)
class Record(CType):
    """A struct, union or class; `fields` is None until its body is known.

    packed        members without padding
    align, size   bytes; 0 where the layout is to be computed
    """

    name: str
    kind: str = attrs.field(
        default="struct", validator=attrs.validators.in_(("struct", "union", "class"))
    )
    fields: tuple[Field, ...] | None = None
    packed: bool = False
    align: int = 0
    size: int = 0
    place: Place = attrs.field(default=NOWHERE, kw_only=True)
    layout_cache: Any = attrs.field(default=None, init=False)

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    def set_fields(self, fields: tuple[Field, ...] | list[Field]) -> Record:
        """Give the record its body, once."""
        if self.fields is not None:
            raise NvirError(f"redefinition of '{spell(self)}'")
        self.fields = tuple(fields)
        return self


@attrs.define(eq=False, str=False, repr=False)
class Enum(CType):
    """An enumeration: its values are those of `underlying`. A scoped one does not convert."""

    name: str
    underlying: CType = UINT
    constants: tuple[tuple[str, int], ...] = ()
    scoped: bool = False

    def __repr__(self) -> str:
        return f"<enum {self.name}>"


# ------------------------------------------------------------------- questions


def strip(t: CType) -> CType:
    """The type itself: without typedef names and qualifiers at its top."""
    while True:
        if isinstance(t, Typedef | Qualified):
            t = t.type
        else:
            return t


def qualifiers(t: CType) -> tuple[bool, bool, bool]:
    """(const, volatile, restrict) of a type, gathered over its typedef chain."""
    const = volatile = restrict = False
    while isinstance(t, Typedef | Qualified):
        if isinstance(t, Qualified):
            const, volatile = const or t.const, volatile or t.volatile
            restrict = restrict or t.restrict
        t = t.type
    if isinstance(t, Array):
        c, v, _ = qualifiers(t.element)
        const, volatile = const or c, volatile or v
    return const, volatile, restrict


def qualified(t: CType, const: bool = False, volatile: bool = False) -> CType:
    """A type with qualifiers added to those it has; an array passes them to its elements."""
    if not (const or volatile):
        return t
    s = strip(t)
    if isinstance(s, Array):
        return Array(qualified(s.element, const, volatile), s.count)
    if isinstance(t, Qualified):
        return attrs.evolve(t, const=t.const or const, volatile=t.volatile or volatile)
    return Qualified(t, const, volatile)


def is_volatile(t: CType) -> bool:
    return qualifiers(t)[1]


def is_integer(t: CType) -> bool:
    """Whether arithmetic on integers applies: integers, bool and unscoped enumerations."""
    s = strip(t)
    return (isinstance(s, Arithmetic) and s.kind != "float") or (
        isinstance(s, Enum) and not s.scoped
    )


def is_float(t: CType) -> bool:
    s = strip(t)
    return isinstance(s, Arithmetic) and s.kind == "float"


def is_arithmetic(t: CType) -> bool:
    return is_integer(t) or is_float(t)


def is_pointer(t: CType) -> bool:
    return isinstance(strip(t), Pointer)


def is_scalar(t: CType) -> bool:
    """Arithmetic, enumerated or a pointer: what `if` can test."""
    return isinstance(strip(t), Arithmetic | Enum | Pointer)


def is_aggregate(t: CType) -> bool:
    """Structs, unions, classes and arrays: what lives in memory and moves by address."""
    return isinstance(strip(t), Record | Array)


def is_void(t: CType) -> bool:
    return strip(t) is VOID or isinstance(strip(t), Void)


def is_signed(t: CType) -> bool:
    s = strip(t)
    if isinstance(s, Enum):
        return is_signed(s.underlying)
    return isinstance(s, Arithmetic) and s.signed


def underlying(t: CType) -> CType:
    """The arithmetic type under an enumeration; any other type stripped."""
    s = strip(t)
    return strip(s.underlying) if isinstance(s, Enum) else s


def same(a: CType, b: CType) -> bool:
    """Whether two types are one, typedef names and qualifiers at any depth aside.

    Typedefs may hide in pointees, so the pairs still to compare are kept in a list.
    """
    todo: list[tuple[CType, CType]] = [(a, b)]
    while todo:
        x, y = todo.pop()
        x, y = strip(x), strip(y)
        if x is y:
            continue
        if x.__class__ is not y.__class__ or isinstance(x, Record | Enum):
            return False
        if isinstance(x, Pointer) and isinstance(y, Pointer):
            if x.space != y.space:
                return False
            todo.append((x.pointee, y.pointee))
        elif isinstance(x, Reference) and isinstance(y, Reference):
            todo.append((x.referent, y.referent))
        elif isinstance(x, Array | Vector) and isinstance(y, Array | Vector):
            if x.count != y.count and None not in (x.count, y.count):
                return False
            todo.append((x.element, y.element))
        elif isinstance(x, FunctionType) and isinstance(y, FunctionType):
            if len(x.params) != len(y.params) or x.variadic != y.variadic:
                return False
            todo += [(x.result, y.result), *zip(x.params, y.params, strict=True)]
        elif x != y:
            return False
    return True


# ------------------------------------------------------- the real front end's numbers

# The kinds of type nodes: 8 to 11 are aggregates. Integers and floats are 2 and 3 there.
_TAGS = {"struct": 10, "union": 11, "class": 9}


def type_tag(t: CType) -> int:
    """The tag of a type node: 1 void, 6 pointer, 7 function, 8 to 11 array, class, struct and
    union, 12 typedef, 16 __int128; integers and floats 2 and 3 (assumed)."""
    if isinstance(t, Qualified):
        return type_tag(t.type)
    if isinstance(t, Typedef):
        return 12
    if isinstance(t, Record):
        return _TAGS[t.kind]
    if isinstance(t, Arithmetic):
        return 16 if t.bits == 128 else 3 if t.kind == "float" else 2
    fixed = {Void: 1, Enum: 2, Pointer: 6, Reference: 6, FunctionType: 7, Array: 8, Vector: 15}
    return fixed[t.__class__]


_FLOAT_CLASS = {"_Float16": 1, "float": 2, "double": 3, "__bf16": 5}


def type_class(t: CType) -> int:
    """The class byte: 1 to 6 floating types, 11 integer, 15 pointer, 16 vector, else 0."""
    s = strip(t)
    if isinstance(s, Arithmetic):
        return _FLOAT_CLASS[s.name] if s.kind == "float" else 11
    return {Enum: 11, Pointer: 15, Reference: 15, Vector: 16}.get(s.__class__, 0)


_QUALIFIERS = {1: 1, 32: 3, 33: 4}


def space_of_qualifier(word: int) -> int:
    """The address space that a pointer's qualifier word names; bits 0 to 14 are the identity, a
    set bit 15 negates it. Unknown words are generic."""
    return 0 if word & 0x8000 else _QUALIFIERS.get(word & 0x7FFF, 0)


# ------------------------------------------------------------------- spelling


def spell(t: CType, declarator: str = "") -> str:
    """The type in C's syntax, around a declared name if one is given."""
    while True:
        if isinstance(t, Pointer | Reference):
            mark = "*" if isinstance(t, Pointer) else "&&" if t.rvalue else "&"
            t, declarator = (t.pointee if isinstance(t, Pointer) else t.referent), mark + declarator
        elif isinstance(t, Qualified) and isinstance(t.type, Pointer):
            words = _words(t)
            declarator = f"*{words}{' ' if declarator else ''}{declarator}"
            t = t.type.pointee
        elif isinstance(t, Array):
            inner = f"({declarator})" if declarator[:1] in ("*", "&") else declarator
            bound = "" if t.count is None else str(t.count)
            t, declarator = t.element, f"{inner}[{bound}]"
        elif isinstance(t, FunctionType):
            inner = f"({declarator})" if declarator[:1] in ("*", "&") else declarator
            params = [spell(p) for p in t.params] + ["..."] * t.variadic
            t, declarator = t.result, f"{inner}({', '.join(params) or 'void'})"
        else:
            break
    name = _base_name(t)
    if not declarator:
        return name
    return f"{name} {declarator}" if declarator[0] not in "[(" else f"{name}{declarator}"


def _words(t: Qualified) -> str:
    given = (("const", t.const), ("volatile", t.volatile), ("__restrict__", t.restrict))
    return " ".join(w for w, on in given if on)


def _base_name(t: CType) -> str:
    if isinstance(t, Qualified):
        return f"{_words(t)} {spell(t.type)}".strip()
    if isinstance(t, Arithmetic | Typedef):
        return t.name
    if isinstance(t, Record):
        return f"{t.kind} {t.name or '(unnamed)'}"
    if isinstance(t, Enum):
        return f"enum {t.name or '(unnamed)'}"
    if isinstance(t, Vector):
        return f"{spell(t.element)} __attribute__((vector({t.count})))"
    return "void"
