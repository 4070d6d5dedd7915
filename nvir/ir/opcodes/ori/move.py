"""Moves, conversions, and what lanes pass to each other.

Every operation that exchanges values between the lanes of a warp is convergent:
which lanes take part is an input that no operand shows.
"""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes import OpKind as K
from nvir.ir.opcodes.ori import folds

op = ORI.op

op("mov", "d, a:split", K.COPY, "cheap", result="split", latency="6 b64,u64,s64,f64,b128=7",
   fold=folds.mov, since="1.0", doc="a copy, an address, or packing and unpacking of a vector")
op("prmt", "d, a, b, c", K.OTHER, "bits", fold=folds.prmt, since="2.0 sm_20",
   doc="four of the eight bytes of b:a")
op("cvt", "d, a:last, b:last?, c:any?", K.CONVERT, "relaxed numeric cheap uniform", linear=(0,),
   result="first", latency="9 f16,bf16,f16x2,bf16x2=7", fold=folds.cvt, since="1.0",
   doc="conversion; two sources are packed, a third gives random bits (.rs)")
op("cvt.pack", "d, a:last, b:last, c:b32?", K.CONVERT, result="b32",
   latency="9 f16,bf16,f16x2,bf16x2=7", since="6.5 sm_72",
   doc="two integers narrowed with saturation and packed, over the low part of c")
op("cvta", "d, a", K.COPY, "cheap", latency="11", since="2.0 sm_20",
   doc="an address to or from generic space")
op("isspacep", "d, a", K.COMPARE, result="pred", latency="11", since="2.0 sm_20",
   doc="whether a generic address lies in the state space")
op("istypep", "d, a:b64", K.COMPARE, lanes="agreed", result="pred", latency="11", since="4.0 sm_30",
   doc="whether a handle is of the opaque type")
op("mapa", "d, a, b:b32", latency="11", since="7.8 sm_90",
   doc="the address in CTA b of the cluster that is like shared address a here")
op("getctarank", "d, a", result="u32", latency="11", since="7.8 sm_90",
   doc="rank in the cluster of the CTA that holds a shared address")

# Between lanes.
op("shfl", "d|p, a, b:b32, c:b32", K.WARP, "convergent gathers", latency="12", since="3.0 sm_30",
   doc="another lane's a; p whether that lane is in range (before Volta)")
op("shfl.sync", "d|p, a, b:b32, c:b32, m:b32", K.WARP, "convergent gathers", latency="12",
   since="6.0 sm_30", doc="another lane's a among the lanes of mask m; p whether it is in range")
op("vote", "d, a:pred", K.WARP, "convergent gathers", lanes="agreed", since="1.2",
   doc="all, any, uniform or ballot of the active lanes (before Volta)")
op("vote.sync", "d, a:pred, m:b32", K.WARP, "convergent gathers", lanes="agreed", since="6.0 sm_30",
   doc="all, any, uniform or ballot of the lanes of mask m")
op("match.any.sync", "d, a, m:b32", K.WARP, "convergent gathers", lanes="apart", result="b32",
   latency="12", since="6.0 sm_70", doc="mask of the lanes that hold the same value")
op("match.all.sync", "d|p, a, m:b32", K.WARP, "convergent gathers", lanes="agreed", result="b32",
   latency="12", since="6.0 sm_70", doc="m where all lanes hold the same value, else 0")
op("redux.sync", "d, a, m:b32", K.WARP, "convergent gathers", lanes="agreed", latency="12",
   since="7.0 sm_80", doc="reduction over the lanes of mask m")
op("activemask", "d", K.WARP, "convergent", lanes="agreed", since="6.2 sm_30",
   doc="mask of the lanes running it")
op("elect.sync", "d|p, m:b32", K.WARP, "convergent", result="b32", since="8.0 sm_90",
   doc="number of one lane of mask m; p true in that lane alone")
