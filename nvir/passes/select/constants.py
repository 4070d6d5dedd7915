"""Constants of the nvvm level: what they are as literals, addresses and bytes.

A constant expression over symbols comes down to `symbol + offset`, perhaps made generic:
that is all that PTX can write in an initialiser, and all that compilers make there.
"""

from __future__ import annotations

from typing import Any

import attrs

from nvir.ir import Unsupported, Variable
from nvir.ir import types as ty
from nvir.ir.layout import offset_of, size_of
from nvir.ir.nvvm_values import ConstantExpr
from nvir.ir.values import Constant, Symbol, SymbolOffset, Undef, Value, constant, integer
from nvir.passes.select.parts import RegisterPart, parts
from nvir.passes.select.spaces import GENERIC, SPACE_NUMBERS

_MASK64 = (1 << 64) - 1


def signed(value: int, bits: int) -> int:
    """The low bits of a number as the two's complement number they stand for."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if bits > 1 and value >> (bits - 1) else value


# ----------------------------------------------------------------- literals


def zero(part: RegisterPart) -> Value:
    """The literal 0 of a part."""
    return literal(part, 0)


def literal(part: RegisterPart, bits: int) -> Value:
    """A bit pattern as the literal of a part."""
    if part.reg is ty.PRED:
        return constant(ty.PRED, bits & 1)
    if part.reg in (ty.F32, ty.F64):
        return constant(part.reg, bits)
    if isinstance(part.scalar, ty.FloatType):
        return integer(bits)
    return integer(signed(bits, part.bits))


def literals(c: Constant) -> tuple[Value | None, ...] | None:
    """A constant's parts as literals; None for one that holds symbols (see `members`)."""
    t = c.type
    shape = parts(t)
    if c.value is None:
        return tuple(map(zero, shape))
    if isinstance(t, ty.IntType | ty.FloatType):
        return tuple(literal(p, c.value >> 64 * k) for k, p in enumerate(shape))
    return None


def members(c: Constant) -> tuple[Value, ...]:
    """The constants that an aggregate constant holds."""
    if not isinstance(c.value, tuple):
        raise Unsupported(f"the constant {c.name} of type {c.type}")
    return c.value


# ---------------------------------------------------------------- addresses


@attrs.frozen
class SymbolAddress:
    """`symbol + offset`, an address of `space`; symbol None is the number itself."""

    symbol: Symbol | None
    offset: int
    space: int


def address(v: Value) -> SymbolAddress:
    """What address a constant is. Raises Unsupported for one that PTX cannot write."""
    if isinstance(v, Variable):
        return SymbolAddress(v, 0, SPACE_NUMBERS.get(v.space, GENERIC))
    if isinstance(v, Symbol):
        return SymbolAddress(v, 0, GENERIC)
    if isinstance(v, SymbolOffset):
        inner = address(v.symbol)
        return SymbolAddress(inner.symbol, v.offset, inner.space)
    if isinstance(v, Constant):
        number = signed(v.value or 0, v.type.bits or 64)
        return SymbolAddress(None, number, getattr(v.type, "space", GENERIC))
    if isinstance(v, Undef):
        return SymbolAddress(None, 0, getattr(v.type, "space", GENERIC))
    if isinstance(v, ConstantExpr):
        return _expression(v)
    raise Unsupported(f"the constant {v.name}")


def _expression(v: ConstantExpr) -> SymbolAddress:
    name = v.form.name
    base = address(v.operands[0])
    if name == "getelementptr":
        path = tuple(address(k).offset for k in v.operands[1:])
        return attrs.evolve(base, offset=base.offset + gep_offset(v.aux, path))
    if name in ("bitcast", "addrspacecast", "ptrtoint", "inttoptr", "freeze"):
        return base
    if name in ("add", "sub") and len(v.operands) == 2:
        other = address(v.operands[1])
        if other.symbol is None:
            sign = 1 if name == "add" else -1
            return attrs.evolve(base, offset=base.offset + sign * other.offset)
        if name == "sub" and other.symbol is base.symbol:
            return SymbolAddress(None, base.offset - other.offset, base.space)
        if name == "add" and base.symbol is None:
            return attrs.evolve(other, offset=other.offset + base.offset)
    raise Unsupported(f"the constant expression {v.name}")


def gep_offset(source: ty.Type, path: tuple[int, ...]) -> int:
    """Bytes from the base to the element that constant indices name."""
    if not path:
        return 0
    return path[0] * size_of(source) + offset_of(source, path[1:])


# -------------------------------------------------------------------- bytes


def place(v: Value, t: ty.Type, at: int, data: bytearray, addresses: dict[int, Value]) -> None:
    """Write a constant's bytes at an offset; addresses go to `addresses` by their offset."""
    work: list[tuple[Value, ty.Type, int]] = [(v, t, at)]
    while work:
        v, t, at = work.pop()
        if isinstance(v, Undef) or (isinstance(v, Constant) and v.value is None):
            continue
        if isinstance(t, ty.VectorType) and t.element.bits != 8 * size_of(t.element):  # i1, i24
            v, t = _number(v), ty.int_type(t.count * t.element.bits)
        if isinstance(v, Constant) and isinstance(v.value, tuple):
            work.extend(_elements(v.value, t, at))
        elif isinstance(v, Constant) and isinstance(v.value, bytes):
            data[at : at + len(v.value)] = v.value
        elif isinstance(v, Constant):
            size = (t.bits + 7) // 8
            data[at : at + size] = (v.value & ((1 << 8 * size) - 1)).to_bytes(size, "little")
        else:
            found = address(v)
            if found.symbol is None:
                size = (t.bits + 7) // 8
                data[at : at + size] = (found.offset & ((1 << 8 * size) - 1)).to_bytes(
                    size, "little"
                )
            else:
                addresses[at] = v


def _number(v: Value) -> Value:
    """A constant vector of integers as the number that it is in memory, bit by bit."""
    total, t = 0, v.type
    assert isinstance(v, Constant)
    assert isinstance(t, ty.VectorType)
    for k, x in enumerate(v.value):
        if isinstance(x, Constant) and x.value is not None:
            total |= (x.value & ((1 << t.element.bits) - 1)) << k * t.element.bits
    return constant(ty.int_type(t.count * t.element.bits), total)


def _elements(values: tuple[Any, ...], t: ty.Type, at: int) -> list[tuple[Value, ty.Type, int]]:
    if isinstance(t, ty.StructType):
        types = t.elements or ()
        return [(v, e, at + offset_of(t, (k,))) for k, (v, e) in
                enumerate(zip(values, types, strict=True))]
    if isinstance(t, ty.ArrayType | ty.VectorType):
        step = size_of(t.element)
        return [(v, t.element, at + k * step) for k, v in enumerate(values)]
    raise Unsupported(f"a constant of type {t} in pieces")


def is_generic_address(v: Value) -> bool:
    """Whether an address in an initialiser is a generic one of a variable: casts between spaces
    alone make such, `ptrtoint` and sums keep the number as it is."""
    while isinstance(v, ConstantExpr) and v.form.name != "addrspacecast":
        v = next(x for x in v.operands if address(x).symbol is not None)
    t = v.type
    space = t.space if isinstance(t, ty.PointerType) else GENERIC
    return space == GENERIC and address(v).space != GENERIC
