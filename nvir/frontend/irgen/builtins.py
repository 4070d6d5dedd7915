"""Builtins: functions that the compiler knows of itself.

Contract, for whoever fills the registry:

    builtin_declaration(name, args)    asked by the checker for a called name that no scope has:
                                       the declaration (attributes.builtin set) of the builtin of
                                       that name for arguments of those types, or None
    emit_builtin(gen, call, decl)      asked by `calls` for a direct call of such a declaration:
                                       emits it; the result as `calls` describes
"""

from __future__ import annotations

from nvir.frontend.tree.declarations import Function
from nvir.frontend.tree.types import CType


def builtin_declaration(name: str, args: tuple[CType, ...]) -> Function | None:
    return None
