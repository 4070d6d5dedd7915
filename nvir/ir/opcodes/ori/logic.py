"""Bitwise logic and shifts."""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes.ori import folds

op = ORI.op

op("and", "d, a, b", bits=True, commutes=True, fold=folds.and_, since="1.0", doc="bitwise and")
op("or", "d, a, b", bits=True, commutes=True, fold=folds.or_, since="1.0", doc="bitwise or")
op(
    "xor",
    "d, a, b",
    bits=True,
    commutes=True,
    fold=folds.xor,
    since="1.0",
    doc="bitwise exclusive or",
)
op("not", "d, a", bits=True, fold=folds.not_, since="1.0", doc="bitwise complement")
op("cnot", "d, a", bits=True, fold=folds.cnot, since="1.0", doc="1 where a is zero, else 0")
op("lop3", "d|p, a, b, c, l, q?", bits=True, fold=folds.lop3, since="4.3 sm_50",
   doc="any function of three bits, by table l; p combines 'not zero' with q")
op(
    "shl",
    "d, a, b",
    bits=True,
    fold=folds.shl,
    since="1.0",
    doc="shift left; beyond the width gives 0",
)
op("shr", "d, a, b", fold=folds.shr, since="1.0",
   doc="shift right, by the sign for signed types")
op("shf", "d, a, b, c", bits=True, fold=folds.shf, since="3.1 sm_32",
   doc="funnel shift of the pair b:a by c; the upper or lower half")
