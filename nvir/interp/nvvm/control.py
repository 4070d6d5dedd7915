"""Branches, switches, calls and returns.

A call hands the leaves of its arguments to the callee's parameters; a byval argument is copied from
where its pointer leads to the callee's frame. Functions without a body are those of CUDA's runtime
(builtins.py), else unsupported.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nvir.interp.layout import Array
from nvir.interp.memory import Fault
from nvir.interp.nvvm.lower import leaves, plain, wide_text
from nvir.interp.nvvm.memory import SPACES, copy
from nvir.interp.nvvm.storage import byval
from nvir.interp.rows.control import CallSpecial
from nvir.ir import Function, Instruction, integer
from nvir.ir.layout import size_of


def choice(e: Any, term: Instruction) -> str:
    """What a terminator decides by: the condition of a br, the number of a switch's edge."""
    name = term.form.name
    if name == "unreachable":
        e.line(f"{e.bind(_unreachable)}(c)")
        return ""
    if name == "br":
        return str(e.value(leaves(e, term.operands[0])[0], "pred")) if term.operands else ""
    if name == "switch":
        value, *cases = term.operands
        numbers = tuple(int(leaves(e, c)[0].value) for c in cases)  # type: ignore[attr-defined]
        text = wide_text(e, leaves(e, value)[0], value.type)
        return f"{e.bind(_case)}({text}, {e.bind(numbers)})"
    return ""


def _unreachable(c: Any) -> None:
    fault = Fault("the kernel executed unreachable")
    fault.lane = int(c.lane_numbers()[0 if c.mask is None else int(c.mask.argmax())])
    raise fault


def _case(x: Array, cases: tuple[int, ...]) -> Array:
    """0 for the default, k + 1 for the k-th case."""
    out = np.zeros(len(x), np.uint32)
    for k, case in enumerate(cases):
        if x.ndim == 2:
            low, high = np.uint64(case & (1 << 64) - 1), np.uint64(case >> 64)
            out[(x[:, 0] == low) & (x[:, 1] == high)] = k + 1
        else:
            out[x == x.dtype.type(case)] = k + 1
    return out


class LeafCall(CallSpecial):
    """A call of a function, direct or through a pointer."""

    def __init__(self, plan: Any, i: Instruction) -> None:
        self.plan, self.instruction = plan, i
        info = i.aux
        self.info = info
        values = list(i.operands)
        self.target = None
        if info.callee is None:
            (self.target,) = plan.leaves(values.pop(0))
        self.values = values
        self.arguments = [leaf for v in values for leaf in plan.leaves(v)]
        self.results = plan.leaves(i)
        self.after: Any = None

    def _copy_arguments(self, wave: Any, g: Any, node: Any, callee: Function) -> None:
        staged, copies = [], []
        for value, param in zip(self.values, callee.params, strict=False):
            inner = byval(param)
            if inner is not None:
                (pointer,) = self.plan.leaves(value)
                source = g.fetch(pointer, "b64")
                space = SPACES.get(getattr(value.type, "space", 0), "")
                copies.append((param, source, space, size_of(inner)))
                continue
            for leaf, own in zip(self.plan.leaves(value), node.plan.leaves(param), strict=True):
                staged.append((own, g.fetch(leaf, plain(own.type))))
        for param in callee.params[len(self.values) :]:  # too few: undefined, read as zero
            for own in node.plan.leaves(param):
                staged.append((own, g.fetch(integer(0), plain(own.type))))
        for own, vector in staged:
            node.table.store(node.plan.slot(own), g, vector)
        for param, source, space, n in copies:
            offset = node.base + node.plan.frame.offsets[param]
            there = np.array([offset], np.uint64)
            copy(g, there, source, np.array([n], np.uint64), "local", space)
            local = getattr(param.type, "space", 0) == 5
            shown = there + np.uint64(0 if local else wave.windows.local)
            node.table.store(node.plan.slot(param), g, np.broadcast_to(shown, (g.n,)))

    def leave(self, wave: Any, g: Any, returned: list[Array]) -> None:
        callee = g.node
        g.enter(callee.parent)
        for result, vector in zip(self.results, returned, strict=False):
            g.store(result, vector)
        wave.arrive(g, callee.back)

    def argument(self, g: Any, k: int) -> Array:
        return np.asarray(g.fetch(self.arguments[k], "b64")).astype(np.uint64)

    def give(self, g: Any, vector: Array) -> None:
        for result in self.results:
            g.store(result, vector)


EMITTERS: dict[str, Any] = {}
__all__ = ["EMITTERS", "LeafCall", "choice"]
