"""The legal combinations of modifiers of the common rows, keyed by row: legal.txt.

Combinations stand apart by `;`. In each, a word or several joined by `|` must be there, those
with `?` may, and `*` stands for any others. Types come in their order, other modifiers in any:
ptxas asks no more. Capitals are sets of words. `nvir.ptx.check` holds instructions to this
table; rows that it lacks are not held to anything.

Source   PTX ISA 9.0; held to what ptxas 13.0 refuses by tests/ptx/test_check.py.
"""

from __future__ import annotations

import functools
from pathlib import Path

import attrs

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
    "L1": "L1::evict_normal|L1::evict_unchanged|L1::evict_first|L1::evict_last|L1::no_allocate",
    "L2": "L2::evict_first|L2::evict_last|L2::evict_normal",
    "MEM": "b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
    "LEVEL": "L1|L2", "HALF": "f16|f16x2|bf16|bf16x2",
    "GEOMETRY": "1d|2d|3d|a1d|a2d|cube|acube|2dms|a2dms",
    "CMPF": "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan",
}

# Without `.sync` these are gone from PTX 6.4 and sm_70 on.
APART = frozenset(("shfl", "vote"))
# Literals that an operand may be, by row, modifier and the operand's number.
LITERALS = {
    ("cp.async", "ca", 2): (4, 8, 16), ("cp.async", "cg", 2): (16,), ("bar.sync", "", 0): range(16),
    ("barrier.sync", "", 0): range(16),
}


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
