"""Warpgroup matrix multiplication. Accumulators are in flight until the group is waited for.

The accumulator is read and written, so it is one tied operand: between
`wgmma.mma_async` and `wgmma.wait_group` no copy of it may be made.
"""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes import OpKind as K

op = ORI.op

op("wgmma.mma_async", "+d, a:any, b:b64, s:pred, x:any*", K.ASYNC_MATRIX,
   "reads convergent in_registers", lanes="apart", result="packed",
   async_until=("wgmma.wait_group",), latency="14", since="8.0 sm_90a",
   doc="d += a * b (s false: d = a * b); a in registers or shared memory")
op("wgmma.mma_async.sp", "+d, a:any, b:b64, e:b32, f:b32, s:pred, x:any*", K.ASYNC_MATRIX,
   "reads convergent", lanes="apart", result="packed", async_until=("wgmma.wait_group",),
   latency="14", since="8.2 sm_90a",
   doc="as mma_async, with a half empty by metadata e and selector f")
op("wgmma.fence", "", K.OTHER, "sync pinned convergent", latency="14", since="8.0 sm_90a",
   doc="order register and shared-memory accesses before the mma_async that follow")
op("wgmma.commit_group", "", K.COMMIT, "sync pinned convergent", latency="14", since="8.0 sm_90a",
   doc="close the group of the mma_async issued so far")
op("wgmma.wait_group", "n:b32", K.WAIT, "sync pinned convergent", latency="14", since="8.0 sm_90a",
   doc="wait until at most the n newest groups are pending")
