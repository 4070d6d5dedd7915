"""Branches, guards before specials, calls and returns.

A call's parameters are copied from the caller's `.param` variables to the callee's frame, and its
results back on return: both lie in the thread's local memory, so this is a copy of byte columns.
Frames are numbered by depth, and the table of values of (function, depth) is shared by all lanes
that are there; a `Node` (wave.py) tells apart by which calls they came.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nvir.interp.layout import Array, align_up
from nvir.interp.memory import Fault
from nvir.interp.rows import unsupported
from nvir.ir import Argument, Function, Instruction, Variable


def choice(e: Any, term: Instruction) -> str:
    """What a terminator decides by: the predicate of a guarded one, the index of a jump table."""
    name = term.form.name
    if name == "brx.idx":
        if term.guard is not None:
            raise unsupported(term, "a guarded jump table")
        return str(e.value(term.operands[0], "u32"))
    guard = term.guard
    if guard is None:
        return ""
    text = e.value(guard, "pred")
    return f"~{text}" if term.form.guard == "!" else str(text)


class GuardSplit:
    """Before a guarded special: lanes whose guard is false keep their fallbacks and pass by."""

    def __init__(self, plan: Any, i: Instruction, inner: Any, after: Any) -> None:
        self.instruction = i
        self.guard = i.guard
        self.negated = i.form.guard == "!"
        self.inner, self.after = inner, after
        self.kept = list(zip(i.results, i.fallbacks, strict=True))

    def run(self, wave: Any, g: Any) -> None:
        p = np.broadcast_to(g.fetch(self.guard, "pred"), (g.n,))
        if self.negated:
            p = ~p
        inside, outside = g.divide(p)
        if outside is not None:
            for result, fallback in self.kept:
                outside.store(result, outside.fetch(fallback))
            wave.arrive(outside, self.after)
        if inside is not None:
            wave.arrive(inside, self.inner)


class CallSpecial:
    """A call, direct or through a register."""

    def __init__(self, plan: Any, i: Instruction) -> None:
        self.plan, self.instruction = plan, i
        info = i.aux
        self.info = info
        self.arguments = list(i.operands[: info.n_sources])
        self.target = None
        if info.callee is None:
            self.target = self.arguments.pop(0)
        self.after: Any = None

    def run(self, wave: Any, g: Any) -> None:
        self.after = g.seg.next
        if self.target is None:
            self._enter(wave, g, self.info.callee)
            return
        addresses = np.broadcast_to(g.fetch(self.target, "b64"), (g.n,))
        rest = g
        for address in np.unique(addresses).tolist():
            function = wave.program.functions_at.get(address)
            if function is None:
                fault = Fault("call of an address that is no function", None, address)
                fault.lane = int(g.lanes()[int((addresses == address).argmax())])
                raise fault
            here = rest.fetch(self.target, "b64")
            part, rest = rest.divide(np.broadcast_to(here, (rest.n,)) == here.dtype.type(address))
            self._enter(wave, part, function)

    def _enter(self, wave: Any, g: Any, callee: Any) -> None:
        from nvir.interp.builtins import BUILTINS

        while isinstance(callee, Function) and callee.is_declaration:
            builtin = BUILTINS.get(str(callee.name))
            if builtin is not None:
                builtin(wave, g, self)
                wave.arrive(g, self.after)
                return
            alias = callee.aux["alias"] if isinstance(callee.aux, dict) else None
            if alias is None:
                raise unsupported(self.instruction, f"{callee.name} has no body")
            callee = alias
        if not isinstance(callee, Function):
            raise unsupported(self.instruction)
        if callee.is_kernel:
            raise unsupported(self.instruction, f"{callee.name} is a kernel, which nothing calls")
        plan = wave.program.plan(callee)
        node = wave.child(g.node, self, plan)
        self._copy_arguments(wave, g, node, callee)
        if wave.frames_start:  # what the callee takes from the stack ends with it
            saved = node.table.saved_stack
            if saved is None:
                saved = node.table.saved_stack = wave.stack().copy()
            saved[g.sel] = wave.stack()[g.sel]
        g.enter(node)
        wave.arrive(g, plan.entry)

    def _copy_arguments(self, wave: Any, g: Any, node: Any, callee: Function) -> None:
        params = callee.params
        if len(params) != len(self.arguments):
            raise unsupported(
                self.instruction, f"{len(self.arguments)} arguments for {len(params)} parameters"
            )
        staged = []
        for value, param in zip(self.arguments, params, strict=True):
            if isinstance(param, Argument):
                staged.append((param, g.fetch(value, f"b{max(param.type.bits, 16)}")))
            elif isinstance(value, Variable):
                source = g.node.base + self.plan.frame.offsets[value]
                target = node.base + node.plan.frame.offsets[param]
                g.copy_local(target, source, min(param.size, value.size))
            else:
                raise unsupported(self.instruction, "this kind of argument")
        for param, vector in staged:
            node.table.store(node.plan.slot(param), g, vector)

    def leave(self, wave: Any, g: Any, returned: list[Array]) -> None:
        """Lanes come back from the callee: results, then the place behind the call."""
        callee, parent = g.node, g.node.parent
        function = callee.plan.function
        slots = [r for r in function.returns if isinstance(r, Variable)]
        for target, source in zip(self.info.return_params, slots, strict=False):
            g.copy_local(
                parent.base + self.plan.frame.offsets[target],
                callee.base + callee.plan.frame.offsets[source],
                min(target.size, source.size),
            )
        g.enter(parent)
        for result, vector in zip(self.instruction.results, returned, strict=False):
            g.store(result, vector)
        wave.arrive(g, callee.back)

    # What builtins need of their arguments.

    def argument(self, g: Any, k: int) -> Array:
        """The k-th argument as a lane vector of the group's lanes (uint64)."""
        value = self.arguments[k]
        if not isinstance(value, Variable):
            return np.asarray(g.fetch(value, "b64")).astype(np.uint64)
        offset = g.node.base + self.plan.frame.offsets[value]
        return np.asarray(g.read_local(offset, value.size))

    def give(self, g: Any, vector: Array) -> None:
        """Set the result."""
        for target in self.info.return_params:
            g.write_local(g.node.base + self.plan.frame.offsets[target], target.size, vector)
        for result in self.instruction.results:
            g.store(result, vector)


SPECIALS = {"call": CallSpecial}
__all__ = ["SPECIALS", "CallSpecial", "GuardSplit", "align_up", "choice"]
