"""Bulk copies of boxes of tensors, and changes of tensor maps. Tile mode; im2col is Unsupported.

Like other bulk copies they are done at once, and count their bytes on the mbarrier. What lies
outside of the tensor is read as zero and not written.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from nvir.interp.access import locate, positions
from nvir.interp.layout import Array
from nvir.interp.meaning import Mods
from nvir.interp.meaning.atomic import OPERATIONS
from nvir.interp.meaning.atomic import atomic as meaning
from nvir.interp.memory import Fault, locate_within
from nvir.interp.rows import unsupported
from nvir.interp.rows.asyncs import _count, _ranks, _remote
from nvir.interp.rows.atoms import Atomic, perform
from nvir.interp.rows.memory import space_of
from nvir.interp.tensormap import ELEMENTS, FIELDS, SIZE, box_places, decode

_EVERY = np.zeros(2)
_REPLACE = {
    "global_address": "address", "rank": "rank", "box_dim": "box", "global_dim": "extents",
    "global_stride": "strides", "element_stride": "steps", "swizzle_mode": "swizzle",
    "interleave_layout": "interleave", "fill_mode": "fill",
    "elemtype": "type",
}


def _rank(i: Any) -> int:
    form = i.form
    if {"im2col", "im2col::w", "tile::gather4", "tile::scatter4"} & set(form.mods):
        raise unsupported(i)
    return next(int(m[0]) for m in form.mods if len(m) == 2 and m[1] == "d")


def _operands(e: Any, which: int) -> tuple[str, str]:
    """(address of the tensor map, tuple of coordinates) of the operand `[map, {…}]`."""
    i = e.instr
    base, offset = i.form.addresses[which]
    first = max(base, offset) + 1
    coordinates = [e.source(first + k, "s32") for k in range(_rank(i))]
    return e.address(base, offset)[0], f"({', '.join(coordinates)},)"


def emit_load(e: Any) -> None:
    """From global to shared memory."""
    i = e.instr
    form = i.form
    if form.mods[1] == "global":
        emit_store(e)
        return
    to = e.address(*form.addresses[0])[0]
    where, corner = _operands(e, 1)
    barrier = e.address(*form.addresses[2])[0]
    multicast = "None"
    if "multicast::cluster" in form.mods:
        last = form.n_sources - 1 - ("L2::cache_hint" in form.mods)
        multicast = e.source(last, "u16")
    e.line(
        f"{e.bind(_load)}(c, {to}, {where}, {corner}, {barrier}, {multicast}, {e.guard or 'None'})"
    )


def emit_store(e: Any) -> None:
    """From shared to global memory, or combined into it."""
    where, corner = _operands(e, 0)
    of = e.address(*e.instr.form.addresses[1])[0]
    form = e.instr.form
    op = None
    if form.name.startswith("cp.reduce"):
        op = next((m for m in form.mods if m in OPERATIONS), None)
    e.line(f"{e.bind(_store)}(c, {where}, {corner}, {of}, {op!r}, {e.guard or 'None'})")


@functools.lru_cache(maxsize=64)
def _reduction(op: str, type: str, size: int) -> Atomic:
    combine = functools.partial(meaning, Mods.parse("red", (op, type)))
    return Atomic(op, type, size, combine, combine)


def _each(c: Any, guard: Array | None) -> list[int]:
    pos = positions(c, _EVERY, guard)
    lanes: Array = np.arange(c.m) if pos is None else pos
    return [int(k) for k in lanes]


def _one(x: Array, k: int) -> Array:
    return x if len(x) == 1 else x[k : k + 1]


def _map(c: Any, where: Array, k: int) -> Any:
    ((region, at, _),) = locate(c, "", _one(where, k), np.array([k]), 8, False)
    return decode(region.data[int(at[0]) : int(at[0]) + SIZE])


def _corner(corner: tuple[Array, ...], k: int) -> list[int]:
    return [int(_one(x, k).view(np.int32)[0]) for x in corner]


def _load(
    c: Any, to: Array, where: Array, corner: tuple[Array, ...], barrier: Array,
    multicast: Array | None, guard: Array | None,
) -> None:
    wave = c.wave
    for k in _each(c, guard):
        here = np.array([k])
        try:
            fields = _map(c, where, k)
            size = int(fields["bytes"])
            mask = None if multicast is None else int(_one(multicast, k)[0])
            for rank in _ranks(c, mask):
                target = _remote(c, _one(to, k), rank)
                offset, base = _shared(c, target, here)
                address, inside, places = box_places(fields, _corner(corner, k), offset)
                places = locate_within(places, wave.shared_size, size, True, "shared") + base
                data = np.zeros(len(places), f"u{size}")
                if inside.any():
                    at = wave.arena.locate(address[inside].astype(np.uint64), size, False)
                    data[inside] = wave.arena.views[size][at // size]
                wave.shared.views[size][places // size] = data
                if wave.shared.written is not None:
                    for b in range(size):
                        wave.shared.written[places + b] = True
                _count(c, here, _remote(c, _one(barrier, k), rank), len(places) * size)
        except Fault as fault:
            fault.lane = int(c.lane_numbers()[k])
            raise
    wave.writes += 1


def _shared(c: Any, address: Array, here: Array) -> tuple[int, int]:
    """(offset in the CTA's shared memory, where that begins in the wave's)."""
    span = c.wave.windows.shared_span
    ((_, at, _),) = locate(c, "shared", address, here, 1, True)
    offset = int(address[0]) % span
    if offset % 128:
        raise Fault("the box of a tensor copy must be aligned to 128 bytes", 0, int(address[0]))
    return offset, int(at[0]) - offset


def _store(
    c: Any, where: Array, corner: tuple[Array, ...], of: Array, op: str | None,
    guard: Array | None,
) -> None:
    wave = c.wave
    for k in _each(c, guard):
        try:
            fields = _map(c, where, k)
            size = int(fields["bytes"])
            offset, base = _shared(c, _one(of, k), np.array([k]))
            address, inside, places = box_places(fields, _corner(corner, k), offset)
            places = locate_within(places, wave.shared_size, size, False, "shared") + base
            if not inside.any():
                continue
            at = wave.arena.locate(address[inside].astype(np.uint64), size, True)
            data = wave.shared.views[size][places[inside] // size]
            if op is None:
                wave.arena.views[size][at // size] = data
            else:
                atomic = _reduction(op, ELEMENTS[int(fields["type"])][0], size)
                perform(atomic, wave.arena, at, data, None, 0, False)
        except Fault as fault:
            fault.lane = int(c.lane_numbers()[k])
            raise
    wave.writes += 1


def emit_replace(e: Any) -> None:
    """tensormap.replace: one field, or one element of a field."""
    i = e.instr
    form = i.form
    field = next((_REPLACE[m] for m in form.mods if m in _REPLACE), "")
    if not field:
        raise unsupported(i)
    base, offset = form.addresses[0]
    text, symbol_space = e.address(base, offset)
    first = max(base, offset) + 1
    array = FIELDS[field].shape != ()
    ordinal = int(i.operands[first].value) if array else 0
    value = e.source(first + array, "b64")
    space = space_of(e, form, symbol_space)
    f = e.bind(_replace)
    e.line(f"{f}(c, {space!r}, {text}, {field!r}, {ordinal}, {value}, {e.guard or 'None'})")


def _replace(
    c: Any, space: str, where: Array, field: str, ordinal: int, value: Array, guard: Array | None
) -> None:
    for k in _each(c, guard):
        ((region, at, _),) = locate(c, space, _one(where, k), np.array([k]), 8, True)
        place = region.data[int(at[0]) : int(at[0]) + SIZE].view(FIELDS)
        decode(place.view(np.uint8))
        new = int(_one(value, k)[0])
        if field == "rank":
            new += 1  # the instruction counts from 0
        if field == "type":
            place["bytes"] = ELEMENTS[new][1] if new < len(ELEMENTS) else 0
        if FIELDS[field].shape:
            place[field][0, ordinal] = new
        else:
            place[field] = new


def emit_copy_map(e: Any) -> None:
    """tensormap.cp_fenceproxy: 128 bytes from shared to global memory."""
    form = e.instr.form
    to, of = e.address(*form.addresses[0])[0], e.address(*form.addresses[1])[0]
    e.line(f"{e.bind(_copy_map)}(c, {to}, {of}, {e.guard or 'None'})")


def _copy_map(c: Any, to: Array, of: Array, guard: Array | None) -> None:
    for k in _each(c, guard)[:1]:
        here = np.array([k])
        ((source, a, _),) = locate(c, "shared", _one(of, k), here, 8, False)
        ((target, b, _),) = locate(c, "", _one(to, k), here, 8, True)
        data = source.data[int(a[0]) : int(a[0]) + SIZE]
        target.data[int(b[0]) : int(b[0]) + SIZE] = data


EMITTERS = {
    "cp.async.bulk.tensor": emit_load, "cp.reduce.async.bulk.tensor": emit_store,
    "tensormap.replace": emit_replace, "tensormap.cp_fenceproxy": emit_copy_map,
}
