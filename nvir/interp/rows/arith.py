"""Arithmetic rows: a call of the row's meaning, or for the commonest a Python expression.

The expressions (`x1 + x2` on unsigned vectors for add.s32) are what the meaning computes; a test
holds them to it. Everything with a rounding, saturation or flag goes through the meaning.
"""

from __future__ import annotations

import functools
from typing import Any

import attrs
import numpy as np

from nvir.interp.emit import source_marks
from nvir.interp.layout import register_dtype
from nvir.interp.meaning import MEANINGS, Mods
from nvir.interp.meaning.lanes import WIDTH, register
from nvir.ir import IMM, Constant, Form

_INTEGRAL = frozenset(["b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"])
_SYMBOL = {"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^", "mul": "*"}
_VECTORS = frozenset(("v2", "v4", "v8"))
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_UNSIGNED = {"lo": "<", "ls": "<=", "hi": ">", "hs": ">="}


@functools.lru_cache(maxsize=1 << 13)
def source_types(form: Form) -> tuple[str, ...]:
    """The PTX type of each written source, for literals."""
    mods = Mods.parse(form.name, form.mods)
    t, last, row = mods.type or "b32", mods.stype or "b32", form.name.split(".")[0]
    n = form.n_sources
    if row in ("shl", "shr"):
        return (t, "u32")
    if row == "bfe":
        return (t, "u32", "u32")
    if row == "bfi":
        return (t, t, "u32", "u32")
    if row in ("selp", "setp"):
        return (t, t, "pred")[:n]
    if row == "set":
        return (last, last, "pred")[:n]
    if row == "slct":
        return (t, t, last)
    if row in ("mad", "madc") and mods.part == "wide":
        return (t, t, f"b{WIDTH[t] * 2}")
    if row == "cvt":
        return (
            ("b32",) * n
            if "pack" in form.name
            else (last, last, "b32")[:n]
            if n < 4
            else (last,) * n
        )
    if row in ("lop3", "prmt", "dp4a", "dp2a", "fns", "bmsk", "szext", "shf") or row[0] == "v":
        return ("b32", "b32", "b32", "b32", "pred")[:n]
    if row in ("add", "sub", "fma") and len(mods.types) == 2:
        return (last,) * (n - 1) + (t,)
    return (t,) * n


@functools.lru_cache(maxsize=1 << 13)
def bound_meaning(form: Form) -> Any:
    """The row's meaning with the form's modifiers and selectors."""
    mods = Mods.parse(form.name, form.mods)
    sources, results = source_marks(form)
    if form.name[0] == "v" and form.name != "vote":
        picks: Any = (results[0] if results else "", *(m[1] for m in sources[:2]))
        signs: Any = tuple(m[0] == "-" for m in sources[:3])
        if form.name == "vmad":
            mods = attrs.evolve(mods, negate=signs)
        mods = attrs.evolve(mods, select=picks)
    return functools.partial(MEANINGS[form.name], mods)


def result_types(form: Form) -> tuple[str, ...]:
    """The PTX types of what the meaning gives."""
    return tuple("pred" if t.name == "cc" else t.name for t in form.result_types)


def emit(e: Any) -> None:
    """Any row with a meaning."""
    i = e.instr
    form = i.form
    short = _short(e, form)
    if short is not None:
        e.results(short)
        return
    types = source_types(form)
    args = [e.source(k, types[k] if k < len(types) else types[-1]) for k in range(form.n_sources)]
    if form.carry_in:
        args.append(e.value(i.operands[form.n_sources]))
    call = f"{e.bind(bound_meaning(form))}({', '.join(args)})"
    e.results(call, multiple=_is_tuple(form), types=result_types(form))


def _is_tuple(form: Form) -> bool:
    if form.name == "setp" or form.carry_out:
        return True
    return form.name == "lop3" and bool({"and", "or", "xor"} & set(form.mods))


def _short(e: Any, form: Form) -> str | None:
    """A Python expression on unsigned vectors that means the same, or None."""
    if form.name not in _SHORT or form.carry_out or form.carry_in:
        return None
    return _SHORT[form.name](e, form, form.mods)  # type: ignore[no-any-return]


def _exact(e: Any, type: str, count: int) -> bool:
    """Whether the first `count` sources and the results are registers or literals of just that
    width, so that no value is cut or extended."""
    want = register(type)
    for v in e.instr.operands[:count]:
        if v.type is IMM:
            continue
        if register_dtype(v.type) != want or (isinstance(v, Constant) and v.type.name != type):
            return False
    return all(register_dtype(r.type) == want for r in e.instr.results)


def _binary(e: Any, form: Form, mods: tuple[str, ...]) -> str | None:
    name = form.name
    if name == "mul":
        if len(mods) != 2 or mods[0] != "lo":
            return None
        mods = mods[1:]
    if len(mods) != 1 or form.n_sources != 2:
        return None
    type = mods[0]
    if type not in _INTEGRAL and not (type == "pred" and name in ("and", "or", "xor")):
        return None
    if not _exact(e, type, 2):
        return None
    return f"({e.source(0, type)} {_SYMBOL[name]} {e.source(1, type)})"


def _mad(e: Any, form: Form, mods: tuple[str, ...]) -> str | None:
    if len(mods) != 2 or mods[0] != "lo" or mods[1] not in _INTEGRAL or not _exact(e, mods[1], 3):
        return None
    a, b, c = (e.source(k, mods[1]) for k in range(3))
    return f"({a} * {b} + {c})"


