"""Atomic operations. Ordering (`.acq_rel` …) and scope are modifiers."""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes import OpKind as K
from nvir.ir.opcodes.ori.memory import MBARRIER_WAITS

op = ORI.op

op("atom", "d, [a], b, c?, p:b64?", K.ATOMIC, "reads writes in_registers", lanes="apart",
   latency="12", since="1.1",
   doc="read, combine with b (compare with b, swap in c) and write; the old value")
op("red", "[a], b, p:b64?", K.ATOMIC, "reads writes in_registers", latency="12", since="1.2",
   doc="combine b into memory")
op("red.async", "[a], b:any, [m]?", K.ATOMIC, "reads writes in_registers",
   async_until=MBARRIER_WAITS, latency="12", since="8.1 sm_90",
   doc="combine b into a cluster's shared memory, completing on mbarrier m")
