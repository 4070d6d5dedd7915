"""Latency classes and stall counts: the notes' classifier, and what the real machine does.

Two policies answer "how long after A may its reader B issue":

    observed   the profile's latency table: fixed latencies that ptxas encodes (ALU 4, ALU to FMA 5,
               a predicate to a guard 13), typical ones where a scoreboard waits (loads by level)
    notes      a stall table indexed by instruction, capped at 64 cycles if the pipe of operand 0 or
               1 is a long one, else at 32. Its contents are not in the notes: here they are the
               profile's figures

The notes' classifier maps an opcode and an operand to one of 13 classes, no cycle counts. It exists
twice: over Ori opcode numbers as the notes have it, with what they leave open filled in and marked
assumed, and over operation names (PTX or SASS), for those who do not number opcodes. The pipe of an
operation comes from its profile. What the notes derive from the class is the section `classes` of
the profile `sm_80_notes`, beside the seven widths; `class_resource_bound` is the ResMII of both,
for `loop-pipeline<classes>`: else operations take the pipes of their opcodes.

Cost     constant a query.
Source   the notes on ptxas, phase 24; the profiles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache

import attrs

from nvir.ir import NvirError, Op, OpKind, Unsupported
from nvir.ir.opcodes.form import find_row
from nvir.sm.profile import Profile

# -- the classes


@attrs.frozen
class LatencyClass:
    """One of the notes' 13 classes. `unit` is the unit of a profile whose latency stands for it."""

    code: int
    meaning: str
    unit: str | None


SKIP, SIMPLE, PAIRED, SPECIAL, CONVERT, MULTIPLY = 1, 6, 7, 8, 9, 10
ADDRESS, MEMORY, WIDE, DOUBLE, TEXTURE, GLOBAL, SCOREBOARD = 11, 12, 14, 16, 20, 26, 31

CLASSES = {
    row.code: row
    for row in (
        LatencyClass(SKIP, "past-end operand: not used", None),
        LatencyClass(SIMPLE, "simple ALU, bitwise, short integer", "alu"),
        LatencyClass(PAIRED, "paired registers, half precision", "fp16"),
        LatencyClass(SPECIAL, "special cases, by a table", "xu"),
        LatencyClass(CONVERT, "type conversions", "xu"),
        LatencyClass(MULTIPLY, "integer multiply, shifts, IMAD", "imad"),
        LatencyClass(ADDRESS, "address computation, LEA", "alu"),
        LatencyClass(MEMORY, "memory, FP32, barriers, atomics", "load_shared"),
        LatencyClass(WIDE, "wide memory, FP64 stores, matrices", "load_shared"),
        LatencyClass(DOUBLE, "FP64", "fp64"),
        LatencyClass(TEXTURE, "texture fetches, uniform loads", "texture"),
        LatencyClass(GLOBAL, "global loads", "load"),
        LatencyClass(SCOREBOARD, "scoreboard and barrier operands", "barrier"),
    )
}

PIPE_ALONE = 4  # of the notes' table of pipes, where no operation has it

# What an operand has that no rule names. The notes call it the default and do not give its value;
# assumed: most opcodes that pass through are simple integer ones.
DEFAULT = SIMPLE


def class_cycles(profile: Profile, code: int) -> int:
    """Typical cycles of a latency class on a machine; 0 for operands that are not used."""
    row = CLASSES.get(code)
    if row is None:
        raise NvirError(f"no latency class {code} (known: {', '.join(map(str, CLASSES))})")
    if row.unit is None:
        return 0
    return profile.latencies[profile.units[row.unit].writes].to["any"]


def unit_cycles(profile: Profile, code: int, unit: str | None) -> int:
    """Typical cycles of an operation of a class: of its own unit where that is of the class, which
    several share (uniform loads that of textures, FP32 that of memory), else those of the class."""
    if unit is None or profile.units[unit].latency_class != code:
        return class_cycles(profile, code)
    return profile.latencies[profile.units[unit].writes].to["any"]


# -- the classifier over Ori opcode numbers

OPCODE_MASK = 0xFFFF_CFFF  # bits 12 and 13 are modifiers
LAST_OPCODE = 0x15E

Rule = Callable[[int, Sequence[int], int], int]


@attrs.frozen
class Family:
    """A range of opcodes with one rule: `rule(secondary, operand words, operand index)`.

    `assumed` says what the notes leave open.
    """

    first: int
    last: int
    category: str
    rule: Rule
    assumed: str = ""


def _always(code: int) -> Rule:
    return lambda secondary, operands, index: code


def _field(secondary: int, operands: Sequence[int], index: int) -> int:
    """Operands 0 and 1: a field of operand word 4, where it holds a class."""
    if index > 1 or len(operands) <= 4:
        return MEMORY
    code = operands[4] & 31
    return code if code in CLASSES else MEMORY


def _special(secondary: int, operands: Sequence[int], index: int) -> int:
    return SPECIAL_TABLE.get(secondary, SPECIAL)


