"""Values in pieces: aggregates and vectors are their leaves, so most of this only renames."""

from __future__ import annotations

from typing import Any

import numpy as np

from nvir.interp.layout import Array, register_dtype
from nvir.interp.nvvm.constants import scalars, span
from nvir.interp.nvvm.lower import (
    expression,
    known,
    leaves,
    plain,
    rename,
    scalar,
    wide_text,
    width,
)
from nvir.ir import PointerType, VectorType, integer


def emit_select(e: Any) -> None:
    c, a, b = e.instr.operands
    conditions = leaves(e, c)
    results = leaves(e, e.instr)
    for k, (r, x, y) in enumerate(zip(results, leaves(e, a), leaves(e, b), strict=True)):
        p = conditions[k if isinstance(c.type, VectorType) else 0]
        test = e.value(p, "pred")
        name = "select" if width(r.type) == 128 else "where"
        expression(e, r, f"{name}({test}, {wide_text(e, x, r.type)}, {wide_text(e, y, r.type)})")


def emit_freeze(e: Any) -> None:
    for r, a in zip(leaves(e, e.instr), leaves(e, e.instr.operands[0]), strict=True):
        rename(e, r, a)


def emit_extractvalue(e: Any) -> None:
    whole = e.instr.operands[0]
    begin, end = span(whole.type, e.instr.aux)
    for r, a in zip(leaves(e, e.instr), leaves(e, whole)[begin:end], strict=True):
        rename(e, r, a)


def emit_insertvalue(e: Any) -> None:
    whole, part = e.instr.operands
    begin, end = span(whole.type, e.instr.aux)
    old = leaves(e, whole)
    for r, a in zip(leaves(e, e.instr), (*old[:begin], *leaves(e, part), *old[end:]), strict=True):
        rename(e, r, a)


def emit_split(e: Any) -> None:
    """splitStruct: each result is a run of leaves (several for a vector)."""
    parts = iter(leaves(e, e.instr.operands[0]))
    for r in e.instr.results:
        for leaf in leaves(e, r):
            rename(e, leaf, next(parts))


def emit_extractelement(e: Any) -> None:
    whole, index = e.instr.operands
    parts = leaves(e, whole)
    (r,) = leaves(e, e.instr)
    (k,) = leaves(e, index)
    number = known(k)
    if number is not None:
        rename(e, r, parts[number] if number < len(parts) else integer(0))
        return
    values = ", ".join(wide_text(e, p, r.type) for p in parts)
    which = e.value(k, plain(index.type))
    expression(e, r, f"{e.bind(_pick)}({which}, ({values},))")


def _pick(index: Array, parts: tuple[Array, ...]) -> Array:
    out = parts[0]
    for k, part in enumerate(parts[1:], 1):
        hit = index == k
        out = np.where(hit if part.ndim == 1 else hit[:, None], part, out)
    return out


def emit_insertelement(e: Any) -> None:
    whole, value, index = e.instr.operands
    (k,) = leaves(e, index)
    (new,) = leaves(e, value)
    number = known(k)
    which = "" if number is not None else e.value(k, plain(index.type))
    for j, (r, old) in enumerate(zip(leaves(e, e.instr), leaves(e, whole), strict=True)):
        if number is not None:
            rename(e, r, new if j == number else old)
        else:
            a, b = wide_text(e, new, r.type), wide_text(e, old, r.type)
            expression(e, r, f"select({which} == {j}, {a}, {b})")


def emit_shufflevector(e: Any) -> None:
    a, b = e.instr.operands
    both = (*leaves(e, a), *leaves(e, b))
    for r, k in zip(leaves(e, e.instr), e.instr.aux, strict=True):
        rename(e, r, both[k] if k >= 0 else integer(0))


def emit_bitcast(e: Any) -> None:
    """The same bits in other pieces."""
    source = e.instr.operands[0]
    before, after = leaves(e, source), leaves(e, e.instr)
    if len(before) == len(after):
        for r, a in zip(after, before, strict=True):
            rename(e, r, a)
        return
    of, to = scalar(source.type), scalar(e.instr.type)
    repack(e, before, of.bits or 64, after, to.bits or 64)


