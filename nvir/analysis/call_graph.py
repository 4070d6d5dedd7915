"""The call graph of a module: which functions call each other, callees first."""

from __future__ import annotations

from collections.abc import Iterator

from nvir.ir.function import Function
from nvir.ir.instruction import CallInfo
from nvir.ir.module import Module


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

    Tarjan, "Depth-First Search and Linear Graph Algorithms", SIAM J. Comput. 1(2), 1972, with a
    stack of its own. Linear in the instructions.
    """
    number: dict[Function, int] = {}
    low: dict[Function, int] = {}
    path: list[Function] = []
    on_path: set[Function] = set()
    out: list[list[Function]] = []
    for root in module.functions:
        if root in number or not root.blocks:
            continue
        work: list[tuple[Function, Iterator[Function]]] = []

        def enter(f: Function, work: list[tuple[Function, Iterator[Function]]] = work) -> None:
            number[f] = low[f] = len(number)
            path.append(f)
            on_path.add(f)
            work.append((f, iter(callees(f))))

        enter(root)
        while work:
            f, rest = work[-1]
            callee = next(rest, None)
            if callee is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[f])
                if low[f] == number[f]:
                    at = path.index(f)
                    out.append(path[at:])
                    on_path.difference_update(path[at:])
                    del path[at:]
            elif callee not in number:
                if callee.blocks:
                    enter(callee)
            elif callee in on_path:
                low[f] = min(low[f], number[callee])
    return out
