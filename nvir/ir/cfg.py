"""Control-flow annotations: edges, reverse post-order, dominators, back edges, loop depth.

Everything is worked out on integers: blocks are numbered in reverse post-order
and each array is indexed by that number.

Method   RPO by an iterative depth-first walk. Dominators by intersecting along
         the RPO once (Cooper, Harvey, Kennedy, "A Simple, Fast Dominance
         Algorithm", 2001), which suffices for reducible graphs, else by
         semidominators.
         Back edges are retreating edges whose target dominates their source;
         other retreating edges mark irreducible regions. Loop membership by
         walking backwards from the latches, inner loops first, with union-find
         skipping what is already known (as Tarjan, "Testing Flow Graph
         Reducibility", 1974).
Cost     Linear in blocks and edges, times a logarithm for irreducible graphs.

`split_edge`, `insert_preheader` and `delete_block` keep the snapshot true in place;
`interpose_all` renews it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from nvir.ir.block import Block
from nvir.ir.bulk import bulk
from nvir.ir.instruction import Instruction
from nvir.ir.opcodes.form import form, nvvm_form
from nvir.ir.types import VOID

if TYPE_CHECKING:
    from nvir.ir.function import Function


def successors(block: Block) -> tuple[Block, ...]:
    """The successors that the terminator names now, each once; no snapshot involved."""
    last = block.last
    if last is None or not last.form.terminator or not last.aux:
        return ()
    targets: tuple[Block, ...] = last.aux
    if len(targets) == 1:
        return targets
    if len(targets) == 2:
        return targets if targets[0] is not targets[1] else targets[:1]
    return tuple(dict.fromkeys(targets))


def analyze(function: Function) -> None:
    """Renew all CFG annotations of a function."""
    with bulk():
        _analyze(function)


def _analyze(function: Function) -> None:
    blocks = function.blocks
    if len(blocks) == 1 and not successors(blocks[0]):
        _stand_alone(function, blocks[0])
        return
    for b in blocks:
        b._succs = successors(b)
        b._preds = []
        b._rpo_index = -1
    for b in blocks:
        for s in b._succs:
            s._preds.append(b)
    rpo = reverse_post_order(blocks[0]) if blocks else []
    for k, b in enumerate(rpo):
        b._rpo_index = k
    preds = [[p._rpo_index for p in b._preds] for b in rpo]
    if len(rpo) < len(blocks):
        preds = [[p for p in sources if p >= 0] for sources in preds]
        _forget_unreachable(blocks)
    tree = dominator_tree(preds)
    depth, back = _loop_annotations(rpo, preds, tree)
    for b, d, k, first, last in zip(rpo, depth, tree.idom, tree.first, tree.last, strict=True):
        b._loop_depth = d
        b._idom = rpo[k]
        b._dom_first = first
        b._dom_last = last
    if rpo:
        rpo[0]._idom = None
    function._rpo = rpo
    function._back_edges = back
    function._irreducible = [(rpo[a], rpo[b]) for a, b in tree.irreducible]
    function._loops = None
    function.cfg_state = "fresh"


def _stand_alone(function: Function, block: Block) -> None:
    """The annotations of a function of one block, as many are."""
    block._succs, block._preds, block._idom = (), [], None
    block._rpo_index = block._loop_depth = block._dom_first = 0
    block._dom_last = 1
    function._rpo, function._back_edges, function._irreducible = [block], {}, []
    function._loops = None
    function.cfg_state = "fresh"


def _forget_unreachable(blocks: Sequence[Block]) -> None:
    for b in blocks:
        if b._rpo_index < 0:
            b._loop_depth = 0
            b._idom = None
            b._dom_first = b._dom_last = -1


def _loop_annotations(
    rpo: list[Block], preds: list[list[int]], tree: DominatorTree
) -> tuple[list[int], dict[Block, tuple[Block, ...]]]:
    """Loop depth by RPO number, and the map of back edges: source → headers."""
    depth = [0] * len(rpo)
    back: dict[Block, tuple[Block, ...]] = {}
    if not tree.latches:
        return depth, back
    header, parent = loop_headers(preds, tree.latches)
    for k, h in enumerate(header):
        if h == k:
            depth[k] = depth[parent[k]] + 1 if parent[k] >= 0 else 1
            for latch in tree.latches[k]:
                back[rpo[latch]] = (*back.get(rpo[latch], ()), rpo[k])
        elif h >= 0:
            depth[k] = depth[h]
    return depth, back


def reverse_post_order(entry: Block) -> list[Block]:
    """The blocks reachable from `entry`, every dominator before what it dominates.

    Reads `_succs`; marks with `_rpo_index`, which must be -1 before.
    """
    order: list[Block] = []
    entry._rpo_index = 0
    path, left = [entry], [iter(entry._succs)]
    while path:
        for t in left[-1]:
            if t._rpo_index < 0:
                t._rpo_index = 0
                path.append(t)
                left.append(iter(t._succs))
                break
        else:
            order.append(path.pop())
            left.pop()
    order.reverse()
    return order


def reverse_post_order_now(entry: Block) -> list[Block]:
    """The same order read from the terminators, for who must not trust or touch the snapshot."""
    seen = {entry}
    order: list[Block] = []
    stack = [(entry, iter(successors(entry)))]
    while stack:
        block, targets = stack[-1]
        for t in targets:
            if t not in seen:
                seen.add(t)
                stack.append((t, iter(successors(t))))
                break
        else:
            order.append(block)
            stack.pop()
    order.reverse()
    return order


class DominatorTree:
    """Dominators of a graph in RPO numbers.

    idom            immediate dominator of each node (the root is its own)
    first, last     `a` dominates `b` when first[a] <= first[b] < last[a]
    latches         loop header → sources of its back edges
    irreducible     retreating edges whose target does not dominate their source
    """

    __slots__ = ("first", "idom", "irreducible", "last", "latches")

    def __init__(self, idom: list[int], first: list[int], last: list[int]) -> None:
        self.idom, self.first, self.last = idom, first, last
        self.latches: dict[int, list[int]] = {}
        self.irreducible: list[tuple[int, int]] = []


def dominator_tree(preds: Sequence[Sequence[int]]) -> DominatorTree:
    """Dominators and the kinds of retreating edges; `preds` by RPO number, root 0.

    One round over the RPO is exact unless a retreating edge enters a region
    sideways, which takes another algorithm: rounds until nothing changes may be as many as nodes.
    """
    tree = _number(preds, _one_round(preds))
    if tree.irreducible:
        tree = _number(preds, _by_semidominators(preds))
    return tree


def _one_round(preds: Sequence[Sequence[int]]) -> list[int]:
    """The immediate dominators by one pass over the RPO.

    The tree grows by leaves, so each node also gets a pointer to some ancestor, which
    makes the meeting of two far branches logarithmic (Myers, "An Applicative
    Random-Access Stack", 1983): a loop of many exits would else cost the square of its size.
    """
    idom = [0] * len(preds)
    depth = [0] * len(preds)
    jump = [0] * len(preds)
    for b in range(1, len(preds)):
        new = -1
        for p in preds[b]:
            if p < b and p != new:
                new = p if new < 0 else _meet(p, new, idom, depth, jump)
        idom[b] = new
        depth[b] = d = depth[new] + 1
        j = jump[new]
        jump[b] = jump[j] if d - 1 - depth[j] == depth[j] - depth[jump[j]] else new
    return idom


def _meet(a: int, b: int, idom: list[int], depth: list[int], jump: list[int]) -> int:
    """The closest common ancestor. Nodes of one depth have pointers to one depth."""
    while a != b:
        if depth[a] < depth[b]:
            a, b = b, a
        if depth[a] > depth[b]:
            a = jump[a] if depth[jump[a]] >= depth[b] else idom[a]
        elif jump[a] != jump[b]:
            a, b = jump[a], jump[b]
        else:
            a, b = idom[a], idom[b]
    return a


def _by_semidominators(preds: Sequence[Sequence[int]]) -> list[int]:
    """The immediate dominators of any graph (Lengauer, Tarjan, TOPLAS 1(1), 1979, without
    balancing); `order` is a depth-first preorder, in whose numbers all is but the result."""
    order, parent = _preorder(preds)
    n = len(order)
    number = {b: k for k, b in enumerate(order)}
    semi, best, above, dom = list(range(n)), list(range(n)), [-1] * n, [0] * n
    held: list[list[int]] = [[] for _ in range(n)]  # by semidominator

    def least(v: int) -> int:
        """Of v and those above it, up to the root of its tree, the one of least semidominator."""
        path = []
        while above[v] >= 0 and above[above[v]] >= 0:
            path.append(v)
            v = above[v]
        root = above[v]
        for u in reversed(path):
            if semi[best[v]] < semi[best[u]]:
                best[u] = best[v]
            above[u], v = root, u
        return best[v]

    for w in range(n - 1, 0, -1):
        semi[w] = min(semi[least(number[p])] for p in preds[order[w]])
        held[semi[w]].append(w)
        above[w] = p = parent[w]
        for v in held[p]:
            u = least(v)
            dom[v] = u if semi[u] < semi[v] else p
        held[p] = []
    for w in range(1, n):
        if dom[w] != semi[w]:
            dom[w] = dom[dom[w]]
    idom = [0] * n
    for w in range(1, n):
        idom[order[w]] = order[dom[w]]
    return idom


def _preorder(preds: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """The nodes in an order of a depth-first walk, and the place in it of each one's parent."""
    succs: list[list[int]] = [[] for _ in preds]
    for b, sources in enumerate(preds):
        for p in sources:
            succs[p].append(b)
    order: list[int] = []
    parent: list[int] = []
    seen = [False] * len(preds)
    stack = [(0, 0)]
    while stack:
        b, above = stack.pop()
        if not seen[b]:
            seen[b] = True
            parent.append(above)
            stack.extend((s, len(order)) for s in succs[b])
            order.append(b)
    return order, parent


def _number(preds: Sequence[Sequence[int]], idom: list[int]) -> DominatorTree:
    """Preorder intervals of the tree, and the edges classified by them."""
    n = len(idom)
    size = [1] * n
    for b in range(n - 1, 0, -1):
        size[idom[b]] += size[b]
    first = [0] * n
    free = [1] * n  # the next preorder number below each node
    for b in range(1, n):
        d = idom[b]
        first[b] = free[d]
        free[d] += size[b]
        free[b] = first[b] + 1
    last = [first[b] + size[b] for b in range(n)]
    tree = DominatorTree(idom, first, last)
    for h, sources in enumerate(preds):
        if not sources or max(sources) < h:
            continue
        for s in sources:
            if s < h:
                continue
            if first[h] <= first[s] < last[h]:
                tree.latches.setdefault(h, []).append(s)
            else:
                tree.irreducible.append((s, h))
    return tree


def loop_headers(
    preds: Sequence[Sequence[int]], latches: dict[int, list[int]]
) -> tuple[list[int], list[int]]:
    """(header, parent): for each block the header of its innermost natural loop, itself if
    it is one, else -1; and for each header the header of the loop around its own, or -1."""
    n = len(preds)
    header = [-1] * n
    parent = [-1] * n
    above = [-1] * n  # union-find: towards the outermost loop known so far
    for h in sorted(latches, reverse=True):  # inner headers come later in RPO
        header[h] = h
        work = list(latches[h])
        while work:
            b = _find(above, work.pop())
            if b == h:
                continue
            above[b] = h
            if header[b] < 0:
                header[b] = h
            else:
                parent[b] = h  # b is the header of a loop inside
            work.extend(preds[b])
    return header, parent


def _find(above: list[int], b: int) -> int:
    root = b
    while above[root] >= 0:
        root = above[root]
    while above[b] >= 0:  # compress the path
        above[b], b = root, above[b]
    return root


# ------------------------------------------------------------ edits in place


@attrs.frozen
class EdgePlace:
    """Where a new block goes: on all edges from `sources` into `target`, and in layout behind
    `after`, else before `target`."""

    target: Block
    sources: Sequence[Block]
    name: str | None = None
    after: Block | None = None


def split_edge(source: Block, target: Block, name: str | None = None) -> Block:
    """Put a new block on the edge `source` → `target`; it lies before `target` in layout.

    Phis of `target` name the new block; a fresh snapshot stays fresh.
    """
    return _interpose(target, [source], name)


def insert_preheader(header: Block, outside: Sequence[Block], name: str | None = None) -> Block:
    """Put one new block on all edges from `outside` into `header`.

    Phis of the header are split: values from outside meet in phis of the new
    block when there are several.
    """
    return _interpose(header, list(outside), name)


def interpose_all(function: Function, places: Sequence[EdgePlace]) -> list[Block]:
    """Put a new block at each of many places; the annotations are renewed once, at the end.

    No two places may share an edge. Linear, where single splits cost the function's size each.
    """
    if not places:
        return []
    state = function.cfg_state
    before: dict[Block, list[Block]] = {}
    behind: dict[Block, list[Block]] = {}
    made = []
    for p in places:
        new = _put(p.target, p.sources, p.name)
        made.append(new)
        (before if p.after is None else behind).setdefault(p.after or p.target, []).append(new)
    layout: list[Block] = []
    for b in function.blocks:
        layout += (*before.get(b, ()), b, *behind.get(b, ()))
    function.blocks = layout
    if state == "fresh":
        function.analyze_cfg()
    return made


def _interpose(target: Block, sources: list[Block], name: str | None) -> Block:
    function = target.function
    fresh = function.cfg_state == "fresh"
    where = function.blocks.index(target)
    new = _put(target, sources, name)
    function.blocks.insert(where, new)
    if fresh:
        _patch_snapshot(target, new, sources)
    return new


def _put(target: Block, sources: Sequence[Block], name: str | None) -> Block:
    """A new block on edges into `target`, not yet placed in layout."""
    function = target.function
    branches = []
    for s in sources:
        branch = s.terminator
        if branch is None or target not in branch.aux:
            raise ValueError(f"{s.name} does not branch to {target.name}")
        branches.append(branch)
    new = Block(function.unique_block_name(name), function)
    for branch in branches:
        branch.set_successor(target, new)
    _split_phis(target, new, sources)
    nvvm = branches[0].form.op.level == "nvvm"
    new.append(Instruction(nvvm_form("br") if nvvm else form("bra"), aux=(target,)))
    return new


def _split_phis(target: Block, new: Block, sources: Sequence[Block]) -> None:
    if len(sources) == 1:
        for phi in target.phis:
            _enter_last(phi, sources[0], new)
        return
    moved = set(sources)
    for phi in target.phis:
        inside = [(v, b) for v, b in phi.incoming if b not in moved]
        outside = [(v, b) for v, b in phi.incoming if b in moved]
        value = outside[0][0]
        if any(v is not value for v, _ in outside):
            values, blocks = zip(*outside, strict=True)
            value = new.append(Instruction(phi.form, values, phi.type, phi.name, blocks))
        phi.set_incoming([*(v for v, _ in inside), value], [*(b for _, b in inside), new])


def _enter_last(phi: Instruction, old: Block, new: Block) -> None:
    """What a phi gets from a block it gets from another one, as its last entry."""
    k = phi.aux.index(old)
    phi.aux = (*phi.aux[:k], *phi.aux[k + 1 :], new)
    values = phi._operands
    if k < len(values) - 1:
        phi.set_operands((*values[:k], *values[k + 1 :], values[k]))


def _patch_snapshot(target: Block, new: Block, sources: list[Block]) -> None:
    """Bring the snapshot up to date after `new` was put on the edges `sources` → `target`.

    The new block lies in a loop that holds the target and any source. It
    dominates the target when every other edge into it is a back edge, and its
    own dominator is that of its sources. Numbers of later blocks shift by one.
    """
    function = target.function
    function.cfg_state = "fresh"  # reading it below is meant
    function._loops = None
    for s in sources:
        s._succs = successors(s)
    new._succs = (target,)
    new._preds = list(sources)
    target._preds = [*(p for p in target._preds if p not in sources), new]
    at = target._rpo_index
    if at <= 0 or any(not 0 <= s._rpo_index < at for s in sources):
        function.analyze_cfg()  # a latch: the loop structure itself may have changed
        return
    new._loop_depth = min(target._loop_depth, min(s._loop_depth for s in sources))
    if any(target in headers for headers in function._back_edges.values()):
        new._loop_depth = min(new._loop_depth, target._loop_depth - 1)
    idom = sources[0]
    for s in sources[1:]:
        idom = common_dominator(idom, s)
    new._idom = idom
    if all(p is new or p._rpo_index < 0 or target.dominates(p) for p in target._preds):
        target._idom = new
    function._rpo.insert(at, new)
    for k in range(at, len(function._rpo)):
        function._rpo[k]._rpo_index = k
    _renumber_tree(function)


def common_dominator(a: Block, b: Block) -> Block:
    """The closest block that dominates both (reads the snapshot)."""
    while a is not b:
        if a._rpo_index > b._rpo_index:
            a = a._idom or a
        else:
            b = b._idom or b
    return a


def _renumber_tree(function: Function) -> None:
    idom = [b._idom._rpo_index if b._idom is not None else 0 for b in function._rpo]
    tree = _number([()] * len(idom), idom)
    for k, b in enumerate(function._rpo):
        b._dom_first, b._dom_last = tree.first[k], tree.last[k]


def delete_block(block: Block) -> None:
    """Delete a block; phis of its successors lose its entry. Raises ValueError when a value
    made in it is used in another block.

    A fresh snapshot stays fresh if the entry did not reach the block.
    """
    function = block.function
    unreached = function.cfg_state == "fresh" and block._rpo_index < 0
    for i in block:
        for r in i.results:
            for u in r.users:
                if u.block is not block and not (u.form.is_phi and block in u.aux):
                    raise ValueError(f"{r.name} of block {block.name} is used elsewhere")
    for s in successors(block):
        for phi in s.phis:
            kept = [(v, b) for v, b in phi.incoming if b is not block]
            phi.set_incoming([v for v, _ in kept], [b for _, b in kept])
    for i in reversed(block):
        i._results, i.type = None, VOID
        i.erase()
    function.blocks.remove(block)
    function._names.discard(block.name)
    function.cfg_changed()
    if unreached:
        for s in block._succs:
            if s is not block:
                s._preds.remove(block)
        function.cfg_state = "fresh"
