"""Where the things of a module lie: sizes of variables, a kernel's parameters, frames of functions.

Frames hold the allocas that an activation makes once (a constant count, in the entry block) and
the copies that byval parameters are; other allocas take from the thread's dynamic stack. A kernel's
byval parameter is a copy in the frame, too, unless its pointer is one of address space 101: then
it is the parameter itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nvir.interp.layout import Array, MemoryLayout, register_dtype, zeros
from nvir.interp.nvvm.constants import bit_places, patterns, scalars
from nvir.ir import Function, Instruction, Param, Unsupported, Variable
from nvir.ir.layout import align_of, size_of
from nvir.ir.types import SCALARS, FloatType, IntType, PointerType, ScalarType, Type, array
from nvir.ir.values import Argument, Constant, SymbolOffset

PARAM_SPACE = 101
_FLOAT = {"half": "f16", "bfloat": "b16", "float": "f32", "double": "f64"}


def attribute(attributes: Any, name: str) -> Any:
    """The value of a (name, value) attribute; None without."""
    for a in attributes or ():
        if isinstance(a, tuple) and len(a) == 2 and a[0] == name:
            return a[1]
    return None


def byval(p: Argument) -> Type | None:
    """The type that a byval parameter points to."""
    found = attribute(p.attributes, "byval")
    return found if isinstance(found, Type) else None


def byval_align(p: Argument, t: Type) -> int:
    """How a byval parameter, which points to a `t`, is aligned: as it says, or as that is."""
    said = attribute(p.attributes, "align")
    return max(said if isinstance(said, int) else 0, align_of(t))


def declared(t: Type) -> Type:
    """The PTX type by which a launch passes a parameter: a scalar, or an array of bytes."""
    if isinstance(t, PointerType):
        return SCALARS["u64"]
    if isinstance(t, FloatType) and t.name in _FLOAT:
        return SCALARS[_FLOAT[t.name]]
    if isinstance(t, IntType) and t.bits <= 64:
        return SCALARS[f"u{8 * size_of(t)}"]
    return array(SCALARS["u8"], size_of(t))


class NvvmStorage:
    """What layout.py does for ori."""

    def size(self, v: Variable) -> int:
        """Bytes of a variable."""
        if isinstance(v.element_type, ScalarType):
            return v.size
        return size_of(v.value_type)

    def align(self, v: Variable) -> int:
        if v.align:
            return v.align
        t = v.element_type
        return max(t.bits // 8, 1) if isinstance(t, ScalarType) else align_of(v.value_type)

    def dtype(self, v: Variable) -> tuple[Any, tuple[int, ...]]:
        """How a variable's final contents are shown: numpy's element and the shape."""
        t, shape = v.element_type, v.dimensions
        if isinstance(t, FloatType) and t.name in ("half", "float", "double"):
            return np.dtype(f"f{t.bits // 8}"), shape
        if isinstance(t, IntType | PointerType) and size_of(t) in (1, 2, 4, 8):
            return np.dtype(f"u{size_of(t)}"), shape
        return np.dtype("u1"), (size_of(v.value_type),)

    def signature(self, f: Function) -> list[Param]:
        """A kernel's parameters as a launch fills them."""
        out = []
        for k, p in enumerate(f.params):
            inner = byval(p)
            t = p.type if inner is None else inner
            align = align_of(t) if inner is None else byval_align(p, inner)
            out.append(Param(str(p.name or k), declared(t), k, align=align))
        return out

    def frame(self, f: Function) -> MemoryLayout:
        """Local memory of one activation, by alloca and by byval parameter."""
        layout = MemoryLayout()
        for p in f.params:
            inner = byval(p)
            if inner is not None:
                layout.reserve(p, size_of(inner), max(byval_align(p, inner), 4))
        if f.blocks:
            for i in f.entry:
                if i.form.name == "alloca" and static(i):
                    t, align = i.aux[0], i.aux[1] or 0
                    count: Any = i.operands[0]
                    layout.reserve(i, size_of(t) * int(count.value), max(align, align_of(t)))
        layout.size = -(-layout.size // 16) * 16
        return layout

    def uses_stack(self, f: Function) -> bool:
        """Whether it takes memory that its frame does not hold."""
        return any(
            (i.form.name == "alloca" and not static(i))
            or (i.form.is_call and "stacksave" in str(getattr(i.aux.callee, "name", "")))
            for i in f.instructions()
        )

    def image(self, program: Any, v: Variable) -> Array:
        """The bytes that a variable starts with."""
        out = np.zeros(self.size(v), np.uint8)
        if isinstance(v.element_type, ScalarType):
            raise Unsupported(f"the initialiser of {v.name}")
        values = initial(program, v)
        for (bit, t), x in zip(bit_places(v.value_type), values, strict=True):
            at, above = divmod(bit, 8)
            n = (above + (t.bits or 64) + 7) // 8
            out[at : at + n] |= np.frombuffer((x << above).to_bytes(n, "little"), np.uint8)
        return out

    def start(self, wave: Any, g: Any) -> None:
        """Give a kernel's arguments to its lanes."""
        program = wave.program
        plan = g.node.plan
        for p, param in zip(plan.function.params, program.signature, strict=True):
            address = program.params[param]
            inner = byval(p)
            if inner is None:
                parts = plan.leaves(p)
                at = bit_places(p.type) if len(parts) > 1 else ((0, p.type),)
                for leaf, (bit, t) in zip(parts, at, strict=True):
                    n = (bit % 8 + (t.bits or 64) + 7) // 8
                    raw = program.arena.bytes_at(address + bit // 8, n)
                    g.table.v[plan.slot(leaf)] = from_bytes(raw, t, bit % 8)
                continue
            space = getattr(p.type, "space", 0)
            if space != PARAM_SPACE:
                raw = program.arena.bytes_at(address, size_of(inner))
                offset = g.node.base + plan.frame.offsets[p]
                g.rows()[:, offset : offset + len(raw)] = raw
                address = offset + (program.windows.local if space != 5 else 0)
            g.table.v[plan.slot(p)] = np.array([address], np.uint64)


def static(i: Instruction) -> bool:
    """Whether an alloca is made once, of a known size."""
    count = i.operands[0]
    entry = i.function is not None and i.block is i.function.entry
    return entry and isinstance(count, Constant) and isinstance(count.value, int)


def initial(program: Any, v: Variable) -> list[int]:
    """The patterns of a variable's initialiser: a constant, or a tuple of them."""
    if isinstance(v.init, tuple):
        return [x for c in v.init for x in patterns(program, c)]
    if isinstance(v.init, SymbolOffset) and not scalars(v.value_type):
        raise Unsupported(f"the initialiser of {v.name}")
    return patterns(program, v.init)


def from_bytes(raw: Array, t: Type, first: int = 0) -> Array:
    """A scalar in memory, from bit `first` on, as a vector of one element."""
    dtype = register_dtype(t)
    value = int.from_bytes(raw.tobytes(), "little") >> first & ((1 << (t.bits or 64)) - 1)
    if t.bits > 64:
        return np.array([[value & (1 << 64) - 1, value >> 64]], np.uint64)
    out = zeros(t, 1)
    out[0] = bool(value) if dtype.kind == "b" else dtype.type(value)
    return out
