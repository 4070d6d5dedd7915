"""Where values live, and whether a set of them can share one register.

Program points of a block are integers: phis at 0, the n-th other instruction at
8n, and between them the places where out-of-SSA may put copies (all copies of
one place happen at once):

    0        results of phis
    3        behind the phis          (a phi's result leaves its web)
    8n - 4   before the terminator    (an operand enters the web of a phi)
    8n - 2   before instruction n     (an operand enters a tied register)
    8n       instruction n: it reads, then it writes

Two values interfere when one is live behind the definition of the other and
they need not be equal. A `mov` has the value of its source.

Method   In SSA a value that is live where another is made dominates it. So a
         set is walked in dominance order with the stack of dominating members;
         each member is compared with the nearest one that can still be live
         (Budimlić et al., PLDI 2002; with values, Boissinot et al., "Revisiting
         Out-of-SSA Translation", CGO 2009, section IV).
Cost     Linear in the members, and for each the blocks of its live range.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Sequence
from typing import Any

from nvir.analysis.liveness import flood
from nvir.ir import Argument, Block, Function, Instruction, Result, Value
from nvir.ir.cfg import dominator_tree, loop_headers, reverse_post_order_now, successors


class Split:
    """The copy of a value that belongs to a web of its own, until it is coalesced with it.

    source      what is copied; for the head of an isolated phi, the phi, which is the copy
    block, at   where it is made
    until       the last point of `block` where it is read
    place       the instruction before which the copy is printed
    """

    __slots__ = ("at", "block", "place", "source", "until")

    def __init__(
        self, source: Value, block: Block, at: int, until: int, place: Instruction
    ) -> None:
        self.source, self.block, self.at, self.until, self.place = source, block, at, until, place


class Web:
    """Nodes that share a register.

    where   the nodes that are made or live in each block, in the order of `key`; built when
            first needed
    count   how many nodes hold a value; built with it
    """

    __slots__ = ("count", "nodes", "where")

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.where: dict[Block, list[Node]] | None = None
        self.count: Counter[Any] = Counter()


Node = Value | Split
Key = tuple[int, int]


class _Range:
    """Where a value is live: the last point of each block that reads it; its live-out blocks."""

    __slots__ = ("last", "out")

    def __init__(self, last: dict[Block, int], out: set[Block]) -> None:
        self.last, self.out = last, out


class Interference:
    """Answers for one function.

    isolated   phis whose operands are read by copies before the terminators, and
               whose results are made by copies behind the phis
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.isolated: set[Instruction] = set()
        self._measure()
        self._points: dict[Instruction, int] = {}
        self._numbered: set[Block] = set()
        self._ranges: dict[Value, _Range] = {}
        self._sources: dict[Instruction, dict[Value, list[Block]]] = {}
        self._keys: dict[Node, Key] = {}

    def isolate(self, phis: list[Instruction]) -> None:
        """Take these phis as isolated from now on."""
        self.isolated.update(phis)
        self._ranges.clear()
        self._keys.clear()

    # ---------------------------------------------------------- points

    def point(self, i: Instruction) -> int:
        """The program point of an instruction in its block."""
        block = i.block
        assert block is not None
        if block not in self._numbered:
            self._numbered.add(block)
            at = 0
            for j in block:
                if not j.form.is_phi:
                    at += 8
                self._points[j] = at
        return self._points[i]

    def home(self, node: Node) -> Block:
        """The block that makes the node; the entry for arguments."""
        if node.__class__ is Instruction:
            block = node.block
        elif node.__class__ is Result:
            block = node.instruction.block
        elif isinstance(node, Split):
            block = node.block
        else:
            block = self.function.entry
        assert block is not None
        return block

    def key(self, node: Node) -> Key:
        """Place in dominance order: (preorder number of the block, point)."""
        k = self._keys.get(node)
        if k is None:
            if isinstance(node, Split):
                at = node.at
            elif isinstance(node, Argument):
                at = -1
            else:
                definer = node.definer
                assert definer is not None
                at = 3 if definer in self.isolated else self.point(definer)
            k = self._keys[node] = (self.first[self.home(node)], at)
        return k

    # ------------------------------------------------------- dominance

    def _measure(self) -> None:
        """Predecessors, and dominance as intervals: a dominates b if
        first[a] <= first[b] < last[a].

        A block that the entry does not reach dominates itself alone: what is
        clobbered there nobody reads.
        """
        blocks = self.function.blocks
        order = reverse_post_order_now(self.function.entry)
        number = {b: k for k, b in enumerate(order)}
        self.preds: dict[Block, list[Block]] = {b: [] for b in blocks}
        for b in blocks:
            for t in successors(b):
                self.preds[t].append(b)
        preds = [[number[p] for p in self.preds[b] if p in number] for b in order]
        tree = dominator_tree(preds)
        self.first = {b: tree.first[k] for b, k in number.items()}
        self.last = {b: tree.last[k] for b, k in number.items()}
        for k, b in enumerate((b for b in blocks if b not in number), len(order)):
            self.first[b], self.last[b] = k, k + 1
        self._loops = (number, preds, tree.latches)
        self._depths: list[int] | None = None

    def depth(self, block: Block) -> int:
        """How many loops the block lies in."""
        number, preds, latches = self._loops
        if self._depths is None:
            header, parent = loop_headers(preds, latches)
            self._depths = depths = [0] * len(preds)
            for k, h in enumerate(header):  # a header comes before its loop's other blocks
                if h == k:
                    depths[k] = (depths[parent[k]] if parent[k] >= 0 else 0) + 1
                elif h >= 0:
                    depths[k] = depths[h]
        k = number.get(block, -1)
        return self._depths[k] if k >= 0 else 0

    # ----------------------------------------------------- live ranges

    def live_behind(self, node: Node, block: Block, at: int) -> bool:
        """Whether the node, which dominates the point, is still needed behind it."""
        if isinstance(node, Split):
            return block is node.block and at < node.until
        r = self._ranges.get(node) or self._range_of(node)
        return block in r.out or at < r.last.get(block, -1)

    def _range_of(self, value: Value) -> _Range:
        r = self._ranges.get(value)
        if r is None:
            r = self._ranges[value] = self._range(value)
        return r

    def _arrivals(self, phi: Instruction) -> dict[Value, list[Block]]:
        """For each operand of a phi the predecessors that it arrives from."""
        found = self._sources.get(phi)
        if found is None:
            found = self._sources[phi] = {}
            for operand, source in phi.incoming:
                found.setdefault(operand, []).append(source)
        return found

    def _range(self, value: Value) -> _Range:
        home = None if isinstance(value, Argument) else self.home(value)
        last: dict[Block, int] = {}
        enters: list[Block] = []
        isolated = self.isolated
        out: set[Block] = set()
        for i in value.users:
            if not i.form.is_phi:
                block = i.block
                assert block is not None
                at = self.point(i)
                if at > last.get(block, -1):
                    last[block] = at
                if block is not home:
                    enters.append(block)
                continue
            for source in self._arrivals(i)[value]:
                if i in isolated:
                    terminator = source.last
                    assert terminator is not None
                    last[source] = max(last.get(source, -1), self.point(terminator) - 4)
                else:
                    out.add(source)
                if source is not home:
                    enters.append(source)
        if enters:
            flood(enters, home, self.preds, out)
        return _Range(last, out)

    # ---------------------------------------------------- interference

    def clash(self, nodes: Sequence[Node]) -> bool:
        """Whether two of the nodes interfere; `nodes` in the order of `key`."""
        key, last = self.key, self.last
        stack: list[tuple[Node, Key, int]] = []  # with the end of the dominated interval
        above: dict[Node, Node | None] = {}  # nearest member live where this one is made
        for v in nodes:
            k = key(v)
            block = self.home(v)
            while stack:
                _, top, end = stack[-1]
                if top[0] == k[0] or top[0] < k[0] < end:
                    break
                stack.pop()
            u = stack[-1][0] if stack else None
            while u is not None:
                if key(u) == k or self.live_behind(u, block, k[1]):
                    if value_of(u) is not value_of(v):
                        return True
                    break
                u = above[u]
            above[v] = u
            stack.append((v, k, last[block]))
        return False

    def interfere(self, u: Node, v: Node) -> bool:
        """Whether two nodes cannot share a register."""
        ku, kv = self.key(u), self.key(v)
        if ku > kv:
            u, v, ku, kv = v, u, kv, ku
        block = self.home(v)
        if ku != kv:
            if ku[0] != kv[0] and not ku[0] < kv[0] < self.last[self.home(u)]:
                return False  # neither dominates the other
            if not self.live_behind(u, block, kv[1]):
                return False
        return value_of(u) is not value_of(v)

    def separate(self, a: Web, b: Web) -> bool:
        """Whether no node of one web interferes with one of the other.

        Costs the blocks that the smaller web's nodes live in, and the nodes of the other that are
        made while they live.
        """
        if len(a.nodes) > len(b.nodes):
            a, b = b, a
        where = self._where(b)
        for u in a.nodes:
            for block in self._blocks(u):
                there = where.get(block)
                if there is not None and not self._apart(u, block, there, b.count):
                    return False
        return True

    def _apart(self, u: Node, block: Block, there: list[Node], count: Counter[Any]) -> bool:
        """Whether a node interferes with none of a web's nodes in a block.

        These interfere with none of each other. So what lives where the nearest one above is made
        holds the same value as that, and nothing further up needs a look where no other does.
        """
        ku = self.key(u)
        at = bisect_left(there, ku, key=self.key)
        for k in range(at, len(there)):  # islice would step over all in front
            v = there[k]
            if self.interfere(u, v):
                return False
            kv = self.key(v)
            if self.home(v) is block and kv != ku and not self.live_behind(u, block, kv[1]):
                break  # u is dead from here on
        for k in range(at - 1, -1, -1):
            v = there[k]
            if self.interfere(v, u):
                return False
            if count[value_of(v)] == 1 or self.live_behind(v, self.home(u), ku[1]):
                break
        return True

    def unite(self, a: Web, b: Web) -> tuple[Web, Web]:
        """Put the nodes of the smaller web into the larger; returns (larger, smaller)."""
        if len(a.nodes) < len(b.nodes):
            a, b = b, a
        where = self._where(a)
        a.nodes.extend(b.nodes)
        for u in b.nodes:
            a.count[value_of(u)] += 1
            for block in self._blocks(u):
                insort(where.setdefault(block, []), u, key=self.key)
        return a, b

    def _where(self, web: Web) -> dict[Block, list[Node]]:
        if web.where is None:
            web.where = {}
            for u in sorted(web.nodes, key=self.key):
                web.count[value_of(u)] += 1
                for block in self._blocks(u):
                    web.where.setdefault(block, []).append(u)
        return web.where

    def _blocks(self, node: Node) -> set[Block]:
        """Where the node is made or live."""
        if isinstance(node, Split):
            return {node.block}
        r = self._range_of(node)
        return {self.home(node), *r.out, *r.last}


def value_of(node: Node) -> Any:
    """What the node holds: nodes with the same answer are equal wherever both are live."""
    while True:
        if isinstance(node, Split):
            node = node.source
        elif isinstance(node, Instruction) and is_copy(node):
            node = node._operands[0]
        else:
            return node


def is_copy(i: Instruction) -> bool:
    """Whether an instruction copies one register, literal or address whole and always."""
    f = i.form
    return f.name == "mov" and f.guard is None and f.shape == "%s, %s" and not f.volatile