def repack(e: Any, before: Any, n: int, after: Any, m: int) -> None:
    """Leaves of n bits as leaves of m bits, the first in the low bits."""
    element = scalars(e.instr.operands[0].type) if e.instr.operands else ()
    texts = [
        wide_text(e, a, element[k] if k < len(element) else a.type) for k, a in enumerate(before)
    ]
    dtypes = tuple(register_dtype(r.type) for r in after)
    names = [f"x{e.plan.slot(r)}" for r in after]
    e.line(f"{', '.join(names)}, = {e.bind(regroup)}(({', '.join(texts)},), {n}, {m}, "
           f"{e.bind(dtypes)})")
    for r, name in zip(after, names, strict=True):
        e.define(r, name)


def regroup(parts: tuple[Array, ...], n: int, m: int, dtypes: tuple[Any, ...]) -> list[Array]:
    """Pieces of n bits, lowest first, as pieces of m bits in registers of these dtypes."""
    lanes = max(len(p) for p in parts)
    if n % 8 == 0 and m % 8 == 0:
        size = n // 8
        columns = []
        for p in parts:
            full = np.ascontiguousarray(np.broadcast_to(p, (lanes, *p.shape[1:])))
            columns.append(full.view(np.uint8).reshape(lanes, -1)[:, :size])
        data = np.concatenate(columns, axis=1)
    else:
        data = np.packbits(_as_bits(parts, n, lanes), axis=1, bitorder="little")
    if m % 8:
        flags = np.unpackbits(data, axis=1, bitorder="little")
        return [_from_bits(flags[:, k * m : (k + 1) * m], d) for k, d in enumerate(dtypes)]
    out = []
    for k, dtype in enumerate(dtypes):
        kind = np.dtype(dtype)
        bytes_wide = 16 if m > 64 else kind.itemsize
        padded = np.zeros((lanes, bytes_wide), np.uint8)
        padded[:, : m // 8] = data[:, k * (m // 8) : (k + 1) * (m // 8)]
        view = padded.view(kind)
        out.append(view if m > 64 else view[:, 0])
    return out


def _as_bits(parts: tuple[Array, ...], n: int, lanes: int) -> Array:
    columns = []
    for p in parts:
        full = np.ascontiguousarray(np.broadcast_to(p, (lanes, *p.shape[1:])))
        raw = full.view(np.uint8).reshape(lanes, -1)
        columns.append(np.unpackbits(raw, axis=1, bitorder="little")[:, :n])
    return np.concatenate(columns, axis=1)


def _from_bits(flags: Array, dtype: Any) -> Array:
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.asarray(flags[:, 0].astype(bool))
    padded = np.zeros((len(flags), kind.itemsize * 8), np.uint8)
    padded[:, : flags.shape[1]] = flags
    return np.asarray(np.packbits(padded, axis=1, bitorder="little").view(kind)[:, 0])


def emit_addrspacecast(e: Any) -> None:
    source = e.instr.operands[0]
    cast(e, leaves(e, e.instr), leaves(e, source), space(source.type), space(e.instr.type))


def space(t: Any) -> int:
    t = scalar(t)
    return t.space if isinstance(t, PointerType) else 0


def cast(e: Any, results: Any, sources: Any, of: int, to: int) -> None:
    """Pointers from one address space to another, by way of the generic one."""
    from nvir.interp.nvvm.constants import window

    shift = window(e.program, of) - window(e.program, to)
    for r, a in zip(results, sources, strict=True):
        if not shift:
            rename(e, r, a)
            continue
        k = e.constant(shift & (1 << 64) - 1, np.uint64)
        expression(e, r, f"({e.value(a, 'b64')} + {k})")


EMITTERS = {
    "select": emit_select, "freeze": emit_freeze, "extractvalue": emit_extractvalue,
    "insertvalue": emit_insertvalue, "splitStruct": emit_split,
    "extractelement": emit_extractelement, "insertelement": emit_insertelement,
    "shufflevector": emit_shufflevector,
    "bitcast": emit_bitcast, "addrspacecast": emit_addrspacecast,
}
