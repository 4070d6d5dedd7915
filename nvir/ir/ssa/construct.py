"""SSA from variables: where phis stand, and which value each place sees.

Blocks are numbers in reverse post-order below a root, number 0, that holds what a variable is
before anything writes it. Variables are numbers too; whoever calls knows what they are: registers
of PTX (ptx/ssa.py), allocas (passes/scalar/mem2reg.py).

Method   Pruned SSA: phis at the iterated dominance frontier of a variable's writes, where it is
         live in; then renaming in a walk over the dominator tree (Cytron et al., TOPLAS 13(4),
         1991). A variable whose single write dominates all of its reads needs no phi, and
         that is most; for the others liveness is a walk back from the reads.
Cost     Linear in blocks, dominance frontiers, and live ranges of variables written more than
         once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nvir.ir.cfg import DominatorTree
from nvir.ir.errors import Unsupported
from nvir.ir.loops import MAX_MEMBERS

Preds = Sequence[Sequence[int]]


def place_phis(
    preds: Preds, tree: DominatorTree, reads: Mapping[int, Sequence[int]],
    writes: Mapping[int, list[int]], function: str,
) -> list[list[int]]:
    """For each block the variables that need a phi at its head, in the order of `writes`.

    `reads[v]` are the blocks that read v before they write it, `writes[v]` those that write it
    (used up here); a variable that is not in `reads` needs none. Raises Unsupported, naming the
    function, where loops nest absurdly deep.
    """
    n = len(preds)
    first, last = tree.first, tree.last
    frontier: list[list[int]] | None = None
    phis: list[list[int]] = [[] for _ in range(n)]
    placed, live = [-1] * n, [-1] * n  # the variable that each block was marked for last
    for v, sites in writes.items():
        if len(sites) == 1:
            d = sites[0]
            if all(u != d and first[d] <= first[u] < last[d] for u in reads[v]):
                continue  # the one write reaches every read
        if frontier is None:
            frontier = dominance_frontiers(preds, tree.idom, function)
        _mark_live(v, reads[v], frozenset(sites), preds, live)
        work = sites
        while work:
            for f in frontier[work.pop()]:
                if live[f] == v and placed[f] != v:
                    placed[f] = v
                    phis[f].append(v)
                    work.append(f)
    return phis


def dominance_frontiers(preds: Preds, idom: Sequence[int], function: str) -> list[list[int]]:
    """For each block the joins that it reaches just beyond what it dominates. A nest of n loops
    has n² of them: raises Unsupported beyond MAX_MEMBERS."""
    size = 0
    frontier: list[list[int]] = [[] for _ in preds]
    for join, sources in enumerate(preds):
        if len(sources) < 2:
            continue
        for p in sources:
            while p != idom[join]:
                if frontier[p] and frontier[p][-1] == join:
                    break  # another source came this way
                frontier[p].append(join)
                size += 1
                p = idom[p]
        if size > MAX_MEMBERS:
            raise Unsupported("loops or exits nested this deep", where=f"function {function}")
    return frontier


def _mark_live(
    v: int, reads: Sequence[int], writers: frozenset[int], preds: Preds, live: list[int]
) -> None:
    """Mark with `v` the blocks that it is live into, back from its reads to its writers."""
    work = list(reads)
    for b in work:
        live[b] = v
    while work:
        for p in preds[work.pop()]:
            if live[p] != v and p not in writers:
                live[p] = v
                work.append(p)


Undo = list[tuple[int, Any]]  # (variable, its value before)


def rename(
    preds: Preds, idom: Sequence[int], phis: Sequence[Sequence[int]],
    made: Sequence[Sequence[Any]], values: list[Any], visit: Callable[[int, Undo], None],
) -> list[list[dict[int, Any]]]:
    """Walk the dominator tree with the value of each variable at hand.

    `values[v]` is what a variable is at the root; `made[b]` are the phis of `phis[b]`. `visit(b,
    undo)` goes through a block: it reads `values`, and where a variable is written it appends (v,
    values[v]) to `undo` and sets the new one. Returns for each phi, as in `phis`, the value that
    arrives from each predecessor.
    """
    n = len(preds)
    children: list[list[int]] = [[] for _ in range(n)]
    for b in range(n - 1, 0, -1):
        children[idom[b]].append(b)
    succs: list[list[int]] = [[] for _ in range(n)]
    for b in range(n):
        for p in preds[b]:
            succs[p].append(b)
    arriving: list[list[dict[int, Any]]] = [[{} for _ in p] for p in phis]
    # A block is entered with None and left by taking back what it noted.
    stack: list[tuple[int, Undo | None]] = [(0, None)]
    while stack:
        b, undo = stack.pop()
        if undo is not None:
            for v, old in reversed(undo):
                values[v] = old
            continue
        undo = []
        for v, phi in zip(phis[b], made[b], strict=True):
            undo.append((v, values[v]))
            values[v] = phi
        visit(b, undo)
        for s in succs[b]:
            for v, given in zip(phis[s], arriving[s], strict=True):
                given[b] = values[v]
        stack.append((b, undo))
        stack.extend((c, None) for c in children[b])
    return arriving
