"""The legal combinations of modifiers of the common rows, keyed by row.

Combinations stand apart by `;`. In each, a word or several joined by `|` must be there, those
with `?` may, and `*` stands for any others. Types come in their order, other modifiers in any:
ptxas asks no more. Capitals are sets of words. `nvir.ptx.check` holds instructions to this
table; rows that it lacks are not held to anything.

Source   PTX ISA 9.0; held to what ptxas 13.0 refuses by tests/ptx/test_check.py.
"""

from __future__ import annotations

import functools

import attrs

_SETS = {
    "RND": "rn|rz|rm|rp", "RNI": "rni|rzi|rmi|rpi", "INT": "u16|u32|u64|s16|s32|s64",
    "BYTES": "u8|u16|u32|u64|s8|s16|s32|s64", "BITS": "b16|b32|b64", "BOOL": "and|or|xor",
    "CMP": "eq|ne|lt|le|gt|ge", "CMPU": "eq|ne|lt|le|gt|ge|lo|ls|hi|hs",
    "CMPF": "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan",
}
_TABLE = """
add:
    u16|u32|u64|s16|s64|u16x2|s16x2; sat? s32; RND? ftz? sat? f32; RND? f64;
    rn? ftz? sat? f16|f16x2; rn? bf16|bf16x2; RND? ftz? f32x2; RND? sat? f32 f16|bf16
sub:
    u16|u32|u64|s16|s64; sat? s32; RND? ftz? sat? f32; RND? f64;
    rn? ftz? sat? f16|f16x2; rn? bf16|bf16x2; RND? ftz? f32x2; RND? sat? f32 f16|bf16
mul:
    hi|lo|wide u16|u32|s16|s32; hi|lo u64|s64; RND? ftz? sat? f32; RND? f64;
    rn? ftz? sat? f16|f16x2; rn? bf16|bf16x2; RND? ftz? f32x2
mad:
    hi|lo|wide u16|u32|s16|s32; hi|lo u64|s64; hi sat s32; RND ftz? sat? f32; RND f64
mul24:
    hi|lo u32|s32
mad24:
    hi|lo u32|s32; hi sat s32
sad rem:
    INT
div:
    INT; RND|approx|full ftz? f32; RND f64
abs neg:
    s16|s32|s64; ftz? f32; f64; ftz? f16|f16x2; bf16|bf16x2
min max:
    u16|u32|u64|s16|s64|u16x2; relu? s32|s16x2; ftz? NaN? xorsign? abs? f32|f16|f16x2; f64;
    NaN? xorsign? abs? bf16|bf16x2
fma:
    RND ftz? sat? f32; RND f64; rn ftz? sat? f16|f16x2; rn ftz? relu? oob? f16|f16x2;
    RND relu? oob? bf16|bf16x2; RND ftz? f32x2; RND sat? f32 f16|bf16
rcp:
    approx|rn|rz|rm|rp ftz? f32; RND ftz? f64; approx ftz f64
sqrt:
    approx|rn|rz|rm|rp ftz? f32; RND f64
rsqrt:
    approx ftz? f32|f64
sin cos lg2:
    approx ftz? f32
ex2:
    approx ftz? f32; approx f16|f16x2; approx ftz bf16|bf16x2
tanh:
    approx f32|f16|f16x2|bf16|bf16x2
copysign:
    f32|f64
testp:
    finite|infinite|number|notanumber|normal|subnormal? f32|f64
and not or xor:
    pred|b16|b32|b64
cnot shl:
    BITS
shr:
    BITS|INT
shf:
    l|r wrap|clamp b32
popc brev bfi match.any.sync clz match.all.sync:
    b32|b64
bfind:
    shiftamt? u32|u64|s32|s64
bfe:
    u32|u64|s32|s64
lop3:
    BOOL? b32
prmt:
    f4e? b4e? rc8? ecl? ecr? rc16? b32
bmsk:
    clamp|wrap b32
szext:
    clamp|wrap u32|s32
dp4a:
    u32|s32 u32|s32
dp2a:
    lo|hi u32|s32 u32|s32
setp:
    eq|ne BOOL? BITS; CMPU BOOL? u16|u32|u64; CMP BOOL? s16|s32|s64;
    CMPF BOOL? ftz? f32|f16|f16x2; CMPF BOOL? f64|bf16|bf16x2
selp:
    BITS|INT|f32|f64
slct:
    BITS|INT|f32|f64 s32; ftz? BITS|INT|f32|f64 f32
cvt:
    sat? BYTES BYTES; RNI ftz? sat? BYTES f16|bf16|f32|f64; RND ftz? sat? f16|bf16|f32|f64 BYTES;
    RND ftz? sat? f32|f16|bf16 f64; RND ftz? sat? relu? satfinite? f16|bf16 f32;
    ftz? sat? f32 f16|bf16; ftz? sat? f64 f32|f16|bf16; RNI? ftz? sat? f32 f32; RNI? sat? f64 f64;
    RNI? ftz? sat? f16 f16; RNI|rn? bf16 bf16;
    RND? bf16 f16|bf16;
    * e4m3x2|e5m2x2|e2m1x2|e2m3x2|e3m2x2|ue8m0x2|f16x2|bf16x2 *;
    * tf32|e2m1x4|e4m3x4|e5m2x4|e2m3x4|e3m2x4 *
ld st:
    * BITS|BYTES|b8|b128|f32|f64
shfl.sync:
    up|down|bfly|idx b32
vote.sync:
    all|any|uni pred; ballot b32
redux.sync:
    add|min|max u32|s32; BOOL b32; min|max abs? NaN? f32
activemask:
    b32
"""


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
    for entry in _TABLE.strip().replace("\n    ", " ").splitlines():
        names, _, forms = entry.partition(":")
        legal = tuple(tuple(map(_slot, form.split())) for form in forms.split(";"))
        found.update(dict.fromkeys(names.split(), legal))
    return found


def _slot(word: str) -> ModifierSlot:
    words = "|".join(_SETS.get(n, n) for n in word.rstrip("?").split("|"))
    return ModifierSlot(tuple(words.split("|")), word.endswith("?"))
