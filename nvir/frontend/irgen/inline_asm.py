"""Inline assembly.

Contract, for whoever fills it: `emit_asm(g, statement)` emits an `Asm` statement, whose operands
the checker has typed: outputs are lvalues (`places.emit_lvalue`, `places.store`), inputs values
(`expressions.emit_value`). The seven phases of the notes belong here: template, reconstruction,
constraints, clobbers, the InlineAsm object (`Builder.asm`), results, diagnostics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.frontend.tree.statements import Asm
from nvir.ir.errors import Unsupported

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState


def emit_asm(g: IRGenState, s: Asm) -> None:
    raise Unsupported("inline assembly", where=str(s.place))
