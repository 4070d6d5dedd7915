"""Operators: arithmetic, comparisons, pointers, assignments, steps, short circuits, `?:`.

Signed addition, subtraction and multiplication carry `nsw`: C leaves their overflow undefined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from nvir.frontend import tree
from nvir.frontend.irgen import fold
from nvir.frontend.irgen.casts import convert
from nvir.frontend.irgen.initialisers import emit_init
from nvir.frontend.irgen.places import copy, emit_lvalue, generic, index_value, load, store, typed
from nvir.frontend.irgen.state import IRGenError, LValue
from nvir.frontend.irgen.walk import emit_aggregate, emit_bool, emit_effect, emit_value
from nvir.ir import I1, I8, I64, Constant, FloatType, IntType, PointerType, Type, Value, constant
from nvir.ir.nvvm import const, const_like

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState

_FLOAT = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv", "%": "frem"}
_SIGNED = {"+": "add nsw", "-": "sub nsw", "*": "mul nsw", "/": "sdiv", "%": "srem", "<<": "shl",
           ">>": "ashr", "&": "and", "|": "or", "^": "xor"}
_UNSIGNED = {"+": "add", "-": "sub", "*": "mul", "/": "udiv", "%": "urem", "<<": "shl",
             ">>": "lshr", "&": "and", "|": "or", "^": "xor"}
_NAMES = {"+": "add", "-": "sub", "*": "mul", "/": "div", "%": "rem", "<<": "shl", ">>": "shr",
          "&": "and", "|": "or", "^": "xor"}


def arithmetic(g: IRGenState, op: str, a: Value, b: Value, t: tree.CType) -> Value:
    """`a op b` in the arithmetic (or vector) type `t`."""
    s = tree.underlying(t)
    element = s.element if isinstance(s, tree.Vector) else s
    if tree.is_float(element):
        made: Value = getattr(g.builder, _FLOAT[op])(a, b, _NAMES[op])
        return made
    if op in ("<<", ">>") and b.type is not a.type:
        row = "zext" if b.type.bits < a.type.bits else "trunc"
        b = fold.cast(g, row, b, a.type, "sh_prom")
    rows = _SIGNED if tree.is_signed(element) else _UNSIGNED
    return fold.binary(g, rows[op], a, b, _NAMES[op])


# ------------------------------------------------------------------- unary


def emit_unary(g: IRGenState, e: tree.Unary) -> Value:

    if e.op == "&":
        place = emit_lvalue(g, e.operand)
        return generic(g, place.pointer, g.types.value(typed(e)))
    if e.op == "*":
        return load(g, emit_lvalue(g, e))
    if e.op == "!":
        v = emit_bool(g, e.operand)
        made = const(I1, not v.value) if isinstance(v, Constant) else g.builder.not_(v, "lnot")
        return from_truth(g, made, typed(e), "lnot.ext")
    v = emit_value(g, e.operand)
    if e.op == "+":
        return v
    if e.op == "~":
        return fold.binary(g, "xor", v, const_like(v, -1), "not")
    if isinstance(v.type, FloatType):
        if isinstance(v, Constant):
            return constant(v.type, int(v.value) ^ 1 << v.type.bits - 1)
        return g.builder.fneg(v, "fneg")
    s = tree.underlying(typed(e))
    element = s.element if isinstance(s, tree.Vector) else s
    if tree.is_float(element):
        return g.builder.fneg(v, "fneg")
    row = "sub nsw" if tree.is_signed(element) else "sub"
    return fold.binary(g, row, const_like(v, 0), v, "sub")


def from_truth(g: IRGenState, v: Value, t: tree.CType, name: str) -> Value:
    """An i1 as a value of the type of a C condition: int in C, bool in C++."""
    return fold.cast(g, "zext", v, g.types.value(t), name)


# ------------------------------------------------------------------ binary


def emit_binary(g: IRGenState, e: tree.Binary) -> Value:

    if e.op == ",":
        emit_effect(g, e.left)
        return emit_value(g, e.right)
    if e.op in ("&&", "||"):
        name = "land" if e.op == "&&" else "lor"
        return from_truth(g, emit_logical(g, e), typed(e), f"{name}.ext")
    if e.op in _PREDICATES:
        return from_truth(g, emit_compare(g, e), typed(e), "conv")
    if tree.is_pointer(typed(e.left)) or tree.is_pointer(typed(e.right)):
        return emit_pointer_arithmetic(g, e)
    a, b = emit_value(g, e.left), emit_value(g, e.right)
    return arithmetic(g, e.op, a, b, typed(e))


_PREDICATES = ("<", "<=", ">", ">=", "==", "!=")


def emit_compare(g: IRGenState, e: tree.Binary) -> Value:
    """A comparison as i1."""

    a, b = emit_value(g, e.left), emit_value(g, e.right)
    t = typed(e.left)
    if isinstance(a.type, FloatType):
        unordered = e.op == "!="
        compare = g.builder.fcmp_unordered if unordered else g.builder.fcmp_ordered
        return compare(e.op, a, b, "cmp")
    signed = tree.is_signed(t) and not isinstance(a.type, PointerType) and a.type is not I1
    compare_int = g.builder.icmp_signed if signed else g.builder.icmp_unsigned
    if isinstance(a, Constant) and isinstance(b, Constant) and isinstance(a.type, IntType):
        mask = 0 if signed else (1 << a.type.bits) - 1
        x, y = (int(a.value), int(b.value)) if signed else (a.value & mask, b.value & mask)
        return const(I1, {"<": x < y, "<=": x <= y, ">": x > y, ">=": x >= y, "==": x == y,
                          "!=": x != y}[e.op])
    return compare_int(e.op, a, b, "cmp")


def emit_logical(g: IRGenState, e: tree.Binary) -> Value:
    """`&&` and `||` as i1: the right side in a block of its own, a phi where both meet.

    The phi's short edge comes from the block that the left side ended in, whichever it is.
    """

    is_and = e.op == "&&"
    name = "land" if is_and else "lor"
    left = emit_bool(g, e.left)
    if isinstance(left, Constant):
        return emit_bool(g, e.right) if bool(left.value) == is_and else left
    rhs, end = g.new_block(f"{name}.rhs"), g.new_block(f"{name}.end")
    short = g.block
    g.builder.cbranch(left, rhs, end) if is_and else g.builder.cbranch(left, end, rhs)
    g.start(rhs)
    right = emit_bool(g, e.right)
    last = g.block
    g.branch(end)
    g.start(end)
    phi = g.builder.phi(I1)
    phi.add(const(I1, not is_and), short)
    phi.add(right, last)
    return phi


def emit_pointer_arithmetic(g: IRGenState, e: tree.Binary) -> Value:
    """Pointer plus or minus a number, and the difference of pointers."""

    a_is, b_is = tree.is_pointer(typed(e.left)), tree.is_pointer(typed(e.right))
    if a_is and b_is:
        return emit_pointer_difference(g, e)
    pointer, number = (e.left, e.right) if a_is else (e.right, e.left)
    if a_is:
        p, offset = emit_value(g, pointer), index_value(g, number, "idx.ext")
    else:
        offset, p = index_value(g, number, "idx.ext"), emit_value(g, pointer)
    return move_pointer(g, p, offset, typed(pointer), e.op)


def move_pointer(g: IRGenState, p: Value, offset: Value, t: tree.CType, op: str,
                 name: str = "add.ptr") -> Value:
    if op == "-":
        offset = fold.binary(g, "sub", const(I64, 0), offset, "idx.neg")
    return g.builder.gep(p, [offset], step_type(g, t), inbounds=True, name=name)


def step_type(g: IRGenState, t: tree.CType) -> Type:
    """What arithmetic on a pointer type steps over; a byte for void and functions."""
    s = tree.strip(t)
    assert isinstance(s, tree.Pointer)
    plain = tree.is_void(s.pointee) or isinstance(tree.strip(s.pointee), tree.FunctionType)
    return I8 if plain else g.types.memory(s.pointee)


def emit_pointer_difference(g: IRGenState, e: tree.Binary) -> Value:

    a, b = emit_value(g, e.left), emit_value(g, e.right)
    x = fold.cast(g, "ptrtoint", generic(g, a), I64, "sub.ptr.lhs.cast")
    y = fold.cast(g, "ptrtoint", generic(g, b), I64, "sub.ptr.rhs.cast")
    bytes_ = fold.binary(g, "sub", x, y, "sub.ptr.sub")
    s = tree.strip(typed(e.left))
    assert isinstance(s, tree.Pointer)
    plain = tree.is_void(s.pointee) or isinstance(tree.strip(s.pointee), tree.FunctionType)
    size = 1 if plain else tree.size_of(s.pointee)
    if size == 1:
        return bytes_
    return fold.binary(g, "sdiv exact", bytes_, const(I64, size), "sub.ptr.div")


# -------------------------------------------------------------- assignment


def emit_assign(g: IRGenState, e: tree.Assign) -> Value:
    """An assignment to a scalar; its value."""
    return _assign(g, e)[0]


def _assign(g: IRGenState, e: tree.Assign) -> tuple[Value, LValue]:

    if e.op == "=":
        v = emit_value(g, e.value)
        place = emit_lvalue(g, e.target)
        return store(g, v, place), place
    op, t = e.op[:-1], typed(e.target)
    if tree.is_pointer(t):
        offset = index_value(g, e.value, "idx.ext")
        place = emit_lvalue(g, e.target)
        made = move_pointer(g, load(g, place), offset, t, op)
        return store(g, made, place), place
    if e.compute is None:
        raise IRGenError("a compound assignment without its type: check the tree", e.place)
    v = emit_value(g, e.value)
    place = emit_lvalue(g, e.target)
    old = convert(g, load(g, place), t, e.compute)
    made = arithmetic(g, op, old, v, e.compute)
    return store(g, convert(g, made, e.compute, t), place), place


def emit_step(g: IRGenState, e: tree.Step) -> Value:
    """`++` and `--`; the new value before the operand, the old one behind it."""
    old, new, _ = _step(g, e)
    return new if e.prefix else old


def _step(g: IRGenState, e: tree.Step) -> tuple[Value, Value, LValue]:
    place = emit_lvalue(g, e.operand)
    old = load(g, place)
    t = typed(e.operand)
    name = "inc" if e.op == "++" else "dec"
    sign = 1 if e.op == "++" else -1
    new: Value
    if isinstance(old.type, PointerType):
        new = g.builder.gep(old, [sign], step_type(g, t), inbounds=True,
                            name="incdec.ptr")
    elif old.type is I1:
        new = const(I1, 1) if sign > 0 else g.builder.not_(old, name)
    elif isinstance(old.type, FloatType):
        new = g.builder.fadd(old, const(old.type, float(sign)), name)
    else:
        narrow = old.type.bits < 32  # computed in int, so it cannot overflow there
        row = "add nsw" if tree.is_signed(t) and not narrow else "add"
        new = fold.binary(g, row, old, const(old.type, sign), name)
    return old, store(g, new, place), place


def emit_assign_place(g: IRGenState, e: tree.Expr) -> LValue:
    """The place that an assignment or a prefix step changed, after it."""

    if isinstance(e, tree.Assign):
        if tree.is_aggregate(typed(e)):
            return emit_assign_aggregate(g, e)
        return _assign(g, e)[1]
    assert isinstance(e, tree.Step)
    if not e.prefix:
        to = g.alloca(typed(e), "tmp")
        emit_init(g, e, to)
        return to
    return _step(g, e)[2]


def emit_assign_aggregate(g: IRGenState, e: tree.Assign) -> LValue:
    """An object assigned to another. The right side may be the left: copied by memmove's rule
    that equal addresses are no overlap."""

    source = emit_aggregate(g, e.value)
    place = emit_lvalue(g, e.target)
    copy(g, place, source)
    return place


# -------------------------------------------------------------------- ?:


def emit_conditional(
    g: IRGenState, e: tree.Conditional, side: Callable[[tree.Expr], Value | None]
) -> Value | None:
    """`?:`, each side emitted by `side`; the phi of what they give, None if they give nothing."""

    c = emit_bool(g, e.cond)
    if isinstance(c, Constant):
        return side(e.then if c.value else e.other)
    then, other = g.new_block("cond.true"), g.new_block("cond.false")
    end = g.new_block("cond.end")
    g.builder.cbranch(c, then, other)
    g.start(then)
    a = side(e.then)
    a_end = g.block
    g.branch(end)
    g.start(other)
    b = side(e.other)
    b_end = g.block
    g.branch(end)
    g.start(end)
    if a is None or b is None:
        return None
    phi = g.builder.phi(a.type, "cond")
    phi.add(a, a_end)
    phi.add(b, b_end)
    return phi
