"""Cycles of a `MachineBody`: a loop's iteration, and a kernel as a whole.

    body_stream(body, profile, loop)     one iteration as the simulator runs it; without a loop,
                                         the code outside of all loops
    body_time(body, profile, warps=8)    cycles of one warp from entry to exit, and what a
                                         sub-partition needs for each warp while it holds eight

Real code waits as it says: so many cycles behind each instruction (stall counts), and for the
scoreboards of its wait mask. A prediction has neither; a reader waits for the latency of what it
reads. Loads take as long as a hit in MEMORY_LEVEL unless asked otherwise.

Of several ways through a loop the longest is taken, routines that are called aside (they are the
slow paths of divisions and the like). A loop runs as often as the lines of the text in it do,
`line_frequencies`: a line that stands there four times (an unrolled loop) runs at a quarter of its
frequency.

Cost    that of `simulate`: about 2 us an issue until the run repeats itself, for each loop.
Source  read barriers: R. Huerta et al., "Analyzing Modern NVIDIA GPU Cores", 2025, table 2
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from statistics import median, median_high

import attrs

from nvir.analysis.induction import trip_count
from nvir.ir.function import Function
from nvir.ir.loops import natural_loops
from nvir.sm.body import BodyInstruction, BodyLoop, MachineBody, Span, body_path
from nvir.sm.profile import Profile
from nvir.sm.simulate.engine import throughput
from nvir.sm.simulate.memory import MEMORY_LEVEL
from nvir.sm.simulate.stream import Kind, Slot, Stream, Wait, balanced, slot

UNKNOWN_TRIPS = 16.0  # of a loop whose count nothing says
OPERANDS_READ = 11  # cycles from the issue of an access until its registers may be written
_ITERATIONS = 8
_LEFT = re.compile(r"SB(\d), 0x([0-9a-f]+)")


@attrs.frozen
class LoopTime:
    """Cycles of one iteration: of one warp alone, and of the sub-partition for each warp of many.

    `runs` is how often a thread of the kernel runs an iteration.
    """

    header: int
    one_warp: float
    full: float
    runs: float


@attrs.frozen
class BodyTime:
    """Cycles of one run of a kernel: of one warp alone, and of the sub-partition for each warp
    while it holds `warps`; and those of its loops, by their headers' blocks."""

    one_warp: float
    full: float
    warps: int
    loops: Mapping[int, LoopTime]


def body_time(
    body: MachineBody, profile: Profile, *, warps: int,
    frequencies: Mapping[int, float] | None = None, memory: str = MEMORY_LEVEL,
) -> BodyTime:
    """Cycles of a kernel on a sub-partition that holds `warps` warps of it.

    `frequencies` is how often a thread runs each line of the text (`line_frequencies`); a loop
    none of whose lines is there runs UNKNOWN_TRIPS times. Raises NvirError for an unknown memory
    level.
    """
    runs = _runs(body, frequencies or {})
    found = {}
    one = full = 0.0
    for loop in (None, *body.loops):
        stream = body_stream(body, profile, loop)
        if stream.slots:
            alone = _cycles(stream, 1, memory)
            many = alone if warps == 1 else _cycles(stream, warps, memory)
            one += runs[loop] * alone
            full += runs[loop] * many
            if loop is not None:
                found[loop.header] = LoopTime(loop.header, alone, many, runs[loop])
    return BodyTime(one, full, warps, found)


def _cycles(stream: Stream, warps: int, memory: str) -> float:
    return throughput(stream, warps=warps, iterations=_ITERATIONS, memory=memory)


def line_frequencies(function: Function) -> dict[int, float]:
    """How often a thread runs each line of the text, branches other than those of loops aside.

    A loop whose count is unknown or a symbol is taken to run UNKNOWN_TRIPS times.
    """
    if function.cfg_state != "fresh":
        function.analyze_cfg()
    runs = dict.fromkeys(function.blocks, 1.0)
    for loop in natural_loops(function):
        trip = trip_count(loop)
        count = trip.count if trip is not None else None
        for b in loop.blocks:
            runs[b] *= UNKNOWN_TRIPS if count is None else max(1, count)
    return {i.line: n for b, n in runs.items() for i in b if i.line}


def _runs(
    body: MachineBody, frequencies: Mapping[int, float]
) -> dict[BodyLoop | None, float]:
    """How often a thread runs an iteration of each loop."""
    copies = body.copies
    runs: dict[BodyLoop | None, float] = {None: 1.0}
    for loop in body.loops:  # outer before inner
        around = runs[loop.parent]
        mine = copies[loop]
        rates = [frequencies[n] / k for n, k in mine.items() if n in frequencies]
        runs[loop] = max(around, median(rates) if rates else around * UNKNOWN_TRIPS)
        for main, theirs in copies.items():  # does this loop the rest of an unrolled one's count?
            shared = mine.keys() & theirs.keys()
            if main.parent is loop.parent and 2 * len(shared) > len(mine):
                times = median_high(theirs[n] / mine[n] for n in shared)
                if times > 1:
                    runs[loop] = min(runs[loop], around * max(1.0, (times - 1) / 2))
    return runs


