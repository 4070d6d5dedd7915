"""Operands of inline assembly that do not have the size of their constraint, which nvcc refuses.

    asm("mov.b32 %0, %1;" : "=r"(x) : "r"(y));      wrong for a double y: its low half would pass

Clang takes them; LLVM text has the type of each operand beside its constraint.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import attrs

from nvir.ir import CallInfo, Instruction, Module
from nvir.ir.errors import Diagnostic
from nvir.ir.layout import size_of
from nvir.ir.nvvm_values import ASM_CLASSES, InlineAsm
from nvir.ir.types import StructType


def wrong_sizes(module: Module) -> list[Diagnostic]:
    """An error for each, at the statement where the module has lines, in order, none twice."""
    files = {number: name for number, name, *_ in module.debug.files}
    made: dict[tuple[str, int, int, str], Diagnostic] = {}
    for f in module.functions:
        for i in (i for b in f.blocks for i in b):
            for text in _wrong(i):
                at = i.loc
                file, line, col = (files.get(at.file, ""), at.line, at.col) if at else ("", 0, 0)
                told = Diagnostic(text, file or str(f.name), line, col)
                made.setdefault((told.file, line, col, text), told)
    return sorted(made.values(), key=lambda d: (d.file, d.line, d.col))


def _wrong(i: Instruction) -> list[str]:
    asm = i.aux.callee if isinstance(i.aux, CallInfo) else None
    if not isinstance(asm, InlineAsm):
        return []
    outputs = i.type.elements if isinstance(i.type, StructType) else (i.type,)
    letters = [c.lstrip("=&") for c in asm.constraints.split(",")]
    count = sum(c.startswith("=") for c in asm.constraints.split(","))
    types = [*(outputs or ())[:count], *(v.type for v in i.operands)]
    return [
        f"asm operand type size({size_of(t)}) does not match type/size implied by constraint "
        f"'{c}'" for c, t in zip(letters, types, strict=False)
        if c in ASM_CLASSES and size_of(t) * 8 != ASM_CLASSES[c].bits
    ]


def with_source(d: Diagnostic, name: str, lines: Sequence[str]) -> Diagnostic:
    """The same with its source line, where it is of the source itself."""
    if os.path.abspath(d.file) != os.path.abspath(name) or not 0 < d.line <= len(lines):
        return d
    return attrs.evolve(d, file=name, source=lines[d.line - 1])
