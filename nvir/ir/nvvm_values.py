"""Values that only the `nvvm` level has: constant expressions, poison, inline assembly.

    poison(t)         like undef(t), and an `Undef` to whoever need not tell them apart
    ConstantExpr      an opcode over constants: gep, casts, arithmetic; its value is known
                      when the program is loaded, when symbols have their addresses
    InlineAsm         what a call of inline assembly calls: `CallInfo.callee`
    NvvmCall          a CallInfo with the attributes of one call
    Node              a metadata node as an operand of a call (`metadata !"…"`)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from nvir.ir import types as ty
from nvir.ir.instruction import CallInfo, Instruction
from nvir.ir.module import Module
from nvir.ir.opcodes.form import Form, nvvm_form
from nvir.ir.text.datum import register
from nvir.ir.types import METADATA, Type, pointer
from nvir.ir.values import UNTRACKED, Constant, Symbol, Undef, Value

# of an address, Node((parameter's name, its number, type, bits, kind of number)), Node(())
DEBUG_DECLARE = "llvm.dbg.declare"


class Poison(Undef):
    """The result of what must not happen; it may be taken for any value, as undef may."""

    __slots__ = ()

    def __init__(self, type: Type) -> None:
        super().__init__(type)
        self.name: str = "poison"

    def __reduce__(self) -> tuple[object, ...]:
        return poison, (self.type,)


_poisons: dict[Type, Poison] = {}


def poison(type: Type) -> Poison:
    p = _poisons.get(type)
    if p is None:
        p = _poisons[type] = Poison(type)
    return p


class ConstantExpr(Value):
    """An instruction's row over constant operands. Not interned: it may name a module's symbols.

    `spelling` and `aux` are those of the instruction of that row (`nvvm_rows`).
    """

    __slots__ = ("aux", "form", "operands")

    def __init__(
        self, spelling: str, operands: tuple[Value, ...], type: Type, aux: Any = None
    ) -> None:
        self.type = type
        self._uses = UNTRACKED
        self.form: Form = nvvm_form(spelling)
        self.operands, self.aux = tuple(operands), aux

    @property
    def spelling(self) -> str:
        return self.form.spelling

    @property
    def name(self) -> str:  # type: ignore[override]  # follows the symbols when they are renamed
        return f"{self.spelling} ({', '.join(str(v.name) for v in self.operands)})"

    @property
    def is_constant(self) -> bool:
        return True

    def with_operands(self, operands: tuple[Value, ...]) -> ConstantExpr:
        return ConstantExpr(self.form.spelling, operands, self.type, self.aux)


# letters of inline assembly's operands in registers
ASM_CLASSES = {"h": ty.I16, "r": ty.I32, "l": ty.I64, "q": ty.I128, "f": ty.FLOAT, "d": ty.DOUBLE}


class InlineAsm(Value):
    """Assembly text with LLVM's constraint string. `flags`: "sideeffect", "alignstack" …"""

    __slots__ = ("constraints", "flags", "template")

    def __init__(self, template: str, constraints: str, flags: tuple[str, ...] = ()) -> None:
        self.type = pointer()
        self.name: str = "asm"
        self._uses = UNTRACKED
        self.template, self.constraints, self.flags = template, constraints, tuple(flags)

    @property
    def is_constant(self) -> bool:
        return True

    @property
    def sideeffect(self) -> bool:
        return "sideeffect" in self.flags

    @property
    def clobbers(self) -> tuple[str, ...]:
        """The registers and "memory" that it says to overwrite."""
        return tuple(
            c[2:-1] for c in self.constraints.split(",") if c.startswith("~{") and c.endswith("}")
        )


class Node(Value):
    """Metadata as an argument: a string, or a tuple of metadata (`module.aux["metadata"]`)."""

    __slots__ = ("content",)

    def __init__(self, content: Any) -> None:
        self.type = METADATA
        self.name: str = "metadata"
        self._uses = UNTRACKED
        self.content = content

    @property
    def is_constant(self) -> bool:
        return True


@attrs.define(eq=False)
class NvvmCall(CallInfo):
    """A call that says more than its callee's declaration does.

    attributes   of the call: words and (name, value) pairs, as a function's
    arguments    of each argument, () for those without: ("noundef", ("align", 8))
    result       of the result
    bundles      operand bundles of one number each: ("preserve_n_data", 4)
    callalign    of a call through a pointer: alignment of the result (0 for none) and arguments
    """

    attributes: tuple[Any, ...] = ()
    arguments: tuple[tuple[Any, ...], ...] = ()
    result: tuple[Any, ...] = ()
    bundles: tuple[tuple[str, int], ...] = ()
    callalign: tuple[int, ...] = ()


register(ConstantExpr, ("spelling", "operands", "type", "aux"))
register(InlineAsm, ("template", "constraints", "flags"))
register(Node, ("content",))
register(NvvmCall)


def symbols_of(i: Instruction) -> list[Symbol]:
    """The symbols that the operands of an instruction name, however deep."""
    found: list[Symbol] = []
    for v in i._operands:
        if v.__class__ is Instruction:
            continue  # as most
        number = isinstance(v, Constant) and v.value.__class__ is not tuple
        if not number and v.is_constant:
            found += symbols_in(v)
    return found


def symbols_in(v: Value) -> Iterator[Symbol]:
    """The symbols that a constant names, however deep."""
    work: list[Any] = [v]
    while work:
        x = work.pop()
        if isinstance(x, Symbol):
            yield x
        elif isinstance(x, ConstantExpr):
            work.extend(x.operands)
        elif isinstance(x, Constant) and x.value.__class__ is tuple:
            work.extend(x.value)
        elif not isinstance(x, Constant) and hasattr(x, "symbol"):
            yield x.symbol


def named_in(module: Module) -> set[Symbol]:
    """The symbols that bodies and initialisers name: other declarations need not be printed."""
    found: set[Symbol] = set()
    for f in module.functions:
        for i in f.instructions():
            if i.form.is_call and isinstance(i.aux, CallInfo) and isinstance(i.aux.callee, Symbol):
                found.add(i.aux.callee)
            found.update(symbols_of(i))
    for g in module.globals:
        if g.init is not None:
            found.update(symbols_in(g.init))
    return found
