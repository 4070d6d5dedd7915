"""The legal combinations of modifiers of the common rows, keyed by row: legal.txt.

Combinations stand apart by `;`. In each, a word or several joined by `|` must be there, those
with `?` may, and `*` stands for any others. Types come in their order, other modifiers in any:
ptxas asks no more. Capitals are sets of words. `nvir.ptx.check` holds instructions to this
table; rows that it lacks are not held to anything.

Source   PTX ISA 9.0; held to what ptxas 13.0 refuses by tests/ptx/test_check.py.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from pathlib import Path

import attrs

from nvir.ir.types import SCALARS

_SETS = {
    "RND": "rn|rz|rm|rp", "RNI": "rni|rzi|rmi|rpi", "INT": "u16|u32|u64|s16|s32|s64",
    "BYTES": "u8|u16|u32|u64|s8|s16|s32|s64", "BITS": "b16|b32|b64", "BOOL": "and|or|xor",
    "CMP": "eq|ne|lt|le|gt|ge", "CMPU": "eq|ne|lt|le|gt|ge|lo|ls|hi|hs",
    "SPACE": "const|global|local|param|param::entry|param::func|shared|shared::cta|shared::cluster",
    "OPEN": "global|local|shared|shared::cta|shared::cluster", "VEC": "v2|v4|v8",
    "WRITE": "global|local|param|param::func|shared|shared::cta|shared::cluster",
    "NEAR": "shared|shared::cta|shared::cluster", "SCOPE": "cta|cluster|gpu|sys",
    "HINT": "L2::cache_hint", "FETCH": "L2::64B|L2::128B|L2::256B",
    "ORDER": "acquire|release|acq_rel",
    "EVICT1": "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate",
    "EVICT2": "L2::evict_first|L2::evict_last|L2::evict_normal",
    "MEM": "b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
    "LEVEL": "L1|L2", "HALF": "f16|f16x2|bf16|bf16x2",
    "GEOMETRY": "1d|2d|3d|a1d|a2d|cube|acube|2dms|a2dms",
    "F8X2": "e4m3x2|e5m2x2|e2m1x2|e2m3x2|e3m2x2", "WMMA": "m16n16k16|m32n8k16|m8n32k16",
    "CMPF": "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan",
}

SPACES = frozenset(_SETS["SPACE"].split("|"))
# Without `.sync` these are gone from PTX 6.4 and sm_70 on.
APART = frozenset(("shfl", "vote"))
# Literals that an operand may be, by row, modifier and the operand's number.
_BARRIERS = {
    (f"{bar}{cta}.{does}", "", k): legal
    for bar in ("bar", "barrier") for cta in ("", ".cta") for does in ("sync", "arrive")
    for k, legal in ((0, range(16)), (1, range(0, 1 << 12, 32)))
}
LITERALS: dict[tuple[str, str, int], Sequence[int]] = {
    ("cp.async", "ca", 2): (4, 8, 16), ("cp.async", "cg", 2): (16,), **_BARRIERS,
    ("setmaxnreg", "", 0): range(24, 257, 8), ("pmevent", "", 0): range(16),
    ("applypriority", "", 1): (128,), ("discard", "", 1): (128,),
}
# Operands that can't be in a register, by row.
IN_THE_CODE = {
    "cp.async": 2, "lop3": 3, "cp.async.wait_group": 0, "cp.async.bulk.wait_group": 0,
    "wgmma.wait_group": 0, "setmaxnreg": 0, "pmevent": 0, "applypriority": 1, "discard": 1,
}
# Coordinates that a texture of each geometry takes at least.
COORDINATES = {"1d": 1, "2d": 2, "3d": 3, "a1d": 2, "a2d": 3, "cube": 3, "acube": 4}
_BITS = {"u4": 4, "s4": 4, "b1": 1}  # of elements that no register can have
_SHAPE = re.compile(r"m(\d+)n(\d+)k(\d+)$")


def fragments(row: str, mods: tuple[str, ...]) -> tuple[int, ...]:
    """Registers of each operand of a matrix instruction, in its order; () where not told here."""
    shape = next(filter(None, map(_SHAPE.match, mods)), None)
    types = [m for m in mods if m in SCALARS or m in _BITS]
    if shape is None or any(x.startswith("kind") for x in mods):
        return ()
    m, n, k = map(int, shape.groups())

    def lies_in(elements: int, type: str, lanes: int = 32) -> int:
        bits = _BITS.get(type) or SCALARS[type].bits
        return max(elements * bits // (lanes * max(bits, 32)), 1)

    if row == "mma.sync" and len(types) == 4:
        d, a, b, c = types
        four = 4 if shape[0] == "m8n8k4" and a == "f16" else 1  # products of a quarter warp each
        sizes = (m * n, d), (m * k, a), (k * n, b), (m * n, c)
        return tuple(lies_in(size * four, type) for size, type in sizes)
    if row == "wgmma.mma_async" and len(types) == 3:
        return (lies_in(m * n, types[0], 128),)
    if row in ("wmma.load", "wmma.store") and len(types) == 1:
        size = {"a": m * k, "b": k * n}.get(mods[0], m * n)
        twice = types[0] == "f16" and mods[0] in "ab"  # each element lies in two lanes
        return (8,) if twice else (lies_in(size, types[0]),)
    return ()


@attrs.frozen
class ModifierSlot:
    """One place of a combination: the words that may stand there, and whether one must."""

    words: tuple[str, ...]
    optional: bool

    def __str__(self) -> str:
        return ", ".join(f".{w}" for w in self.words)


Combination = tuple[ModifierSlot, ...]


@functools.cache
def combinations() -> dict[str, tuple[Combination, ...]]:
    """Row name -> its legal combinations."""
    found: dict[str, tuple[Combination, ...]] = {}
    text = Path(__file__).with_name("legal.txt").read_text("utf-8")
    for entry in text.strip().replace("\n    ", " ").splitlines():
        names, _, forms = entry.partition(":")
        legal = tuple(tuple(map(_slot, form.split())) for form in forms.split(";"))
        found.update(dict.fromkeys(names.split(), legal))
    return found


def _slot(word: str) -> ModifierSlot:
    words = "|".join(_SETS.get(n, n) for n in word.rstrip("?").split("|"))
    return ModifierSlot(tuple(words.split("|")), word.endswith("?"))
