"""Moves, conversions, and what lanes pass to each other.

Every operation that exchanges values between the lanes of a warp is convergent:
which lanes take part is an input that no operand shows.
"""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes.ori import folds

op = ORI.op

op("mov", "d, a", result="split", fold=folds.mov, since="1.0",
   doc="a copy, an address, or packing and unpacking of a vector")
op(
    "prmt",
    "d, a, b, c",
    bits=True,
    fold=folds.prmt,
    since="2.0 sm_20",
    doc="four of the eight bytes of b:a",
)
op("cvt", "d, a, b?, c?", result="first", fold=folds.cvt, since="1.0",
   doc="conversion; two sources are packed, a third gives random bits (.rs)")
op("cvt.pack", "d, a, b, c?", result="b32", since="6.5 sm_72",
   doc="two integers narrowed with saturation and packed, over the low part of c")
op("cvta", "d, a", since="2.0 sm_20", doc="an address to or from generic space")
op("isspacep", "d, a", result="pred", since="2.0 sm_20",
   doc="whether a generic address lies in the state space")
op("istypep", "d, a", result="pred", since="4.0 sm_30",
   doc="whether a handle is of the opaque type")
op("mapa", "d, a, b", since="7.8 sm_90",
   doc="the address in CTA b of the cluster that is like shared address a here")
op("getctarank", "d, a", result="u32", since="7.8 sm_90",
   doc="rank in the cluster of the CTA that holds a shared address")

# Between lanes.
op("shfl", "d|p, a, b, c", convergent=True, since="3.0 sm_30",
   doc="another lane's a; p whether that lane is in range (before Volta)")
op("shfl.sync", "d|p, a, b, c, m", convergent=True, since="6.0 sm_30",
   doc="another lane's a among the lanes of mask m; p whether it is in range")
op("vote", "d, a", convergent=True, since="1.2",
   doc="all, any, uniform or ballot of the active lanes (before Volta)")
op("vote.sync", "d, a, m", convergent=True, since="6.0 sm_30",
   doc="all, any, uniform or ballot of the lanes of mask m")
op("match.any.sync", "d, a, m", result="b32", convergent=True, since="6.0 sm_70",
   doc="mask of the lanes that hold the same value")
op("match.all.sync", "d|p, a, m", result="b32", convergent=True, since="6.0 sm_70",
   doc="m where all lanes hold the same value, else 0")
op("redux.sync", "d, a, m", convergent=True, since="7.0 sm_80",
   doc="reduction over the lanes of mask m")
op("activemask", "d", convergent=True, since="6.2 sm_30", doc="mask of the lanes running it")
op("elect.sync", "d|p, m", result="b32", convergent=True, since="8.0 sm_90",
   doc="number of one lane of mask m; p true in that lane alone")
