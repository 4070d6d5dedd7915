"""Shuffles and matches. A value of 64 bits goes in two halves, one of 16 in the low half.

    c of `shfl` = (32 - width) << 8 | clamp, the clamp being 0 of `up` and 31 of the others
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nvir.frontend.builtins.work import Work
from nvir.ir import I1, I32, I64, Value, int_type, struct
from nvir.ir.nvvm import const


def shuffle(w: Work, mode: str, legacy: str = "") -> Value:
    """__shfl*_sync(mask, v, lane, width) and, without the mask, what came before them."""
    first = 0 if legacy else 1
    v, lane, width = (w.value(first + k) for k in range(3))
    clamp = w.b.shl(w.b.sub(const(I32, 32), width), const(I32, 8)) if not width.is_constant else (
        const(I32, (32 - w.number(first + 2)) << 8)
    )
    if mode != "up":
        known = getattr(clamp, "value", None) if clamp.is_constant else None
        clamp = const(I32, known | 31) if isinstance(known, int) else w.b.or_(
            clamp, const(I32, 31))
    head = [] if legacy else [w.value(0)]
    name = f"llvm.nvvm.shfl.sync.{mode}.i32"
    lane = w.fit(lane, I32)

    def one(part: Value) -> Value:
        if legacy:
            text = f"shfl.{mode}.b32 $0, $1, $2, $3;"
            return w.asm(text, I32, [part, lane, clamp], True)  # type: ignore[no-any-return]
        made: Value = w.intrinsic(name, I32, [*head, part, lane, clamp], "", True)
        return made

    return _by_words(w, v, one)


def _by_words(w: Work, v: Value, one: object) -> Value:
    """Apply a function of 32 bits to a value of 16, 32 or 64."""
    bits = v.type.bits
    raw = w.fit(v, int_type(bits))
    if bits <= 32:
        made = one(w.fit(raw, I32))  # type: ignore[operator]
        return w.fit(w.fit(made, int_type(bits)), v.type)
    low = one(w.b.trunc(raw, I32))  # type: ignore[operator]
    high = one(w.b.trunc(w.b.lshr(raw, const(I64, 32)), I32))  # type: ignore[operator]
    whole = w.b.or_(w.b.zext(low, I64), w.b.shl(w.b.zext(high, I64), const(I64, 32)))
    return w.fit(whole, v.type)


def match_any(w: Work) -> Value:
    v = w.value(1)
    raw = w.fit(v, int_type(v.type.bits))
    name = f"llvm.nvvm.match.any.sync.i{raw.type.bits}"
    return w.give(w.intrinsic(name, I32, [w.value(0), raw], "", True))


def match_all(w: Work) -> Value:
    """__match_all_sync(mask, v, &all): the mask, and whether all have one value."""
    v = w.value(1)
    raw = w.fit(v, int_type(v.type.bits))
    name = f"llvm.nvvm.match.all.sync.i{raw.type.bits}p"
    made = w.intrinsic(name, struct([I32, I1]), [w.value(0), raw], "", True)
    w.b.store(w.fit(w.b.extract_value(made, 1), I32), w.value(2), 4)
    return w.give(w.b.extract_value(made, 0))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "shuffle": shuffle, "match_any": match_any, "match_all": match_all,
}
