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

from nvir.frontend import tree


def unqualified(t: tree.CType) -> tree.CType:
    """The type without qualifiers at its top; typedef names that hide none are kept."""
    return tree.strip(t) if any(tree.qualifiers(t)) else _outside_qualifiers(t)


def _outside_qualifiers(t: tree.CType) -> tree.CType:
    while isinstance(t, tree.Qualified):
        t = t.type
    return t


def promote(t: tree.CType, bits: int | None = None) -> tree.CType:
    """Integer promotion: what is narrower than int becomes int. `bits` is a bit-field's width."""
    s = tree.underlying(t)
    if not isinstance(s, tree.Arithmetic) or s.kind == "float":
        return s
    width = s.bits if bits is None else bits
    if s.rank < tree.INT.rank or s.kind == "bool":
        return tree.INT
    if s.bits <= 32:
        return tree.INT if s.signed or width < 32 else tree.UINT
    if bits is not None and bits < 32:
        return tree.INT
    return s if s.name not in ("wchar_t", "char32_t") else (tree.INT if s.signed else tree.UINT)


def usual_arithmetic(a: tree.CType, b: tree.CType) -> tree.CType:
    """The common type of two arithmetic operands (already promoted, or floating)."""
    x, y = promote(a), promote(b)
    assert isinstance(x, tree.Arithmetic)
    assert isinstance(y, tree.Arithmetic)
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
    return tree.ARITHMETIC[f"unsigned {s.name}"]


def is_null_constant(e: tree.Expr) -> bool:
    """`0`, `nullptr`, or `(void *)0`."""
    if isinstance(e, tree.NullPointer):
        return True
    if isinstance(e, tree.IntLiteral):
        return e.value == 0 and (e.type is None or tree.is_integer(e.type))
    if isinstance(e, tree.Cast) and e.type is not None:
        t = tree.strip(e.type)
        to_void = isinstance(t, tree.Pointer) and isinstance(tree.strip(t.pointee), tree.Void)
        return (to_void or tree.is_integer(t)) and is_null_constant(e.operand)
    return False


def cast_kind(source: tree.CType, to: tree.CType, null: bool = False) -> str | None:
    """The kind of the explicit cast between two types, or None where C and C++ have none."""
    a, b = tree.strip(source), tree.strip(to)
    if isinstance(b, tree.Void):
        return "void"
    if isinstance(a, tree.Array):
        return "decay" if isinstance(b, tree.Pointer) else ("noop" if tree.same(a, b) else None)
    if isinstance(a, tree.FunctionType):
        return "function" if isinstance(b, tree.Pointer) else None
    if isinstance(a, tree.Record) or isinstance(b, tree.Record):
        return _record_cast(a, b)
    if isinstance(a, tree.Vector) or isinstance(b, tree.Vector):
        return _vector_cast(a, b)
    if isinstance(b, tree.Pointer):
        return _to_pointer(a, b, null)
    if isinstance(a, tree.Pointer):
        if isinstance(b, tree.Arithmetic) and b.kind == "bool":
            return "to_bool"
        return (
            "pointer_to_int"
            if isinstance(b, tree.Arithmetic | tree.Enum) and not tree.is_float(b)
            else None
        )
    return _arithmetic_cast(tree.underlying(a), tree.underlying(b), b)


def _arithmetic_cast(a: tree.CType, b: tree.CType, target: tree.CType) -> str | None:
    if not isinstance(a, tree.Arithmetic) or not isinstance(b, tree.Arithmetic):
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


def _record_cast(a: tree.CType, b: tree.CType) -> str | None:
    if a is b:
        return "noop"
    if (
        isinstance(a, tree.Record)
        and isinstance(b, tree.Record)
        and tree.find_base(a, b) is not None
    ):
        return "base"
    return None


def _vector_cast(a: tree.CType, b: tree.CType) -> str | None:
    if tree.same(a, b):
        return "noop"
    if isinstance(b, tree.Vector) and isinstance(a, tree.Arithmetic):
        return "vector"
    try:
        return "vector" if tree.size_of(a) == tree.size_of(b) else None
    except tree.LayoutError:
        return None


def _to_pointer(a: tree.CType, b: tree.Pointer, null: bool) -> str | None:
    if null:
        return "null"
    if isinstance(a, tree.Pointer):
        x, y = tree.strip(a.pointee), tree.strip(b.pointee)
        if (
            isinstance(x, tree.Record)
            and isinstance(y, tree.Record)
            and x is not y
            and a.space == b.space
        ):
            if tree.find_base(x, y) is not None:
                return "base"
            if tree.find_base(y, x) is not None:
                return "derived"
        return "pointer" if a.space == b.space else "space"
    return "int_to_pointer" if tree.is_integer(a) else None


def implicit_problem(source: tree.CType, to: tree.CType, null: bool = False) -> str | None:
    """Why C++ would not convert silently, or None. The cast itself must exist."""
    a, b = tree.strip(source), tree.strip(to)
    if isinstance(b, tree.Void) or null:
        return None
    if isinstance(b, tree.Pointer) and isinstance(a, tree.Array):
        return _pointee_problem(a.element, b.pointee)
    if isinstance(a, tree.Pointer) and isinstance(b, tree.Pointer):
        if b.space and a.space != b.space:
            return "the memory that it points to is not known to be that"
        return _pointee_problem(a.pointee, b.pointee)
    if isinstance(b, tree.Pointer) and tree.is_integer(a):
        return "an integer is no pointer without a cast"
    if isinstance(a, tree.Pointer) and not (isinstance(b, tree.Arithmetic) and b.kind == "bool"):
        return "a pointer is no number without a cast"
    if isinstance(a, tree.Enum) and a.scoped and a is not b:
        return "a scoped enumeration does not convert"
    return None


def _pointee_problem(x: tree.CType, y: tree.CType) -> str | None:
    lost = [w for w, was, now in zip(("const", "volatile"), tree.qualifiers(x), tree.qualifiers(y),
                                     strict=False) if was and not now]
    if lost:
        return f"it discards '{lost[0]}'"
    s, u = tree.strip(x), tree.strip(y)
    if isinstance(s, tree.Void) or isinstance(u, tree.Void) or tree.same(s, u):
        return None
    if (
        isinstance(s, tree.Record)
        and isinstance(u, tree.Record)
        and tree.find_base(s, u) is not None
    ):
        return None
    return "the types pointed to differ"


def cast(e: tree.Expr, to: tree.CType, kind: str) -> tree.Expr:
    """`e` in an implicit cast."""
    return tree.Cast(e, implicit=True, kind=kind, type=to, place=e.place)


def decayed(t: tree.CType) -> tree.CType:
    """What an array or function type becomes as a value; references are followed."""
    s = tree.strip(t)
    if isinstance(s, tree.Reference):
        return decayed(s.referent)
    if isinstance(s, tree.Array):
        return tree.Pointer(s.element)
    if isinstance(s, tree.FunctionType):
        return tree.Pointer(s)
    return t


def referent(t: tree.CType) -> tree.CType:
    """The type behind a reference, which qualifiers do not change; any other type itself, typedef
    names kept."""
    inner = t
    while isinstance(inner, tree.Typedef | tree.Qualified):
        inner = inner.type
    return inner.referent if isinstance(inner, tree.Reference) else t


def is_reference(t: tree.CType) -> bool:
    return isinstance(tree.strip(t), tree.Reference)
