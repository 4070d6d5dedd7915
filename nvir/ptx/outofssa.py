"""Registers again: webs of values that share one, and the copies that this needs.

    L:  x = phi [a, entry], [y, L]        L:  add %r1, %r1, 1
        y = add x, 1               ==>        @%p1 bra L
        @p bra L

The function is not changed: the outcome is a side table, `RegisterAssignment`,
with a register name for each value and the copies to print.

What must share a register: a phi with its operands, and tied operands with their
results (guards' fallbacks, accumulators). Values of one source register share it
where they can, so what was just read gets its own registers back without a copy.

Method   1. Join by union-find what must or should share, and test each set for
            interference. Nothing else happens to code that was just read.
         2. A set that clashes is joined again without the wish for one name.
         3. What still clashes is isolated: each operand of a phi is copied at the
            end of its predecessor, its result at the head of the block, each tied
            operand before its instruction; all copies of a place are parallel.
            Then copies are coalesced, those of deep loops first.
         4. The copies that remain are put in sequence, cycles by a fresh register.
         No edge is split: a copy before a terminator interferes with whatever
         the terminator or another successor reads, and so gets its own register.
Skips    Undef needs no copy; a constant that enters a web always is one. The
         carry flag is no register.
Refuses  A copy of a value that an asynchronous operation still writes.
Cost     A look at each value; the rest grows with the webs.
Source   Boissinot et al., "Revisiting Out-of-SSA Translation for Correctness, Code
         Quality and Efficiency", CGO 2009.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, KeysView

import attrs

from nvir.ir import CC, VOID, Block, Function, Instruction, ScalarType, Unsupported, successors
from nvir.ir.values import Argument, Constant, Undef, Value
from nvir.ptx.interference import Interference, Node, Split, Web
from nvir.ptx.registers import Namer, RegisterNames

_END = 1 << 60  # behind every instruction of a block
_TRIES = 8  # webs of one name with which another is tried, so that the cost stays linear


@attrs.frozen
class EdgeCopy:
    """`mov.<type> target, source;` with names as they are printed."""

    type: ScalarType
    target: str
    source: str


@attrs.define(eq=False)
class RegisterAssignment:
    """What out-of-SSA found for a function.

    names      the printed name of every operand (see `RegisterNames`)
    copies     the copies to print before an instruction, in order
    """

    names: RegisterNames
    copies: dict[Instruction, list[EdgeCopy]]


def assign_registers(function: Function, reserved: Iterable[str] = ()) -> RegisterAssignment:
    """Names and copies for every value of a function; `reserved` names are not given out.

    Raises Unsupported where a value in flight would have to be copied.
    """
    webs = _Webs(function)
    webs.join()
    names = Namer(function, reserved).name(webs.singles, webs.classes)
    return RegisterAssignment(names, webs.emit(names))


class _Webs:
    """The sets of values that share a register.

    singles   values that share with none
    classes   the others, as lists in dominance order
    splits    copies that enter a web, whether coalesced or not
    heads     phi → the split that stands for its result, for isolated phis
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.singles: list[Value] = []
        self.classes: list[list[Node]] = []
        self.splits: list[Split] = []
        self.heads: dict[Instruction, Split] = {}
        self.phis: list[Instruction] = []
        self.tied: list[Instruction] = []
        self.same_name: list[list[Value]] = []
        self.class_of: dict[Node, Web] = {}
        self.refused: set[tuple[Web, Web]] = set()  # webs only grow: what interferes, stays so
        self.flying = False  # whether asynchronous operations write registers here
        self.results = [a for a in function.returns if isinstance(a, Argument)]

    # ------------------------------------------------------------ joining

    def join(self) -> None:
        self._collect()
        if not self.phis and not self.tied and not self.same_name:
            return
        self.facts = Interference(self.function)
        links = self._links()
        names = [(g[0], v) for g in self.same_name for v in g[1:]]
        failed = self._test(components([*links, *names]))
        if failed:
            # in order: which web of a name is made first says which keeps the name
            again = dict.fromkeys(v for web in failed for v in web).keys()
            clashing = self._test(components([k for k in links if k[0] in again]))
            if clashing:
                self._isolate(clashing)
            self._join_names(again)
        webs = [w.nodes for w in dict.fromkeys(self.class_of.values())]
        self.classes = [c for c in webs if len(c) > 1 or isinstance(c[0], Split)]
        shared = {v for c in self.classes for v in c}
        self.singles = [v for v in self.singles if v not in shared]

    def _collect(self) -> None:
        """All values, those that share a name, and the instructions that bind registers."""
        values: list[Value] = [a for a in self.function.params if isinstance(a, Argument)]
        values += self.results
        phis, tied, add = self.phis, self.tied, values.append
        for b in self.function.blocks:
            i = b.first
            while i is not None:
                f = i.form
                if f.ties:
                    tied.append(i)
                    if f.op.async_until:
                        self.flying = True
                elif f.n_operands < 0:
                    if f.is_phi:
                        phis.append(i)
                    elif i.ties:
                        tied.append(i)
                elif self.results and f.name == "ret":
                    tied.append(i)
                if i._results is not None:
                    values.extend([r for r in i._results if r.type is not CC])
                elif i.type is not VOID and i.type is not CC:
                    add(i)
                i = i.next
        self.singles = values
        self.same_name = _share_a_name(values)

    def _bindings(self, i: Instruction) -> Iterable[tuple[Value, Value]]:
        """(what owns the register, the operand that has to be in it)."""
        if i.form.name == "ret":
            return zip(self.results, i._operands[-len(self.results) :], strict=True)
        results = i.results
        return [(results[r], i._operands[k]) for r, k in i.ties if results[r].type is not CC]

    def _links(self) -> list[tuple[Node, Node]]:
        """Pairs that must share a register. A constant enters through a split of its own."""
        links: list[tuple[Node, Node]] = []
        for phi in self.phis:
            for operand, source in phi.incoming:
                if operand.is_tracked:
                    links.append((phi, operand))
                elif not isinstance(operand, Undef):
                    links.append((phi, self._at_end(operand, source)))
        for i in self.tied:
            for owner, operand in self._bindings(i):
                if operand.is_tracked:
                    links.append((owner, operand))
                elif not isinstance(operand, Undef):
                    links.append((owner, self._before(operand, i)))
        return links

    def _at_end(self, operand: Value, source: Block) -> Split:
        terminator = source.last
        assert terminator is not None
        at = self.facts.point(terminator) - 4
        return self._split(operand, source, at, _END, terminator)

    def _before(self, operand: Value, i: Instruction) -> Split:
        assert i.block is not None
        at = self.facts.point(i)
        return self._split(operand, i.block, at - 2, at, i)

    def _split(
        self, source: Value, block: Block, at: int, until: int, place: Instruction
    ) -> Split:
        s = Split(source, block, at, until, place)
        self.splits.append(s)
        return s

    def _test(self, sets: list[list[Node]]) -> list[list[Node]]:
        """Accept the sets that do not clash as classes; return the others."""
        failed = []
        for nodes in sets:
            nodes.sort(key=self.facts.key)
            if self.facts.clash(nodes):
                failed.append(nodes)
            else:
                self._accept(nodes)
        return failed

    def _accept(self, nodes: list[Node]) -> None:
        web = Web(nodes)
        for v in nodes:
            self.class_of[v] = web

    def _web(self, node: Node) -> Web:
        web = self.class_of.get(node)
        if web is None:
            web = self.class_of[node] = Web([node])
        return web

    def _merge(self, u: Node, v: Node) -> bool:
        """Make one web of those of two nodes, unless they interfere."""
        a, b = self._web(u), self._web(v)
        if a is b:
            return True
        if (a, b) in self.refused:
            return False
        if not self.facts.separate(a, b):
            self.refused.add((a, b))
            return False
        a, b = self.facts.unite(a, b)
        for node in b.nodes:
            self.class_of[node] = a
        return True

    def _join_names(self, values: KeysView[Node]) -> None:
        """Last, values of one source register share it where nothing stands against it."""
        mixed = {
            web: len({n.name for n in web.nodes if isinstance(n, Value)}) > 1
            for web in dict.fromkeys(self._web(v) for v in values if isinstance(v, Value))
        }
        for group in self.same_name:
            if values.isdisjoint(group):
                continue
            apart: list[Value] = []  # of webs of this name that could not be joined
            for v in group:
                if mixed.get(self._web(v), False):
                    continue
                if not any(self._merge(w, v) for w in apart[-_TRIES:]):
                    apart.append(v)

    # ---------------------------------------------------------- isolating

    def _isolate(self, clashing: list[list[Node]]) -> None:
        """Give the phis and ties of these webs copies, then coalesce what does not clash."""
        nodes = {v for web in clashing for v in web}
        self.splits = [s for s in self.splits if s not in nodes]
        phis = [i for i in self.phis if i in nodes]
        self.facts.isolate(phis)
        wishes: list[tuple[int, Node, Value]] = []
        for i in self.tied:
            for owner, operand in self._bindings(i):
                if owner in nodes and not isinstance(operand, Undef):
                    self._isolate_tie(i, owner, operand, wishes)
        for phi in phis:
            self._isolate_phi(phi, wishes)
        wishes.sort(key=lambda wish: -wish[0])
        for _, copy, v in wishes:
            self._merge(copy, v)

    def _isolate_tie(
        self, i: Instruction, owner: Value, operand: Value, wishes: list[tuple[int, Node, Value]]
    ) -> None:
        copy = self._before(operand, i)
        if not self._merge(owner, copy):
            raise Unsupported(
                f"'{i.form.spelling}' both updates a register and, where its guard is false, "
                "leaves another value in it", where=f"{self.function.name}"
            )
        assert i.block is not None
        if operand.is_tracked:
            wishes.append((self._weight(i.block, operand), copy, operand))

    def _isolate_phi(self, phi: Instruction, wishes: list[tuple[int, Node, Value]]) -> None:
        block = phi.block
        assert block is not None
        assert block.first_non_phi is not None
        head = self.heads[phi] = Split(phi, block, 0, 3, block.first_non_phi)
        web: list[Node] = [head]
        weights: dict[Value, int] = {phi: self._weight(block, phi)}
        for operand, source in phi.incoming:
            if not isinstance(operand, Undef):
                web.append(self._at_end(operand, source))
                if operand.is_tracked:
                    weights[operand] = weights.get(operand, 0) + self._weight(source, operand)
        self._accept(web)
        wishes.extend((weight, head, v) for v, weight in weights.items())

    def _weight(self, block: Block, value: Value) -> int:
        """What a copy at this place costs: by loop depth; never of what may be in flight."""
        definer = value.definer
        flying = definer is not None and bool(definer.form.op.async_until)
        cost: int = 10 ** min(self.facts.depth(block), 9)
        return cost + 10**12 if flying else cost

    # ------------------------------------------------------------- copies

    def emit(self, names: RegisterNames) -> dict[Instruction, list[EdgeCopy]]:
        """The copies that were not coalesced, in sequence for each place."""
        groups: dict[tuple[Instruction, int], dict[str, EdgeCopy]] = {}
        moves: list[tuple[Node, Node, Split, int]] = [
            (head, phi, head, 3) for phi, head in self.heads.items()
        ]
        moves += [(s.source, s, s, s.at) for s in self.splits]
        for source, target, split, at in moves:
            own = self.class_of.get(target)
            if own is not None and own is self.class_of.get(source):
                continue
            if isinstance(target, Value) and not target.has_uses:
                continue
            if self.flying:
                for v in (*self._web(source).nodes, *self._web(target).nodes):
                    if isinstance(v, Value):
                        check_landed(self.function, v, split.place)
            to, spelled = names[target], names.source(source)
            if to != spelled:
                copy = EdgeCopy(names.type_of(to), to, spelled)
                groups.setdefault((split.place, at), {})[to] = copy
        copies: dict[Instruction, list[EdgeCopy]] = {}
        for place, at in sorted(groups, key=lambda g: g[1]):
            done = sequentialise(groups[place, at], names.fresh)
            copies.setdefault(place, []).extend(done)
        return copies


