"""Constants of `nvvm` as bit patterns, and values as their leaves.

A constant, however it is composed, is known once the program's symbols have their places: it is a
tuple of unsigned patterns, one for each scalar of its type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nvir.interp.leaves import ScalarLeaf
from nvir.ir import ArrayType, PointerType, StructType, Type, Unsupported, VectorType
from nvir.ir.layout import fields, offset_of, size_of
from nvir.ir.nvvm_values import ConstantExpr
from nvir.ir.opcodes.evaluate import fold_integers
from nvir.ir.values import Constant, Symbol, SymbolOffset, Undef, Value, integer

MAX_DEPTH = 200
_places: dict[Type, tuple[tuple[int, Type], ...]] = {}


def places(t: Type) -> tuple[tuple[int, Type], ...]:
    """(byte offset, scalar type) of each leaf of a type. Vectors count by element."""
    return tuple((bit // 8, s) for bit, s in bit_places(t))


def bit_places(t: Type) -> tuple[tuple[int, Type], ...]:
    """As `places`, by the offset in bits: elements of i1 or i3 lie next to each other."""
    found = _places.get(t)
    if found is None:
        out: list[tuple[int, Type]] = []
        for at, part in fields(t):
            if isinstance(part, VectorType):
                step = part.element.bits or 64
                out.extend((8 * at + k * step, part.element) for k in range(part.count))
            else:
                out.append((8 * at, part))
        found = tuple(out)
        if not (isinstance(t, StructType) and t.label is not None):
            _places[t] = found
    return found


def is_scalar(t: Type) -> bool:
    return not isinstance(t, StructType | ArrayType | VectorType)


def scalars(t: Type) -> tuple[Type, ...]:
    """The scalar types that a type is made of; none for void and metadata."""
    if is_scalar(t):
        return (t,) if t.bits or isinstance(t, PointerType) else ()
    return tuple(s for _, s in places(t))


def leaves(plan: Any, value: Value) -> tuple[Value, ...]:
    """The scalars of a value; of a constant as literals."""
    if value.is_constant:
        if not scalars(value.type):
            return ()
        return tuple(integer(x) for x in patterns(plan.program, value))
    if is_scalar(value.type):
        return (value,) if scalars(value.type) else ()
    return tuple(ScalarLeaf(value, k, t) for k, t in enumerate(scalars(value.type)))


def patterns(program: Any, c: Any, depth: int = 0) -> list[int]:
    """The bit pattern of each leaf of a constant. Raises Unsupported where it has none."""
    if depth > MAX_DEPTH:
        raise Unsupported(f"a constant nested deeper than {MAX_DEPTH}")
    if isinstance(c, Undef):
        return [0] * len(scalars(c.type))
    if isinstance(c, Constant):
        return _literal(program, c, depth)
    if isinstance(c, ConstantExpr):
        return _expression(program, c, depth)
    if isinstance(c, Symbol | SymbolOffset):
        return [_address(program, c)]
    raise Unsupported(f"a constant of class {type(c).__name__} in the interpreter")


def _literal(program: Any, c: Constant, depth: int) -> list[int]:
    if c.value is None:
        return [0] * len(scalars(c.type))
    if isinstance(c.value, bytes):
        return list(c.value)
    if isinstance(c.value, tuple):
        return [x for v in c.value for x in patterns(program, v, depth + 1)]
    return [int(c.value) & ((1 << (c.type.bits or 64)) - 1)]


def _address(program: Any, c: Any) -> int:
    symbol, offset, generic = c, 0, False
    if isinstance(c, SymbolOffset):
        symbol, offset, generic = c.symbol, c.offset, c.generic
    space, base = program.place(None, symbol)
    if space == "shared" and (generic or getattr(c.type, "space", 3) == 0):
        base += program.windows.shared
    return int(base + offset) & (1 << 64) - 1


def window(program: Any, space: int) -> int:
    """What is added to a pointer of an address space to make it generic."""
    return int({3: program.windows.shared, 5: program.windows.local}.get(space, 0))


def steps(t: Type, indices: Sequence[Value]) -> tuple[int, list[tuple[Value, int]]]:
    """A getelementptr's constant offset, and (index, stride) of those that vary."""
    offset = 0
    varying: list[tuple[Value, int]] = []
    for k, index in enumerate(indices):
        if k and isinstance(t, StructType):
            member = _struct_index(index)
            offset += offset_of(t, (member,))
            t = (t.elements or ())[member]
            continue
        if k:
            if not isinstance(t, ArrayType | VectorType):
                raise Unsupported(f"getelementptr into {t}")
            t = t.element
        if isinstance(index, Constant) and isinstance(index.value, int):
            offset += _signed(int(index.value), index.type.bits) * size_of(t)
        else:
            varying.append((index, size_of(t)))
    return offset, varying


def _struct_index(index: Value) -> int:
    value: Any = getattr(index, "value", None)
    while isinstance(value, tuple) and value:  # a vector of one and the same member
        value = value[0].value
    if value is None:
        value = 0
    return int(value)


def _signed(x: int, width: int) -> int:
    x &= (1 << width) - 1
    return x - (1 << width) if x >> (width - 1) else x


def _expression(program: Any, c: ConstantExpr, depth: int) -> list[int]:
    name, t = c.form.name, c.type
    args = [patterns(program, v, depth + 1) for v in c.operands]
    if name in ("extractvalue", "insertvalue", "select", "bitcast"):
        return _pieces(c, args)
    if any(not is_scalar(x) for x in (t, *(v.type for v in c.operands))):
        raise Unsupported(f"the constant expression {c.spelling} of {t} in the interpreter")
    mask = (1 << (t.bits or 64)) - 1
    a = args[0][0]
    if name == "getelementptr":
        offset, varying = steps(c.aux, c.operands[1:])
        for v, stride in varying:
            offset += _signed(patterns(program, v, depth + 1)[0], v.type.bits) * stride
        return [(a + offset) & mask]
    if name in ("ptrtoint", "inttoptr"):
        return [a & mask]
    if name == "addrspacecast":
        source = getattr(c.operands[0].type, "space", 0)
        into = window(program, source) - window(program, getattr(t, "space", 0))
        return [(a + into) & mask]
    if c.form.op.fold is None:
        raise Unsupported(f"the constant expression {c.spelling} in the interpreter")
    width = c.operands[0].type.bits or 64
    return [fold_integers(c.form, width, [x for x, *_ in args], t.bits) or 0]


def _pieces(c: ConstantExpr, args: list[list[int]]) -> list[int]:
    if c.form.name == "select":
        return args[1] if args[0][0] else args[2]
    if c.form.name == "bitcast":
        if len(args[0]) == 1 and is_scalar(c.type):
            return args[0]
        raise Unsupported("a constant expression that casts vectors, in the interpreter")
    begin, end = span(c.operands[0].type, c.aux)
    if c.form.name == "extractvalue":
        return args[0][begin:end]
    return [*args[0][:begin], *args[1], *args[0][end:]]


def span(t: Type, path: Sequence[int]) -> tuple[int, int]:
    """Which leaves of an aggregate the member at a path of indices has: [begin, end)."""
    begin = 0
    for k in path:
        if isinstance(t, StructType):
            members = t.elements or ()
            begin += sum(len(scalars(m)) for m in members[:k])
            t = members[k]
        else:
            assert isinstance(t, ArrayType | VectorType)
            t = t.element
            begin += k * len(scalars(t))
    return begin, begin + len(scalars(t))
