"""Rules of a spelling: modifiers that go together, counts and shapes of operands, ages.

Each function gives the message, or None where nothing is wrong.

Source   PTX ISA 9.0, and what ptxas 13.0 accepts of each combination (tests/ptx/test_kinds.py).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from nvir.ir import (
    SCALARS,
    Op,
    capability,
)
from nvir.ir.opcodes import ADDRESS, USE, OpKind
from nvir.ir.opcodes.form import Form, assign_operands, operand_parts
from nvir.ir.opcodes.legal import (
    APART,
    BEHIND_NAME,
    COMBINES,
    COORDINATES,
    IN_BRACES,
    LAYOUTS,
    MACHINES,
    SPACES,
    VECTORS,
    Combination,
    ages,
    combinations,
    fragments,
    matrix_registers,
    vector_bits,
)
from nvir.ptx.reader import KNOWN_VERSION
from nvir.ptx.rules.targets import TARGET

# Modifiers that the assembler takes several times.
_TWICE = frozenset(("approx", "NaN", "relu", "sat", "satfinite", "shiftamt", "sync", "uni"))
# Operations with effects whose operands are never in braces.
_SINGLE = frozenset((OpKind.WARP, OpKind.BARRIER, OpKind.ARRIVE, OpKind.MBARRIER, OpKind.WAIT,
                     OpKind.ASYNC_COPY))
_ODD = (3, 5, 6, 7)  # elements that no vector has
WIDE = 100  # the first architecture with accesses of 256 bits
NO_32_BIT = 90  # architectures from which on a 32-bit address is an error


def _misfit(slots: Combination, mods: tuple[str, ...]) -> tuple[float, str]:
    """How far modifiers are from a combination, and what is wrong; 0: they fit. What lacks is
    nearer than what is too much, and that nearer than what stands for something else."""
    left = list(mods)
    lacking = []
    for slot in slots:
        if slot.words == ("*",):
            left = [m for m in left if m in SCALARS] if slot is slots[0] else []
            continue
        hit = next((m for m in left if m in slot.words), None)
        for ordered in (SCALARS, SPACES, LAYOUTS):
            if hit is not None and hit in ordered and hit != next(m for m in left if m in ordered):
                hit = None
        if hit is not None:
            left.remove(hit)
        elif not slot.optional:
            lacking.append(slot)
    if not lacking:
        return len(left), f"takes no .{left[0]}" if left else ""
    first = lacking[0]
    typed = first.words[0] in SCALARS
    what = "" if len(first.words) == 1 else "a type of " if typed else "one of "
    instead = len(lacking) == len(left) == 1 and left[0] not in first.words
    if instead and (left[0] in SCALARS) == typed:
        near = 1.4 if typed or left[0] in LAYOUTS else 1.6 - len(first.words) / 100
        return near, f"takes {what}{first} where .{left[0]} stands"
    if len(lacking) == 1 and not left and not typed:
        return 0.5, f"needs {what}{first}"
    return 2 * len(lacking) + len(left), f"needs {what}{first}"


@functools.cache
def modifiers_problem(row: Op, mods: tuple[str, ...]) -> str | None:
    legal = combinations().get(row.name)
    late = next((m for m in mods[1:] if m in BEHIND_NAME.get(row.name, ())), None)
    if late is not None:
        return f"'.{late}' stands directly behind '{row.name}'"
    if legal is None:
        return None
    first = {m: k for k, m in reversed([*enumerate(mods)])}
    mods = tuple(m for k, m in enumerate(mods) if m not in _TWICE or first[m] == k)
    distance, wrong = min((_misfit(slots, mods) for slots in legal), key=lambda m: m[0])
    if not distance:
        return None
    over = wrong.removeprefix("takes no .")
    for m in dict.fromkeys(mods) if over != wrong else ():
        rest = tuple(x for x in mods if x != m)
        apart = m not in SCALARS and m != over
        if apart and any(not _misfit(slots, rest)[0] for slots in legal):
            wrong = f"takes .{over} or .{m}, not both"
            break
    if wrong == f"takes no .{over}" and (needed := _needed_with(over, legal, mods)):
        wrong = f"takes .{over} with {needed} only"
    return f"{'.'.join((row.name, *mods))} {wrong}"


def _needed_with(word: str, legal: Sequence[Combination], mods: tuple[str, ...]) -> str:
    """What combinations with `word` have that lacks here, where that is one thing."""
    having = [s for s in legal if any(word in slot.words for slot in s)]
    lacking = [[slot for slot in s if not slot.optional and slot.words != ("*",)
                and not any(m in slot.words for m in mods)] for s in having]
    firsts = {str(slots[0]) if slots else "" for slots in lacking}
    return firsts.pop() if len(firsts) == 1 else ""


@functools.cache
def operands_problem(f: Form) -> str | None:
    """An operand that the modifiers ask for or forbid, or a vector of a size that there is not."""
    parts, row = operand_parts(f.shape), f.op
    if not parts:
        return None
    lacking = len(parts) < len(row.operands) and row.operands[len(parts)].optional
    if lacking and row.kind in (OpKind.COMPARE, OpKind.LOGIC) and not COMBINES.isdisjoint(f.mods):
        return f"{f.spelling} combines its result with a predicate, and none is given"
    if lacking and "expect_tx" in f.mods:
        return f"{f.spelling} takes a number of bytes, and none is given"
    if row.name == "elect.sync" and "|" not in parts[0]:
        return "elect.sync makes a predicate beside its lane, and none is given"
    if row.name == "setp" and "|" in parts[0] and f.mods[-1] in ("f16", "bf16"):
        return f"{f.spelling} makes one predicate"
    if row.name == "lop3" and "|" not in parts[0] and not COMBINES.isdisjoint(f.mods):
        return f"{f.spelling} makes a predicate beside its result, none is given"
    for operand, part in zip(assign_operands(parts, row.operands), parts, strict=True):
        if operand.role == USE and operand.type != "any" and part.startswith("["):
            return f"{f.spelling} takes no address where {part.replace('%s', '…')} stands"
    for operand, part in zip(row.operands, parts, strict=False):
        if operand.role == ADDRESS and not part.startswith("["):
            return f"'{f.name}' takes an address in brackets where none stands"
    types = [m for m in f.mods if m in SCALARS]
    packs = row.name == "cvt" and types[:1] and types[0].endswith("x2") \
        and types[1:] == ["f32"] and "rs" not in f.mods
    adds = row.name == "cvt.pack" and len(types) == 3
    least = 3 if packs else 4 if "cas" in f.mods or adds else 0
    most = 3 if packs else 2 if row.name == "cvt" and "rs" not in f.mods else len(parts)
    if not least <= len(parts) <= most:
        return f"{f.spelling} takes {least or most} operands, {len(parts)} given"
    wanted = next((int(m[1:]) for m in f.mods if re.match(r"v\d+$", m)), 0)
    written = parts[1:] if row.writes else parts
    matrices = matrix_registers(row.name, f.mods)
    if matrices and (not written[0].startswith("{") or written[0].count("%s") != matrices):
        return f"{f.spelling} has {matrices} registers in braces, {written[0].count('%s')} given"

    for k, (n, part) in enumerate(zip(fragments(row.name, f.mods), written, strict=False)):
        if part.count("%s") != n or not part.startswith("{"):
            matrix = f.mods[0] if f.mods[0] in set("abcd") else "dabc"[k]
            registers = "1 register" if n == 1 else f"{n} registers"
            return f"{f.spelling} has {registers} in matrix {matrix}, {part.count('%s')} given"
    odd = next((n for p in parts if p.startswith("{") and (n := p.count("%s")) in _ODD), 0)
    if row.name == "mov" and odd:
        return f"{f.spelling} takes vectors of 2 or 4, this one is of {odd}"
    geometry = next((m for m in f.mods if m in COORDINATES), "")
    if f.op.memory in ("texture", "surface") and geometry and "{" in f.shape:
        held = next(p for p in parts if p.startswith("[")).partition("{")[2].count("%s")
        if held and (held < COORDINATES[geometry] or held == 3):
            return f"{f.spelling} takes {COORDINATES[geometry]} coordinates, {held} given"
    braces = any(p.startswith("{") for p in parts)
    if braces and (row.kind in _SINGLE or (row.kind is OpKind.ATOMIC and not wanted)):
        return f"{f.spelling} takes no operand in braces"
    vectors = parts[:-1] if any("cache_hint" in m for m in f.mods) else parts
    if row.kind is OpKind.ATOMIC and row.writes and parts[0] == "%s":
        vectors = vectors[1:]  # "_" for all results: see discard_problem
    for part in vectors[: 1 if row.memory == "texture" or row.name in IN_BRACES else None]:
        size = part.partition("|")[0].count("%s") if part.startswith("{") else 1
        if size > 1 and not wanted and row.name not in VECTORS and any(
            s.words[0] == "v2" for slots in combinations().get(row.name, ()) for s in slots
        ):
            return f"{f.spelling} takes no vector without .v{size}"
        if wanted and size != wanted and not part.startswith("[") and row.name != "mov":
            return f"{f.spelling} takes vectors of {wanted}, this one is of {size}"
    return None


@functools.cache
def age_problem(row: Op, version: tuple[int, int], target: str) -> str | None:
    first, _, least = row.since.partition(" ")
    if first and tuple(map(int, first.split("."))) > version:
        return f"'{row.name}' is of PTX {first}, the module says {version[0]}.{version[1]}"
    needed, given = TARGET.match(least), TARGET.match(target)
    if needed is None or given is None:
        return None
    if int(given[1]) < int(needed[1]) or (needed[2] and not given[2]):
        return f"'{row.name}' needs {least}, the target is {target}"
    return None


def wide_problem(f: Form, version: tuple[int, int], target: str) -> str | None:
    """Vectors of more bits than a load or store moves at once."""
    n = next((int(m[1:]) for m in f.mods if re.match(r"v\d+$", m)), 1)
    most = vector_bits(f.op.name, f.space)
    if not most or n == 1 or f.type is None:
        return None
    bits = f.type.bits * n
    if bits > most:
        return f"{f.spelling} has {bits} bits, a vector there may have {most}"
    if bits > 128 and (capability(target) < WIDE or version < (8, 8)):
        return f"accesses of 256 bits need PTX 8.8 and sm_{WIDE}, the module has " \
            f"{version[0]}.{version[1]} and {target}"
    return None


@functools.cache
def feature_age(
    row: str, mods: tuple[str, ...], version: tuple[int, int], target: str
) -> str | None:
    """Modifiers that are newer than the module, or than its target."""
    for age in ages(row):
        present = [next((m for m in mods if m in group), None) for group in age.words
                   if group[0][0] != "!"]
        if None in present or any(g[0][1:] in mods for g in age.words if g[0][0] == "!"):
            continue
        only = MACHINES.get(age.machine)
        has = target in only if only else capability(target) >= int(age.machine)
        if not has or (version < age.version and version <= KNOWN_VERSION):
            what = "".join(
                f".{m}" if m[0] != "/" else f" with {m[1:]} operands" for m in present if m)
            return (f"'{row}{what}' needs {age}, the module has PTX {version[0]}.{version[1]} "
                    f"and {target}")
    return None


def spelled_problems(f: Form, version: tuple[int, int], target: str) -> dict[str, str | None]:
    """By code what is wrong with a form in a module of that version and target."""
    return _spelled(f, version, target).copy()


@functools.cache
def _spelled(f: Form, version: tuple[int, int], target: str) -> dict[str, str | None]:
    parts = f"/{len(operand_parts(f.shape))}"
    aged = age_problem(f.op, version, target) \
        or feature_age(f.op.name, (*f.mods, parts), version, target) \
        or wide_problem(f, version, target)
    if f.op.name in APART and version >= (6, 4) and capability(target) >= 70:
        aged = f"'{f.op.name}' without .sync is gone from PTX 6.4 on sm_70 and newer"
    return {"modifiers": modifiers_problem(f.op, f.mods), "operands": operands_problem(f),
            "version": aged}
