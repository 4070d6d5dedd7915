"""The integer rules of inst-combine. The language is that of rule_language.py.

`RULES` is a table: tests/passes/test_inst_combine.py proves each line with z3, poison and undefined
behaviour included, at several widths. A rule must not cost instructions.
"""

from __future__ import annotations

from collections.abc import Callable

from nvir.ir.opcodes import NVVM, Op, OpKind
from nvir.ir.opcodes.form import load_rows
from nvir.passes.scalar.combine.rule_language import Rule, read_rules

_ARITHMETIC = """
(add x 0) => x
(sub x 0) => x
(sub x x) => 0
(sub x C) => (add x (sub 0 C))
(sub 0 (sub 0 x)) => x
(add x (sub 0 y)) => (sub x y)
(sub x (sub 0 y)) => (add x y)
(add (sub x y) y) => x
(sub (add x y) y) => x
(sub x (sub x y)) => y
(sub (sub x y) x) => (sub 0 y)
(sub x (add x y)) => (sub 0 y)
(add (add.nsw x C) D) => (add x (add C D))
(add (add x C) D) => (add x (add C D))
(add (sub C x) D) => (sub (add C D) x)
(sub C (add x D)) => (sub (sub C D) x)
(sub C (sub D x)) => (add x (sub C D))
(sub (sub C x) D) => (sub (sub C D) x)
(add (xor x -1) 1) => (sub 0 x)
(sub -1 x) => (xor x -1)
(sub 0 (add' (xor' x -1) 1)) => x
(add:1 x:1 y:1) => (xor x y)
(sub:1 x:1 y:1) => (xor x y)
(mul:1 x:1 y:1) => (and x y)
(mul x 0) => 0
(mul x 1) => x
(mul x -1) => (sub 0 x)
(mul.nuw.nsw x C) => (shl.nuw.nsw x (log2 C))  if (pow2 C) (icmp.sgt C 0)
(mul.nuw x C) => (shl.nuw x (log2 C))  if (pow2 C)
(mul.nsw x C) => (shl.nsw x (log2 C))  if (pow2 C) (icmp.sgt C 0)
(mul x C) => (shl x (log2 C))  if (pow2 C)
(mul (mul x C) D) => (mul x (mul C D))
(mul (shl x C) D) => (mul x (shl D C))  if (icmp.ult C #t)
(mul (sub 0 x) C) => (mul x (sub 0 C))
(mul (sub 0 x) (sub 0 y)) => (mul x y)
(mul (add' x C) D) => (add (mul x D) (mul C D))
(shl (add' x C) D) => (add (shl x D) (shl C D))  if (icmp.ult D #t)
(shl (mul x C) D) => (mul x (shl C D))  if (icmp.ult D #t)
(add (mul' x y) (mul' x z)) => (mul x (add y z))
(sub (mul' x y) (mul' x z)) => (mul x (sub y z))
"""

_DIVISION = """
(udiv x 1) => x
(sdiv x 1) => x
(sdiv x -1) => (sub 0 x)
(urem x 1) => 0
(srem x 1) => 0
(srem x -1) => 0
(udiv x x) => 1
(sdiv x x) => 1
(urem x x) => 0
(srem x x) => 0
(udiv x C) => (lshr x (log2 C))  if (pow2 C)
(urem x C) => (and x (sub C 1))  if (pow2 C)
(sdiv.exact x C) => (ashr.exact x (log2 C))  if (pow2 C) (icmp.sgt C 0)
(udiv (mul.nuw x y) y) => x
(sdiv (mul.nsw x y) y) => x
(urem (urem x y) y) => (urem x y)
"""

