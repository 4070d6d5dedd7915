"""Comparisons and selections."""

from __future__ import annotations

from nvir.sm.templates.rows.literals import double_moves, moves
from nvir.sm.templates.table import Shape, rule

_HALVES = ("f16", "f16x2", "bf16", "bf16x2")


@rule("setp")
def setp(s: Shape) -> str | None:
    if s.type in _HALVES:
        return "HSETP2 D, a b c"
    if s.type == "f64":
        return double_moves(s) + "DSETP D, a b c"
    if s.type == "f32":
        return "FSETP D, a b c"
    if s.bits == 64:
        if s.kind == "s" and s.literal(1) == 0 and s.has("lt", "ge"):
            return "ISETP D, a.h c"  # the sign alone decides
        return "ISETP p0, a.l b.l; ISETP D, a.h b.h p0 c"
    if s.bits == 16:
        return _narrow(s)
    return "ISETP D, a b c"


def _narrow(s: Shape) -> str:
    """16 bits are widened first; unsigned and equality tests of zero-extended values need not."""
    if s.kind != "s" or (s.has("eq", "ne") and s.literal(1) == 0):
        return "ISETP D, a b c"
    second = "PRMT t1, b; " if s.literal(1) is None else ""
    return f"PRMT t0, a; {second}ISETP D, t0 t1 c" if second else "PRMT t0, a; ISETP D, t0 c"


@rule("set")
def set_(s: Shape) -> str | None:
    source = s.types[-1].name
    if source in _HALVES:
        return "HSET2 d, a b c"
    if source == "f32":
        return "FSET d, a b c"
    compare = "DSETP p0, a b c" if source == "f64" else "ISETP p0, a b c"
    return f"{compare}; SEL d, p0"


@rule("selp")
def selp(s: Shape) -> str | None:
    if s.literal(2) is not None:
        return "MOV d, a" if s.literal(0) or s.literal(1) else "= d 0"
    if s.bits == 64:
        family = "FSEL" if s.type == "f64" else "SEL"
        return "; ".join(_half(s, family, w, n) for n, w in enumerate("lh"))
    family = "FSEL" if s.type == "f32" else "SEL"
    return moves(s, 1, (0, 1)) + f"{family} d, a b c"


def _half(s: Shape, family: str, word: str, index: int) -> str:
    known = [s.literal(0), s.literal(1)]
    parts = [None if v is None else v >> 32 * index & 0xFFFFFFFF for v in known]
    if None not in parts and parts[0] == parts[1]:
        return f"MOV d.{word}"
    move = "MOV t9; " if None not in parts and all(parts) else ""
    return f"{move}{family} d.{word}, a.{word} b.{word} c"


@rule("slct")
def slct(s: Shape) -> str | None:
    compare = "FSETP p0, c" if s.types[-1].name == "f32" else "ISETP p0, c"
    if s.types[0].bits == 64:
        return f"{compare}; SEL d.l, a.l b.l p0; SEL d.h, a.h b.h p0"
    return f"{compare}; SEL d, a b p0"
