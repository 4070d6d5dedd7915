"""Variadic functions that have a body, as NVPTX has them: the further arguments come in a buffer.

    define i32 @f(i32 %n, ...)            define i32 @f(i32 %n, ptr %varargs)
    call void @llvm.va_start(ptr %ap)     store ptr %varargs, ptr %ap
    call i32 (i32, ...) @f(i32 1, i64 %x) a struct { i64 } on the stack, and a call with its address

`va_copy` copies the pointer, `va_end` does nothing. The reader does this, so that no pass meets a
variadic body; functions that are only declared keep their dots.

Source   LLVM 19, ExpandVariadics.cpp, the ABI of NVPTX: each argument at its natural alignment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from nvir.ir import Argument, CallInfo, Function, Instruction, Module
from nvir.ir import types as ty
from nvir.ir.nvvm import Builder
from nvir.ir.nvvm_values import NvvmCall
from nvir.ir.values import Value, undef
from nvir.llvm.attributes import has
from nvir.llvm.lexer import Stop

if TYPE_CHECKING:
    from collections.abc import Callable


def lower_variadics(module: Module, place: Callable[[Instruction], int]) -> None:
    """Rewrite variadic bodies, their calls and `llvm.va_…`. `place` finds an instruction's token.
    Raises Stop for what is passed by value."""
    buffers: dict[Function, Argument] = {}
    for f in module.functions:
        if f.blocks and f.aux and f.aux.pop("variadic", False):
            buffers[f] = Argument(ty.pointer(), "varargs", f, len(f.params))
            f.params.append(buffers[f])
    names = [f for f in module.functions if f.name.startswith("llvm.va_")]
    if not buffers and not names:
        return
    for f in module.functions:
        for i in [i for i in f.instructions() if i.form.is_call]:
            callee = i.aux.callee
            if callee in buffers:
                _pass_buffer(i, len(callee.params) - 1, place)
            elif callee in names:
                _access(i, callee.name, buffers.get(f), place)
    for f in names:
        module.functions.remove(f)
        module.order.remove(f)


def _pass_buffer(i: Instruction, fixed: int, place: Callable[[Instruction], int]) -> None:
    info: CallInfo = i.aux
    named, further = i.operands[:fixed], i.operands[fixed:]
    changes: dict[str, Any] = {"n_sources": fixed + 1}
    if isinstance(info, NvvmCall):
        if any(has(a, "byval") for a in info.arguments[fixed:]):
            raise Stop("a struct by value among variable arguments", place(i), unsupported=True)
        changes["arguments"] = (*info.arguments[:fixed], ())
    buffer: Value = undef(ty.pointer())
    if further:
        frame = ty.struct([v.type for v in further])
        b = Builder(i.function.entry)  # type: ignore[union-attr]
        b.position_at_start(i.function.entry)  # type: ignore[union-attr]
        buffer = b.alloca(frame)
        b.position_before(i)
        for k, v in enumerate(further):
            b.store(v, b.gep(buffer, [0, k], frame, inbounds=True))
    i.set_operands((*named, buffer))
    i.aux = attrs.evolve(info, **changes)


def _access(
    i: Instruction, name: str, buffer: Argument | None, place: Callable[[Instruction], int]
) -> None:
    b = Builder.ahead_of(i)
    if name.startswith("llvm.va_start"):
        if buffer is None:
            raise Stop("va_start in a function that is not variadic", place(i))
        b.store(buffer, i.operands[0])
    elif name.startswith("llvm.va_copy"):
        b.store(b.load(i.operands[1], ty.pointer()), i.operands[0])
    i.erase()
