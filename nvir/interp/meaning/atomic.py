"""What atom and red leave in memory: a function of the old value and the operands.

The machine applies it lane by lane where lanes meet at one address, or all at once where none do.
Types are those of PTX's add, min, max ...: integers wrap, floats round to nearest, f16 and bf16
keep subnormals. f32 additions in *global* memory flush subnormals, those in shared memory do not
(`flush` says which). A vector operation (.v2.f32) is one call for each element.
Source: PTX ISA 9.0, sections 9.7.13.6 (atom) and 9.7.13.7 (red).
"""

from __future__ import annotations

import functools

import numpy as np

from nvir.interp.meaning import Meaning, bind
from nvir.interp.meaning.lanes import Lanes
from nvir.interp.meaning.mods import Mods

OPERATIONS = ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")
_BITWISE = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


def operation(mods: Mods) -> str:
    """The operation that an atom or red names."""
    found = next((op for op in OPERATIONS if op in mods.flags), "")
    if not found:
        mods.unsupported()
    return found


def atomic(
    mods: Mods, old: Lanes, b: Lanes, c: Lanes | None = None, *, flush: bool = False
) -> Lanes:
    """The new value of memory that held `old`; raw bits of the operation's type.

    `b` is the operand, for cas the value to compare with, and `c` the one to put in its place.
    """
    name = operation(mods)
    if name == "exch":
        return b
    if name == "cas":
        assert c is not None
        return _compare_and_swap(old, b, c)
    if name in _BITWISE:
        return np.asarray(_BITWISE[name](old, b))
    if name == "inc":
        return np.asarray(np.where(old >= b, old.dtype.type(0), old + old.dtype.type(1)))
    if name == "dec":
        wrap = (old == 0) | (old > b)
        return np.asarray(np.where(wrap, b, old - old.dtype.type(1)))
    return np.asarray(_arithmetic(name, mods.type, flush)(old, b))


@functools.lru_cache(maxsize=64)
def _arithmetic(name: str, type_: str, flush: bool) -> Meaning:
    ftz = ".ftz" if flush and type_ == "f32" else ""
    return bind(f"{name}{ftz}.{type_}")


def _compare_and_swap(old: Lanes, b: Lanes, c: Lanes) -> Lanes:
    same = old == b
    if old.ndim > 1:  # b128 is a pair of words
        same = same.all(-1)[..., None]
    return np.asarray(np.where(same, c, old))
