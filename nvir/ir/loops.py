"""Natural loops, derived from the CFG annotations.

They are worked out once for a snapshot of the annotations and shared by all who
ask, so a `Loop` is not to be changed; a pass that edits the control flow asks again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, TypeVar

import attrs

from nvir.ir.cfg import loop_headers
from nvir.ir.errors import Unsupported

if TYPE_CHECKING:
    from nvir.ir.block import Block
    from nvir.ir.function import Function

_T = TypeVar("_T")

MAX_MEMBERS = 2_000_000  # sizes of all loops of a function, in blocks; a nest of n loops has n²


@attrs.define(eq=False)
class Loop:
    """A natural loop: all back edges to one header are one loop.

    header      dominates every block of the loop
    latches     sources of its back edges
    blocks      all blocks, in reverse post-order, header first
    own         those of them that lie in no inner loop
    parent, children   the loop nest
    depth       outermost is 1
    """

    header: Block
    latches: list[Block]
    depth: int
    parent: Loop | None = None
    blocks: list[Block] = attrs.Factory(list)
    children: list[Loop] = attrs.Factory(list)
    own: list[Block] = attrs.Factory(list)
    _members: frozenset[Block] = attrs.field(default=frozenset(), init=False, repr=False)
    _exits: list[tuple[Block, Block]] | None = attrs.field(default=None, init=False, repr=False)
    _together: list[Loop] | None = attrs.field(default=None, init=False, repr=False)

    def __contains__(self, block: Block) -> bool:
        return block in self.members

    @property
    def members(self) -> AbstractSet[Block]:
        """The blocks as a set; built once."""
        if not self._members:
            self._members = frozenset(self.blocks)
        return self._members

    @property
    def exits(self) -> list[tuple[Block, Block]]:
        """Edges (inside, outside) that leave the loop."""
        together = self._together
        if together is not None and together is self.header.function._loops:  # nothing is stale
            if self._exits is None:
                _find_exits(together)
            return list(self._exits or ())
        inside = self.members
        return [(b, s) for b in self.blocks for s in b.succs if s not in inside]

    @property
    def entries(self) -> list[Block]:
        """Predecessors of the header outside of the loop."""
        inside = self.members
        return [p for p in self.header.preds if p not in inside]

    @property
    def preheader(self) -> Block | None:
        """The only block that enters the loop, if it leads nowhere else."""
        entries = self.entries
        if len(entries) == 1 and len(entries[0].succs) == 1:
            return entries[0]
        return None

    @property
    def is_innermost(self) -> bool:
        return not self.children

    def __repr__(self) -> str:
        return f"<Loop {self.header.name}, depth {self.depth}, {len(self.blocks)} blocks>"


def natural_loops(function: Function) -> list[Loop]:
    """All natural loops, outer before inner, in reverse post-order of their headers.

    Linear in the sizes of the loops (a block counts once for each loop around it); when asked
    again on the same annotations, in the number of loops. Raises Unsupported for a function whose
    loops have more than MAX_MEMBERS blocks together, as absurdly deep nests do.
    """
    rpo = function.rpo
    if function._loops is None:
        function._loops = _find_loops(function, rpo)
    return list(function._loops)


def _find_loops(function: Function, rpo: list[Block]) -> list[Loop]:
    latches: dict[int, list[int]] = {}
    for source, headers in function.back_edges.items():
        for target in headers:
            latches.setdefault(target._rpo_index, []).append(source._rpo_index)
    if not latches:
        return []
    if sum(b._loop_depth for b in rpo) > MAX_MEMBERS:
        deepest = max(b._loop_depth for b in rpo)
        raise Unsupported(f"loops nested {deepest} deep", where=f"function {function.name}")
    preds = [[p._rpo_index for p in b._preds if p._rpo_index >= 0] for b in rpo]
    header, parent = loop_headers(preds, latches)
    loops: dict[int, Loop] = {}
    for h in sorted(latches):
        above = loops.get(parent[h])
        loop = Loop(
            rpo[h], [rpo[s] for s in sorted(latches[h])], above.depth + 1 if above else 1, above
        )
        if above:
            above.children.append(loop)
        loops[h] = loop
    for k, h in enumerate(header):
        loop_of: Loop | None = loops.get(h)
        if loop_of is not None:
            loop_of.own.append(rpo[k])
        while loop_of is not None:
            loop_of.blocks.append(rpo[k])
            loop_of = loop_of.parent
    found = [loops[h] for h in sorted(loops)]
    for x in found:
        x._together = found
    return found


def innermost_of(loops: Iterable[Loop]) -> dict[Block, Loop]:
    """The innermost loop of each block that is in one."""
    return {b: x for x in loops for b in x.own}


def _find_exits(loops: Sequence[Loop]) -> None:
    """The exits of all loops of a function: each edge climbs from the loop of its source to the one
    that holds its target as well."""
    innermost = innermost_of(loops)
    edges: dict[Loop, list[tuple[Block, Block]]] = {x: [] for x in loops}
    for b, home in innermost.items():
        for s in b.succs:
            inside: Loop | None = home
            around = innermost.get(s)
            while inside is not None and inside is not around:
                if around is not None and around.depth > inside.depth:
                    around = around.parent
                else:
                    edges[inside].append((b, s))
                    inside = inside.parent
    for x, found in edges.items():
        x._exits = sorted(found, key=lambda e: e[0]._rpo_index)


def over_blocks(
    loops: Sequence[Loop], of: Callable[[Block], _T], join: Callable[[list[_T]], _T]
) -> dict[Loop, _T]:
    """A figure of each of a function's loops, joined from those of its blocks: each block is looked
    at once, however many loops it lies in. `loops` as `natural_loops` gives them."""
    found: dict[Loop, _T] = {}
    for x in reversed(loops):
        found[x] = join([*map(of, x.own), *(found[c] for c in x.children)])
    return found
