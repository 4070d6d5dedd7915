"""What each arithmetic row of PTX means, as pure functions over lane vectors.

    from nvir.interp.meaning import MEANINGS, Mods, bind

    MEANINGS["mad"](Mods.parse("mad", ("lo", "s32")), a, b, c)     # one call
    f = bind("mad.lo.s32"); f(a, b, c)                              # resolved once

A meaning takes the modifiers and the raw bits of its sources (lanes.py says how a register looks)
and returns the raw bits of its result in the narrowest register for the type, or a tuple where the
row has several results (setp `p|q`, lop3 `d|p`, .cc `d` and carry); a machine that wants fewer
ignores the rest, and widens with `fit` where the destination register is wider. Sources broadcast.
Predicate sources come with PTX's `!` already applied. Callers hold `np.errstate(all="ignore")`.

Not in `MEANINGS`, because they take more than lanes: warp.py (shfl, vote, match, redux, elect),
matrix.py and wgmma.py with fragments.py and tensorcore.py, atomic.py (atom, red).
"""

# mypy: disable-error-code="no-any-return"
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

from nvir.interp.meaning import approx, bits, compare, convert, floating, integer, video
from nvir.interp.meaning.lanes import PACKED, WIDTH, Lanes, fit, is_float, join, split
from nvir.interp.meaning.mods import TYPES, Mods

Meaning = Callable[..., Any]

__all__ = ["MEANINGS", "Lanes", "Meaning", "MeaningRow", "Mods", "bind", "bound", "fit"]


@attrs.frozen
class MeaningRow:
    """A row: the types that its type modifiers may be, how many it takes, and the function for
    given modifiers. `others` are the types of all but the first, where they differ."""

    types: frozenset[str]
    choose: Callable[[Mods], Meaning]
    count: int = 1
    others: frozenset[str] = frozenset()

    def __call__(self, mods: Mods, *sources: Lanes, **options: Any) -> Any:
        return _resolved(self, mods)(mods, *sources, **options)

    def resolve(self, mods: Mods) -> Meaning:
        """The function for these modifiers; raises `Unsupported` where the types do not fit."""
        if not (self._fits(mods.types) or _is_mixed(mods)):
            mods.unsupported()
        return self.choose(mods)

    def _fits(self, types: tuple[str, ...]) -> bool:
        others = self.others or self.types
        return (
            len(types) == self.count
            and types[0] in self.types
            and all(t in others for t in types[1:])
        )


def _is_mixed(mods: Mods) -> bool:
    """Whether this is mixed precision (add.f32.f16), or cvt.pack with its three types."""
    if mods.row in ("add", "sub", "fma"):
        return mods.types in (("f32", "f16"), ("f32", "bf16"))
    return mods.row == "cvt" and "pack" in mods.flags and len(mods.types) == 3


@functools.lru_cache(maxsize=4096)
def _resolved(row: MeaningRow, mods: Mods) -> Meaning:
    return row.resolve(mods)


def _row(types: str, meaning: Meaning, count: int = 1, others: str = "") -> MeaningRow:
    names = frozenset(types.split())
    return MeaningRow(names, lambda mods: meaning, count, frozenset(others.split()))


def _arithmetic(types: str, integer_: Meaning | None, float_: Meaning | None) -> MeaningRow:
    """A row that means one thing on integers and another on floats, packed or not."""

    def choose(mods: Mods) -> Meaning:
        if mods.type in PACKED and not mods.cc:
            return functools.partial(_packed, row)
        chosen = float_ if is_float(mods.type) else integer_
        if chosen is None or mods.type in PACKED or (mods.cc and WIDTH[mods.type] < 32):
            mods.unsupported()
        return floating.plain(mods) or chosen

    row = MeaningRow(frozenset(types.split()), choose)
    return row


