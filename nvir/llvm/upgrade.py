"""Intrinsics of NVVM IR that tell their mode by a number, as those that have a name for each mode.

    {i32, i1} @llvm.nvvm.shfl.sync.i32(mask, 2, a, b, c)  ==>  @llvm.nvvm.shfl.sync.down.i32p
    {i32, i1} @llvm.nvvm.vote.sync(mask, 0, p)            ==>  {undef, @llvm.nvvm.vote.all.sync}

Numba and other front ends of libnvvm call the former; LLVM has the latter alone.

Source   NVVM IR Specification, "Warp-level Intrinsics".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.ir import I1, I32, CallInfo, Function, Instruction, Type, nvvm_form, struct
from nvir.ir.nvvm import declare
from nvir.ir.values import Constant, Value, undef

if TYPE_CHECKING:
    from nvir.llvm.body import DefinitionReader

_SHUFFLES = ("idx", "up", "down", "bfly")
_VOTES = ("all", "any", "uni", "ballot")
_PAIR = struct([I32, I1])
OLDER = frozenset(("llvm.nvvm.shfl.sync.i32", "llvm.nvvm.vote.sync"))


def takes_size(f: Function, given: int) -> bool:
    """Whether a mark of a lifetime lacks the size that LLVM had as its first operand up to 21."""
    return given == 1 and f.name.startswith(("llvm.lifetime.start", "llvm.lifetime.end"))


def upgraded(b: DefinitionReader, callee: Function, operands: list[Value]) -> Instruction:
    """What a call of an older intrinsic is. What goes before it is placed."""
    mode = operands[1]
    if not isinstance(mode, Constant) or not 0 <= int(mode.value or 0) < 4:
        b.unsupported(f"{callee.name} of a mode that is no number")
    k = int(mode.value or 0)
    rest = [operands[0], *operands[2:]]
    if callee.name == "llvm.nvvm.shfl.sync.i32":
        return _call(b, f"llvm.nvvm.shfl.sync.{_SHUFFLES[k]}.i32p", _PAIR, rest)
    result = I32 if k == 3 else I1
    vote = _call(b, f"llvm.nvvm.vote.{_VOTES[k]}.sync", result, rest)
    assert b.current is not None
    b.current.append(vote)
    place = (0,) if k == 3 else (1,)
    return Instruction(nvvm_form("insertvalue"), (undef(_PAIR), vote), _PAIR, aux=place)


def _call(b: DefinitionReader, name: str, result: Type, operands: list[Value]) -> Instruction:
    module = b.function.module
    assert module is not None
    f = declare(module, name, result, [v.type for v in operands], ("convergent", "nounwind"))
    made = Instruction(nvvm_form("call"), tuple(operands), result,
                       aux=CallInfo(len(operands), callee=f))
    made.line = b.line + 1
    return made