# ---------------------------------------------------------------------------- the stream


def body_stream(body: MachineBody, profile: Profile, loop: BodyLoop | None = None) -> Stream:
    """One iteration of a loop, or a run through what is outside of all loops."""
    code = [i for b in body_path(body, loop) for i in body.blocks[b].instructions]
    return code_stream(code, profile, repeats=loop is not None)


def code_stream(
    code: Sequence[BodyInstruction], profile: Profile, *, repeats: bool = True,
    encoded: bool = True,
) -> Stream:
    """Instructions that run one behind the other; `repeats`: and then from the first again.

    Without `encoded` real code waits as a prediction does, for the latencies of what it reads.
    """
    encoded = encoded and any(i.control for i in code)
    found = (_scoreboard_waits if encoded else _register_waits)(code, profile, 1 + repeats)
    slots = []
    for n, i in enumerate(code):
        stall = i.control.stall if encoded and i.control is not None else 0
        kind = _kind(i, repeats and n == len(code) - 1)
        made = Slot(i.opcode, waits=tuple(found[n]), kind=kind)
        if profile.has(i.opcode):
            made = slot(profile, i.opcode, found[n], kind=kind, width=_bytes(i.opcode))
        slots.append(attrs.evolve(made, stall=stall))
    return Stream(profile, balanced(slots, profile))


def stall_sum(code: Iterable[BodyInstruction]) -> int:
    """The cycles that the stall counts of real code encode, waits for scoreboards aside."""
    return sum(i.control.stall for i in code if i.control is not None)


def awaited(i: BodyInstruction) -> dict[int, int]:
    """The scoreboards that real code waits for, and how many users of each may be left."""
    mask = i.control.wait_mask if i.control is not None else 0
    left = {b: 0 for b in range(6) if mask >> b & 1}
    if i.family == "DEPBAR" and (found := _LEFT.search(i.text)):
        left[int(found[1])] = int(found[2], 16)
    return left


def _kind(i: BodyInstruction, last: bool) -> Kind:
    if last and i.family in ("BRA", "BRX", "JMP"):
        return "branch"
    return "barrier" if i.opcode.startswith("BAR.SYNC") else "math"


def _bytes(opcode: str) -> int:
    """Bytes a lane that an access moves."""
    for part in opcode.split(".")[1:]:
        if part in _BYTES:
            return _BYTES[part]
    return 4


_BYTES = {"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}


def _register_waits(
    code: Sequence[BodyInstruction], profile: Profile, rounds: int
) -> list[list[Wait]]:
    """What a prediction waits for: who wrote last what it reads."""
    waits: list[list[Wait]] = [[] for _ in code]
    writer: dict[Span, tuple[int, int]] = {}
    for turn in range(rounds):
        for n, i in enumerate(code):
            for r in dict.fromkeys(_words(i.reads)) if turn == rounds - 1 else ():
                source, when = writer.get(r, (-1, 0))
                if source >= 0:
                    cycles = _latency(code[source].opcode, i.opcode, r == i.guard, profile)
                    waits[n].append(Wait(source, turn - when, cycles))
            writer.update(dict.fromkeys(_words(i.writes), (n, turn)))
    return waits


def _latency(producer: str, consumer: str | None, guard: bool, profile: Profile) -> int:
    if not profile.has(producer):
        return 1
    known = consumer if consumer is not None and profile.has(consumer) else None
    return profile.latency(producer, known, guard=guard)


def _words(spans: Iterable[Span]) -> Iterable[Span]:
    for file, first, words in spans:
        for k in range(words):
            yield Span(file, first + k, 1)


def _scoreboard_waits(
    code: Sequence[BodyInstruction], profile: Profile, rounds: int
) -> list[list[Wait]]:
    """What real code waits for: the scoreboards of its mask, and those of DEPBAR."""
    waits: list[list[Wait]] = [[] for _ in code]
    under_way: list[list[tuple[int, int, bool]]] = [[] for _ in range(8)]
    for turn in range(rounds):
        for n, i in enumerate(code):
            if i.control is None:
                continue
            for b, remain in awaited(i).items():
                some = under_way[b]
                done, under_way[b] = some[: len(some) - remain], some[len(some) - remain :]
                if turn == rounds - 1:
                    waits[n] += [
                        Wait(m, turn - when, OPERANDS_READ, True) if operands
                        else Wait(m, turn - when, _latency(code[m].opcode, None, False, profile))
                        for m, when, operands in done
                    ]
            for k, operands in ((i.control.read_barrier, True), (i.control.write_barrier, False)):
                if k is not None:
                    under_way[k].append((n, turn, operands))
    return [list(dict.fromkeys(w)) for w in waits]