def _packed(row: MeaningRow, mods: Mods, *sources: Lanes) -> Lanes:
    """One operation on all elements: a packed register seen as that many lanes."""
    element, count = PACKED[mods.type]
    inner = attrs.evolve(mods, types=(element, *mods.types[1:]))
    width = WIDTH[element]
    if width == 8:  # bytes have no registers of their own
        parts = zip(*(split(x, element, count) for x in sources), strict=True)
        return join([_bytes(row, inner, part) for part in parts], 8, np.uint32)
    narrow = [np.ascontiguousarray(x).view(f"<u{width // 8}") for x in sources]
    shape = np.broadcast_shapes(*(x.shape for x in sources))
    if any(x.shape != shape for x in sources):  # a uniform source: repeat it for each lane
        wide = np.broadcast_arrays(*sources)
        narrow = [np.ascontiguousarray(x).view(f"<u{width // 8}") for x in wide]
    return row.choose(inner)(inner, *narrow).view(f"u{width * count // 8}")


def _bytes(row: MeaningRow, mods: Mods, sources: tuple[Lanes, ...]) -> Lanes:
    return row.choose(mods)(mods, *sources)


def _either(types: str, approximate: Meaning, exact: Meaning) -> MeaningRow:
    """A float row that is approximate with .approx or .full and else rounds exactly."""
    return MeaningRow(frozenset(types.split()), _one_of(approximate, exact))


def _one_of(approximate: Meaning, exact: Meaning) -> Callable[[Mods], Meaning]:
    return lambda mods: approximate if mods.approx or mods.full else exact


def _division(mods: Mods, *sources: Lanes) -> Lanes:
    return _one_of(approx.div, floating.div)(mods)(mods, *sources)


_I16, _I32, _I64 = "u16 s16 b16", "u32 s32 b32", "u64 s64 b64"
_I = f"{_I16} {_I32} {_I64}"
_F, _FX2 = "f16 bf16 f32 f64", "f16x2 bf16x2 f32x2"
_IX = "u16x2 s16x2 u8x4 s8x4"
_ANY = " ".join(WIDTH)

