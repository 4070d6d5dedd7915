"""`nvir exec --stats`: what each source line costs, in the columns of Nsight Compute's source page.

    warps      instructions executed, a warp each time
    threads    threads that took part in one, of 32: what divergence leaves
    sectors    sectors of 32 bytes that a warp's access of global memory touches, and how many it
               would need if its bytes lay side by side
    conflicts  wavefronts of shared memory beyond those that the bytes need: bank conflicts

Method   every access of a launch is looked at as it happens, as the checks do; an access of 8 or 16
         bytes a thread goes in two or four parts. Counted by PTX line where there is no line table.
Cost     launches take about three times as long.
"""

from __future__ import annotations

import sys
from typing import Any

import attrs
import numpy as np

from nvir.interp.checks import Watch
from nvir.interp.layout import Array


@attrs.define
class LineCost:
    """The sums of one line."""

    warps: int = 0
    threads: int = 0
    sectors: int = 0
    ideal: int = 0
    requests: int = 0
    conflicts: int = 0


class AccessCounter(Watch):
    """Counts the accesses of a wave between two traced instructions."""

    def __init__(self, wave: Any, check: tuple[str, ...]) -> None:
        super().__init__(wave, "uninit" in check, "race" in check)
        self.cost = LineCost()

    def on_load(self, c: Any, parts: Any, pos: Array | None, access: Any) -> None:
        self._count(c, parts, pos, access)
        super().on_load(c, parts, pos, access)

    def on_store(self, c: Any, parts: Any, pos: Array | None, access: Any) -> None:
        self._count(c, parts, pos, access)
        super().on_store(c, parts, pos, access)

    def on_atomic(self, c: Any, parts: Any, pos: Array | None, access: Any) -> None:
        self._count(c, parts, pos, access)
        super().on_atomic(c, parts, pos, access)

    def _count(self, c: Any, parts: Any, pos: Array | None, access: Any) -> None:
        for region, offsets, which in parts:
            lanes = self._lanes(c, offsets, which, pos)
            if len(lanes) != len(offsets):
                continue
            warps = self.wave.warp_of[lanes]
            if region is self.wave.shared:
                self._shared(warps, self.wave.lane_id[lanes], offsets, access.bytes)
            elif region is self.wave.arena:
                self._global(warps, offsets, access.bytes)

    def _global(self, warps: Array, offsets: Array, size: int) -> None:
        self.cost.sectors += _pairs(warps, offsets >> 5)
        count = np.bincount(warps)
        self.cost.requests += int(np.count_nonzero(count))
        self.cost.ideal += int((-(-count * size // 32)).sum())

    def _shared(self, warps: Array, lanes: Array, offsets: Array, size: int) -> None:
        words = max(size // 4, 1)
        part = warps * words + lanes * words // 32
        word = (offsets[:, None] >> 2) + np.arange(words)
        keys = np.unique(np.stack((np.repeat(part, words), word.reshape(-1)), 1), axis=0)
        banks = np.bincount(keys[:, 0] * 32 + keys[:, 1] % 32)
        banks = np.append(banks, np.zeros(-len(banks) % 32, banks.dtype)).reshape(-1, 32)
        most = banks.max(axis=1)
        self.cost.conflicts += int(most.sum() - np.count_nonzero(most))


def _pairs(a: Array, b: Array) -> int:
    """How many different pairs there are."""
    return len(np.unique(np.stack((a.astype(np.int64), b), 1), axis=0))


class Observer:
    """The costs of a session's launches by kernel and line."""

    def __init__(self, check: tuple[str, ...]) -> None:
        self.check = check
        self.lines: dict[tuple[str, str], LineCost] = {}
        self.launches: dict[str, int] = {}

    def watch(self, wave: Any) -> AccessCounter:
        """What a wave shows its accesses to."""
        return AccessCounter(wave, self.check)

    def trace(self, c: Any, i: Any, values: Any) -> None:
        """Called after each instruction of a group of lanes."""
        del values
        wave = c.wave
        program = wave.program
        place = program.source_of(i) or f"PTX line {i.line}"
        key = str(program.kernel.name), place
        cost = self.lines.get(key)
        if cost is None:
            cost = self.lines[key] = LineCost()
        if c.mask is None and c.n == wave.n:
            warps = wave.n_warps
        else:
            lanes = c.lane_numbers() if c.mask is None else c.lane_numbers()[c.mask]
            warps = int(np.count_nonzero(np.bincount(wave.warp_of[lanes])))
        cost.warps += warps
        cost.threads += c.n
        seen = wave.watch.cost
        if seen.requests or seen.conflicts:
            for name in ("sectors", "ideal", "requests", "conflicts"):
                setattr(cost, name, getattr(cost, name) + getattr(seen, name))
            wave.watch.cost = LineCost()

    def launched(self, kernel: str) -> None:
        self.launches[kernel] = self.launches.get(kernel, 0) + 1

    def print(self) -> None:
        """The table, on standard error."""
        from rich.console import Console
        from rich.table import Table

        console = Console(file=sys.stderr, width=None if sys.stderr.isatty() else 120)
        for kernel, times in self.launches.items():
            table = Table(title=f"{kernel}, launched {times}×", title_justify="left", box=None)
            for title in ("line", "warps", "share", "threads", "sectors", "of", "conflicts"):
                table.add_column(title, justify="left" if title == "line" else "right")
            rows = {place: c for (k, place), c in self.lines.items() if k == kernel}
            total = sum(c.warps for c in rows.values()) or 1
            for place, c in sorted(rows.items(), key=lambda row: _line(row[0])):
                table.add_row(
                    place.rpartition("/")[2], str(c.warps), f"{100 * c.warps / total:.1f}%",
                    f"{c.threads / max(c.warps, 1):.1f}",
                    f"{c.sectors / c.requests:.1f}" if c.requests else "",
                    f"{c.ideal / c.requests:.1f}" if c.requests else "",
                    str(c.conflicts) if c.conflicts else "",
                )
            console.print(table)


def _line(place: str) -> tuple[str, int]:
    file, _, number = place.replace("PTX line ", ":").rpartition(":")
    return file, int(number)
