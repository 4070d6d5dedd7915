"""Bitwise logic and shifts."""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes import OpKind as K
from nvir.ir.opcodes.ori import folds

op = ORI.op

op("and", "d, a, b", K.LOGIC, "commutes bits numeric cheap uniform", latency="6 b64=7",
   fold=folds.and_, since="1.0", doc="bitwise and")
op("or", "d, a, b", K.LOGIC, "commutes bits cheap uniform", latency="6 b64=7", fold=folds.or_,
   since="1.0", doc="bitwise or")
op("xor", "d, a, b", K.LOGIC, "commutes bits cheap uniform", latency="6 b64=7", fold=folds.xor,
   since="1.0", doc="bitwise exclusive or")
op("not", "d, a", K.LOGIC, "bits cheap uniform", latency="6 b64=7", fold=folds.not_, since="1.0",
   doc="bitwise complement")
op("cnot", "d, a", K.LOGIC, "bits", fold=folds.cnot, since="1.0", doc="1 where a is zero, else 0")
op("lop3", "d|p, a, b, c, l:b32, q:pred?", K.LOGIC, "bits cheap uniform", fold=folds.lop3,
   since="4.3 sm_50", doc="any function of three bits, by table l; p combines 'not zero' with q")
op("shl", "d, a, b:b32", K.SHIFT, "bits numeric cheap uniform", linear=(0,), latency="10",
   fold=folds.shl, since="1.0", doc="shift left; beyond the width gives 0")
op("shr", "d, a, b:b32", K.SHIFT, "numeric cheap uniform", latency="10", fold=folds.shr,
   since="1.0", doc="shift right, by the sign for signed types")
op("shf", "d, a, b, c", K.SHIFT, "bits cheap uniform", latency="10", fold=folds.shf,
   since="3.1 sm_32", doc="funnel shift of the pair b:a by c; the upper or lower half")
