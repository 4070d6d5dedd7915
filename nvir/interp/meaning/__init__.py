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
from nvir.interp.meaning.mods import Mods

Meaning = Callable[..., Any]

__all__ = ["MEANINGS", "Lanes", "Meaning", "Mods", "bind", "bound", "fit"]


@functools.lru_cache(maxsize=1024)
def _of_element(mods: Mods) -> Mods:
    """The modifiers of a packed operation as those of one element."""
    element = PACKED[mods.type][0]
    return attrs.evolve(mods, types=(element, *mods.types[1:]))


@attrs.frozen
class _Arithmetic:
    """A row that means one thing on integers and another on floats, packed or not."""

    integer: Meaning | None
    floating: Meaning | None

    def __call__(self, mods: Mods, *sources: Lanes) -> Any:
        return _resolved(self, mods)(mods, *sources)

    def resolve(self, mods: Mods) -> Meaning:
        """The function for these modifiers; raises `Unsupported`."""
        type_ = mods.type
        if type_ in PACKED:
            return functools.partial(_packed, self)
        chosen = self.floating if is_float(type_) else self.integer
        if chosen is None or type_ not in WIDTH:
            mods.unsupported()
        return floating.plain(mods) or chosen


@functools.lru_cache(maxsize=2048)
def _resolved(row: _Arithmetic, mods: Mods) -> Meaning:
    return row.resolve(mods)


def _packed(row: _Arithmetic, mods: Mods, *sources: Lanes) -> Lanes:
    """One operation on all elements: a packed register seen as that many lanes."""
    inner = _of_element(mods)
    element, count = PACKED[mods.type]
    width = WIDTH[element]
    if width == 8:  # bytes have no registers of their own
        parts = zip(*(split(x, element, count) for x in sources), strict=True)
        return join([row(inner, *part) for part in parts], width, np.uint32)
    narrow = [np.ascontiguousarray(x).view(f"<u{width // 8}") for x in sources]
    shape = np.broadcast_shapes(*(x.shape for x in sources))
    if any(x.shape != shape for x in sources):  # a uniform source: repeat it for each lane
        wide = np.broadcast_arrays(*sources)
        narrow = [np.ascontiguousarray(x).view(f"<u{width // 8}") for x in wide]
    return row(inner, *narrow).view(f"u{width * count // 8}")


@attrs.frozen
class _Either:
    """A float row that is approximate with .approx or .full and else rounds exactly."""

    approximate: Meaning
    exact: Meaning

    def __call__(self, mods: Mods, *sources: Lanes) -> Any:
        return self.resolve(mods)(mods, *sources)

    def resolve(self, mods: Mods) -> Meaning:
        """The function for these modifiers."""
        return self.approximate if mods.approx or mods.full else self.exact


_SCALAR_VIDEO = ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset")
_SIMD_VIDEO = tuple(
    f"v{op}{n}" for op in ("add", "sub", "avrg", "absdiff", "min", "max", "set") for n in (2, 4)
)

MEANINGS: dict[str, Meaning] = {
    "add": _Arithmetic(integer.add, floating.add),
    "sub": _Arithmetic(integer.sub, floating.sub),
    "mul": _Arithmetic(integer.mul, floating.mul),
    "mad": _Arithmetic(integer.mad, floating.fma),
    "fma": _Arithmetic(None, floating.fma),
    "addc": integer.addc,
    "subc": integer.subc,
    "madc": integer.madc,
    "mul24": integer.mul24,
    "mad24": integer.mad24,
    "sad": integer.sad,
    "div": _Arithmetic(integer.div, _Either(approx.div, floating.div)),
    "rem": integer.rem,
    "abs": _Arithmetic(integer.abs_, floating.abs_),
    "neg": _Arithmetic(integer.neg, floating.neg),
    "min": _Arithmetic(integer.min_, floating.min_),
    "max": _Arithmetic(integer.max_, floating.max_),
    "rcp": _Either(approx.rcp, floating.rcp),
    "sqrt": _Either(approx.sqrt, floating.sqrt),
    "rsqrt": approx.rsqrt,
    "sin": approx.sin,
    "cos": approx.cos,
    "lg2": approx.lg2,
    "ex2": _Arithmetic(None, approx.ex2),
    "tanh": _Arithmetic(None, approx.tanh),
    "testp": floating.testp,
    "copysign": floating.copysign,
    "set": compare.set_,
    "setp": compare.setp,
    "selp": compare.selp,
    "slct": compare.slct,
    "and": bits.and_,
    "or": bits.or_,
    "xor": bits.xor,
    "not": bits.not_,
    "cnot": bits.cnot,
    "lop3": bits.lop3,
    "shl": bits.shl,
    "shr": bits.shr,
    "shf": bits.shf,
    "popc": bits.popc,
    "clz": bits.clz,
    "bfind": bits.bfind,
    "fns": bits.fns,
    "brev": bits.brev,
    "bfe": bits.bfe,
    "bfi": bits.bfi,
    "bmsk": bits.bmsk,
    "szext": bits.szext,
    "prmt": bits.prmt,
    "dp4a": bits.dp4a,
    "dp2a": bits.dp2a,
    "mov": bits.mov,
    "cvt": convert.cvt,
    "vmad": video.vmad,
    **dict.fromkeys(_SCALAR_VIDEO, video.scalar),
    **dict.fromkeys(_SIMD_VIDEO, video.simd),
}
"""Row to meaning: `f(mods, *sources)`."""

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

    Raises `Unsupported` for a mnemonic that is no arithmetic row.
    """
    meaning = MEANINGS.get(mods.row)
    if meaning is None:
        mods.unsupported()
    while isinstance(meaning, _Arithmetic | _Either):
        meaning = meaning.resolve(mods)
    return functools.partial(meaning, mods)


def bind(opcode: str) -> Meaning:
    """`bound` for a full spelling ("mad.lo.cc.s32")."""
    row, *tokens = opcode.split(".")
    return bound(Mods.parse(row, tokens))