def _not(e: Any, form: Form, mods: tuple[str, ...]) -> str | None:
    return f"(~{e.source(0, mods[0])})" if _exact(e, mods[0], 1) else None


def _shift(e: Any, form: Form, mods: tuple[str, ...]) -> str | None:
    type, amount = mods[-1], e.instr.operands[1]
    if len(mods) != 1 or type not in _INTEGRAL or amount.type is not IMM or not _exact(e, type, 1):
        return None
    n = int(amount.value)
    if not 0 <= n < WIDTH[type] or e.instr.operands[0].type is IMM:
        return None
    k = e.constant(n, register(type))
    x = e.source(0, type)
    if form.name == "shl":
        return f"({x} << {k})"
    if type[0] != "s":
        return f"({x} >> {k})"
    size = WIDTH[type] // 8
    return f"({x}.view(i{size}) >> {e.constant(n, f'i{size}')}).view(u{size})"


def _setp(e: Any, form: Form, mods: tuple[str, ...]) -> str | None:
    if len(mods) != 2 or mods[1] not in _INTEGRAL or form.n_results != 1:
        return None
    cmp, type = mods
    if not _exact_sources(e, type):
        return None
    a, b = e.source(0, type), e.source(1, type)
    if cmp in _UNSIGNED:
        return f"({a} {_UNSIGNED[cmp]} {b})"
    if cmp not in _COMPARE:
        return None
    if type[0] == "s" and cmp not in ("eq", "ne"):
        size = WIDTH[type] // 8
        return f"({a}.view(i{size}) {_COMPARE[cmp]} {b}.view(i{size}))"
    return f"({a} {_COMPARE[cmp]} {b})"


def _exact_sources(e: Any, type: str) -> bool:
    want = register(type)
    return all(
        v.type is IMM or (register_dtype(v.type) == want and not isinstance(v, Constant))
        for v in e.instr.operands[:2]
    )


def _selp(e: Any, form: Form, mods: tuple[str, ...]) -> str | None:
    type = mods[-1]
    if type not in WIDTH or type == "b128" or not _exact(e, type, 2):
        return None
    return f"where({e.source(2, 'pred')}, {e.source(0, type)}, {e.source(1, type)})"


def _cvt(e: Any, form: Form, mods: tuple[str, ...]) -> str | None:
    if len(mods) != 2 or form.n_sources != 1:
        return None
    to, of = mods
    source = e.instr.operands[0]
    if to not in _INTEGRAL or of not in _INTEGRAL or source.type is IMM:
        return None
    if register_dtype(source.type) != register(of) or register_dtype(e.instr.type) != register(to):
        return None
    n, m = WIDTH[to] // 8, WIDTH[of] // 8
    x = e.source(0, of)
    if n <= m or of[0] != "s":
        return x if n == m else f"{x}.astype(u{n})"
    return f"{x}.view(i{m}).astype(i{n}).view(u{n})"


def _mov(e: Any, form: Form, mods: tuple[str, ...]) -> str | None:
    i = e.instr
    if form.n_sources != 1 or form.n_results != 1 or not mods or mods[0] in _VECTORS:
        return None
    type = mods[-1]
    source = i.operands[0]
    text = e.source(0, type)
    have = register(type) if source.type is IMM or isinstance(source, Constant) else None
    have = register_dtype(source.type) if have is None else have
    want = register_dtype(i.type)
    return text if have == want else f"{text}.astype({e.bind(want)})"


_SHORT: dict[str, Any] = {
    **dict.fromkeys(("add", "sub", "and", "or", "xor", "mul"), _binary),
    "mad": _mad, "not": _not, "shl": _shift, "shr": _shift, "setp": _setp, "selp": _selp,
    "cvt": _cvt, "mov": _mov,
}


def emit_mov(e: Any) -> None:
    """mov: a copy, an address, a vector packed or taken apart."""
    i = e.instr
    form = i.form
    if _VECTORS & set(form.mods):
        _mov_vector(e)
        return
    if form.n_sources == 1 and form.n_results == 1:
        short = _mov(e, form, form.mods)
        if short is not None:
            e.results(short)
            return
    mods = Mods.parse("mov", form.mods)
    width = WIDTH[mods.type]
    n = len(i.results)
    part = f"b{width // max(n, form.n_sources)}" if max(n, form.n_sources) > 1 else mods.type
    args = [e.source(k, part if form.n_sources > 1 else mods.type) for k in range(form.n_sources)]
    call = functools.partial(MEANINGS["mov"], mods, results=n)
    types = [part] if n > 1 else [mods.type]
    e.results(f"{e.bind(call)}({', '.join(args)})", multiple=n > 1, types=types)


def _mov_vector(e: Any) -> None:
    """`mov.v4.u32 {a, b, c, d}, %tid` and vectors of registers."""
    i = e.instr
    source = i.operands[0]
    if i.form.n_sources == 1 and getattr(source, "name", "").startswith("%"):
        parts = [f"c.special({source.name + '.' + x!r})" for x in "xyzw"[: len(i.results)]]
    else:
        parts = [e.source(k, i.form.mods[-1]) for k in range(i.form.n_sources)]
    e.results(f"({', '.join(parts)},)", multiple=True)


EMITTERS = {**dict.fromkeys(MEANINGS, emit), "mov": emit_mov}

__all__ = ["EMITTERS", "bound_meaning", "np", "source_types"]
