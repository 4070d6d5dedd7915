"""Which conversion leads from one type to another, and what C does to operands by itself.

The kinds of `Cast`:

    noop            the same bits: qualifiers, signedness, an enumeration and its integers
    int             between integers: truncation or extension
    to_bool         anything scalar to bool: whether it is not zero
    int_to_float    float_to_int    float       the arithmetic ones
    pointer         another pointee in the same memory      space   another memory
    pointer_to_int  int_to_pointer  null        (null: a constant 0 or nullptr)
    decay           an array to its first element           function  a function to its address
    void            the value is dropped
    base            a class to its base, a pointer to a class to one to its base; `derived` back
    lvalue          the same place seen as another type
    vector          between vectors of one size, or a scalar to every element

Source   C11 6.3; ISO C++17 [conv], [expr.static.cast], [expr.reinterpret.cast].
"""

from __future__ import annotations

from nvir.frontend.tree.expressions import Cast, Expr, IntLiteral, NullPointer
from nvir.frontend.tree.layout import LayoutError, find_base, size_of
from nvir.frontend.tree.types import (
    ARITHMETIC,
    INT,
    UINT,
    Arithmetic,
    Array,
    CType,
    Enum,
    FunctionType,
    Pointer,
    Qualified,
    Record,
    Reference,
    Typedef,
    Vector,
    Void,
    is_float,
    is_integer,
    qualifiers,
    same,
    strip,
    underlying,
)


def unqualified(t: CType) -> CType:
    """The type without qualifiers at its top; typedef names that hide none are kept."""
    return strip(t) if any(qualifiers(t)) else _outside_qualifiers(t)


def _outside_qualifiers(t: CType) -> CType:
    while isinstance(t, Qualified):
        t = t.type
    return t


def promote(t: CType, bits: int | None = None) -> CType:
    """Integer promotion: what is narrower than int becomes int. `bits` is a bit-field's width."""
    s = underlying(t)
    if not isinstance(s, Arithmetic) or s.kind == "float":
        return s
    width = s.bits if bits is None else bits
    if s.rank < INT.rank or s.kind == "bool":
        return INT
    if s.bits <= 32:
        return INT if s.signed or width < 32 else UINT
    if bits is not None and bits < 32:
        return INT
    return s if s.name not in ("wchar_t", "char32_t") else (INT if s.signed else UINT)


def usual_arithmetic(a: CType, b: CType) -> CType:
    """The common type of two arithmetic operands (already promoted, or floating)."""
    x, y = promote(a), promote(b)
    assert isinstance(x, Arithmetic)
    assert isinstance(y, Arithmetic)
    if x.kind == "float" or y.kind == "float":
        if x.kind != "float":
            return y
        if y.kind != "float":
            return x
        return x if x.rank >= y.rank else y
    if x.signed == y.signed or x is y:
        return x if x.rank >= y.rank else y
    u, s = (x, y) if not x.signed else (y, x)
    if u.rank >= s.rank:
        return u
    if s.bits > u.bits:
        return s
    return ARITHMETIC[f"unsigned {s.name}"]


def is_null_constant(e: Expr) -> bool:
    """`0`, `nullptr`, or `(void *)0`."""
    if isinstance(e, NullPointer):
        return True
    if isinstance(e, IntLiteral):
        return e.value == 0 and (e.type is None or is_integer(e.type))
    if isinstance(e, Cast) and e.type is not None:
        t = strip(e.type)
        to_void = isinstance(t, Pointer) and isinstance(strip(t.pointee), Void)
        return (to_void or is_integer(t)) and is_null_constant(e.operand)
    return False


def cast_kind(source: CType, to: CType, null: bool = False) -> str | None:
    """The kind of the explicit cast between two types, or None where C and C++ have none."""
    a, b = strip(source), strip(to)
    if isinstance(b, Void):
        return "void"
    if isinstance(a, Array):
        return "decay" if isinstance(b, Pointer) else ("noop" if same(a, b) else None)
    if isinstance(a, FunctionType):
        return "function" if isinstance(b, Pointer) else None
    if isinstance(a, Record) or isinstance(b, Record):
        return _record_cast(a, b)
    if isinstance(a, Vector) or isinstance(b, Vector):
        return _vector_cast(a, b)
    if isinstance(b, Pointer):
        return _to_pointer(a, b, null)
    if isinstance(a, Pointer):
        if isinstance(b, Arithmetic) and b.kind == "bool":
            return "to_bool"
        return "pointer_to_int" if isinstance(b, Arithmetic | Enum) and not is_float(b) else None
    return _arithmetic_cast(underlying(a), underlying(b), b)


