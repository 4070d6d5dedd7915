"""Intrinsics whose names are made up of parts: matrix fragments, textures, surfaces.

    llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16.p3
    llvm.nvvm.mma.m16n8k16.row.col.f32.f32          (of f16: the types of D and C)
    llvm.nvvm.mma.m16n8k32.row.col.satfinite.s8     (else those of A and B)
    llvm.nvvm.tex.unified.2d.v4f32.f32, llvm.nvvm.suld.2d.v4i32.trap, …

The registers of a fragment follow from the call: those of D are the result's, C has as many (of
f16 by its type), and A and B share the rest by the shape.

Source: LLVM's IntrinsicsNVVM.td; PTX ISA, "Warp-level Matrix Instructions", "Texture Instructions".
"""

from __future__ import annotations

import functools
import re
from typing import Any

from nvir.ir.instruction import Instruction
from nvir.ir.values import Value
from nvir.passes.select.lanes import Rule
from nvir.passes.select.selector import Parts, Selector

_LOAD = re.compile(
    r"llvm\.nvvm\.wmma\.(?P<shape>m\d+n\d+k\d+)\.(?P<what>load|store)\.(?P<fragment>[abcd])"
    r"\.(?P<layout>row|col)(?P<stride>\.stride)?\.(?P<type>\w+)"
)
_WMMA = re.compile(
    r"llvm\.nvvm\.wmma\.(?P<shape>m\d+n\d+k\d+)\.mma(?P<bits>\.\w+\.popc)?\.(?P<a>row|col)"
    r"\.(?P<b>row|col)(?P<round>\.r[nzmp])?(?P<types>(?:\.[a-z]+\d+)+?)(?P<sat>\.satfinite)?$"
)
_MMA = re.compile(
    r"llvm\.nvvm\.mma(?P<bits>\.\w+\.popc)?\.(?P<shape>m\d+n\d+k\d+)\.(?P<a>row|col)"
    r"\.(?P<b>row|col)(?P<sat>\.satfinite)?(?P<types>(?:\.[a-z]+\d+)+)$"
)
_TEXTURE = re.compile(
    r"llvm\.nvvm\.(?P<what>tex|tld4)\.unified(?:\.(?P<channel>[rgba]))?"
    r"\.(?P<shape>1d|2d|3d|cube)(?P<array>\.array)?(?P<mode>\.level|\.grad)?"
    r"\.v4(?P<type>[fsu]32)\.(?P<coordinates>[fs]32)$"
)
_SURFACE = re.compile(
    r"llvm\.nvvm\.(?P<what>suld|sust\.b|sust\.p)\.(?P<shape>1d|2d|3d)(?P<array>\.array)?"
    r"\.(?P<vector>v[24])?i(?P<bits>\d+)\.(?P<clamp>clamp|trap|zero)$"
)
_QUERY = re.compile(r"llvm\.nvvm\.(?P<what>txq|suq)\.(?P<property>[a-z.]+)$")


def find(name: str) -> Rule | None:
    """The rule of such an intrinsic, or None."""
    for pattern, rule in (
        (_LOAD, _fragment), (_WMMA, _wmma), (_MMA, _mma), (_TEXTURE, _texture),
        (_SURFACE, _surface), (_QUERY, _query),
    ):
        m = pattern.match(name)
        if m is not None:
            return functools.partial(_run, rule, m)
    return None


def _run(rule: Any, m: re.Match[str], s: Selector, i: Instruction) -> Parts:
    out: Parts = rule(s, i, m)
    return out


# ------------------------------------------------------------------ matrices


def _group(s: Selector, values: tuple[Value, ...]) -> list[Value]:
    from nvir.passes.select.intrinsics import packed

    return [r for v in values for r in packed(s, v, True)]


def _fragment(s: Selector, i: Instruction, m: re.Match[str]) -> Parts:
    from nvir.passes.select.intrinsics import emit

    pointer, *rest = i.operands
    a = s.fitting(s.address(pointer))
    stride = [s.one(rest.pop())] if m["stride"] else []
    spelling = (
        f"wmma.{m['what']}.{m['fragment']}.sync.aligned.{m['layout']}.{m['shape']}{a.modifier}"
        f".{m['type']}"
    )
    if m["what"] == "load":
        return emit(s, spelling, (a.operand, *stride), i.type)
    s.emit(spelling, (a.operand, _group(s, tuple(rest)), *stride))
    return ()


def _types(m: re.Match[str]) -> tuple[str, str, str, str]:
    """The types of D, A, B and C."""
    given = m["types"][1:].split(".")
    if given[0] in ("f16", "f32") and len(given) == 2:
        return given[0], "f16", "f16", given[1]
    a, b = given[0], given[-1]
    accumulator = {"bf16": "f32", "tf32": "f32", "f64": "f64"}.get(a, "s32")
    return accumulator, a, b, accumulator


