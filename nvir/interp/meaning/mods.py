"""The modifiers of a PTX opcode, parsed once into a record that meanings read.

PTX spells an operation as a mnemonic and dotted modifiers: `mad.lo.cc.s32`. The mnemonic is the
row; `Mods.parse("mad", ("lo", "cc", "s32"))` sorts the rest into fields by what they say (type,
rounding, saturation ...). PTX lets some modifiers stand before or after the types
(`add.f32.bf16.rz`), so only the order among the types counts. Tokens without a field of their own
stay in `flags`, where the one row that knows them looks them up.

Cost: one parse per spelling (cached); a meaning only reads attributes.
Source: PTX ISA 9.0, section 9 (instruction syntax).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NoReturn

import attrs

from nvir.ir.errors import Unsupported


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


TYPES = _names(
    "pred b1 b8 b16 b32 b64 b128 u2 s2 u4 s4 u8 s8 u16 s16 u32 s32 u64 s64 u16x2 s16x2 u8x4 s8x4 "
    "f16 f16x2 bf16 bf16x2 tf32 f32 f32x2 f64 e4m3 e5m2 e4m3x2 e5m2x2 e4m3x4 e5m2x4 e2m3 e3m2 "
    "e2m1 e2m3x2 e3m2x2 e2m1x2 e2m3x4 e3m2x4 e2m1x4 ue8m0 ue8m0x2"
)
ROUNDINGS = _names("rn rz rm rp rna rs rni rzi rmi rpi")
COMPARES = _names("eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan")
_COMPARING = _names("set setp vset vset2 vset4")
_BOOLEAN = _names("set setp lop3")
_SWITCHES = _names("ftz sat satfinite relu approx full abs xorsign cc")
_WORDS = {  # tokens that fill a field with themselves
    **dict.fromkeys(ROUNDINGS, "rnd"),
    **dict.fromkeys(("lo", "hi", "wide"), "part"),
    **dict.fromkeys(("clamp", "wrap"), "shift"),
}


@attrs.frozen(cache_hash=True)
class Mods:
    """What the modifiers of one opcode say. Fields that are absent are "" or False.

    `select` and `negate` come from the operands, not from the opcode: the video rows take a part of
    a register (`b0`..`b3`, `h0`, `h1`, or for SIMD a byte list such as "b7531") as
    `(destination, a, b)`, and `vmad` negated sources as three booleans.
    """

    row: str
    tokens: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    rnd: str = ""
    cmp: str = ""
    bool_op: str = ""
    part: str = ""  # lo, hi or wide of a product; lo or hi of dp2a
    shift: str = ""  # clamp or wrap
    ftz: bool = False
    sat: bool = False
    satfinite: bool = False
    relu: bool = False
    approx: bool = False
    full: bool = False
    nan: bool = False  # .NaN of min, max and redux
    abs: bool = False
    xorsign: bool = False
    cc: bool = False
    flags: frozenset[str] = frozenset()
    select: tuple[str, str, str] = ("", "", "")
    negate: tuple[bool, bool, bool] = (False, False, False)

    @property
    def type(self) -> str:
        """The first type: of the result, or of the whole operation where only one is given."""
        return self.types[0] if self.types else ""

    @property
    def stype(self) -> str:
        """The last type: of the source where two are given."""
        return self.types[-1] if self.types else ""

    @property
    def spelling(self) -> str:
        """The opcode as PTX writes it."""
        return ".".join((self.row, *self.tokens))

    def unsupported(self, why: str = "") -> NoReturn:
        """Raise `Unsupported` that names this opcode."""
        raise Unsupported(self.spelling, where=why)

    @staticmethod
    def parse(row: str, tokens: Iterable[str] = ()) -> Mods:
        """The record for a row and its modifiers, without dots, in the order of the text.

        A dotted row ("mad.lo.cc") counts as its mnemonic with the first modifiers.
        """
        mnemonic, *first = row.split(".")
        return _parse(mnemonic, (*first, *tokens))


@lru_cache(maxsize=4096)
def _parse(row: str, tokens: tuple[str, ...]) -> Mods:
    fields: dict[str, Any] = {}
    types: list[str] = []
    flags: set[str] = set()
    for token in tokens:
        if token in TYPES:
            types.append(token)
        elif token == "NaN":
            fields["nan"] = True
        elif row in _COMPARING and token in COMPARES:
            fields["cmp"] = token
        elif row in _BOOLEAN and token in ("and", "or", "xor"):
            fields["bool_op"] = token
        elif token in _SWITCHES:
            fields[token] = True
        elif token in _WORDS:
            fields[_WORDS[token]] = token
        else:
            flags.add(token)
    return Mods(row, tokens, tuple(types), flags=frozenset(flags), **fields)
