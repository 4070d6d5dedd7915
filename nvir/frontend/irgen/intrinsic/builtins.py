"""Builtins: functions that the compiler knows of itself, by the rows of `frontend.builtins`.

    emit_builtin(g, call, f)    asked by `calls.emit_call` for a direct call of a function whose
                                attributes say builtin: its value, None for void; an object is left
                                in a temporary, whose address is the value

A name without a row that is an intrinsic's (`__nvvm_*`, `llvm.*`) becomes a call of it. A row that
needs a later architecture than the one compiled for is refused with the call's place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.frontend.builtins import fallback, texture
from nvir.frontend.builtins.lowering import lower
from nvir.frontend.builtins.registry import choose
from nvir.frontend.builtins.texture_names import is_texture
from nvir.frontend.builtins.work import Work
from nvir.frontend.irgen.calls import evaluated
from nvir.frontend.irgen.state import LValue, TargetLacks
from nvir.frontend.tree.declarations import Function
from nvir.frontend.tree.expressions import Call
from nvir.ir import Value, capability
from nvir.ir.nvvm import const

if TYPE_CHECKING:
    from nvir.frontend.irgen.state import IRGenState


def emit_builtin(g: IRGenState, e: Call, f: Function) -> Value | None:
    types = [p.type for p in f.params]
    found = choose(f.name, tuple(types))
    args = _arguments(g, e, f)
    if found is None:
        if is_texture(f.name):
            return texture.emit(g, e, f, args)
        return fallback.emit(g, e, f, args)
    row, t = found
    sm = capability(g.options.arch)
    if sm < row.sm:
        raise TargetLacks(f"'{f.name}' requires sm_{row.sm} or higher, not sm_{sm}", e.place)
    if row.below and sm >= row.below:
        raise TargetLacks(f"'{f.name}' is not supported on sm_{row.below} and higher; use the "
                          "_sync form", e.place)
    wanted = row.parameter_types(t)
    for k in range(len(args), len(wanted)):
        args.append(const(g.types.value(wanted[k]), row.defaults[k] or 0))
    return lower(Work(g, e, row, t, args, wanted, f.result, lower))


def _arguments(g: IRGenState, e: Call, f: Function) -> list[Value | LValue]:

    return evaluated(g, e, f.type, e.reversed_order)