_BITS = """
(and x 0) => 0
(and x -1) => x
(and x x) => x
(and x (xor x -1)) => 0
(and x (or x y)) => x
(or x 0) => x
(or x -1) => -1
(or x x) => x
(or x (xor x -1)) => -1
(or x (and x y)) => x
(xor x 0) => x
(xor x x) => 0
(xor (xor x y) y) => x
(and (and x y) y) => (and x y)
(or (or x y) y) => (or x y)
(and (and x C) D) => (and x (and C D))
(or (or x C) D) => (or x (or C D))
(xor (xor x C) D) => (xor x (xor C D))
(and (or x C) D) => (and x D)  if (icmp.eq (and C D) 0)
(and (or x C) D) => D  if (icmp.eq (and C D) D)
(and (xor x C) D) => (and x D)  if (icmp.eq (and C D) 0)
(and (or (and x C) y) D) => (and y D)  if (icmp.eq (and C D) 0)
(and (or (shl x C) y) D) => (and y D)  if (icmp.ult C #t) (icmp.eq (and (shl -1 C) D) 0)
(or (and x C) (and x D)) => (and x (or C D))
(or (and x C) D) => (or x D)  if (icmp.eq (or C D) -1)
(and (or (and' x C) D) C) => (and (or x D) C)
(xor (and x y) y) => (and (xor x -1) y)
(sub x (and x y)) => (and x (xor y -1))
(or (xor x y) y) => (or x y)
(or (and x (xor y -1)) (and x y)) => x
(and (xor' x -1) (xor' y -1)) => (xor (or x y) -1)
(or (xor' x -1) (xor' y -1)) => (xor (and x y) -1)
(add.nuw (and x C) D) => (or (and x C) D)  if (icmp.eq (and C D) 0)
"""

_SHIFTS = """
(shl x 0) => x
(lshr x 0) => x
(ashr x 0) => x
(shl 0 x) => 0
(lshr 0 x) => 0
(ashr 0 x) => 0
(ashr -1 x) => -1
(lshr (shl.nuw x C) C) => x
(ashr (shl.nsw x C) C) => x
(shl (lshr.exact x C) C) => x
(shl (ashr.exact x C) C) => x
(lshr (shl x C) C) => (and x (lshr -1 C))  if (icmp.ult C #t)
(shl (lshr x C) C) => (and x (shl -1 C))  if (icmp.ult C #t)
(shl (ashr x C) C) => (and x (shl -1 C))  if (icmp.ult C #t)
(and (lshr x C) D) => (lshr x C)  if (icmp.ult C #t) (icmp.eq (and D (lshr -1 C)) (lshr -1 C))
(and (shl x C) D) => (shl x C)  if (icmp.ult C #t) (icmp.eq (and D (shl -1 C)) (shl -1 C))
(lshr (and x C) D) => (lshr x D)  if (icmp.ult D #t) (icmp.eq (lshr C D) (lshr -1 D))
(lshr (ashr x C) D) => (lshr x D)  if (icmp.ult C #t) (icmp.eq D (sub #t 1))
"""

_SHIFT_TWICE = """
({op} ({op} x C) D) => ({op} x (add C D))  if (icmp.ult C #t) (icmp.ult D (sub #t C))
"""

_SAME = """
(icmp.eq x x) => 1
(icmp.ne x x) => 0
(icmp.ult x x) => 0
(icmp.ule x x) => 1
(icmp.ugt x x) => 0
(icmp.uge x x) => 1
(icmp.slt x x) => 0
(icmp.sle x x) => 1
(icmp.sgt x x) => 0
(icmp.sge x x) => 1
(icmp.ult x 0) => 0
(icmp.uge x 0) => 1
(icmp.ugt x -1) => 0
(icmp.ule x -1) => 1
(icmp.ult x 1) => (icmp.eq x 0)
(icmp.uge x 1) => (icmp.ne x 0)
(icmp.ugt x 0) => (icmp.ne x 0)
(icmp.ule x 0) => (icmp.eq x 0)
(icmp.ugt (udiv x y) x) => 0
(icmp.ult (urem x y) y) => 1
(icmp.eq x:1 1) => x
(icmp.ne x:1 0) => x
(icmp.eq x:1 0) => (xor x 1)
(icmp.ne x:1 1) => (xor x 1)
(icmp.ne x:1 y:1) => (xor x y)
"""

