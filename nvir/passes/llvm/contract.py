"""Whether products and sums may become one fma, written on every instruction of a module.

    set_contract(module, True)    as nvcc's -fmad=true means it: each says `contract`
    set_contract(module, False)   -fmad=false: none does, and no call asks for a fused product
"""

from __future__ import annotations

from nvir.analysis.callees import callee_name
from nvir.ir.instruction import Instruction
from nvir.ir.module import Module
from nvir.ir.nvvm import Builder
from nvir.ir.opcodes.form import nvvm_form

_ROWS = frozenset(("fadd", "fsub", "fmul", "fdiv", "frem", "fneg"))
_ALLOWS = frozenset(("contract", "fast", "reassoc"))  # the last allows it to LLVM 7
_REST = ("nnan", "ninf", "nsz", "arcp", "afn")  # what `fast` says beside those


def set_contract(module: Module, allowed: bool) -> None:
    for f in module.functions:
        for i in list(f.instructions()):
            if i.form.name in _ROWS:
                _set(i, allowed)
            elif not allowed and i.form.is_call and "fmuladd" in callee_name(i):
                _apart(i)


def _set(i: Instruction, allowed: bool) -> None:
    mods = i.form.mods
    if allowed and not {"contract", "fast"}.intersection(mods):
        i.set_form(nvvm_form(f"{i.form.spelling} contract"))
    elif not allowed and _ALLOWS.intersection(mods):
        said = dict.fromkeys((*mods, *(_REST if "fast" in mods else ())))
        left = [m for m in said if m not in _ALLOWS]
        i.set_form(nvvm_form(" ".join((i.form.name, *left))))


def _apart(call: Instruction) -> None:
    """`llvm.fmuladd` as its product and its sum."""
    b = Builder.ahead_of(call)
    b.loc = call.loc
    x, y, z = call.operands[-3:]
    call.replace_with(b.fadd(b.fmul(x, y), z, call.name or ""))
