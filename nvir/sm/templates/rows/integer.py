"""Integer arithmetic. 64-bit values are pairs of halves joined by a carry predicate."""

from __future__ import annotations

from nvir.sm.templates.rows import floating
from nvir.sm.templates.rows.literals import moves
from nvir.sm.templates.table import Shape, fixed, rule

ADD64 = "IADD3 d.l p0, a.l b.l; IADD3.X d.h, a.h b.h p0"


@rule("add sub")
def add(s: Shape) -> str | None:
    if s.kind == "f":
        return floating.add(s)
    if s.name == "add" and s.literal(1) == 0:
        return "= d a"
    if s.bits == 64:
        return ADD64
    if s.bits == 16 and s.name == "sub":
        return "PRMT t0, b; IADD t1, t0; IADD d, a t1"
    return moves(s) + "IADD d, a b"


@rule("add.cc addc addc.cc sub.cc subc subc.cc")
def add_carry(s: Shape) -> str | None:
    """The carry out is the predicate that the last half makes, the carry in that of the first."""
    out = " o0" if s.form.carry_out else ""
    first = "IADD3.X" if s.form.carry_in else "IADD3"
    into = " i0" if s.form.carry_in else ""
    if s.bits == 64:
        return f"{first} d.l p0, a.l b.l{into}; IADD3.X d.h{out}, a.h b.h p0"
    return f"{first} d{out}, a b{into}"


@rule("mul")
def mul(s: Shape) -> str | None:
    if s.kind == "f":
        return floating.mul(s)
    if s.has("wide"):
        if s.bits == 32:
            return "IMAD.WIDE d, a b"
        shift = s.power(1) is not None
        if s.kind == "s":
            return "PRMT t0, a; SHF d, t0" if shift else "PRMT t0, a; PRMT t1, b; IMAD d, t0 t1"
        return "SHF d, a" if shift else "IMAD d, a b"
    if s.has("hi"):
        if s.bits == 64:
            return _high64(s)
        return "IMAD t0, a b; SHF d, t0" if s.bits == 16 else "IMAD.HI d, a b"
    if s.bits == 64:
        return _low64(s, "")
    power = s.power(1)
    if power is not None and s.bits == 32:
        return "SHF d, a" if power else "= d a"
    return "IMAD d, a b"


def _low64(s: Shape, addend: str) -> str:
    """Low 64 bits: one wide product, and the crossed halves added into its high half."""
    c_low, c_high = (f" {addend}", "") if addend else ("", "")
    wide = f"IMAD.WIDE t0 t1, a.l b.l{c_low}; "
    known = s.literal(1)
    if known is not None and 0 <= known < 1 << 32:  # the literal's high half is zero
        cross = "SHF t2, a.h; " if s.power(1) else "IMAD t2, a.h b.l; "
        if known == 1:
            cross = ""
        return (
            f"{wide}{cross}IADD d.h, t1 t2{c_high}; = d.l t0"
            if cross
            else (f"{wide}IADD d.h, t1 a.h; = d.l t0")
        )
    if known is not None and -(1 << 31) <= known < 0:
        return f"{wide}IMAD t2, a.h b.l; IADD d.h, t1 t2{c_high}; = d.l t0"
    return f"{wide}IMAD t2, a.h b.l; IMAD t3, a.l b.h t2; IADD d.h, t1 t3{c_high}; = d.l t0"


def _high64(s: Shape) -> str:
    wide = (
        "IMAD.WIDE t0 t1, a.l b.h; MOV t9; IMAD.WIDE t2 t3, a.h b.l t0; IADD t4 p0, t1 t3; "
        "IADD3.X t5, t9 p0; IMAD.WIDE t6 t7, a.l b.l; "
    )
    if s.kind == "u":
        return f"{wide}IMAD.WIDE d.l d.h, a.h b.h t4 t5 t7"
    wide += "IMAD.WIDE t6 t7, a.h b.h t4 t5 t7; ISETP p1, a.h; IADD t8 p2, t6 b.l; "
    wide += "IADD3.X t9, t7 b.h p2; "
    if s.literal(1) is not None:
        return wide + "SEL d.l, t6 t8 p1; SEL d.h, t7 t9 p1"
    wide += "SEL t8, t6 t8 p1; SEL t9, t7 t9 p1; ISETP p1, b.h; IADD t3 p2, t8 a.l; "
    return wide + "IADD3.X t4, t9 a.h p2; SEL d.l, t8 t3 p1; SEL d.h, t9 t4 p1"