def _share_a_name(values: list[Value]) -> list[list[Value]]:
    """Groups of two and more values with one name and one type."""
    first: dict[str, Value] = {}
    groups: dict[tuple[str, object], list[Value]] = {}
    for v in values:
        name = v.name
        if name is None or name == "_":
            continue
        other = first.setdefault(name, v)
        if other is v:
            continue
        group = groups.get((name, v.type))
        if group is not None:
            group.append(v)
        else:
            groups[name, v.type] = [other, v] if other.type is v.type else [v]
    return [g for g in groups.values() if len(g) > 1]


def components(links: list[tuple[Node, Node]]) -> list[list[Node]]:
    """The connected components of a graph given by its edges, in the order of first mention."""
    parent: dict[Node, Node] = {}

    def find(v: Node) -> Node:
        root = parent.setdefault(v, v)
        while parent[root] is not root:
            root = parent[root]
        while v is not root:
            parent[v], v = root, parent[v]
        return root

    for a, b in links:
        x, y = find(a), find(b)
        if x is not y:
            parent[y] = x
    sets: dict[Node, list[Node]] = {}
    for v in parent:
        sets.setdefault(find(v), []).append(v)
    return [c for c in sets.values() if len(c) > 1]


def sequentialise(moves: dict[str, EdgeCopy], fresh: Callable[[ScalarType], str]) -> list[EdgeCopy]:
    """Parallel copies, by target, as an equivalent sequence; `fresh` names a spare register.

    A copy whose target nobody still reads goes first; what then remains are
    cycles, and each is opened by saving one of its registers.
    """
    readers = Counter(c.source for c in moves.values())
    ready = [t for t in moves if not readers[t]]
    pending = dict(moves)
    out: list[EdgeCopy] = []
    while pending:
        while ready:
            c = pending.pop(ready.pop())
            out.append(c)
            readers[c.source] -= 1
            if not readers[c.source] and c.source in pending:
                ready.append(c.source)
        if pending:
            target, c = next(iter(pending.items()))
            spare = fresh(c.type)
            out.append(EdgeCopy(c.type, spare, target))
            for t, other in pending.items():
                if other.source == target:
                    pending[t] = EdgeCopy(other.type, t, spare)
            readers[spare], readers[target] = readers[target], 0
            ready.append(target)
    return out


def check_landed(function: Function, node: Value, place: Instruction) -> None:
    """Raise Unsupported if an asynchronous operation may still write `node` before `place`.

    Walks backwards from the place to the operation; a wait that leaves nothing
    pending ends a path.
    """
    definer = node.definer
    if definer is None or not definer.form.op.async_until:
        return
    waits = definer.form.op.async_until
    block = place.block
    assert block is not None
    preds: dict[Block, list[Block]] = {}
    for b in function.blocks:
        for t in successors(b):
            preds.setdefault(t, []).append(b)
    seen: set[Block] = set()
    work: list[tuple[Block, Instruction | None]] = [(block, place.prev)]
    while work:
        b, i = work.pop()
        while i is not None and not _waits_for_all(i, waits):
            if i is definer:
                raise Unsupported(
                    f"copying '{node.name or '?'}' while '{definer.form.spelling}' writes it",
                    where=str(function.name),
                )
            i = i.prev
        if i is None:
            for p in preds.get(b, ()):
                if p not in seen:
                    seen.add(p)
                    work.append((p, p.last))


def _waits_for_all(i: Instruction, waits: tuple[str, ...]) -> bool:
    return i.form.name in waits and all(
        isinstance(v, Constant) and not v.value for v in i.sources
    )
