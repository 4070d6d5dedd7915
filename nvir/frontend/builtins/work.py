"""One call of a builtin while it is lowered: its row, its arguments, and how to fit values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import attrs

from nvir.frontend.builtins.registry import Builtin
from nvir.frontend.irgen import fold
from nvir.frontend.irgen.state import IRGenError, LValue
from nvir.frontend.tree.expressions import Call
from nvir.frontend.tree.types import CType, is_signed, is_void, underlying
from nvir.ir import Value, capability
from nvir.ir import types as ty

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState

_LETTERS = {16: "h", 32: "r", 64: "l", 128: "q"}


@attrs.define(eq=False)
class Work:
    """One call of a builtin: the row, its T, the values of the arguments, C's types.

    `lower` emits a call by its row, for a builtin that is made of another one.
    """

    g: IRGenState
    e: Call
    row: Builtin
    t: CType | None
    args: list[Value | LValue]
    types: list[CType]
    result: CType
    lower: Callable[[Work], Value | None]

    @property
    def b(self) -> Any:
        return self.g.builder

    @property
    def sm(self) -> int:
        return capability(self.g.options.arch)

    def value(self, k: int) -> Value:
        v = self.args[k]
        if isinstance(v, LValue):
            raise IRGenError(f"argument {k + 1} of {self.row.name} is an object", self.e.place)
        return v

    def number(self, k: int) -> int:
        """An argument that must be known at compile time."""
        v = self.value(k)
        n = getattr(v, "value", None) if v.is_constant else None
        if not isinstance(n, int):
            message = f"argument {k + 1} of {self.row.name} must be a constant"
            raise IRGenError(message, self.e.place)
        return n

    @property
    def want(self) -> ty.Type:
        """The IR type of the result; VOID for none."""
        return ty.VOID if is_void(self.result) else self.g.types.value(self.result)

    def intrinsic(self, name: str, result: ty.Type, args: list[Value], label: str = "",
                  convergent: bool = False) -> Any:
        words = ("convergent", "nounwind") if convergent else ("nounwind",)
        return self.g.call_intrinsic(name, result, args, label, words)

    def asm(self, template: str, result: ty.Type, args: list[Value], effects: bool = False) -> Any:
        """Assembly whose operands are $0 (the result, or each part of a struct) and on."""
        parts = list(result.elements or ()) if isinstance(result, ty.StructType) else [result]
        outputs = [] if result is ty.VOID else [f"={letter(t)}" for t in parts]
        inputs = [letter(v.type) for v in args]
        clobbers = ["~{memory}"] if effects else []
        text = ",".join([*outputs, *inputs, *clobbers])
        kind = ty.function_type(result, [v.type for v in args])
        return self.b.asm(kind, template, text, args, effects, "")

    def fit(self, v: Value, to: ty.Type, signed: bool = False) -> Value:
        """A value in another type: integers resized, truth values widened, bits kept."""
        if v.type is to or to is ty.VOID:
            return v
        if to is ty.I1:
            return self.b.icmp_unsigned("!=", v, 0) if v.type is not ty.I1 else v
        if isinstance(v.type, ty.IntType) and isinstance(to, ty.IntType):
            row = (
                "trunc"
                if v.type.bits > to.bits
                else "sext"
                if signed and v.type is not ty.I1
                else ("zext")
            )
            return fold.cast(self.g, row, v, to, "conv")
        if isinstance(v.type, ty.PointerType) and isinstance(to, ty.PointerType):
            return fold.cast(self.g, "addrspacecast", v, to)
        if isinstance(v.type, ty.PointerType):
            return fold.cast(self.g, "ptrtoint", v, to)
        if isinstance(to, ty.PointerType):
            return fold.cast(self.g, "inttoptr", v, to)
        if (
            isinstance(v.type, ty.FloatType)
            and isinstance(to, ty.FloatType)
            and v.type.bits != to.bits
        ):
            return fold.cast(self.g, "fpext" if to.bits > v.type.bits else "fptrunc", v, to)
        return fold.cast(self.g, "bitcast", v, to)

    def give(self, v: Value) -> Value:
        """The value of the call."""
        return self.fit(v, self.want, signed=is_signed(underlying(self.result)))

    def place(self) -> LValue:
        """Where a result that is an object is left."""
        return self.g.alloca(self.result, "agg.tmp")


def letter(t: ty.Type) -> str:
    """The constraint of a register for a type."""
    if isinstance(t, ty.PointerType):
        return "l"
    if isinstance(t, ty.FloatType) and t.bits >= 32:
        return "f" if t.bits == 32 else "d"
    return _LETTERS.get(t.bits, "r")