@rule("mad")
def mad(s: Shape) -> str | None:
    if s.kind == "f":
        return floating.fma(s)
    if s.has("wide"):
        if s.bits != 32:
            return "IMAD d, a b c"
        if s.power(1) is not None:
            return "LEA d.l p0, a c.l; LEA d.h, a c.h p0"
        if s.kind == "u" and s.literal(2) is None:
            return "IMAD.WIDE t0 t1, a b; IADD3 d.l p0, t0 c.l; IADD3.X d.h, t1 c.h p0"
        return "IMAD.WIDE d, a b c"
    if s.has("hi"):
        return "IMAD.HI d, a b c" if s.bits == 32 else None
    if s.bits == 64:
        return _low64(s, "c.l c.h")
    return moves(s) + "IMAD d, a b c"


@rule("mad.lo.cc madc.lo madc.lo.cc mad.hi.cc madc.hi madc.hi.cc")
def mad_carry(s: Shape) -> str | None:
    out = " o0" if s.form.carry_out else ""
    into = " i0" if s.form.carry_in else ""
    if s.bits == 64:
        return None
    if ".hi" in s.name:
        add = "IADD3.X" if into else "IADD3"
        return f"IMAD.HI t0, a b; {add} d{out}, t0 c{into}"
    if into:
        return f"IMAD t0, a b; IADD3.X d{out}, t0 c{into}"
    return f"IMAD d{out}, a b c"


@rule("mul24 mad24")
def mul24(s: Shape) -> str | None:
    return "SHF t0, a; SHF t1, b; IMAD d, t0 t1 c" if s.has("lo") else None


@rule("div rem")
def div(s: Shape) -> str | None:
    if s.kind == "f":
        return floating.div(s)
    if s.bits == 64:
        return "MOV t0; MOV t1, a; MOV t2, b; CALL D, A t0 t1 t2"
    if s.bits == 16:
        return "CALL d, a b"
    return _signed_division(s) if s.kind == "s" else _unsigned_division(s)


_RECIPROCAL = "I2F t1, {b}; MUFU t2, t1; IADD t3, t2; F2I t4, t3; "


def _unsigned_division(s: Shape) -> str:
    """Quotient by a reciprocal in floating point, refined once, then corrected twice."""
    old = not s.on("adds_negated")
    steps = _RECIPROCAL.format(b="b")
    steps += "IADD t5, t4; IMAD t5, t5 b; MOV t8; IMAD.HI t6, t4 t5 t8; IMAD.HI t6, t6 a; "
    literal = s.literal(1) is not None
    if s.name == "div":
        steps += "IADD t7, t6; IMAD t7, t7 b a; ISETP p0, t7 b; IADD t7, t7 b; IADD t6, t6; "
        steps += "ISETP p1, t7 b; IADD t6, t6 p1; "
    else:
        steps += "IADD t7, t6; IMAD t7, t7 b a; ISETP p0, t7 b; IADD t7, t7 b; ISETP p1, t7 b; "
        steps += "IADD t7, t7 b; "
    if old or s.name == "rem":  # negated copies, a move there
        steps = steps.replace("IADD t5, t4", "MOV t5, t4").replace("IADD t7, t6", "MOV t7, t6")
    if literal:
        return steps + "= d t6" if s.name == "div" else steps + "= d t7"
    last = "t6" if s.name == "div" else "t7"
    return steps + f"ISETP p2, b; LOP3 d, {last} b p2"


def _signed_division(s: Shape) -> str:
    """The unsigned one of the absolute values, and the sign put back."""
    known = s.literal(1) is not None
    steps = "" if known else "IABS t0, b; "
    steps += _RECIPROCAL.format(b="t0") + "MOV t8; IABS t9, a; "
    if s.name == "div":
        steps += "IADD t5, t4; " if s.on("adds_negated") else "MOV t5, t4; "
        steps += "IMAD t5, t5 t0; IMAD.HI t6, t4 t5 t8; IMAD.HI t6, t6 t9; "
        steps += "" if s.on("adds_negated") else "MOV t7, t6; "
        steps += "" if known else "IABS t1, b; MOV t2, t1; "
        steps += "IMAD t7, t6 t2 t7 t9; ISETP p0, t7 t0; IADD t7, t7 t0; IADD t6, t6 p0; "
        steps += "ISETP p1, t7 t0; LOP3 t3, a b; IADD t6, t6 p1; ISETP p2, t3; MOV t6, t6 p2; "
        last = "t6"
    else:
        steps += "IADD t5, t4; IMAD t5, t5 t0; IMAD.HI t6, t4 t5 t8; IMAD.HI t6, t6 t9; "
        steps += "MOV t7, t6; " + ("" if known else "IABS t1, b; ")
        steps += "IMAD t7, t7 t1 t9; ISETP p0, t7 t0; IADD t7, t7 t0; ISETP p1, t7 t0; "
        steps += "IADD t7, t7 p1; ISETP p2, a; IADD t7, t7 p2; "
        last = "t7"
    if known:
        return steps + f"= d {last}"
    return steps + f"ISETP p3, b; LOP3 d, {last} b p3"