def _arithmetic_cast(a: CType, b: CType, target: CType) -> str | None:
    if not isinstance(a, Arithmetic) or not isinstance(b, Arithmetic):
        return None
    if a is b:
        return "noop"
    if b.kind == "bool":
        return "to_bool"
    if a.kind == "float":
        return "float" if b.kind == "float" else "float_to_int"
    if b.kind == "float":
        return "int_to_float"
    return "noop" if a.bits == b.bits and a.kind == b.kind else "int"


def _record_cast(a: CType, b: CType) -> str | None:
    if a is b:
        return "noop"
    if isinstance(a, Record) and isinstance(b, Record) and find_base(a, b) is not None:
        return "base"
    return None


def _vector_cast(a: CType, b: CType) -> str | None:
    if same(a, b):
        return "noop"
    if isinstance(b, Vector) and isinstance(a, Arithmetic):
        return "vector"
    try:
        return "vector" if size_of(a) == size_of(b) else None
    except LayoutError:
        return None


def _to_pointer(a: CType, b: Pointer, null: bool) -> str | None:
    if null:
        return "null"
    if isinstance(a, Pointer):
        x, y = strip(a.pointee), strip(b.pointee)
        if isinstance(x, Record) and isinstance(y, Record) and x is not y and a.space == b.space:
            if find_base(x, y) is not None:
                return "base"
            if find_base(y, x) is not None:
                return "derived"
        return "pointer" if a.space == b.space else "space"
    return "int_to_pointer" if is_integer(a) else None


def implicit_problem(source: CType, to: CType, null: bool = False) -> str | None:
    """Why C++ would not convert silently, or None. The cast itself must exist."""
    a, b = strip(source), strip(to)
    if isinstance(b, Void) or null:
        return None
    if isinstance(b, Pointer) and isinstance(a, Array):
        return _pointee_problem(a.element, b.pointee)
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        if b.space and a.space != b.space:
            return "the memory that it points to is not known to be that"
        return _pointee_problem(a.pointee, b.pointee)
    if isinstance(b, Pointer) and is_integer(a):
        return "an integer is no pointer without a cast"
    if isinstance(a, Pointer) and not (isinstance(b, Arithmetic) and b.kind == "bool"):
        return "a pointer is no number without a cast"
    if isinstance(a, Enum) and a.scoped and a is not b:
        return "a scoped enumeration does not convert"
    return None


def _pointee_problem(x: CType, y: CType) -> str | None:
    lost = [w for w, was, now in zip(("const", "volatile"), qualifiers(x), qualifiers(y),
                                     strict=False) if was and not now]
    if lost:
        return f"it discards '{lost[0]}'"
    s, u = strip(x), strip(y)
    if isinstance(s, Void) or isinstance(u, Void) or same(s, u):
        return None
    if isinstance(s, Record) and isinstance(u, Record) and find_base(s, u) is not None:
        return None
    return "the types pointed to differ"


def cast(e: Expr, to: CType, kind: str) -> Expr:
    """`e` in an implicit cast."""
    return Cast(e, implicit=True, kind=kind, type=to, place=e.place)


def decayed(t: CType) -> CType:
    """What an array or function type becomes as a value; references are followed."""
    s = strip(t)
    if isinstance(s, Reference):
        return decayed(s.referent)
    if isinstance(s, Array):
        return Pointer(s.element)
    if isinstance(s, FunctionType):
        return Pointer(s)
    return t


def referent(t: CType) -> CType:
    """The type behind a reference, which qualifiers do not change; any other type itself, typedef
    names kept."""
    inner = t
    while isinstance(inner, Typedef | Qualified):
        inner = inner.type
    return inner.referent if isinstance(inner, Reference) else t


def is_reference(t: CType) -> bool:
    return isinstance(strip(t), Reference)
