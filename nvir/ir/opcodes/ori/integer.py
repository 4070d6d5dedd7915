"""Integer arithmetic, and the mnemonics that it shares with the floating types.

`add`, `sub`, `mul`, `mad`, `div`, `abs`, `neg`, `min` and `max` are one row
each for integers, floats, halves and packed pairs: operands and effects agree.
The exact integer folds are in `folds`; they decline other types.
"""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes import OpKind as K
from nvir.ir.opcodes.ori import folds

op, ops = ORI.op, ORI.ops

# `first`: the mixed forms add.f32.f16 and sub.f32.f16 name the result's type first.
op("add", "d, a, b", K.SUM, "commutes cheap uniform", linear=(0, 1), result="first",
   latency="6 f16,f16x2,bf16,bf16x2,f32x2,s64,u64=7 f32=12 f64=16", fold=folds.add, since="1.0",
   doc="sum; integers wrap unless .sat")
op("sub", "d, a, b", K.SUM, "cheap uniform", linear=(0, 1), result="first",
   latency="6 f16,f16x2,bf16,bf16x2,f32x2,s64,u64=7 f32=12 f64=16", fold=folds.sub, since="1.0",
   doc="difference; integers wrap unless .sat")
op("mul", "d, a, b", K.MULTIPLY, "commutes numeric cheap uniform", linear=(0, 1), result="wide",
   latency="10 f16,f16x2,bf16,bf16x2,f32x2=7 f32=12 f64=16", fold=folds.mul, since="1.0",
   doc="product: its low half, high half, or all of it (.wide)")
op("mad", "d, a, b, c:result", K.MULTIPLY, "commutes numeric cheap uniform", linear=(0, 1, 2),
   result="wide", latency="10 f32=12 f64=16", fold=folds.mad, since="1.0",
   doc="half or all of a * b, plus c")
op("mul24", "d, a, b", K.OTHER, "commutes numeric", latency="10", fold=folds.mul24, since="1.0",
   doc="bits 0..31 or 16..47 of the product of two 24-bit numbers")
op("mad24", "d, a, b, c", K.OTHER, "commutes", latency="10", fold=folds.mad24, since="1.0",
   doc="a 24-bit product's bits 0..31 or 16..47, plus c")
op("sad", "d, a, b, c", K.OTHER, "commutes numeric", fold=folds.sad, since="1.0", doc="c + |a - b|")
op("div", "d, a, b", K.DIVIDE, "numeric", latency="8", fold=folds.div, since="1.0",
   doc="quotient; of integers truncated towards zero")
op("rem", "d, a, b", K.DIVIDE, "numeric", latency="8", fold=folds.rem, since="1.0",
   doc="remainder, with the sign of the dividend")
op("abs", "d, a", K.SIGN, "uniform", latency="6 f16=7 f32=12 f64=16", fold=folds.abs_, since="1.0",
   doc="absolute value")
op("neg", "d, a", K.SIGN, "cheap uniform", latency="6 f16,s64=7 f32=12 f64=16", fold=folds.neg,
   since="1.0", doc="negation")
op("min", "d, a, b, c?", K.EXTREMUM, "commutes numeric cheap uniform", latency="6 f16=7 f64=16",
   fold=folds.minimum, since="1.0", doc="the smallest operand; three of f32 since 8.8")
op("max", "d, a, b, c?", K.EXTREMUM, "commutes numeric cheap uniform", latency="6 f16=7 f64=16",
   fold=folds.maximum, since="1.0", doc="the greatest operand; three of f32 since 8.8")

# Extended precision. The carry flag is not written in the text.
op("add.cc", "d, a, b", K.OTHER, "commutes carry_out",
   latency="6 f16,f16x2,bf16,bf16x2,f32x2,s64,u64=7 f32=12 f64=16", since="1.2",
   doc="sum; sets the carry flag")
op("addc", "d, a, b", K.OTHER, "commutes carry_in", since="1.2", doc="a + b + carry")
op("addc.cc", "d, a, b", K.OTHER, "commutes carry_in carry_out", since="1.2",
   doc="a + b + carry; sets the carry flag")
op("sub.cc", "d, a, b", K.OTHER, "carry_out",
   latency="6 f16,f16x2,bf16,bf16x2,f32x2,s64,u64=7 f32=12 f64=16", since="1.2",
   doc="difference; sets the borrow")
op("subc", "d, a, b", K.OTHER, "carry_in", since="3.0", doc="a - (b + borrow)")
op("subc.cc", "d, a, b", K.OTHER, "carry_in carry_out", since="3.0",
   doc="a - (b + borrow); sets the borrow")
ops("mad.lo.cc mad.hi.cc", "d, a, b, c:result", K.OTHER, "commutes carry_out",
    latency="10 f32=12 f64=16", since="3.0 sm_20", doc="half of a * b, plus c; sets the carry flag")
ops("madc.lo madc.hi", "d, a, b, c:result", K.OTHER, "commutes carry_in", latency="10",
    since="3.0 sm_20", doc="half of a * b, plus c and carry")
ops("madc.lo.cc madc.hi.cc", "d, a, b, c:result", K.OTHER, "commutes carry_in carry_out",
    latency="10", since="3.0 sm_20", doc="half of a * b, plus c and carry; sets the carry flag")

# Bits.
op("popc", "d, a", K.COUNT, "bits numeric", result="u32", latency="8", fold=folds.popc,
   since="2.0 sm_20", doc="number of one bits")
op("clz", "d, a", K.COUNT, "bits numeric", result="u32", latency="8", fold=folds.clz,
   since="2.0 sm_20", doc="number of leading zeros")
op("bfind", "d, a", result="u32", latency="8", fold=folds.bfind, since="2.0 sm_20",
   doc="position of the highest bit that is no sign bit; all ones if none")
op("brev", "d, a", K.OTHER, "bits", latency="8", fold=folds.brev, since="2.0 sm_20",
   doc="the bits in reverse order")
op("bfe", "d, a, b:b32, c:b32", K.FIELD, "numeric cheap uniform", latency="10", fold=folds.bfe,
   since="2.0 sm_20", doc="the field of c bits from bit b on, extended")
op("bfi", "d, a, b, c:b32, e:b32", K.FIELD, "bits", latency="10", fold=folds.bfi, since="2.0 sm_20",
   doc="b with a in its field of e bits from bit c on")
op("bmsk", "d, a, b", K.FIELD, "bits", fold=folds.bmsk, since="7.6 sm_70",
   doc="a mask of b ones from bit a on")
op("szext", "d, a, b", K.FIELD, fold=folds.szext, since="7.6 sm_70",
   doc="the low b bits of a, extended by sign or by zero")
op("fns", "d, a, b:b32, c:b32", K.OTHER, "bits", latency="8", since="6.0 sm_30",
   doc="position of the c-th one bit of a, counted from bit b")

# Dot products of bytes and halves.
op("dp4a", "d, a:b32, b:b32, c:b32", result="b32", latency="10", since="5.0 sm_61",
   doc="c plus the dot product of four bytes and four bytes")
op("dp2a", "d, a:b32, b:b32, c:b32", result="b32", latency="10", since="5.0 sm_61",
   doc="c plus the dot product of two halves and two bytes")
