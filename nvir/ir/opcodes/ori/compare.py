"""Comparison and selection."""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes import OpKind as K
from nvir.ir.opcodes.ori import folds

op = ORI.op

op("setp", "d|p, a, b, c:pred?", K.COMPARE, "cheap", result="pred", latency="6 f64=16",
   fold=folds.setp, since="1.0",
   doc="a comparison, combined with predicate c; p is its opposite or a pair's second")
op("set", "d, a, b, c:pred?", K.COMPARE, result="first", latency="6 f64=16", fold=folds.set_,
   since="1.0", doc="a comparison as all ones, or 1.0, or zero")
op("selp", "d, a, b, c:pred", K.SELECT, "cheap", latency="6 b64,u64,s64,f64=7", fold=folds.selp,
   since="1.0", doc="a where predicate c holds, else b")
op("slct", "d, a:first, b:first, c:last", K.SELECT, result="first", fold=folds.slct, since="1.0",
   doc="a where c >= 0, else b")