@rule("min max")
def minmax(s: Shape) -> str | None:
    if s.kind == "f":
        return floating.minmax(s)
    if s.has("u16x2", "s16x2"):
        return (
            "VIMNMX d, a b"
            if s.on("packed_minmax")
            else "PRMT t0, a; PRMT t1, b; IMNMX t2, t0 t1; IMNMX t3, a b; PRMT d, t2 t3"
        )
    if s.bits == 64:
        return "ISETP p0, a.l b.l; ISETP p1, a.h b.h p0; SEL d.l, a.l b.l p1; SEL d.h, a.h b.h p1"
    if s.bits == 16:
        widened = "PRMT t0, a; PRMT t1, b; " if s.kind == "s" else "LOP3 t0, a; LOP3 t1, b; "
        return f"{widened}IMNMX d, t0 t1"
    return "IMNMX d, a b"


@rule("neg")
def neg(s: Shape) -> str | None:
    if s.kind == "f":
        return floating.negate(s)
    if s.bits == 64:
        return "IADD3 d.l p0, a.l; IADD3.X d.h, a.h p0"
    return "PRMT t0, a; IADD d, t0" if s.bits == 16 else "IADD d, a"


@rule("abs")
def absolute(s: Shape) -> str | None:
    if s.kind == "f":
        return floating.negate(s)
    if s.bits == 64:
        negated = "IADD3 t0 p0, a.l; IADD3.X t1, a.h p0; ISETP p1, a.h; "
        return negated + "SEL d.l, a.l t0 p1; SEL d.h, a.h t1 p1"
    return "PRMT t0, a; IABS d, t0" if s.bits == 16 else "IABS d, a"


@rule("sad")
def sad(s: Shape) -> str | None:
    return "VABSDIFF d, a b c" if s.bits == 32 else None


@rule("popc")
def popc(s: Shape) -> str | None:
    return "POPC t0, a.l; POPC t1, a.h; IADD d, t0 t1" if s.bits == 64 else "POPC d, a"


@rule("clz")
def clz(s: Shape) -> str | None:
    if s.bits == 64:
        chosen = "ISETP p0, a.h; SEL t0, a.l a.h p0; FLO t1, t0; "
        return chosen + "IADD t2, t1; IADD t3, t1; MOV d, t2 t3 p0"
    return "FLO t0, a; IADD d, t0"


@rule("bfind")
def bfind(s: Shape) -> str | None:
    if s.bits == 64:
        return "FLO t0, a.h; FLO t1, a.l; ISETP p0, t0; IADD t2, t1; SEL d, t0 t2 p0"
    return "FLO d, a"


@rule("brev")
def brev(s: Shape) -> str | None:
    return "BREV d.l, a.h; BREV d.h, a.l" if s.bits == 64 else "BREV d, a"


@rule("bfe")
def bfe(s: Shape) -> str | None:
    at, count = s.literal(1), s.literal(2)
    if s.bits != 32:
        return None
    if at is not None and count is not None:
        if at % 8 == 0 and count in (8, 16):
            return "PRMT d, a"
        return "SHF t0, a; SGXT d, t0"
    return "PRMT t0, b; PRMT t1, c; SHF t2, a t0; SGXT d, t2 t1"


@rule("bfi")
def bfi(s: Shape) -> str | None:
    if s.bits == 64:
        if s.literal(2) == 32 and s.literal(3) == 32:
            return "= d.l b.l; = d.h a.l"
        return None
    if s.literal(2) is not None and s.literal(3) is not None:
        return "SHF t0, a; LOP3 d, t0 b"
    return "PRMT t0, c; PRMT t1, e; BMSK t2, t0 t1; SHF t3, a t0; LOP3 d, t3 b t2"


fixed({
    "bmsk": "BMSK d, a b",
    "szext": "SGXT d, a b",
})


@rule("dp4a dp2a")
def dot(s: Shape) -> str | None:
    return moves(s, 1 if s.on("literals_in_dots") else 0, (0, 1)) + "IDP d, a b c"


@rule("fns")
def fns(s: Shape) -> str | None:
    return None  # a loop over the bits, of no fixed length
