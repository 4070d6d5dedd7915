"""Builtins: functions that the compiler knows of itself.

Contract, for whoever fills the registry:

    builtin_declaration(name, args)    asked by the checker for a called name that no scope has:
                                       the declaration (attributes.builtin set) of the builtin of
                                       that name for arguments of those types, or None
    emit_builtin(g, call, f)           asked by `calls.emit_call` for a direct call of a function
                                       whose attributes say builtin: its value, None for void; an
                                       object is left in a temporary, whose address is the value
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.frontend.tree.declarations import Function
from nvir.frontend.tree.expressions import Call
from nvir.frontend.tree.types import VOID, CType
from nvir.ir.errors import Unsupported
from nvir.ir.types import VOID as IR_VOID
from nvir.ir.values import Value

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState

_BARRIERS = {"__syncthreads": "llvm.nvvm.barrier0", "__syncwarp": "llvm.nvvm.bar.warp.sync"}


def builtin_declaration(name: str, args: tuple[CType, ...]) -> Function | None:
    if name == "__syncthreads" and not args:
        from nvir.frontend.tree.declarations import Attributes

        return Function(name, VOID, attributes=Attributes(builtin=True))
    if name == "printf":
        from nvir.frontend.irgen.printf import printf_declaration

        return printf_declaration()
    return None


def emit_builtin(g: IRGenState, e: Call, f: Function) -> Value | None:
    if f.name == "__syncthreads":
        g.call_intrinsic(_BARRIERS[f.name], IR_VOID, [], "", ("convergent", "nounwind"))
        return None
    raise Unsupported(f"the builtin {f.name}", where=str(e.place))
