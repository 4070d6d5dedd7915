"""Comparison and selection."""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes.ori import folds

op = ORI.op

op("setp", "d|p, a, b, c?", result="pred", fold=folds.setp, since="1.0",
   doc="a comparison, combined with predicate c; p is its opposite or a pair's second")
op("set", "d, a, b, c?", result="first", fold=folds.set_, since="1.0",
   doc="a comparison as all ones, or 1.0, or zero")
op("selp", "d, a, b, c", fold=folds.selp, since="1.0", doc="a where predicate c holds, else b")
op("slct", "d, a, b, c", result="first", fold=folds.slct, since="1.0",
   doc="a where c >= 0, else b")
