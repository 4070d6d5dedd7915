"""Traps, events, sleeping, register counts, and the launching of further clusters."""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes import OpKind as K
from nvir.ir.opcodes.ori.memory import MBARRIER_WAITS

op = ORI.op

op("trap", "", K.OTHER, "pinned", latency="1", since="1.0",
   doc="abort the grid and interrupt the host")
op("brkpt", "", K.OTHER, "pinned", latency="1", since="1.0 sm_11", doc="suspend for the debugger")
op("pmevent", "a:b32", K.OTHER, "pinned", latency="1", since="1.4",
   doc="trigger performance-monitor events")
op("nanosleep", "t:b32", K.OTHER, "pinned", latency="1", since="6.3 sm_70",
   doc="sleep for about t nanoseconds")
op("setmaxnreg", "n:b32", K.OTHER, "pinned convergent", latency="1", since="8.0 sm_90a",
   doc="change the registers that each thread of the warpgroup may have")
op("clusterlaunchcontrol.try_cancel", "[a], [m]", K.OTHER, "writes pinned",
   async_until=MBARRIER_WAITS, since="8.6 sm_100",
   doc="try to take over a cluster that has not started; the answer goes to memory")
op("clusterlaunchcontrol.query_cancel", "d, a:any", result="first", since="8.6 sm_100",
   doc="from that answer: whether it was taken over, and its first CTA")
