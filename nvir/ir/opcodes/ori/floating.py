"""Floating-point mnemonics that the integers do not have, of f16, bf16, f32, f64 and pairs."""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes import OpKind as K
from nvir.ir.opcodes.ori import float_folds

op = ORI.op

# `first`: the mixed form fma.rn.f32.f16 names the result's type first.
op("fma", "d, a, b, c", K.OTHER, "commutes", result="first",
   latency="6 f16,f16x2,bf16,bf16x2,f32x2=7 f32=12 f64=16", fold=float_folds.fma, since="1.4 sm_13",
   doc="a * b + c, rounded once")
op("rcp", "d, a", K.SPECIAL, latency="8", fold=float_folds.rcp, since="1.0", doc="1 / a")
op("sqrt", "d, a", K.SPECIAL, latency="8", fold=float_folds.sqrt, since="1.0", doc="square root")
op("rsqrt", "d, a", K.SPECIAL, latency="8", since="1.0", doc="1 / square root, approximate")
op("sin", "d, a", K.SPECIAL, latency="8", since="1.0", doc="sine of radians, approximate")
op("cos", "d, a", K.SPECIAL, latency="8", since="1.0", doc="cosine of radians, approximate")
op("lg2", "d, a", K.SPECIAL, latency="8", since="1.0", doc="logarithm to base 2, approximate")
op("ex2", "d, a", K.SPECIAL, latency="8", since="1.0", doc="2 to the power a, approximate")
op("tanh", "d, a", K.SPECIAL, latency="8", since="7.0 sm_75", doc="hyperbolic tangent, approximate")
op("testp", "d, a", K.COMPARE, result="pred", since="2.0 sm_20",
   doc="whether a is finite, infinite, a number, normal …")
op("copysign", "d, a, b", K.SIGN, since="2.0 sm_20", doc="b with the sign of a")
