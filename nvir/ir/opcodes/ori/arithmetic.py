"""Arithmetic: integers, floats, logic, comparisons, video instructions.

`add`, `sub`, `mul`, `mad`, `div`, `abs`, `neg`, `min` and `max` are one row
each for integers, floats, halves and packed pairs: operands and effects agree.
The exact integer folds are in `folds`; they decline other types.
"""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes import OpKind as K
from nvir.ir.opcodes.ori import float_folds, folds

op = ORI.op
ops = ORI.ops

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
op("dp4a", "d, a:u32, b:u32, c:u32", result="b32", latency="10", since="5.0 sm_61",
   doc="c plus the dot product of four bytes and four bytes")
op("dp2a", "d, a:u32, b:u32, c:u32", result="b32", latency="10", since="5.0 sm_61",
   doc="c plus the dot product of two halves and two bytes")


# --------- Floating-point mnemonics that the integers do not have, of f16, bf16, f32, f64 and pairs

# `first`: the mixed form fma.rn.f32.f16 names the result's type first.
op("fma", "d, a, b, c", K.OTHER, "commutes", result="first",
   latency="6 f16,f16x2,bf16,bf16x2,f32x2=7 f32=12 f64=16", fold=float_folds.fma, since="1.4 sm_13",
   doc="a * b + c, rounded once")
op("rcp", "d, a", K.SPECIAL, latency="8", fold=float_folds.rcp, since="1.0", doc="1 / a")
op("sqrt", "d, a", K.SPECIAL, latency="8", fold=float_folds.sqrt, since="1.0", doc="square root")
op("rsqrt", "d, a", K.SPECIAL, latency="8", since="1.0", doc="1 / square root, approximate")
op("sin", "d, a", K.SPECIAL, angle=True, latency="8", since="1.0",
   doc="sine of radians, approximate")
op("cos", "d, a", K.SPECIAL, angle=True, latency="8", since="1.0",
   doc="cosine of radians, approximate")
op("lg2", "d, a", K.SPECIAL, latency="8", since="1.0", doc="logarithm to base 2, approximate")
op("ex2", "d, a", K.SPECIAL, latency="8", since="1.0", doc="2 to the power a, approximate")
op("tanh", "d, a", K.SPECIAL, latency="8", since="7.0 sm_75", doc="hyperbolic tangent, approximate")
op("testp", "d, a", K.COMPARE, result="pred", since="2.0 sm_20",
   doc="whether a is finite, infinite, a number, normal …")
op("copysign", "d, a, b", K.SIGN, since="2.0 sm_20", doc="b with the sign of a")


# ------------------------------------------------------------------ Bitwise logic and shifts

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
op("shl", "d, a, b:u32", K.SHIFT, "bits numeric cheap uniform", linear=(0,), latency="10",
   fold=folds.shl, since="1.0", doc="shift left; beyond the width gives 0")
op("shr", "d, a, b:u32", K.SHIFT, "numeric cheap uniform", latency="10", fold=folds.shr,
   since="1.0", doc="shift right, by the sign for signed types")
op("shf", "d, a, b, c", K.SHIFT, "bits cheap uniform", latency="10", fold=folds.shf,
   since="3.1 sm_32", doc="funnel shift of the pair b:a by c; the upper or lower half")


# ------------------------------------------------------------------ Comparison and selection

op("setp", "d|p, a, b, c:pred?", K.COMPARE, "cheap", result="pred", latency="6 f64=16",
   fold=folds.setp, since="1.0",
   doc="a comparison, combined with predicate c; p is its opposite or a pair's second")
op("set", "d, a:last, b:last, c:pred?", K.COMPARE, result="first", latency="6 f64=16",
   fold=folds.set_, since="1.0", doc="a comparison as all ones, or 1.0, or zero")
op("selp", "d, a, b, c:pred", K.SELECT, "cheap", latency="6 b64,u64,s64,f64=7", fold=folds.selp,
   since="1.0", doc="a where predicate c holds, else b")
op("slct", "d, a:first, b:first, c:last", K.SELECT, result="first", fold=folds.slct, since="1.0",
   doc="a where c >= 0, else b")


# ----------------- Video instructions: sums of selected, extended and saturated parts of registers.
# A source may carry a selector (`%r1.b0`, `%r1.h1`), a result a selector or mask;
# then c gives the other parts of the result, and c is an operand like any other.

ops("vadd vsub vabsdiff vmin vmax", "d, a:b32, b:b32, c:b32?", result="first", since="2.0 sm_20",
    doc="a scalar operation, merged into or combined with c")
ops("vshl vshr", "d, a:b32, b:b32, c:b32?", result="first", since="2.0 sm_20",
    doc="a shift, merged into or combined with c")
op("vmad", "d, a:b32, b:b32, c:b32", result="first", since="2.0 sm_20", doc="±(a * b) ± c, shifted")
op("vset", "d, a:b32, b:b32, c:b32?", result="u32", since="2.0 sm_20",
   doc="a comparison, merged into or combined with c")
ops("vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2", "d, a:b32, b:b32, c:b32", result="first",
    since="3.0 sm_30", doc="two halves at once")
ops("vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4", "d, a:b32, b:b32, c:b32", result="first",
    since="3.0 sm_30", doc="four bytes at once")
ops("vset2 vset4", "d, a:b32, b:b32, c:b32", result="u32", since="3.0 sm_30",
    doc="comparisons of two halves or four bytes")