MEANINGS: dict[str, MeaningRow] = {
    "add": _arithmetic(f"{_I} {_IX} {_F} {_FX2}", integer.add, floating.add),
    "sub": _arithmetic(f"{_I} {_IX} {_F} {_FX2}", integer.sub, floating.sub),
    "mul": _arithmetic(f"{_I} {_F} {_FX2}", integer.mul, floating.mul),
    "mad": _arithmetic(f"{_I} {_F} {_FX2}", integer.mad, floating.fma),
    "fma": _arithmetic(f"{_F} {_FX2}", None, floating.fma),
    "addc": _row(f"{_I32} {_I64}", integer.addc),
    "subc": _row(f"{_I32} {_I64}", integer.subc),
    "madc": _row(f"{_I32} {_I64}", integer.madc),
    "mul24": _row("u32 s32", integer.mul24),
    "mad24": _row("u32 s32", integer.mad24),
    "sad": _row(_I, integer.sad),
    "div": _arithmetic(f"{_I} {_F}", integer.div, _division),
    "rem": _row(_I, integer.rem),
    "abs": _arithmetic(f"{_I} {_F} {_FX2}", integer.abs_, floating.abs_),
    "neg": _arithmetic(f"{_I} s8x4 {_F} {_FX2}", integer.neg, floating.neg),
    "min": _arithmetic(f"{_I} {_IX} {_F} {_FX2}", integer.min_, floating.min_),
    "max": _arithmetic(f"{_I} {_IX} {_F} {_FX2}", integer.max_, floating.max_),
    "rcp": _either("f32 f64", approx.rcp, floating.rcp),
    "sqrt": _either("f32 f64", approx.sqrt, floating.sqrt),
    "rsqrt": _row("f32 f64", approx.rsqrt),
    "sin": _row("f32", approx.sin),
    "cos": _row("f32", approx.cos),
    "lg2": _row("f32", approx.lg2),
    "ex2": _arithmetic("f16 bf16 f32 f16x2 bf16x2", None, approx.ex2),
    "tanh": _arithmetic("f16 bf16 f32 f16x2 bf16x2", None, approx.tanh),
    "testp": _row("f32 f64", floating.testp),
    "copysign": _row("f32 f64", floating.copysign),
    "set": _row(f"{_I} {_F} f16x2 bf16x2", compare.set_, 2),
    "setp": _row(f"{_I} {_F} f16x2 bf16x2", compare.setp),
    "selp": _row(_ANY, compare.selp),
    "slct": _row(_ANY, compare.slct, 2, "s32 f32"),
    "and": _row(f"pred {_I}", bits.and_),
    "or": _row(f"pred {_I}", bits.or_),
    "xor": _row(f"pred {_I}", bits.xor),
    "not": _row(f"pred {_I}", bits.not_),
    "cnot": _row(_I, bits.cnot),
    "lop3": _row(_I32, bits.lop3),
    "shl": _row(_I, bits.shl),
    "shr": _row(_I, bits.shr),
    "shf": _row(_I32, bits.shf),
    "popc": _row(f"{_I32} {_I64}", bits.popc),
    "clz": _row(f"{_I32} {_I64}", bits.clz),
    "bfind": _row(f"{_I32} {_I64}", bits.bfind),
    "fns": _row(_I32, bits.fns),
    "brev": _row(f"{_I32} {_I64}", bits.brev),
    "bfe": _row(f"{_I32} {_I64}", bits.bfe),
    "bfi": _row(f"{_I32} {_I64}", bits.bfi),
    "bmsk": _row(_I32, bits.bmsk),
    "szext": _row("u32 s32", bits.szext),
    "prmt": _row(_I32, bits.prmt),
    "dp4a": _row("u32 s32", bits.dp4a, 2),
    "dp2a": _row("u32 s32", bits.dp2a, 2),
    "mov": _row(_ANY, bits.mov),
    "cvt": _row(" ".join(TYPES), convert.cvt, 2),
    "vset": _row("u32 s32", video.scalar, 2),
    "vmad": _row("u32 s32", video.vmad, 3),
    **{f"v{op}": _row("u32 s32", video.scalar, 3) for op in video.SCALAR},
    **{f"v{op}{n}": _row("u32 s32", video.simd, 3) for op in video.SIMD for n in (2, 4)},
    **{f"vset{n}": _row("u32 s32", video.simd, 2) for n in (2, 4)},
}
"""MeaningRow to meaning: `f(mods, *sources)`."""

# Rows of the opcode table whose name holds modifiers: the mnemonic's meaning reads those.
_DOTTED = (
    *("add.cc", "addc.cc", "sub.cc", "subc.cc", "cvt.pack", "mad.lo.cc", "mad.hi.cc"),
    *("madc.lo", "madc.hi", "madc.lo.cc", "madc.hi.cc"),
    *(
        f"add{rnd}{sat}.f32.{narrow}"
        for rnd in ("", ".rn", ".rz", ".rm", ".rp")
        for sat in ("", ".sat")
        for narrow in ("f16", "bf16")
    ),
)
MEANINGS.update((name, MEANINGS[name.split(".")[0]]) for name in _DOTTED)


def bound(mods: Mods) -> Meaning:
    """The meaning with these modifiers, resolved once and ready to be called with the sources.

    Raises `Unsupported` for a mnemonic that is no arithmetic row and for types that do not fit.
    """
    row = MEANINGS.get(mods.row)
    if row is None:
        mods.unsupported()
    return functools.partial(row.resolve(mods), mods)


def bind(opcode: str) -> Meaning:
    """`bound` for a full spelling ("mad.lo.cc.s32")."""
    row, *tokens = opcode.split(".")
    return bound(Mods.parse(row, tokens))
