"""Conversions of numbers and of addresses."""

from __future__ import annotations

from nvir.ir.types import ScalarType
from nvir.sm.templates.rows.literals import moves
from nvir.sm.templates.table import Shape, fixed, rule

_ROUND_TO_INTEGER = ("rni", "rzi", "rmi", "rpi")


@rule("cvt")
def cvt(s: Shape) -> str | None:
    types = s.types
    if len(types) < 2:
        return None
    to, of = types[0], types[-1]
    if to.kind == "f" or of.kind == "f":
        return _float(s, to, of)
    if s.literal(0) is not None:
        if s.literal(0) == 0:
            return "= d 0"
        return "MOV d.l; MOV d.h" if to.bits == 64 else "MOV d"
    if s.has("sat"):
        return _saturated(to, of)
    if to.bits == of.bits == 64:
        return "= d.l a.l; = d.h a.h"
    return _integer(to, of)


def _integer(to: ScalarType, of: ScalarType) -> str:
    """Widening makes the upper bits, narrowing is the lower half of the register."""
    signed = of.kind == "s"
    if to.bits <= of.bits:
        return "= d.l a.l; = d.h a.h" if to.bits == 64 else "= d a.l"
    if of.bits == 32:
        return "= d.l a.l; SHF d.h, a.l" if signed else "= d.l a.l; MOV d.h"
    if of.bits == 16:
        if not signed:
            return "= d.l a; MOV d.h" if to.bits == 64 else "= d a.l"
        return "PRMT t0, a; MOV d.l, t0; SHF d.h, t0" if to.bits == 64 else "PRMT d, a"
    if not signed:
        return "LOP3 d.l, a.l; MOV d.h" if to.bits == 64 else "LOP3 d, a.l"
    if to.bits == 64:
        return "PRMT t0, a.l; MOV d.l, t0; SHF d.h, t0"
    return "PRMT t0, a.l; PRMT d, t0" if to.bits == 16 else "PRMT d, a.l"


def _saturated(to: ScalarType, of: ScalarType) -> str | None:
    if of.bits == 64:
        return None
    return "IMNMX t0, a; IMNMX d, t0" if of.kind == "s" else "IMNMX d, a"


def _float(s: Shape, to: ScalarType, of: ScalarType) -> str | None:
    if s.literal(0) == 0 and s.form.n_sources == 1:
        return "= d 0"
    if of.kind != "f":
        return _to_float(s, to, of)
    if to.kind != "f":
        if s.literal(0) is not None:
            return "MOV d.l; MOV d.h" if to.bits == 64 else "MOV d"
        return "F2I d, a"
    if any(s.has(m) for m in _ROUND_TO_INTEGER):
        return "FRND d, a"
    if "f64" in (to.name, of.name):
        if to is of:
            return "= d.l a.l; = d.h a.h"
        if of.name == "f32" and s.has("ftz"):
            return "FMUL t0, a; F2F d, t0"
        if to.name == "f32" and s.has("ftz"):
            moved = "MOV t7; MOV t8; " if s.on("literals_in_operations") else ""
            return f"{moved}F2F t0, a; DSETP p0, a; FMUL d, t0 p0"
        return "F2F d, a"
    if to is of:
        return "FADD d, a" if to.name == "f32" else "HADD2 d, a"
    if to.name == "f32":
        return "HADD2 d, a" if of.name == "f16" else "SHF d, a"
    if to.name == "tf32":
        return "F2FP d, a" if s.on("conversions_in_alu") else "F2F d, a"
    return moves(s, 1) + "F2FP d, a b c"


def _to_float(s: Shape, to: ScalarType, of: ScalarType) -> str:
    """Up to 32 bits to f32 is arithmetic of its own from sm_86 on, where it rounds as that does."""
    if s.on("conversions_in_alu") and to.name == "f32" and not s.has("rm", "rp"):
        if of.bits == 32:
            return "I2FP d, a"
        if of.kind == "u":
            return "LOP3 t0, a; I2FP d, t0"
    return "I2F d, a"


fixed({"cvt.pack": "I2IP d, a b c"})


@rule("cvta")
def cvta(s: Shape) -> str | None:
    if s.literal(0) is not None:
        return "= d 0"
    space = s.form.space.partition("::")[0]
    to = s.has("to")
    if space == "global" or (space == "const" and s.symbols):
        if s.symbols:
            return (
                "MOV d.l; MOV d.h"
                if not s.on("constant_loads") and space == "global"
                else "LDC d"
                if (space == "global")
                else "= d 0"
            )
        return "= d.l a.l; = d.h a.h"
    if space in ("shared", "param") and s.on("shared_window"):
        if to:
            return "MOV d.l, a.l; MOV d.h"
        if space == "param":
            return "IADD3 d.l p0, a.l; IADD3.X d.h, a.h p0"
        return "S2R t0; MOV d.l, a.l; MOV d.h, t0"
    if space == "local":
        return "IADD t0; IADD3 d.l p0, t0 a.l; IADD3.X d.h, a.h p0"
    return "IADD3 d.l p0, a.l; IADD3.X d.h, a.h p0"


@rule("isspacep")
def isspacep(s: Shape) -> str | None:
    return "QSPC d, a"


@rule("mapa")
def mapa(s: Shape) -> str | None:
    return "PRMT d.l, a.l b; MOV d.h" if s.bits == 64 else "PRMT d, a b"


@rule("getctarank")
def getctarank(s: Shape) -> str | None:
    return "SHF d, a.l"
