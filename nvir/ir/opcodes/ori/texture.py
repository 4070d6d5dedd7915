"""Texture fetches and queries. The address names texture, sampler and coordinates.

After the address stand offset vector and depth reference, where there are any;
a second result tells whether the texels are resident.
"""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes import OpKind as K

op = ORI.op

op("tex", "d|p, [t], x:any*", K.OTHER, "reads grouped", memory="texture", result="first",
   latency="20", since="1.0", doc="filtered texture fetch")
op("tld4", "d|p, [t], x:any*", K.OTHER, "reads grouped", memory="texture", result="first",
   latency="20", since="2.2 sm_20",
   doc="one component of the four texels that bilinear filtering reads")
op("txq", "d, [t], l:b32?", lanes="agreed", memory="texture", latency="20", since="1.5",
   doc="a property of a texture, sampler or mip level l")
