"""Bitwise operations and shifts, of predicates too. Halves of 64 bits are apart in most."""

from __future__ import annotations

from nvir.sm.templates.rows.literals import moves
from nvir.sm.templates.table import Shape, rule


def _half(s: Shape, word: str, known: int | None, literal: int | None) -> str:
    """One half of a 64-bit and, or, xor with a literal: nothing where it changes nothing."""
    if literal is None:
        return f"LOP3 d.{word}, a.{word} b.{word}"
    keep, fill = (0xFFFFFFFF, 0) if s.name == "and" else (0, 0xFFFFFFFF if s.name == "or" else -1)
    if literal == keep:
        return f"= d.{word} a.{word}"
    return f"MOV d.{word}" if literal == fill else f"LOP3 d.{word}, a.{word}"


@rule("and or xor")
def bitwise(s: Shape) -> str | None:
    if s.type == "pred":
        return "PLOP3 d, a b"
    if s.bits == 64:
        v = s.literal(1)
        halves = (None, None) if v is None else (v & 0xFFFFFFFF, v >> 32 & 0xFFFFFFFF)
        return "; ".join(_half(s, w, v, h) for w, h in zip("lh", halves, strict=True))
    return "LOP3 d, a b"


@rule("not")
def invert(s: Shape) -> str | None:
    if s.type == "pred":
        return "= d a"  # whoever reads a predicate can negate it
    return "LOP3 d.l, a.l; LOP3 d.h, a.h" if s.bits == 64 else "LOP3 d, a"


@rule("cnot")
def cnot(s: Shape) -> str | None:
    return "MOV t9; ISETP p0, a; SEL d, t9 p0" if s.bits <= 32 else None


@rule("lop3")
def lop3(s: Shape) -> str | None:
    return moves(s, 1, range(3)) + "LOP3 D, a b c s4"


@rule("shl")
def shl(s: Shape) -> str | None:
    if s.bits == 64:
        if s.literal(0) is not None:
            return "SHF d.h, b; MOV d.l"
        v = s.literal(1)
        if v is not None and v >= 32:
            return "= d.h a.l; MOV d.l" if v == 32 else "SHF d.h, a.l; MOV d.l"
        return "SHF d.l, a.l b; SHF d.h, a.l a.h b"
    return ("MOV t9; " if s.literal(0) else "") + "SHF d, a b"


@rule("shr")
def shr(s: Shape) -> str | None:
    signed = s.kind == "s"
    if s.bits == 64:
        v = s.literal(1)
        if v is not None and v >= 32:
            high = "SHF d.h, a.h" if signed else "MOV d.h"
            return f"= d.l a.h; {high}" if v == 32 else f"SHF d.l, a.h; {high}"
        return "SHF d.l, a.l a.h b; SHF d.h, a.h b"
    widen = "PRMT t0, a; SHF d, t0 b" if s.bits == 16 and signed else ""
    return widen or ("MOV t9; " if s.literal(0) else "") + "SHF d, a b"


@rule("shf")
def shf(s: Shape) -> str | None:
    return moves(s, 0, (0, 1)) + "SHF d, a b c"


@rule("prmt")
def prmt(s: Shape) -> str | None:
    if s.has("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        return "PRMT d, a b c"
    return moves(s) + "PRMT d, a b c"
