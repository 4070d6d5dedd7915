"""Variadic functions that have a body, as NVPTX has them: the further arguments come in a buffer.

    define i32 @f(i32 %n, ...)            define i32 @f(i32 %n, ptr %varargs)
    call void @llvm.va_start(ptr %ap)     store ptr %varargs, ptr %ap
    call i32 (i32, ...) @f(i32 1, i64 %x) a struct { i64 } on the stack, and a call with its address

`va_copy` copies the pointer, `va_end` does nothing, `va_arg` loads where it leads to and moves it
on. The reader does this, so that no pass meets a variadic body; functions that are only declared
keep their dots.

Source   LLVM 19, ExpandVariadics.cpp, the ABI of NVPTX: each argument at its natural alignment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from nvir.ir import Argument, CallInfo, Function, Instruction, Module
from nvir.ir import types as ty
from nvir.ir.layout import align_of, size_of
from nvir.ir.nvvm import Builder
from nvir.ir.nvvm_values import NvvmCall
from nvir.ir.values import Value, undef
from nvir.llvm.lexer import Stop

if TYPE_CHECKING:
    from collections.abc import Callable


def lower_variadics(module: Module, by_pointer: dict[Instruction, int],
                    place: Callable[[Instruction], int]) -> None:
    """Rewrite variadic bodies, their calls and `llvm.va_…`. `by_pointer` has the calls through a
    pointer with the number of named arguments; `place` finds an instruction's token."""
    buffers: dict[Function, Argument] = {}
    for f in module.functions:
        if f.blocks and f.aux and f.aux.pop("variadic", False):
            buffers[f] = Argument(ty.pointer(), "varargs", f, len(f.params))
            f.params.append(buffers[f])
    names = [f for f in module.functions if f.name.startswith("llvm.va_")]
    for i, named in by_pointer.items():
        if i.block is not None:
            _pass_buffer(i, named, 1)
    if not buffers and not names:
        return
    for f in module.functions:
        for i in [i for i in f.instructions() if i.form.is_call]:
            callee = i.aux.callee
            if callee in buffers:
                _pass_buffer(i, len(callee.params) - 1)
            elif callee in names:
                _access(i, callee.name, buffers.get(f), place)
    for f in names:
        module.functions.remove(f)
        module.order.remove(f)


def next_argument(b: Builder, place: Value, t: ty.Type) -> Value:
    """What `va_arg` is: the list at `place` is a pointer to the next argument."""
    here: Value = b.load(place, ty.pointer())
    align = align_of(t)
    if align > 1:
        up = b.and_(b.neg(b.ptrtoint(here, ty.I64)), align - 1)
        here = b.gep(here, [up], ty.I8)
    b.store(b.gep(here, [size_of(t)], ty.I8), place)
    return b.load(here, t)


def _pass_buffer(i: Instruction, named: int, callee: int = 0) -> None:
    """Give a call the address of its further arguments; `callee` 1 where it goes by a pointer."""
    info: CallInfo = i.aux
    fixed = named + callee
    ahead, further = i.operands[:fixed], i.operands[fixed:]
    changes: dict[str, Any] = {"n_sources": fixed + 1}
    by_value: list[Any] = [None] * len(further)
    if isinstance(info, NvvmCall) and info.arguments:
        by_value = [next((x[1] for x in a if x[0] == "byval"), None)
                    for a in info.arguments[named:]]
        changes["arguments"] = (*info.arguments[:named], ())
    buffer: Value = undef(ty.pointer())
    if further:
        frame = ty.struct([t or v.type for v, t in zip(further, by_value, strict=True)])
        b = Builder(i.function.entry)  # type: ignore[union-attr]
        b.position_at_start(i.function.entry)  # type: ignore[union-attr]
        buffer = b.alloca(frame)
        b.position_before(i)
        for k, (v, t) in enumerate(zip(further, by_value, strict=True)):
            v = b.load(v, t) if t else v
            b.store(v, b.gep(buffer, [0, k], frame, inbounds=True))
    i.set_operands((*ahead, buffer))
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
