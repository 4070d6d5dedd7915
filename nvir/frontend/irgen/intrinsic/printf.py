"""printf, lowered to vprintf with its arguments packed in a buffer.

    printf("%d %f\\n", i, x)   ==>   store i32 %i, ptr %tmp
                                    %1 = fpext float %x to double
                                    store double %1, ptr (%tmp + 8)
                                    call i32 @vprintf(ptr @fmt, ptr %tmp)

A function has one buffer, the alloca `tmp`, which grows where a later call needs more; it stands
at the head of the entry block, so it dominates every call. Arguments are promoted first (float to
double, integers below 32 bits to i32), each lies at its natural alignment. Without arguments the
buffer is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.frontend.irgen import fold
from nvir.frontend.irgen.alloca import create_alloca
from nvir.frontend.irgen.places import generic, typed
from nvir.frontend.irgen.state import IRGenError, LValue
from nvir.frontend.tree.expressions import Call
from nvir.frontend.tree.types import is_signed, underlying
from nvir.ir import DOUBLE, I8, I32, FloatType, IntType, Value, array, constant, nvvm, pointer
from nvir.ir.layout import align_of, size_of
from nvir.ir.nvvm_values import NvvmCall

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState

_ALIGN = 8


def emit_printf(g: IRGenState, e: Call, args: list[Value | LValue]) -> Value:
    """A call of printf whose arguments have been evaluated; the value is vprintf's."""
    places: list[tuple[int, Value]] = []
    size, align = 0, _ALIGN
    for a, v in zip(e.args[1:], args[1:], strict=True):
        if isinstance(v, LValue):
            raise IRGenError("cannot pass an object to printf", a.place)
        v = _promoted(g, v, is_signed(underlying(typed(a))))
        natural = align_of(v.type)
        size = -(-size // natural) * natural
        places.append((size, v))
        size += size_of(v.type)
        align = max(align, natural)
    buffer = _buffer(g, size, align) if places else constant(pointer(), None)
    for offset, v in places:
        at = g.builder.gep(buffer, [offset], I8, True, "buf.indexed")
        g.builder.store(v, at, min(align_of(v.type), _ALIGN))
    text = args[0]
    assert isinstance(text, Value)
    callee = nvvm.declare(g.module, "vprintf", I32, [pointer(), pointer()])
    made = g.builder.call(callee, [generic(g, text), buffer], "vprintf")
    if any(n >= 0 for n in e.preserve):
        from nvir.frontend.irgen.calls import BUNDLES

        bundles = tuple((tag, n) for tag, n in zip(BUNDLES, e.preserve, strict=True) if n >= 0)
        made.aux = NvvmCall(2, callee=callee, bundles=bundles)
    return made


def _promoted(g: IRGenState, v: Value, signed: bool) -> Value:
    """C's promotions of variadic arguments; pointers go as generic ones."""
    t = v.type
    if isinstance(t, FloatType) and t.bits < 64:
        return fold.cast(g, "fpext", v, DOUBLE, "conv")
    if isinstance(t, IntType) and t.bits < 32:
        return fold.cast(g, "sext" if signed and t.bits > 1 else "zext", v, I32, "conv")
    return generic(g, v) if v.type.__class__ is pointer().__class__ else v


def _buffer(g: IRGenState, size: int, align: int) -> Value:
    """The function's buffer, made at the first call and grown in place at later ones."""

    made = g.printf_buffer
    if made is None:
        made = g.printf_buffer = create_alloca(g, array(I8, size), "tmp", size, align)
        made.aux = (made.aux[0], align)
        return made
    t, before = made.aux
    made.aux = (array(I8, max(size, t.count)), max(align, before))
    return made
