"""Floating-point arithmetic of f16, bf16, f32, f64, and pairs.

Approximate operations outside of `.ftz` scale denormal operands around the MUFU. Correctly rounded
division, reciprocal and root test their operands and leave the fast path for the rare ones.
"""

from __future__ import annotations

from nvir.sm.templates.rows.literals import double_moves, moves
from nvir.sm.templates.table import Shape, rule

# What stands around the call of a slow path: converging again, the test, the call.
_CALL = "| MOV t9; CALL , t9"


def _half(s: Shape) -> bool:
    return s.type in ("f16", "f16x2", "bf16", "bf16x2")


def add(s: Shape) -> str | None:
    first = s.types[0].name
    if first == "f64":
        return double_moves(s) + "DADD d, a b"
    if first == "f32x2":
        return "FADD2 d, a b"
    if first == "f32":
        if _half(s):
            return "FHADD d, a b" if s.on("mixed_half") else "HADD2 t0, b; FADD d, a t0"
        return moves(s) + "FADD d, a b"
    if s.type.startswith("bf16") and not s.on("bf16_arithmetic"):
        return "HFMA2 d, a b"
    return "HADD2 d, a b"


def mul(s: Shape) -> str | None:
    if s.type == "f64":
        return double_moves(s) + "DMUL d, a b"
    if s.type == "f32x2":
        return "FMUL2 d, a b"
    if s.type == "f32":
        return moves(s) + "FMUL d, a b"
    if s.type.startswith("bf16") and not s.on("bf16_arithmetic"):
        return "HFMA2 d, a b"
    return "HMUL2 d, a b"


@rule("fma")
def fma(s: Shape) -> str | None:
    first = s.types[0].name if s.types else ""
    if first == "f64":
        return double_moves(s) + "DFMA d, a b c"
    if first == "f32x2":
        return "FFMA2 d, a b c"
    if first == "f32":
        if _half(s):
            return (
                "FHFMA d, a b c"
                if s.on("mixed_half")
                else "HADD2 t0, a; HADD2 t1, b; FFMA d, t0 t1 c"
            )
        return moves(s) + "FFMA d, a b c"
    return moves(s) + "HFMA2 d, a b c"


def minmax(s: Shape) -> str | None:
    if s.type == "f64":
        extra = ""
        if s.on("literals_in_operations") and any(v and v & 0xFFFFFFFF for v in s.literals):
            extra = "MOV t9; " * 3
        return (
            f"{extra}DSETP p0, a b; MOV t0, a.l; MOV t1, b.h; MOV t2, a.h; FSEL t3, t2 t1 p0; "
            "SEL d.l, t0 b.l p0; LOP3 d.h, t1 t3"
        )
    if s.type == "f32":
        three = s.form.n_sources == 3
        if three and s.on("three_input_minmax"):
            return "FMNMX3 d, a b c"
        return "FMNMX t0, a b; FMNMX d, t0 c" if three else "FMNMX d, a b"
    if s.on("half_minmax"):
        return "HMNMX2 d, a b"
    return None


def negate(s: Shape) -> str | None:
    """neg and abs are modifiers of what reads them; alone they are an addition of zero."""
    if s.type == "f64":
        return "DADD d, a"
    if s.type == "f32":
        return "FADD d, a"
    return "LOP3 d, a" if s.type.startswith("bf16") else "HADD2 d, a"


def div(s: Shape) -> str | None:
    if s.type == "f64":
        if not s.has("rn"):
            return "MOV t0; MOV t1; MOV t2; CALL D, A t0 t1 t2"
        fast = (
            "MOV t0; MUFU t1, b.h; BSSY ; DFMA t2 t3, t0 t1 b; DFMA t2 t3, t2 t3; "
            "DFMA t2 t3, t1 t2 t3; DFMA t4 t5, t2 t3 b; DFMA t2 t3, t2 t3 t4 t5; "
            "DMUL t4 t5, t2 t3 a; DFMA t6 t7, t4 t5 a b; DFMA d.l d.h, t2 t3 t6 t7 t4 t5; "
        )
        tests = "FFMA t8, b.h d.h; FSETP p0, t8"
        if s.literal(0) is None:
            tests = "FSETP p1, a.h; " + tests
        return f"{fast}{tests} p1; BRA , p0; BSYNC {_CALL}"
    if s.type != "f32":
        return None
    if s.has("full"):
        if s.literal(0):
            return (
                "MOV t9; FSETP p0, b; FMUL t0, b; FSEL t4, t0 b p0; MUFU t1, t4; FMUL t2, t1; "
                "FSETP p1, b; FMUL t3, a t1; FMUL d, t2 t3 p1"
            )
        return (
            "FSETP p0, b; FSETP p1, b; FMUL t0, b p0; FMUL t2, a p0; FMUL t3, t2 p1; "
            "FMUL t4, t0 p1; MUFU t1, t4; FMUL d, t1 t3"
        )
    if s.has("approx"):
        if s.literal(1):
            return "FMUL d, a"
        if s.has("ftz"):
            return "MUFU t0, b; FMUL d, t0 a"
        if s.literal(0):
            return "MOV t9; FSETP p0, b; FSEL t0, b p0; FMUL t1, b t0; MUFU t2, t1; FMUL d, t2 t0"
        return "FSETP p0, b; FMUL t0, b p0; FMUL t1, a p0; MUFU t2, t0; FMUL d, t2 t1"
    if not s.has("rn"):
        return "BSSY ; MOV t0; CALL d, a b t0; BSYNC"
    return (
        "BSSY ; MUFU t0, b; FCHK p0, a b; FFMA t1, t0 b; FFMA t1, t0 t1; FFMA t2, a t1; "
        f"FFMA t3, t2 b a; FFMA d, t1 t3 t2; BRA , p0; BSYNC {_CALL}"
    )