_EQUALITY = """
(icmp.{p} (add x C) D) => (icmp.{p} x (sub D C))
(icmp.{p} (sub C x) D) => (icmp.{p} x (sub C D))
(icmp.{p} (xor x C) D) => (icmp.{p} x (xor C D))
(icmp.{p} (sub x y) 0) => (icmp.{p} x y)
(icmp.{p} (xor x y) 0) => (icmp.{p} x y)
(icmp.{p} (add x y) x) => (icmp.{p} y 0)
(icmp.{p} (add x y) (add x z)) => (icmp.{p} y z)
(icmp.{p} (xor x y) (xor x z)) => (icmp.{p} y z)
(icmp.{p} (shl.nuw x C) 0) => (icmp.{p} x 0)
(icmp.{p} (shl.nsw x C) 0) => (icmp.{p} x 0)
(icmp.{p} (zext:b x:a) (zext:b y:a)) => (icmp.{p} x y)
(icmp.{p} (sext:b x:a) (sext:b y:a)) => (icmp.{p} x y)
(icmp.{p} (zext:b x:a) C:b) => (icmp.{p} x (trunc:a C))  if (icmp.eq (zext:b (trunc:a C)) C)
(icmp.{p} (sext:b x:a) C:b) => (icmp.{p} x (trunc:a C))  if (icmp.eq (sext:b (trunc:a C)) C)
"""

_ORDER = """
(icmp.{s} (add.nsw x C) D) => (icmp.{s} x (sub D C))  if (fits-sub D C)
(icmp.{s} (add.nsw x y) (add.nsw x z)) => (icmp.{s} y z)
(icmp.{s} (sext:b x:a) (sext:b y:a)) => (icmp.{s} x y)
(icmp.{s} (sext:b x:a) C:b) => (icmp.{s} x (trunc:a C))  if (icmp.eq (sext:b (trunc:a C)) C)
(icmp.{s} (zext:b x:a) (zext:b y:a)) => (icmp.{u} x y)
(icmp.{s} (zext:b x:a) C:b) => (icmp.{u} x (trunc:a C))  if (icmp.eq (zext:b (trunc:a C)) C)
(icmp.{u} (add.nuw x C) D) => (icmp.{u} x (sub D C))  if (icmp.uge D C)
(icmp.{u} (zext:b x:a) (zext:b y:a)) => (icmp.{u} x y)
(icmp.{u} (zext:b x:a) C:b) => (icmp.{u} x (trunc:a C))  if (icmp.eq (zext:b (trunc:a C)) C)
(icmp.{u} (sext:b x:a) (sext:b y:a)) => (icmp.{u} x y)
"""

_INVERSE = """
(xor:1 (icmp.{p}' x:a y:a) 1) => (icmp.{q} x y)
"""

_SELECT = """
(select c:1 x x) => x
(select (xor c:1 1) x y) => (select c y x)
(select c:1 (select c x y) z) => (select c x z)
(select c:1 x (select c y z)) => (select c x z)
(select:1 c:1 1 0) => c
(select:1 c:1 0 1) => (xor c 1)
(select c:1 1 0) => (zext:t c)  if (< 1 t)
(select c:1 -1 0) => (sext:t c)  if (< 1 t)
(select c:1 0 1) => (zext:t (xor:1 c 1))  if (< 1 t)
(select (icmp.eq x C) C x) => x
(select (icmp.ne x C) x C) => x
(icmp.eq (select c:1 C D) C) => c  if (icmp.ne C D)
(icmp.eq (select c:1 C D) D) => (xor c 1)  if (icmp.ne C D)
(icmp.ne (select c:1 C D) C) => (xor c 1)  if (icmp.ne C D)
(icmp.ne (select c:1 C D) D) => c  if (icmp.ne C D)
"""

