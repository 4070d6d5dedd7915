"""Surface accesses and queries. The address names surface and coordinates."""

from __future__ import annotations

from nvir.ir.opcodes import ORI

op = ORI.op

op("suld", "d, [s]", reads=True, since="1.5 sm_20", doc="load from a surface")
op("sust", "[s], a", writes=True, since="1.5 sm_20", doc="store to a surface")
op("sured", "[s], a", reads=True, writes=True, since="2.0 sm_20",
   doc="reduction on an element of a surface")
op("suq", "d, [s]", since="1.5 sm_20", doc="a property of a surface")
