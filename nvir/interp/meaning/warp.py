# mypy: disable-error-code="no-any-return"
"""What the lanes of a warp pass to each other: shfl, vote, match, redux, activemask, elect.

Shapes   Every lane array is `(warps, 32)`: raw bits, or bool for predicates. `active` is bool and
         says which lanes run the instruction now; `mask` holds the membermask operand of each lane
         as uint32, or is None for the forms without .sync (all active lanes are members). The
         members seen by a lane are the active lanes whose bit is set in its own mask. Results
         have a value in every lane; those of inactive lanes mean nothing.
Waiting  The machine brings the lanes of a mask together before it calls.
Undefined in PTX   A lane that reads an inactive lane with shfl gets what that lane's register
         holds, as the hardware does mostly.
Source   PTX ISA 9.0, sections 9.7.9.6 (shfl.sync) and 9.7.13.9 to 9.7.13.14.
"""

from __future__ import annotations

import numpy as np

from nvir.interp.meaning.lanes import Lanes
from nvir.interp.meaning.mods import Mods

LANES = np.arange(32)
_BITS = np.uint32(1) << LANES.astype(np.uint32)
_NAN = np.uint32(0x7FFFFFFF)


def _members(active: Lanes, mask: Lanes | None) -> Lanes:
    """`[w, i, j]`: whether lane j is a member for lane i."""
    if mask is None:
        return np.broadcast_to(active[:, None, :], (*active.shape, 32))
    return ((mask[..., None] & _BITS) != 0) & active[:, None, :]


def _ballot(chosen: Lanes) -> Lanes:
    """The last axis, 32 booleans, as bits."""
    return np.where(chosen, _BITS, np.uint32(0)).sum(-1, dtype=np.uint32)


def shfl(mods: Mods, a: Lanes, b: Lanes, c: Lanes) -> tuple[Lanes, Lanes]:
    """`a` of the source lane, and whether that lane is in range (else the lane's own `a`).

    `b` is the lane or its distance, `c` the clamp in bits 4..0 and the segment mask in 12..8.
    """
    step = (b & np.uint32(31)).astype(np.int64)
    clamp = (c & np.uint32(31)).astype(np.int64)
    segment = ((c >> np.uint32(8)) & np.uint32(31)).astype(np.int64)
    low = LANES & segment
    limit = low | (clamp & ~segment)
    if "up" in mods.flags:
        source = LANES - step
        inside = source >= limit
    else:
        if "down" in mods.flags:
            source = LANES + step
        elif "bfly" in mods.flags:
            source = LANES ^ step
        elif "idx" in mods.flags:
            source = low | (step & ~segment)
        else:
            mods.unsupported()
        inside = source <= limit
    source = np.where(inside, source, LANES)
    return np.take_along_axis(a, source, axis=-1), inside


def vote(mods: Mods, a: Lanes, active: Lanes, mask: Lanes | None = None) -> Lanes:
    """.all, .any and .uni of a predicate over the members as a predicate; .ballot as bits."""
    members = _members(active, mask)
    true = members & a[:, None, :]
    if "ballot" in mods.flags:
        return _ballot(true)
    some: Lanes = np.asarray(true.any(-1))
    every: Lanes = np.asarray((true == members).all(-1))
    if "all" in mods.flags:
        return every
    if "any" in mods.flags:
        return some
    if "uni" not in mods.flags:
        mods.unsupported()
    return every | ~some


def match(
    mods: Mods, a: Lanes, active: Lanes, mask: Lanes | None = None
) -> Lanes | tuple[Lanes, Lanes]:
    """.any: the members that hold the lane's value, as bits. .all: all members if they agree, else
    0, and whether they do."""
    members = _members(active, mask)
    same = members & (a[:, None, :] == a[:, :, None])
    if "any" in mods.flags:
        return _ballot(same)
    if "all" not in mods.flags:
        mods.unsupported()
    agree = (same == members).all(-1)
    return np.where(agree, _ballot(members), np.uint32(0)), agree


def redux(mods: Mods, a: Lanes, active: Lanes, mask: Lanes | None = None) -> Lanes:
    """The members' values reduced by .add, .min, .max, .and, .or or .xor; the same in each lane."""
    members = _members(active, mask)
    values = np.broadcast_to(a[:, None, :], members.shape)
    if mods.type == "f32":
        return _redux_f32(mods, values, members)
    found = {"add", "min", "max", "and", "or", "xor"} & mods.flags
    if len(found) != 1:
        mods.unsupported()
    op = found.pop()
    if mods.type == "s32":
        values = values.view(np.int32)
    info = np.iinfo(values.dtype)
    kind = values.dtype.type
    neutral = {"min": info.max, "max": info.min, "and": -1 if info.min else info.max}.get(op, 0)
    values = np.where(members, values, kind(neutral))
    function = {
        "add": np.add,
        "min": np.minimum,
        "max": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }[op]
    return function.reduce(values, axis=-1, dtype=values.dtype).view(np.uint32)


def _redux_f32(mods: Mods, values: Lanes, members: Lanes) -> Lanes:
    """min or max; -0 is below +0; NaN counts only with .NaN or if there is nothing else."""
    least = "min" in mods.flags
    if not (least or "max" in mods.flags):
        mods.unsupported()
    if mods.abs:
        values = values & np.uint32(0x7FFFFFFF)
    nan = (values & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    signed = values.view(np.int32)
    order = np.where(signed < 0, signed ^ np.int32(0x7FFFFFFF), signed).astype(np.int64)
    valid = members & ~nan
    if least:
        best = np.where(valid, order, np.int64(1 << 40)).min(-1)
    else:
        best = np.where(valid, order, np.int64(-(1 << 40))).max(-1)
    key = best.astype(np.int32)
    result = np.where(key < 0, key ^ np.int32(0x7FFFFFFF), key).view(np.uint32)
    bad = (members & nan).any(-1) if mods.nan else ~valid.any(-1)
    return np.where(bad, _NAN, result)


def activemask(active: Lanes) -> Lanes:
    """The active lanes as bits."""
    return np.broadcast_to(_ballot(active)[:, None], active.shape)


def elect(active: Lanes, mask: Lanes) -> tuple[Lanes, Lanes]:
    """The lowest member's lane number, and whether this lane is it."""
    leader = _members(active, mask).argmax(-1)
    return leader.astype(np.uint32), leader == LANES
