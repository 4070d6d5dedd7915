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
    "CMPF": "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan",
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
