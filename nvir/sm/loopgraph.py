"""The dependence graph of a loop body, over its machine instructions.

Nodes are the operations of one iteration. An edge says after how many iterations, and how many
cycles, one may start after another:

    registers  from who writes to who reads: the profile's latency between the two families, at
               distance 0 in the body and 1 through a phi of the header. Iterations are taken to
               have registers of their own (modulo variable expansion), so nothing waits for a
               register to become free.
    memory     between accesses of which one writes, in the order of the body and from one
               iteration to the next: the distance is computed where both addresses are affine
               (`nvir.analysis.alias`), else taken to be the smallest. The machine keeps the order
               of one thread's accesses, so one cycle is enough.
    barriers   fences, barriers, waits and volatile accesses keep their order among each other,
               and accesses keep theirs around them.
    control    the branch waits for its predicate. Where no trip count is known, the accesses of
               the next iteration wait for the branch.

What does not depend on the loop is hoisted by the assembler and left out; so are the operations
that only rare inputs reach.

Cost    linear in operations and reads; pairs of accesses with a writer, up to MAX_PAIRS, beyond
        which all accesses keep their order.
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

import attrs

from nvir.analysis.alias import AliasAnalysis
from nvir.analysis.analyses import Analyses
from nvir.analysis.induction import trip_count
from nvir.ir import Instruction, Loop, Unsupported, Value
from nvir.sm.graph import DependenceGraph, Edge
from nvir.sm.latency import edge_latency
from nvir.sm.machine import Expansion, expand
from nvir.sm.operation import MachineInstruction, Register, Temporary, register_name
from nvir.sm.profile import Profile

if TYPE_CHECKING:
    import networkx as nx

MAX_PAIRS = 3000
FAR = 1 << 16  # iterations: so many are never in flight, so the order needs no edge
ISSUE = "issue"


@attrs.frozen(eq=False)
class LoopGraph:
    """The graph of a loop body and what its nodes stand for.

    operations      node -> machine instruction
    graph           nodes take an issue slot, where the profile limits those, and a pipe
    pipes, interval node -> the pipes that can run it, the cycles that it keeps one busy
    register_edges  indices of the graph's edges that carry a register
    sizes           registers that each node's results take
    """

    loop: Loop
    profile: Profile
    operations: tuple[MachineInstruction, ...]
    graph: DependenceGraph
    register_edges: tuple[int, ...]
    sizes: tuple[int, ...]
    carriers: dict[int, Register]

    @property
    def pipes(self) -> tuple[tuple[str, ...], ...]:
        return self.graph.pipes

    @property
    def interval(self) -> tuple[int, ...]:
        return self.graph.intervals

    def to_networkx(self) -> nx.MultiDiGraph:
        """`graph.to_networkx()`; nodes also have `family`, `line`, `ptx`, `pipes`, `interval`."""
        g = self.graph.to_networkx()
        for n, op in enumerate(self.operations):
            g.nodes[n].update(
                family=op.family, line=op.line, ptx=str(op.parent), pipes=self.pipes[n],
                interval=self.interval[n],
            )
        return g

    def edge_name(self, edge: int) -> str | None:
        """The register that an edge carries, by name; None for the order of memory and control."""
        register = self.carriers.get(edge)
        return None if register is None else register_name(register)


def loop_graph(
    loop: Loop, profile: Profile, *, alias: AliasAnalysis | None = None, level: str = "l1",
    policy: str = "observed",
) -> LoopGraph:
    """The dependence graph of a loop of one block.

    `alias` saves work where it is known; `level` is where loads hit. Raises Unsupported for a
    loop of several blocks, for an instruction without template, and for an operation that the
    profile's machine does not have.
    """
    if len(loop.blocks) != 1:
        raise Unsupported(f"a loop of {len(loop.blocks)} blocks", profile.name, loop.header.name)
    return _GraphBuilder(loop, profile, alias, level, policy).build()


def order_edges(
    loop: Loop, profile: Profile, operations: list[MachineInstruction],
    alias: AliasAnalysis | None = None,
) -> list[Edge]:
    """The edges of memory, barriers and control alone, between given operations of the block.

    For code whose registers are known: what follows from those is the caller's to add.
    """
    b = _GraphBuilder(loop, profile, alias, "l1", "observed", operations)
    b._order()
    b._control()
    return b.edges


def machine_graph(
    profile: Profile, families: Iterable[str], edges: Iterable[Edge]
) -> DependenceGraph:
    """The graph of operations of some families: each takes an issue slot and one of its pipes."""
    found = [profile.operation(family) for family in families]
    width = profile.issue_width
    return DependenceGraph(
        [ISSUE if width else None] * len(found), edges, {ISSUE: width} if width else {},
        pipes=[o.pipes for o in found], intervals=[max(1, o.interval) for o in found],
        pipe_units={name: pipe.units for name, pipe in profile.pipes.items()},
    )


class _GraphBuilder:
    def __init__(
        self, loop: Loop, profile: Profile, alias: AliasAnalysis | None, level: str, policy: str,
        operations: list[MachineInstruction] | None = None,
    ) -> None:
        self.loop, self.profile, self.level, self.policy = loop, profile, level, policy
        self.alias = alias
        self.block = loop.header
        if operations is None:
            self.expansion = expand([self.block], profile, strict=True)
            operations = variant(self.expansion, set(self.block.phis))
        self.operations = operations
        self.edges: list[Edge] = []
        self.carriers: dict[int, Register] = {}
        self._latency: dict[tuple[str, str, bool], int] = {}

    def build(self) -> LoopGraph:
        operations = self.operations
        self._registers()
        self._order()
        self._control()
        sizes = [sum(not _is_flag(r) for r in op.results) for op in operations]
        graph = machine_graph(self.profile, [op.family or "" for op in operations], self.edges)
        return LoopGraph(
            self.loop, self.profile, tuple(operations), graph, tuple(self.carriers), tuple(sizes),
            self.carriers,
        )

    # ------------------------------------------------------------- registers

    def _registers(self) -> None:
        last: dict[Register, int] = {}
        for n, op in enumerate(self.operations):
            for r in op.results:
                last[r] = n
        writer: dict[Register, int] = {}  # up to here: a template may write a temporary twice
        for n, op in enumerate(self.operations):
            for r in dict.fromkeys(op.reads):
                here = writer.get(r)
                source = (here, 0) if here is not None else self._source(r, last)
                if source is not None:
                    self._carry(source[0], n, r, source[1])
            for r in op.results:
                writer[r] = n

    def _source(self, register: Register, writer: dict[Register, int]) -> tuple[int, int] | None:
        """Who writes a register that the body reads, and how many iterations before."""
        distance = 0
        current: Register | None = register
        while current is not None and distance <= 8:
            n = writer.get(current)
            if n is not None and distance:
                return n, distance
            value, word = current
            if not isinstance(value, Instruction) or value.block is not self.block:
                return None
            if not value.form.is_phi:
                return None
            later = [v for v, b in value.incoming if b is self.block]
            if not later or later[0] is value:
                return None
            current = self.expansion.resolve((later[0], word))
            distance += 1
        return None

    def _carry(self, source: int, target: int, register: Register, distance: int) -> None:
        a, b = self.operations[source].family or "", self.operations[target].family or ""
        guard = self.operations[target].guard == register
        key = (a, b, guard)
        cycles = self._latency.get(key)
        if cycles is None:
            cycles = self._latency[key] = edge_latency(
                self.profile, a, b, guard=guard, level=self.level, policy=self.policy
            )
        self.carriers[len(self.edges)] = register
        self.edges.append((source, target, cycles, distance))

    # ---------------------------------------------------------------- memory

    def _order(self) -> None:
        """Edges that keep memory accesses and barriers in order."""
        accesses: list[int] = []
        barriers: list[int] = []
        seen: set[Instruction] = set()
        for n, op in enumerate(self.operations):
            f = op.parent.form
            if op.parent in seen or not is_memory(self.profile, op):
                continue
            seen.add(op.parent)
            if f.sync or f.pinned or f.is_call:
                barriers.append(n)
            elif not f.invariant and not f.space.startswith("param"):
                accesses.append(n)
        for k, n in enumerate(barriers):
            self._pair(n, barriers[(k + 1) % len(barriers)], k + 1 == len(barriers))
            for m in accesses:
                self._pair(m, n, m > n)
                self._pair(n, m, n > m)
        writers = [n for n in accesses if self.operations[n].parent.form.writes]
        if not writers:
            return
        if len(writers) * len(accesses) > MAX_PAIRS:
            for a, b in zip(accesses, accesses[1:] + accesses[:1], strict=True):
                self._pair(a, b, a >= b)
            return
        written = set(writers)
        for a in accesses:
            for b in accesses if a in written else writers:
                self._memory(a, b)

    def _pair(self, a: int, b: int, next_iteration: bool) -> None:
        if a != b or next_iteration:
            self.edges.append((a, b, 1, int(next_iteration)))

    def _memory(self, a: int, b: int) -> None:
        """The order from access a to access b, in this iteration or a later one."""
        if self.alias is None:
            self.alias = Analyses.of(self.block.function).alias
        first, second = self.operations[a].parent, self.operations[b].parent
        if a != b and not self.alias.depend(first, second):
            after = self.alias.distance(first, second, self.loop, 1)
        else:
            after = self.alias.distance(first, second, self.loop, int(b <= a))
        if after.iterations is not None and after.iterations < FAR:
            self.edges.append((a, b, 1, after.iterations))

    # --------------------------------------------------------------- control

    def _control(self) -> None:
        if trip_count(self.loop) is not None:
            return
        branches = [n for n, op in enumerate(self.operations) if op.parent.form.terminator]
        for n, op in enumerate(self.operations):
            f = op.parent.form
            if (f.writes or f.reads or f.pinned) and is_memory(self.profile, op):
                self.edges.extend((b, n, 1, 1) for b in branches)


def is_memory(profile: Profile, op: MachineInstruction) -> bool:
    """Whether an operation accesses memory, or orders accesses, of its PTX instruction."""
    f = op.parent.form
    if not (f.reads or f.writes or f.sync or f.pinned or f.is_call):
        return False
    return f.is_call or profile.units[profile.operation(op.family or "").unit].ordered


def _is_flag(register: Register) -> bool:
    value = register[0]
    return value.is_predicate if isinstance(value, Temporary) else value.type.bits == 1


def variant(expansion: Expansion, phis: AbstractSet[Value]) -> list[MachineInstruction]:
    """The operations that each iteration has to run again, given the phis inside the loop.

    A pure operation whose operands all come from outside is hoisted, and so on with its readers;
    of an instruction with a slow path what reads literals alone.
    """
    whole = {op.parent for op in expansion.operations if op.family == "BSSY"}
    made: set[Register] = set()
    kept: list[MachineInstruction] = []
    for op in expansion.operations:
        if op.rare:
            continue
        varies = any(r in made or r[0] in phis for r in op.reads)
        stays = op.parent in whole and (op.reads or op.family in _BRACKETS)
        if varies or not op.parent.form.pure or stays:
            made.update(op.results)
            kept.append(op)
    return kept


_BRACKETS = ("BSSY", "BRA", "BSYNC")  # of a slow path


def graph_dot(found: LoopGraph, times: Iterable[int] | None = None) -> str:
    """The graph in DOT: registers on the edges, edges to later iterations dashed with distance."""
    when = list(times) if times is not None else None
    out = ["digraph body {", '  node [shape=box, fontname="Courier", fontsize=10];',
           '  edge [fontname="Courier", fontsize=9];']
    for n, op in enumerate(found.operations):
        at = f"{when[n]}: " if when is not None else ""
        out.append(f'  n{n} [label="{at}{op.family}\\n{_quoted(op.parent.form.spelling)}"];')
    for k, (src, dst, latency, distance) in enumerate(found.graph.edges):
        name = found.edge_name(k)
        style = ", style=dashed, constraint=false" if distance else ""
        kind = "" if name is not None else ", color=gray50"
        far = f" +{distance}" if distance else ""
        label = _quoted(f"{name or 'order'} {latency}{far}")
        out.append(f'  n{src} -> n{dst} [label="{label}"{style}{kind}];')
    return "\n".join([*out, "}"]) + "\n"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