_CASTS = """
(zext:c (zext:b x:a)) => (zext:c x)
(sext:c (sext:b x:a)) => (sext:c x)
(sext:c (zext:b x:a)) => (zext:c x)
(trunc:c (trunc:b x:a)) => (trunc:c x)
(trunc:a ({e}ext:b x:a)) => x
(trunc:c ({e}ext:b x:a)) => (trunc:c x)  if (< c a)
(trunc:c ({e}ext:b x:a)) => ({e}ext:c x)  if (< a c)
(trunc:a (lshr:b (zext:b x:a) C)) => (lshr:a x (trunc:a C))  if (icmp.ult C:b #a:b)
(trunc:a (ashr:b (sext:b x:a) C)) => (ashr:a x (trunc:a C))  if (icmp.ult C:b #a:b)
(trunc:a (and:b x:b C)) => (trunc:a x)  if (icmp.eq (trunc:a C) -1:a)
(trunc:a (or:b x:b C)) => (trunc:a x)  if (icmp.eq (trunc:a C) 0:a)
(trunc:a (shl':b x:b C)) => (shl:a (trunc:a x) (trunc:a C))  if (icmp.ult C:b #a:b)
(zext:b (trunc.nuw:a x:b)) => x
(sext:b (trunc.nsw:a x:b)) => x
(zext:b (trunc:a x:b)) => (and:b x (lshr:b -1 (sub:b #b #a)))  if (< b 33)
(and:b (zext:b x:a) C) => (zext:b x)  if (icmp.eq (trunc:a C) -1:a)
(and:b (sext:b x:a) C) => (zext:b x)  if (icmp.eq C:b (lshr:b -1 (sub:b #b #a)))
(sub:b 0 (zext:b x:1)) => (sext:b x)
(xor:b (zext:b x:1) 1) => (zext:b (xor:1 x 1))
(and:b (zext:b x:a) (zext:b y:a)) => (zext:b (and:a x y))
(or:b (zext:b x:a) (zext:b y:a)) => (zext:b (or:a x y))
(xor:b (zext:b x:a) (zext:b y:a)) => (zext:b (xor:a x y))
"""

_NARROW = """
(trunc:a ({op}':b ({e}ext:b x:a) ({f}ext:b y:a))) => ({op}:a x y)
"""
_NARROW_LITERAL = """
(trunc:a ({op}':b ({e}ext:b x:a) C)) => ({op}:a x (trunc:a C))
(trunc:a ({op}':b x:b ({e}ext:b y:a))) => ({op}:a (trunc:a x) y)
(trunc:a ({op}':b x:b C)) => ({op}:a (trunc:a x) (trunc:a C))
"""

_INVERSES = {"eq": "ne", "ult": "uge", "ule": "ugt", "slt": "sge", "sle": "sgt"}


def _rows(wanted: Callable[[Op], bool]) -> list[str]:
    load_rows()
    return [row.name for row in NVVM.rows.values() if wanted(row)]


def _spread() -> str:
    """The table's text, families written out."""
    lines = [_ARITHMETIC, _DIVISION, _BITS, _SHIFTS, _SAME]
    shifts = _rows(lambda row: row.kind is OpKind.SHIFT)
    lines += [_SHIFT_TWICE.replace("{op}", op) for op in shifts]
    lines += [_EQUALITY.replace("{p}", p) for p in ("eq", "ne")]
    lines += [
        _ORDER.replace("{s}", f"s{p}").replace("{u}", f"u{p}") for p in ("lt", "le", "gt", "ge")
    ]
    for p, q in (*_INVERSES.items(), *((q, p) for p, q in _INVERSES.items())):
        lines.append(_INVERSE.replace("{p}", p).replace("{q}", q))
    lines.append(_SELECT)
    lines += [_CASTS.replace("{e}", e) for e in ("s", "z")]  # equal lines are one
    for op in _rows(lambda row: row.low_bits):
        for e in ("s", "z"):
            for f in ("s", "z"):
                lines.append(_NARROW.replace("{op}", op).replace("{e}", e).replace("{f}", f))
            lines.append(_NARROW_LITERAL.replace("{op}", op).replace("{e}", e))
    return "\n".join(dict.fromkeys("\n".join(lines).splitlines()))


RULES: tuple[Rule, ...] = read_rules(_spread())
