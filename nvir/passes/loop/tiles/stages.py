"""Stage descriptors: what each stage of a pipelined tile loop copies, computes and waits for.

A descriptor for each buffer of the ring, kept in a table that grows when a depth needs more than it
has room for. The listing is the two loops that the pipeliner sees in one:

    For Dma Loop
      stage 0  mask 0x1  buffer +0     4 copies of 16 bytes  group 0  …
    For Math Loop
      stage 0  mask 0x1  buffer +0     8 reads  waits for group 0, 1 pending

Source   the notes on sub_92C240; GAP-47 (dataclasses in place of its offsets).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from nvir.passes.loop.tiles.recognise import TileLoop

SCOREBOARDS = 6  # of a warp
ROOM = 8  # descriptors that a table has room for at first


@attrs.frozen
class StageDescriptor:
    """One stage of the ring.

    index, mask   number, and the bit of it
    buffers       (variable, offset in bytes) of each tile
    copies        bytes of each asynchronous copy of a thread, in order
    stores        stores of the loading part that remain stores
    reads         accesses of the arithmetic
    scoreboard    which tracks the copies
    pending       groups that may be under way when the arithmetic of the stage begins
    fills, after  the stage whose copies are issued in its iteration, and the one before
    cycles        a tile's of the simulator, None where it says nothing
    """

    index: int
    mask: int
    buffers: tuple[tuple[str, int], ...]
    copies: tuple[int, ...]
    stores: int
    reads: int
    scoreboard: int
    pending: int
    fills: int
    after: int
    cycles: float | None = None


class StageTable:
    """Descriptors by stage. `room` doubles where a stage does not fit."""

    def __init__(self) -> None:
        self.room = ROOM
        self._rows: list[StageDescriptor] = []

    def add(self, row: StageDescriptor) -> None:
        if row.index != len(self._rows):
            raise ValueError(f"stage {row.index} follows stage {len(self._rows) - 1}")
        if row.index >= self.room:
            self.room *= 2
        self._rows.append(row)

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> StageDescriptor:
        return self._rows[index]

    def __iter__(self) -> Iterator[StageDescriptor]:
        return iter(self._rows)

    @property
    def mask(self) -> int:
        """The stages of the loop as bits."""
        return sum(r.mask for r in self._rows)


def pending_groups(stages: int, hashed: bool) -> int:
    """Groups that may be under way when a tile is waited for.

    Counted in order, all but the tile's own. `hashed`: stages share the scoreboards by their
    number, and who waits for one waits for all that younger stages have put on it.
    """
    return min(stages - 2, SCOREBOARDS - 1) if hashed else stages - 2


def describe(
    tiles: TileLoop, stages: int, *, hashed: bool = False, cycles: float | None = None
) -> StageTable:
    """The descriptors of a recognised loop at a number of stages."""
    table = StageTable()
    copies = tuple(p.size for s in tiles.stores for p in s.pieces)
    kept = sum(not s.pieces for s in tiles.stores)
    for k in range(stages):
        table.add(StageDescriptor(
            k, 1 << k, tuple((t.variable.name, k * t.stride) for t in tiles.tiles), copies, kept,
            len(tiles.reads), k % SCOREBOARDS if hashed else 0, pending_groups(stages, hashed),
            (k + stages - 1) % stages, (k - 1) % stages, cycles,
        ))
    return table


def listing(name: str, table: Sequence[StageDescriptor] | StageTable) -> str:
    """The sections `For Dma Loop` and `For Math Loop` of one loop."""
    rows = list(table)
    out = [f"Loop {name}: {len(rows)} stages", "For Dma Loop"]
    for r in rows:
        sizes = " + ".join(
            f"{r.copies.count(n)} x {n}" for n in sorted(set(r.copies), reverse=True)
        )
        kept = f", {r.stores} stores" if r.stores else ""
        out.append(
            f"  stage {r.index}  mask {r.mask:#x}  {_buffers(r)}  copies {sizes} bytes{kept}"
            f"  scoreboard {r.scoreboard}  behind the arithmetic of stage {r.index}"
        )
    out.append("For Math Loop")
    for r in rows:
        cycles = f"  {r.cycles:.0f} cycles" if r.cycles is not None else ""
        out.append(
            f"  stage {r.index}  mask {r.mask:#x}  {_buffers(r)}  reads {r.reads}"
            f"  waits for stage {r.index}, {r.pending} pending"
            f"  issues copies of stage {r.fills}{cycles}"
        )
    return "\n".join(out) + "\n"


def _buffers(r: StageDescriptor) -> str:
    return ", ".join(f"{name}+{at}" for name, at in r.buffers)