def _texture(secondary: int, operands: Sequence[int], index: int) -> int:
    return MULTIPLY if secondary & 1 else SIMPLE


def _barrier(secondary: int, operands: Sequence[int], index: int) -> int:
    return MEMORY if index == 1 else DEFAULT


def _accumulator(clear: int, set_: int) -> Rule:
    """By bit 27 of the operand's own word, the accumulator flag."""
    return lambda secondary, operands, index: set_ if operands[index] >> 27 & 1 else clear


# Stands for the notes' table dword_21E1340, whose contents they do not give: secondary opcode ->
# class. Whoever knows more may fill it in.
SPECIAL_TABLE: dict[int, int] = {}

# The first fitting row decides, so exceptions stand before the ranges that hold them.
FAMILIES = (
    Family(0x23, 0x23, "integer multiply", _always(MULTIPLY)),
    Family(0x03, 0x24, "integer ALU", _always(DEFAULT)),
    *(
        Family(o, o, "load/store", _field, "the field is the low five bits; others get 12")
        for o in (0x3C, 0x3E, 0x4E, 0x4F)
    ),
    *(
        Family(a, b, "texture", _texture, "the extended flag is bit 0 of the secondary opcode")
        for a, b in ((0x46, 0x46), (0xF3, 0x106))
    ),
    *(Family(o, o, "atomic", _always(MEMORY)) for o in (0x49, 0x4A, 0x51, 0x143, 0x15E)),
    Family(0x55, 0x55, "floating point, by table", _special, "the table is empty: 8"),
    *(Family(o, o, "barrier", _barrier) for o in (0x5B, 0x5C, 0x137)),
    Family(0x55, 0x6F, "floating point", _always(MEMORY), "FP32 is class 12 for every operand"),
    *(
        Family(o, o, "WGMMA setup", _accumulator(MULTIPLY, TEXTURE), "10 or 20, the ends of 10-20")
        for o in (0xB7, 0x120)
    ),
    Family(0x135, 0x135, "HMMA/IMMA", _always(WIDE), "its four helpers are not in the notes: 14"),
    *(
        Family(o, o, "extended floating point", _accumulator(MULTIPLY, MEMORY))
        for o in (0x13D, 0x13E)
    ),
)


_BY_OPCODE = {o: f for f in reversed(FAMILIES) for o in range(f.first, f.last + 1)}


def family_of(opcode: int) -> Family | None:
    """The family of an Ori opcode (modifier bits cleared), None where the notes name none."""
    return _BY_OPCODE.get(opcode & OPCODE_MASK)


def classify(
    opcode: int,
    secondary: int = 0,
    operands: Sequence[int] = (0, 0, 0),
    count: int | None = None,
    index: int = 0,
) -> int:
    """The latency class of operand `index` of an Ori instruction, always one of `CLASSES`.

    `operands` are encoded words; `count` is how many of them are real (default: all). An index that
    is negative or past the end gives 1; an opcode without a family gives `DEFAULT`.
    """
    count = len(operands) if count is None else min(count, len(operands))
    if not 0 <= index < count:
        return SKIP
    family = family_of(opcode)
    if family is None:
        return DEFAULT
    return family.rule(secondary, operands, index)


def operand_count(opcode: int, count: int) -> int:
    """Operands to classify: a predicated instruction (bit 12) ends with two for its guard."""
    return max(0, count - 2 * (opcode >> 12 & 1))


def register_class_latency(register_class: int, otherwise: int = DEFAULT) -> int:
    """The class that a register class brings with it: 4 is global loads, 5 and 2 uniform ones."""
    return {4: GLOBAL, 5: TEXTURE, 2: TEXTURE}.get(register_class, otherwise)


# -- the classifier over operation names

# SASS families whose class is not that of their unit
_SASS = {
    "SHF": MULTIPLY, "SHL": MULTIPLY, "SHR": MULTIPLY, "LEA": ADDRESS, "ISCADD": ADDRESS,
    "LEPC": ADDRESS, "F2I": CONVERT, "F2F": CONVERT, "I2F": CONVERT, "FRND": CONVERT,
    "I2FP": CONVERT, "I2I": CONVERT, "F2FP": PAIRED, "SYNCS": SCOREBOARD, "DEPBAR": SCOREBOARD,
    "LDGDEPBAR": SCOREBOARD, "B2R": SCOREBOARD,
}

@cache
def _classes(row: Op) -> list[tuple[frozenset[str], int]]:
    """The classes of a row by the modifiers that they need, most modifiers first."""
    default, *others = row.latency.split()
    found = [(frozenset[str](), int(default))]
    for entry in others:
        wanted, _, code = entry.partition("=")
        found += [(frozenset(w.split(".")), int(code)) for w in wanted.split(",")]
    return sorted(found, key=lambda entry: -len(entry[0]))


