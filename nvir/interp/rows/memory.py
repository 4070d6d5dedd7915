"""Loads, stores, address conversions and the stack."""

from __future__ import annotations

from typing import Any

import numpy as np

from nvir.interp.access import LaneAccess, make_load, make_store
from nvir.interp.layout import register_dtype
from nvir.interp.rows import unsupported
from nvir.ir import IMM, Form, Param, SymbolOffset, Variable

_SPACES = {
    "global": "global", "const": "global", "shared": "shared", "shared::cta": "shared",
    "shared::cluster": "shared", "local": "local", "param": "param", "param::entry": "param",
    "param::func": "param", "": "",
}


def space_of(e: Any, form: Form, symbol_space: str) -> str:
    """The region that an access means: by its modifiers, else by the symbol that it names."""
    space = _SPACES[form.space]
    if space == "param":
        if symbol_space:
            return symbol_space
        return "global" if e.plan.function.is_kernel else "local"
    return space or symbol_space


def vector_length(form: Form) -> int:
    """Elements of a .v2, .v4 or .v8 access; 1 of a scalar one."""
    return next((int(m[1:]) for m in form.mods if m in ("v2", "v4", "v8")), 1)


def emit_load(e: Any) -> None:
    i = e.instr
    form = i.form
    base, offset = form.addresses[0]
    text, symbol_space = e.address(base, offset)
    space = space_of(e, form, symbol_space)
    type = form.type
    if type is None or type.bits < 8:
        raise unsupported(i)
    count = vector_length(form)
    if len(i.results) != count:
        raise unsupported(i, f"{form.spelling} into {len(i.results)} of {count} registers")
    dtypes = tuple(register_dtype(r.type) for r in i.results)
    access = LaneAccess(space, type.bits // 8, count, type.is_signed, dtypes)
    if _is_kernel_parameter(e, i.operands[base]) and not e.guard:
        _parameter(e, access, i.operands[base], offset)
        return
    guard = f", {e.guard}" if e.guard else ""
    call = f"{e.bind(make_load(access))}(c, {text}{guard})"
    e.results(call, multiple=count > 1)


def _is_kernel_parameter(e: Any, value: Any) -> bool:
    symbol = value.symbol if isinstance(value, SymbolOffset) else value
    return isinstance(symbol, Param) and e.plan.function.is_kernel and symbol in e.program.params


def _parameter(e: Any, access: LaneAccess, value: Any, offset: int) -> None:
    """A kernel parameter does not change: it is a literal."""
    address = e.program.params[value.symbol if isinstance(value, SymbolOffset) else value]
    if isinstance(value, SymbolOffset):
        address += value.offset
    if offset >= 0:
        address += int(e.instr.operands[offset].value)
    from nvir.interp.access import gather
    from nvir.interp.memory import Fault

    try:
        at = e.program.arena.locate(np.array([address], np.uint64), access.bytes, False)
    except Fault:  # the access itself will say so
        e.results(
            f"{e.bind(make_load(access))}(c, {e.constant(address, np.uint64)})",
            multiple=access.count > 1,
        )
        return
    values = [gather(e.program.arena, at, access, k) for k in range(access.count)]
    e.program.literals += [(x, at, access, k) for k, x in enumerate(values)]
    e.results(", ".join(map(e.bind, values)), multiple=access.count > 1)


def emit_store(e: Any) -> None:
    i = e.instr
    form = i.form
    base, offset = form.addresses[0]
    text, symbol_space = e.address(base, offset)
    space = space_of(e, form, symbol_space)
    type = form.type
    if type is None or type.bits < 8:
        raise unsupported(i)
    count = vector_length(form)
    first = 1 + (offset >= 0)
    values = [e.source(first + k, type.name) for k in range(count)]
    if form.space == "const":
        raise unsupported(i, "a store to const memory")
    access = LaneAccess(space, type.bits // 8, count)
    guard = f", {e.guard}" if e.guard else ""
    e.line(f"{e.bind(make_store(access))}(c, {text}, ({', '.join(values)},){guard})")


# ------------------------------------------------------------- address conversion


def _window(e: Any, space: str) -> int:
    w = e.program.windows
    if space in ("shared", "shared::cta", "shared::cluster"):
        return int(w.shared)
    if space == "local":
        return int(w.local)
    if space in ("param", "param::entry", "param::func") and not e.plan.function.is_kernel:
        return int(w.local)
    return 0


def emit_cvta(e: Any) -> None:
    """cvta.SPACE: offset to generic; cvta.to.SPACE: back. Global, const and param are generic."""
    i = e.instr
    form = i.form
    dtype = register_dtype(i.type)
    value = i.operands[0]
    if isinstance(value, Variable | SymbolOffset):
        text, _ = e.address_of(value, dtype)
    else:
        text = e.source(0, form.mods[-1])
        if value.type is not IMM and register_dtype(value.type) != dtype:
            text = f"{text}.astype({e.bind(dtype)})"
    window = _window(e, form.space)
    if window:
        sign = "-" if "to" in form.mods else "+"
        text = f"({text} {sign} {e.constant(window, dtype)})"
    e.results(text)


def emit_isspacep(e: Any) -> None:
    space = e.instr.form.space
    text = e.source(0, "b64")
    e.results(f"{e.bind(_is_space)}(c, {text}, {space!r})")


def _is_space(c: Any, a: Any, space: str) -> Any:
    w = c.wave.windows
    wide = a.astype(np.uint64, copy=False)
    in_shared = (wide >= w.shared) & (wide < min(w.shared + 512 * w.shared_span, w.local))
    in_local = (wide >= w.local) & (wide < w.local + w.local_span)
    if space == "shared::cluster":
        return in_shared
    if space in ("shared", "shared::cta"):
        rank = (wide - np.uint64(w.shared)) // np.uint64(w.shared_span)
        own = c.special("%cluster_ctarank").astype(np.uint64) + np.uint64(1)
        return in_shared & ((rank == 0) | (rank == own))
    if space == "local":
        return in_local
    kinds = {"const": "const", "param": "param", "param::entry": "param"}
    wanted = kinds.get(space, "global")
    found = np.zeros(len(wide), bool)
    for k, address in enumerate(wide.tolist()):
        allocation = c.wave.arena.find(address)
        kind = "global" if allocation is None else allocation.name.split(" ")[0]
        found[k] = (kind if kind in ("const", "param") else "global") == wanted
    return found & ~in_shared & ~in_local


def emit_mapa(e: Any) -> None:
    i = e.instr
    value = i.operands[0]
    if isinstance(value, Variable | SymbolOffset):
        text, _ = e.address_of(value, register_dtype(i.type))
        generic = False
    else:
        text, generic = e.source(0, i.form.mods[-1]), not i.form.space
    rank = e.source(1, "u32")
    if isinstance(value, Variable | SymbolOffset) and not i.form.space:
        text = f"({text} + {e.constant(e.program.windows.shared, np.uint64)})"
        generic = True
    e.results(f"{e.bind(_mapa)}(c, {text}, {rank}, {generic})")


def _mapa(c: Any, a: Any, rank: Any, generic: bool) -> Any:
    w = c.wave.windows
    kind = a.dtype.type
    base = kind(w.shared if generic else 0)
    offset = (a - base) % kind(w.shared_span)
    return base + offset + (rank.astype(a.dtype) + kind(1)) * kind(w.shared_span)


def emit_getctarank(e: Any) -> None:
    value = e.instr.operands[0]
    if isinstance(value, Variable | SymbolOffset):
        text, generic = e.address_of(value)[0], False
    else:
        text, generic = e.source(0, "b64"), not e.instr.form.space
    e.results(f"{e.bind(_ctarank)}(c, {text}, {generic})")


def _ctarank(c: Any, a: Any, generic: bool) -> Any:
    w = c.wave.windows
    wide = a.astype(np.int64) - (w.shared if generic else 0)
    rank = wide // w.shared_span
    return np.where(rank == 0, c.special("%cluster_ctarank"), (rank - 1).astype(np.uint32))


# -------------------------------------------------------------------- the stack


def emit_alloca(e: Any) -> None:
    i = e.instr
    size = e.source(0, "u64")
    align = int(i.operands[1].value) if i.form.n_sources > 1 else 16
    dtype = e.bind(register_dtype(i.type))
    guard = f", {e.guard}" if e.guard else ""
    e.results(f"{e.bind(_alloca)}(c, {size}, {align}, {dtype}{guard})")


def _alloca(c: Any, size: Any, align: int, dtype: Any, guard: Any = None) -> Any:
    return c.wave.alloca(c, size.astype(np.int64), align, guard).astype(dtype)


def emit_stacksave(e: Any) -> None:
    dtype = e.bind(register_dtype(e.instr.type))
    e.results(f"c.stack_pointer().astype({dtype})")


def emit_stackrestore(e: Any) -> None:
    guard = f", {e.guard}" if e.guard else ""
    e.line(f"c.wave.restore_stack(c, {e.source(0, 'u64')}{guard})")


# A multimem address has one replica here: that of the only GPU.
EMITTERS = {
    "multimem.ld_reduce": emit_load, "multimem.st": emit_store,
    "ld": emit_load, "ldu": emit_load, "st": emit_store, "cvta": emit_cvta,
    "isspacep": emit_isspacep, "mapa": emit_mapa, "getctarank": emit_getctarank,
    "alloca": emit_alloca, "stacksave": emit_stacksave, "stackrestore": emit_stackrestore,
}