@rule("rcp")
def rcp(s: Shape) -> str | None:
    if s.type == "f64":
        if s.has("approx"):
            return "MUFU d.h, a.h; MOV d.l"
        if not s.has("rn"):
            return "BSSY ; MOV t0; MOV t1; MOV t2; CALL d, a t0 t1 t2; BSYNC"
        return (
            "IADD t0, a.h; MUFU t1, a.h; BSSY ; FSETP p0, t0; DFMA t2 t3, t0 t1 a; "
            "DFMA t2 t3, t2 t3; DFMA t2 t3, t2 t3 t1; DFMA t4 t5, t2 t3 a; "
            "DFMA d.l d.h, t2 t3 t4 t5; BRA , p0; BSYNC | LOP3 t6, a.h; "
            "IADD t7, t6; MOV t9; CALL , t7 t9"
        )
    if s.has("approx"):
        if s.literal(0) is not None:
            return "MOV d"
        if s.has("ftz"):
            return "MUFU d, a"
        return (
            "FSETP p0, a; FSETP p1, a; MOV t9; FSEL t0, t9 p0; FSEL t3, t0 p1; FMUL t1, a t3; "
            "MUFU t2, t1; FMUL d, t2 t3"
        )
    return (
        "IADD t0, a; BSSY ; LOP3 t1, t0; ISETP p0, t1; BRA , p0; MUFU t2, a; FFMA t3, t2 a; "
        "FADD t4, t3; FFMA d, t2 t4; BSYNC | MOV t9; CALL , t9; MOV t8; BRA"
    )


@rule("sqrt")
def sqrt(s: Shape) -> str | None:
    if s.type == "f64":
        if not s.has("rn"):
            return "MOV t0; MOV t1; MOV t2; CALL d, a t0 t1 t2"
        return (
            "MUFU t1, a.h; IADD t0, a.h; MOV t9; MOV t8; BSSY ; ISETP p0, t0; DMUL t2 t3, t0 t1; "
            "DFMA t2 t3, t2 t3 a; DFMA t4 t5, t2 t3 t8 t9; DMUL t2 t3, t0 t1 t2 t3; "
            "DFMA t4 t5, t4 t5 t2 t3; DMUL t6 t7, t4 t5 a; IADD t5, t5; DFMA t2 t3, t6 t7 a; "
            f"DFMA d.l d.h, t2 t3 t4 t5 t6 t7; BRA , p0; BSYNC {_CALL}"
        )
    if s.has("approx"):
        return _scaled(s, "MUFU")
    return (
        "IADD t0, a; MUFU t1, a; BSSY ; ISETP p0, t0; BRA , p0; FMUL t2, a t1; FMUL t3, t1; "
        "FFMA t4, t2 a; FFMA d, t4 t3 t2; BSYNC | MOV t9; CALL , t9; MOV t8; BRA"
    )


@rule("rsqrt")
def rsqrt(s: Shape) -> str | None:
    if s.type == "f64":
        if s.has("ftz"):
            return "MUFU d.h, a.h; MOV d.l"
        return (
            "MUFU t1, a.h; IADD t0, a.h; MOV t9; MOV t8; BSSY ; ISETP p0, t0; DMUL t2 t3, t1; "
            "DFMA t2 t3, t2 t3 a; DFMA t4 t5, t2 t3 t8 t9; DMUL t2 t3, t1 t2 t3; "
            f"DFMA d.l d.h, t4 t5 t2 t3; BRA , p0; BSYNC {_CALL}"
        )
    return _scaled(s, "MUFU")


def _scaled(s: Shape, unit: str) -> str:
    """A MUFU whose operand is scaled up where it is denormal, and its result back."""
    if s.has("ftz"):
        return f"{unit} d, a"
    return f"FSETP p0, a; FMUL t0, a p0; {unit} t1, t0; FMUL d, t1 p0"


@rule("ex2")
def ex2(s: Shape) -> str | None:
    if s.type.startswith(("f16", "bf16")):
        if s.type.endswith("x2"):
            return "MUFU t0, a; MUFU t1, a; PRMT d, t0 t1"
        return "MUFU d, a"
    return _scaled(s, "MUFU")


@rule("lg2")
def lg2(s: Shape) -> str | None:
    if s.has("ftz"):
        return "MUFU d, a"
    return "FSETP p0, a; FMUL t0, a p0; MUFU t1, t0; FADD d, t1 p0"


@rule("sin cos")
def sine(s: Shape) -> str | None:
    return "FMUL t0, a; MUFU d, t0"


@rule("tanh")
def tanh(s: Shape) -> str | None:
    if s.type.endswith("x2"):
        return "MUFU t0, a; MUFU t1, a; PRMT d, t0 t1"
    return "MUFU d, a"


@rule("testp")
def testp(s: Shape) -> str | None:
    if s.type == "f64":
        return "LOP3 t0, a.h; ISETP p0, a.l; ISETP d, t0 p0"
    return "LOP3 t0, a; ISETP d, t0"


@rule("copysign")
def copysign(s: Shape) -> str | None:
    if s.type == "f64":
        known = s.literal(1)
        low = "MOV d.l; " if known is not None else "= d.l b.l; "
        high = "MOV t9; " if known else ""
        return f"{high}{low}LOP3 d.h, a.h b.h"
    return moves(s, 0) + "LOP3 d, a b"
