"""Surface accesses and queries. The address names surface and coordinates."""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes import OpKind as K

op = ORI.op

op("suld", "d, [s]", K.OTHER, "reads relaxed", memory="surface", latency="20", since="1.5 sm_20",
   doc="load from a surface")
op("sust", "[s], a:any", K.OTHER, "writes", memory="surface", latency="20", since="1.5 sm_20",
   doc="store to a surface")
op("sured", "[s], a:any", K.OTHER, "reads writes", memory="surface", latency="20",
   since="2.0 sm_20", doc="reduction on an element of a surface")
op("suq", "d, [s]", memory="surface", latency="20", since="1.5 sm_20",
   doc="a property of a surface")
