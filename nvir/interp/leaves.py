"""Values in pieces, and instructions as other instructions.

    ScalarLeaf  one scalar of a struct, array or vector of `nvvm`: it has a slot of its own
    Temp    a scalar between two steps of one instruction
    Register  what a Step makes for a special, or the other way round
    EmittedStep  code before or behind a special that belongs to the same instruction
    View    an ori instruction that nobody wrote: what an instruction of `nvvm` does, said by a
            row of ori over leaves, so that both levels share each meaning

None of them is part of the IR: operands of a View do not count as uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from nvir.ir import VOID, Form, Instruction, Type, Value


class ScalarLeaf(Value):
    """The scalar at position `index` of an aggregate's leaves (layout.fields' order)."""

    __slots__ = ("index", "whole")

    def __init__(self, whole: Value, index: int, type: Type) -> None:
        super().__init__(type, f"{whole.name or '?'}.{index}")
        self.whole, self.index = whole, index

    @property
    def users(self) -> Iterator[Instruction]:
        return self.whole.users

    @property
    def definer(self) -> Instruction | None:
        return self.whole.definer


class Temp(Value):
    """A scalar that only the next steps of the same instruction read."""

    __slots__ = ()


class Register(Value):
    """A scalar between a special of `user` and the Steps around it: it is kept in the table."""

    __slots__ = ("user",)

    def __init__(self, type: Type, user: Instruction) -> None:
        super().__init__(type)
        self.user = user

    @property
    def users(self) -> Iterator[Instruction]:
        return iter((self.user,))


class EmittedStep:
    """Code that stands for part of an instruction: `write(e)` emits it."""

    __slots__ = ("line", "real", "write")
    guard = None
    results: tuple[Value, ...] = ()

    def __init__(self, real: Instruction, write: Callable[[Any], None]) -> None:
        self.real, self.line, self.write = real, real.line, write

    @property
    def operands(self) -> tuple[Value, ...]:
        return self.real.operands

    @property
    def type(self) -> Type:
        return self.real.type


class View:
    """An ori instruction over leaves; `real` is the instruction of `nvvm` that it stands for."""

    __slots__ = ("aux", "block", "fallbacks", "form", "line", "operands", "real", "results", "type")

    def __init__(
        self, form: Form, operands: Sequence[Value], results: Sequence[Value], real: Any
    ) -> None:
        self.form, self.operands, self.results = form, tuple(operands), tuple(results)
        self.type: Type = results[0].type if results else VOID
        self.real, self.line, self.block = real, real.line, real.block
        self.aux: Any = None
        self.fallbacks: tuple[Value, ...] = ()

    guard = None

    @property
    def function(self) -> Any:
        return self.real.function

    def __str__(self) -> str:
        return str(self.real)


def real(i: Any) -> Any:
    """The instruction of the module that an instruction or View stands for."""
    return i.real if i.__class__ is View or i.__class__ is EmittedStep else i