def latency_class(operation: str, profile: Profile | None = None) -> int:
    """The notes' class of an operation by name: `ld.global.f32` (PTX) or `LDG.E` (SASS, capitals).

    FP32, atomics and barriers are 12, global loads 26, whatever the pipe. A SASS name needs the
    profile that knows its unit. An unknown PTX mnemonic has `DEFAULT`.
    """
    if operation[0].isupper():
        if profile is None:
            raise NvirError(f"the class of {operation} needs a profile")
        return _sass_class(operation, profile)
    found = find_row(operation)
    if found is None:
        return DEFAULT
    row, modifiers = found
    return next(code for wanted, code in _classes(row) if wanted.issubset(modifiers))


def _sass_class(operation: str, profile: Profile) -> int:
    opcode, *modifiers = operation.split(".")
    if opcode in _SASS:
        return _SASS[opcode]
    unit = profile.units[profile.operation(operation).unit]
    wide = "64" in modifiers or "128" in modifiers
    return WIDE if wide and unit.widens else unit.latency_class


# Representatives of the families by the property of an operation that the notes name them by.
TEXTURE_OPCODE = 0xF3
_BY_KIND = {
    OpKind.LOAD: 0x3C, OpKind.STORE: 0x3E, OpKind.ATOMIC: 0x49, OpKind.BARRIER: 0x5B,
    OpKind.ARRIVE: 0x5B, OpKind.FENCE: 0x5B, OpKind.MATRIX: 0x135, OpKind.ASYNC_MATRIX: 0xB7,
}
_BY_CLASS = {SIMPLE: 0x03, MULTIPLY: 0x23, SPECIAL: 0x55, MEMORY: 0x56}  # of other arithmetic


def family_named(operation: str) -> Family | None:
    """The family of opcodes that an operation by name falls into; None where the notes name none:
    FP64, half precision, conversions, addresses, exchanges between lanes, asynchronous copies."""
    found = find_row(operation)
    if found is None:
        return None
    row = found[0]
    if row.memory in ("texture", "surface"):
        opcode: int | None = TEXTURE_OPCODE
    else:
        opcode = _BY_KIND.get(row.kind)
        if opcode is None and row.pure:
            code = latency_class(operation)
            bits = code == SPECIAL and row.kind not in (OpKind.SPECIAL, OpKind.DIVIDE)
            opcode = 0x03 if bits else _BY_CLASS.get(code)
    return None if opcode is None else _BY_OPCODE[opcode]


# -- stall counts


Units = tuple[str | None, str | None]  # of operands 0 and 1, where an operation makes them


def stall_cycles(
    table: int, first: int, second: int, profile: Profile, units: Units = (None, None)
) -> int:
    """The notes' stall calculator: the table's value, capped by the classes of operands 0 and 1: at
    64 where one of them is of a unit of long latency (memory, texture, special functions), else
    at 32. The notes call that unit pipe 8, which is the index of the SFU elsewhere."""
    return min(table, stall_cap(first, second, profile, units))


def stall_cap(first: int, second: int, profile: Profile, units: Units = (None, None)) -> int:
    """The most cycles of a stall by the classes of operands 0 and 1, and their units."""
    return 64 if any(map(is_long, (first, second), (profile, profile), units)) else 32


def is_long(code: int, profile: Profile, unit: str | None = None) -> bool:
    """Whether an operand is of a unit of long latency: `unit`, that of the operation that makes it,
    else that of its class. FP32 shares class 12 with memory, but not its unit (GAP-22, GAP-24)."""
    unit = unit or (CLASSES[code].unit if code in CLASSES else None)
    return unit is not None and profile.units[unit].long


def edge_latency(
    profile: Profile,
    producer: str,
    consumer: str | None = None,
    *,
    guard: bool = False,
    level: str = "l1",
    policy: str = "observed",
) -> int:
    """Latency of a dependence edge between two machine operations, in cycles.

    The arguments are those of `Profile.latency`; under policy `documented` the result is capped at
    64 for memory, texture and special functions and at 32 for others.
    """
    cycles = profile.latency(producer, consumer, guard=guard, level=level)
    if policy == "observed":
        return cycles
    if policy != "documented":
        raise Unsupported(f"policy {policy!r} (known: observed, documented)")
    return min(cycles, 64 if profile.units[profile.operation(producer).unit].long else 32)


def pipe_of_class(code: int, profile: Profile) -> str:
    """The pipe of a latency class on a machine whose profile has the notes' table."""
    found = profile.class_pipes.get(code)
    if found is None:
        known = ", ".join(map(str, profile.class_pipes))
        raise NvirError(f"no latency class {code} in profile {profile.name} (known: {known})")
    return found


def class_resource_bound(classes: Iterable[int], profile: Profile) -> int:
    """ResMII by the noted table of classes: one slot each on the pipe of its class, at least 1.

    `profile` has the table and the widths. FP32 being class 12 counts as LSU here, so the notes'
    worked example comes out as 6; the pipes of the opcodes give the 2 that they state.
    """
    counts = Counter(pipe_of_class(code, profile) for code in classes)
    return max(1, *(-(-n // profile.pipes[name].units) for name, n in counts.items()), 1)