def _operands(
    s: Selector, i: Instruction, c: int, share: tuple[int, int]
) -> tuple[list[Value], list[Value], list[Value]]:
    """A, B and C; A has `share[0]` of `share[1]` parts of what is not C."""
    n = len(i.operands) - c
    a = n * share[0] // share[1]
    v = i.operands
    return _group(s, v[:a]), _group(s, v[a:n]), _group(s, v[n:])


def _accumulators(i: Instruction, kind: str, of_f32: int) -> int:
    """How many operands C has, where D may differ from it."""
    members = getattr(i.type, "elements", None)
    n = len(members) if members is not None else 1
    return n if not of_f32 else of_f32 if kind == "f32" else of_f32 // 2


def _wmma(s: Selector, i: Instruction, m: re.Match[str]) -> Parts:
    from nvir.passes.select.intrinsics import emit

    d, a, b, c = _types(m)
    share = (1, 2)
    if a != "f16" and m["shape"] == "m8n32k16":
        share = (1, 5)
    elif a != "f16" and m["shape"] == "m32n8k16":
        share = (4, 5)
    n = _accumulators(i, c, 8 if a == "f16" else 0)
    x, y, z = _operands(s, i, n, share)
    kinds = f"{d}.{c}" if a == "f16" else f"{d}.{a}.{b}.{c}"
    spelling = (
        f"wmma.mma{m['bits'] or ''}.sync.aligned.{m['a']}.{m['b']}.{m['shape']}"
        f"{m['round'] or ''}.{kinds}{m['sat'] or ''}"
    )
    return emit(s, spelling, (x, y, z), i.type)


def _mma(s: Selector, i: Instruction, m: re.Match[str]) -> Parts:
    from nvir.passes.select.intrinsics import emit

    d, a, b, c = _types(m)
    wide = m["shape"].startswith("m16n8")
    n = _accumulators(i, c, (4 if wide else 8) if a == "f16" else 0)
    x, y, z = _operands(s, i, n, (2, 3) if wide else (1, 2))
    spelling = (
        f"mma.sync.aligned.{m['shape']}.{m['a']}.{m['b']}{m['sat'] or ''}.{d}.{a}.{b}.{c}"
        f"{m['bits'] or ''}"
    )
    return emit(s, spelling, (x, y, z), i.type)


# ------------------------------------------------------- textures, surfaces


_RANK = {"1d": 1, "2d": 2, "3d": 3, "cube": 3}


def _coordinates(
    s: Selector, values: list[Value], shape: str, array: bool
) -> tuple[list[Value], list[Value]]:
    """The vector of the place, filled to four where PTX wants four; and what is left."""
    n = _RANK[shape] + array
    at = [s.reg(s.one(v), _spelled(v)) for v in values[:n]]
    if n == 3:
        at.append(at[-1])
    return at, values[n:]


def _spelled(v: Value) -> str:
    return "f32" if v.type.name == "float" else "b32"


def _place(m: re.Match[str]) -> str:
    return f"a{m['shape']}" if m["array"] else str(m["shape"])


def _texture(s: Selector, i: Instruction, m: re.Match[str]) -> Parts:
    from nvir.passes.select.intrinsics import emit

    handle, *values = i.operands
    at, rest = _coordinates(s, values, m["shape"], bool(m["array"]))
    extra: list[Any] = []
    if m["mode"] == ".level":
        extra = [s.reg(s.one(rest[0]), "f32")]
    elif m["mode"] == ".grad":
        half = len(rest) // 2
        for part in (rest[:half], rest[half:]):
            x = [s.reg(s.one(v), "f32") for v in part]
            extra.append([*x, x[-1]] if len(x) == 3 else x if len(x) > 1 else x[0])
    mode = f".{m['channel']}" if m["channel"] else m["mode"] or ""
    spelling = f"{m['what']}{mode}.{_place(m)}.v4.{m['type']}.{m['coordinates']}"
    where = (s.reg(s.one(handle), "b64"), at)
    return emit(s, spelling, (where, *extra), i.type)


def _surface(s: Selector, i: Instruction, m: re.Match[str]) -> Parts:
    from nvir.passes.select.intrinsics import emit

    handle, *values = i.operands
    at, rest = _coordinates(s, values, m["shape"], bool(m["array"]))
    vector = f".{m['vector']}" if m["vector"] else ""
    what = "suld.b" if m["what"] == "suld" else m["what"]
    spelling = f"{what}.{_place(m)}{vector}.b{m['bits']}.{m['clamp']}"
    where = (s.reg(s.one(handle), "b64"), at)
    if m["what"] == "suld":
        return emit(s, spelling, (where,), i.type)
    stored: list[Any] = [s.reg(s.one(v), f"b{max(int(m['bits']), 16)}") for v in rest]
    s.emit(spelling, (where, stored if len(stored) > 1 else stored[0]))
    return ()


def _query(s: Selector, i: Instruction, m: re.Match[str]) -> Parts:
    name = m["property"].replace(".", "_")
    handle = s.reg(s.one(i.operands[0]), "b64")
    return (s.op(f"{m['what']}.{name}.b32", (handle, 0)),)
