"""The call graph of a module: which functions call each other, callees first."""

from __future__ import annotations

from nvir.analysis.components import strong_components
from nvir.ir import CallInfo, Function, Module


def callees(function: Function) -> list[Function]:
    """The functions that a body calls directly, each once, in the order of the calls."""
    found: dict[Function, None] = {}
    for i in function.instructions():
        info = i.aux
        if i.form.is_call and isinstance(info, CallInfo) and isinstance(info.callee, Function):
            found[info.callee] = None
    return list(found)


def components(module: Module) -> list[list[Function]]:
    """The functions with a body in groups that call each other, callees before callers.

    Linear in the instructions.
    """
    bodies = [f for f in module.functions if f.blocks]
    number = {f: n for n, f in enumerate(bodies)}
    calls = [[number[c] for c in callees(f) if c in number] for f in bodies]
    found = strong_components(calls, range(len(bodies)))
    return [[bodies[n] for n in members] for members in reversed(found)]
