"""Machine profiles: what one SM issues, on which pipes, how soon, with which limits.

A profile is data, one file an architecture (`profiles/*.json`); every figure carries its source.

    family ──families──▶ unit ──units──▶ any of these pipes, cycles busy, row, column ──latency──▶
    FFMA                 fma             FMA, FMAlite        2            fma          4, 5 …

The view is that of one of the SM's sub-partitions. It issues `issue_width` warp instructions a
cycle (None: no limit, as in the notes' profile). An operation keeps one unit of one of its pipes
busy for `interval` cycles; on a pipe that the sub-partitions share, the interval is the fair share
of a busy SM. An operation with several pipes takes whichever is free: moves and two-input adds run
on ALU or FMA, FP32 on both halves of the FMA pipe from sm_86 on.

Cost     a profile is read and checked once (about 1 ms); lookups are one dictionary access.
Source   each figure's own; the keys are spelled out in `Profile.sources`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import attrs

from nvir.ir.errors import NvirError, Unsupported

if TYPE_CHECKING:  # both cost more to import than all of this
    from fractions import Fraction
    from pathlib import Path

FOLDER = os.path.join(os.path.dirname(__file__), "profiles")
_BASE = "common"  # what profiles extend, itself no machine
_PLAIN = re.compile(r"sm_(\d{2,3})$")


def _order(name: str) -> tuple[bool, int, str]:
    match = _PLAIN.match(name)
    return match is None, int(match[1]) if match else 0, name


def _found() -> tuple[str, ...]:
    """The names of the profiles that lie in the folder: architectures first, older ones before."""
    names = (f.removesuffix(".json") for f in os.listdir(FOLDER) if f.endswith(".json"))
    return tuple(sorted((n for n in names if n != _BASE), key=_order))


PROFILES = _found()

MEMORY_LEVELS = ("l1", "l2", "dram")

# What the code that the assembler makes depends on; a profile says which of these it has.
FEATURES = {
    "half_minmax": "f16 and bf16 have minimum and maximum",
    "adds_negated": "a negated copy is an addition, a move before",
    "bf16_arithmetic": "bf16 has sums and products of its own; before, a fused one serves",
    "barrier_unit": "barrier objects in shared memory have operations of their own (SYNCS)",
    "barriers_by_register": "a barrier's number is read from its register, not moved first",
    "branch_gap": "some cycles pass between the issues before and behind a taken branch",
    "clusters": "fences reach the blocks of a cluster",
    "constant_loads": "addresses and constants are loaded from the bank, not operands of a move",
    "conversions_in_alu": "integers become f32, and f32 becomes tf32, in the ALU",
    "deep_dmma": "one matrix operation of f64 takes more than four columns",
    "gathers_lanes": "the lanes of a mask are gathered by one operation, not by a loop",
    "literals_in_dots": "a dot product of bytes takes a literal",
    "literals_in_operations": "64-bit literals stand in operations, if their low half is zero",
    "packed_minmax": "pairs of 16-bit integers have minimum and maximum",
    "shared_window": "an address of shared memory is made with the base of its window",
    "uniform_handles": "handles of textures are brought to uniform registers",
    "mixed_half": "f32 and f16 are added without a conversion",
    "swap_tells": "a compare-and-swap of shared memory tells whether it succeeded",
    "three_input_minmax": "f32 has a minimum and maximum of three",
    "uniform_reductions": "a warp's minimum and maximum run in the uniform data path",
    "fp8_matrix": "matrix operations of 8-bit floats",
}


@attrs.frozen
class Pipe:
    """`units` equal units, in each sub-partition or (`shared`) for the whole SM."""

    name: str
    units: int
    shared: bool
    src: str


@attrs.frozen
class Unit:
    """How a group of operations runs: any of `pipes`, busy `interval` cycles.

    `rate` (multiply-adds a cycle) refines the interval of matrix operations by their shape.
    `writes` and `reads` are the row and the column of the latency table. What the section `kinds`
    says of a unit holds for all machines that extend the profile:

    latency_class  the documented class of its operations (`nvir.sm.latency`)
    noted_class    the same as the notes have it, whatever a user's file says
    widens         operations of 64 and 128 bits are of the class for wide memory instead
    long           its latency is capped at 64 cycles, not 32, in documented schedules
    late           reads its sources some cycles after it issues
    ordered        accesses memory, or orders accesses
    """

    name: str
    pipes: tuple[str, ...]
    interval: int
    rate: int | None
    writes: str
    reads: str
    src: str
    latency_class: int = 14  # matrix units
    noted_class: int = 14
    widens: bool = False
    long: bool = False
    late: bool = False
    ordered: bool = False


@attrs.frozen
class Operation:
    """One machine operation as a profile runs it; `variable`: its result signals a scoreboard."""

    name: str
    unit: str
    pipes: tuple[str, ...]
    interval: int
    variable: bool


@attrs.frozen
class LatencyRow:
    """Cycles from issue to the earliest issue of a consumer, by the consumer's column.

    `levels` are those of memory: a hit in l1, in l2, in dram. `variable` results signal a
    scoreboard; their figure is what is typical without contention.
    """

    to: Mapping[str, int]
    levels: Mapping[str, int]
    variable: bool
    src: str


@attrs.frozen
class Limits:
    """What bounds the blocks on an SM. Sizes are bytes, registers are 32-bit."""

    subpartitions: int
    warp_size: int
    registers_per_sm: int
    registers_per_block: int
    register_unit: int  # a warp's registers are rounded up to this
    max_registers_per_thread: int  # of the instruction set
    accepted_registers_per_thread: int  # by NVIDIA's occupancy calculator
    max_threads_per_block: int
    max_threads_per_sm: int
    max_blocks_per_sm: int
    shared_per_sm: int
    shared_per_block: int  # without opt-in
    shared_per_block_optin: int
    shared_reserved_per_block: int
    shared_unit: int
    shared_carveouts: tuple[int, ...]
    barriers_per_sm: int
    barriers_bind: bool

    @property
    def max_warps_per_sm(self) -> int:
        return self.max_threads_per_sm // self.warp_size


@attrs.frozen
class RegisterBanks:
    """The notes' seven classes of physical registers, split by rising bounds.

    They are a table of their own: pipe widths (4, 4, 1, 1, 2, 1, 1) do not rise, so they cannot be
    the bounds. Class 5 is that of the tensor pipe.

    tensor_mode     of the gate of class 5: 0 closed, 1 open unless `tensor_blocked`, else open
    """

    bounds: tuple[int, ...]
    src: str = ""
    tensor_mode: int = 0
    tensor_blocked: bool = False

    TENSOR = 5

    def __attrs_post_init__(self) -> None:
        if len(self.bounds) != 7 or any(a >= b for a, b in pairwise(self.bounds)):
            raise NvirError(f"register banks: not seven rising bounds: {list(self.bounds)}")

    def classify(self, register: int) -> tuple[int, int]:
        """The bank class of a register and its offset there; below the first bound, class 0."""
        for bank in range(1, len(self.bounds)):
            if register < self.bounds[bank]:
                return bank - 1, register - self.bounds[bank - 1]
        return 6, register - self.bounds[6]


_Index = dict[str, list[tuple[frozenset[str], str]]]


@attrs.frozen(eq=False)
class Profile:
    """One architecture. Read it with `profile(name)`; never changed afterwards."""

    name: str
    title: str
    capability: int  # 10 · major + minor
    features: frozenset[str]  # of `FEATURES`
    issue_width: int | None
    pipes: Mapping[str, Pipe]
    units: Mapping[str, Unit]
    families: Mapping[str, str]  # operation family -> unit
    latencies: Mapping[str, LatencyRow]
    machine: Mapping[str, float]
    memory: Mapping[str, float]
    limits: Limits
    banks: RegisterBanks
    sources: Mapping[str, str]
    figure_sources: Mapping[str, str]  # "occupancy.max_blocks_per_sm" -> source
    class_pipes: Mapping[int, str] = attrs.field(factory=dict)  # latency class -> pipe, if noted
    _known: dict[str, Operation] = attrs.field(init=False, factory=dict, repr=False)
    _index: _Index = attrs.field(init=False, repr=False)

    @_index.default
    def _by_opcode(self) -> _Index:
        """Opcode -> (modifiers that a family asks for, its unit), most modifiers first."""
        index: _Index = {}
        for family, unit in self.families.items():
            opcode, *modifiers = family.split(".")
            index.setdefault(opcode, []).append((frozenset(modifiers), unit))
        for entries in index.values():
            entries.sort(key=lambda entry: -len(entry[0]))
        return index

    def operation(self, name: str) -> Operation:
        """How the operation `name` (a SASS mnemonic such as `HMMA.16816.F32`) runs.

        The family that shares the most modifiers with it decides. Raises `Unsupported` for an
        operation that this machine does not have.
        """
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._describe(name)
        return found

    def has(self, name: str) -> bool:
        """Is `name` an operation of this machine?"""
        try:
            self.operation(name)
        except Unsupported:
            return False
        return True

    def latency(
        self, producer: str, consumer: str | None = None, *, guard: bool = False, level: str = "l1"
    ) -> int:
        """Cycles from the issue of `producer` to the earliest issue of a reader of its result.

        `consumer` is the reading operation (None: any), `guard`: it reads a predicate that guards
        it; `level` is where a load hits.
        """
        if level not in MEMORY_LEVELS:
            raise NvirError(f"unknown memory level {level!r} (known: {', '.join(MEMORY_LEVELS)})")
        row = self.latencies[self.units[self.operation(producer).unit].writes]
        if row.levels:
            return row.levels[level]
        column = "any"
        if guard:
            column = "guard"
        elif consumer is not None:
            column = self.units[self.operation(consumer).unit].reads
        return row.to.get(column, row.to["any"])

    def _describe(self, name: str) -> Operation:
        opcode, *modifiers = name.split(".")
        present = set(modifiers)
        fitting = (unit for wanted, unit in self._index.get(opcode, ()) if wanted <= present)
        unit = self.units.get(next(fitting, ""))
        if unit is None:
            raise Unsupported(f"machine operation {name}", self.name)
        interval = unit.interval
        if unit.rate and (work := multiply_adds(name, self.limits.subpartitions)):
            interval = max(1, -(-work // unit.rate))
        variable = self.latencies[unit.writes].variable
        return Operation(name, unit.name, unit.pipes, interval, variable)


_WARP_SHAPE = re.compile(r"^(16|8)(8)(\d{1,3})$")
_GROUP_SHAPE = re.compile(r"^(\d+)x(\d+)x(\d+)$")


def multiply_adds(name: str, subpartitions: int = 4) -> int:
    """Multiply-adds of one sub-partition in a matrix operation, from the shape in its name.

    `16816` is one warp's m16 n8 k16; `64x128x16` is a warp group's, a quarter of it each. 0 if the
    name has no shape.
    """
    for part in name.split("."):
        if match := _WARP_SHAPE.match(part):
            m, n, k = map(int, match.groups())
            return m * n * k
        if match := _GROUP_SHAPE.match(part):
            m, n, k = map(int, match.groups())
            return m * n * k // subpartitions
    return 0


@attrs.frozen
class ResourceBound:
    """The resource-constrained bound on cycles an iteration, and what binds it.

    `pipe` names the binding pipe, several joined by `+` where operations may take any of them, or
    `issue`; `busy` cycles of it are spread over `units`.
    """

    busy: int
    units: int
    pipe: str | None

    @property
    def cycles(self) -> int:
        """Whole cycles, at least 1."""
        return max(1, -(-self.busy // self.units))

    @property
    def exact(self) -> Fraction:
        """The bound before rounding."""
        from fractions import Fraction

        return Fraction(self.busy, self.units)


def resource_bound(profile: Profile, operations: Iterable[str]) -> ResourceBound:
    """ResMII of a loop body of these machine operations on one sub-partition.

    For a set of pipes, the operations that can run nowhere else need the sum of their busy cycles
    over the units of the set; the largest such quotient binds. Sets that matter are unions of the
    alternatives that occur, so there are few. Operations that take no pipe only use issue slots.
    """
    from nvir.sm.mii import critical_pipes

    found = [profile.operation(name) for name in operations]
    units = {name: pipe.units for name, pipe in profile.pipes.items()}
    pipe = critical_pipes([(o.pipes, o.interval) for o in found], units)
    best = ResourceBound(0, 1, None)
    if pipe is not None and pipe.uses:
        best = ResourceBound(pipe.uses, pipe.units, pipe.resource)
    width = profile.issue_width
    if width and len(found) * best.units > best.busy * width:
        best = ResourceBound(len(found), width, "issue")
    return best


# One object a profile and process: the schedulers key their caches by it.
_CACHE: dict[str, Profile] = {}

_TARGET = re.compile(r"^(?:sm|compute)_(\d{2,3})[af]?$")


def profile(name: str | Path) -> Profile:
    """The profile of an architecture, or of a user's JSON file.

    `name` is one of `PROFILES`, a PTX target such as `sm_90a` or `compute_80`, or a path (any path
    object; a string with a slash or ending in `.json`). Raises `NvirError` for an architecture
    without a profile, with the nearest names, and `ParseError` for a file, naming each bad key.
    """
    from pathlib import Path

    from nvir.sm.profile_file import is_path, read_builtin, read_user

    if not isinstance(name, str) or is_path(name):
        return read_user(Path(name))
    known = _CACHE.get(name)
    if known is None:
        match = _TARGET.match(name)
        canonical = f"sm_{match[1]}" if match else name
        if canonical not in PROFILES:
            near = nearest(name)
            hint = f"; nearest: {', '.join(near)}" if near else ""
            raise NvirError(
                f"no machine profile for {name!r}{hint} (all: {', '.join(PROFILES)})"
            )
        if canonical not in _CACHE:
            _CACHE[canonical] = read_builtin(canonical)
        known = _CACHE[name] = _CACHE[canonical]
    return known


def profile_for(target: str) -> Profile:
    """The profile that fits a PTX target best, for targets that have none of their own.

    The newest architecture of the same major version that is no newer, else the nearest one:
    sm_103 → sm_100, sm_87 → sm_86, sm_52 → sm_70. Raises `NvirError` for what is no target at all.
    """
    match = _TARGET.match(target)
    if match is None:
        return profile(target)
    return profile(_rank(int(match[1]))[0])


def nearest(name: str) -> list[str]:
    """Up to three profile names that `name` may have meant, best first."""
    match = re.search(r"(\d{2,3})", name)
    if match:
        return _rank(int(match[1]))[:3]
    from difflib import get_close_matches

    return get_close_matches(name, PROFILES, n=3)


def _rank(capability: int) -> list[str]:
    """Architectures by nearness: same major first, then not newer, then the smaller distance."""

    def distance(name: str) -> tuple[bool, bool, int]:
        own = int(name[3:])
        return own // 10 != capability // 10, own > capability, abs(own - capability)

    return sorted((n for n in PROFILES if _PLAIN.match(n)), key=distance)
