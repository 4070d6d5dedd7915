"""Warp-level matrix operations: wmma, mma, sparse mma, and matrix moves.

All lanes of the warp take part, so all are convergent. `packed`: a fragment of
elements narrower than 32 bits lies in 32-bit registers.
"""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes import OpKind as K
from nvir.ir.opcodes.ori.memory import MBARRIER_WAITS

op = ORI.op

op("wmma.load", "d, [a], s:b32?", K.MATRIX_MOVE, "reads convergent", lanes="apart", extent=-1,
   result="packed", latency="14", since="6.0 sm_70", doc="a fragment of a matrix of row stride s")
op("wmma.store", "[a], b:any, s:b32?", K.MATRIX_MOVE, "writes convergent in_registers", extent=-1,
   latency="14", since="6.0 sm_70", doc="store a fragment into a matrix of row stride s")
op("wmma.mma", "d, a:any, b:any, c:any", K.MATRIX, "convergent in_registers", lanes="apart",
   result="packed", latency="14", since="6.0 sm_70", doc="a * b + c of fragments")
op("mma.sync", "d, a:any, b:any, c:any, x:any*", K.MATRIX, "convergent in_registers grouped",
   lanes="apart", result="packed", latency="14", since="6.4 sm_70",
   doc="a * b + c of fragments; block scales and their selectors follow")
op("mma.sp.sync", "d, a:any, b:any, c:any, e:b32, f:b32, x:any*", K.MATRIX,
   "convergent in_registers", lanes="apart", result="packed", latency="14", since="7.1 sm_80",
   doc="as mma, with a half empty by metadata e and selector f")
op("mma.sp::ordered_metadata.sync", "d, a:any, b:any, c:any, e:b32, f:b32, x:any*", K.MATRIX,
   "convergent in_registers", lanes="apart", result="packed", latency="14", since="8.5 sm_80",
   doc="as mma.sp, with the indices of metadata e in order")
op("ldmatrix", "d, [a]", K.MATRIX_MOVE, "reads convergent grouped", lanes="apart", extent=-1,
   result="b32", latency="12", since="6.5 sm_75",
   doc="one to four 8x8 matrices from shared memory, a row at each lane's address")
op("stmatrix", "[a], b:b32", K.MATRIX_MOVE, "writes convergent in_registers grouped", extent=-1,
   latency="12", since="7.8 sm_90", doc="one to four 8x8 matrices to shared memory")
op("movmatrix", "d, a:b32", K.MATRIX_MOVE, "convergent", lanes="apart", result="b32", latency="12",
   since="7.8 sm_75", doc="an 8x8 matrix transposed across the warp")


# ----- Warpgroup matrix multiplication. Accumulators are in flight until the group is waited for.
# The accumulator is read and written, so it is one tied operand: between
# `wgmma.mma_async` and `wgmma.wait_group` no copy of it may be made.

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


# -------------------- The fifth-generation tensor core: tensor memory, and matrix operations on it.
# One thread issues an mma, copy or shift; `tcgen05.commit` has them signal an
# mbarrier. Loads and stores are by the whole warp, and waited for by their kind.

ops = ORI.ops

_SINCE = "8.6 sm_100a"

op("tcgen05.alloc", "[a], n:b32", K.OTHER, "writes sync pinned convergent", memory="tensor",
   latency="14", since=_SINCE,
   doc="wait for n columns of tensor memory; their address to shared memory")
op("tcgen05.dealloc", "a:b32, n:b32", K.OTHER, "sync pinned convergent", memory="tensor",
   latency="14", since=_SINCE, doc="give n columns back")
op("tcgen05.relinquish_alloc_permit", "", K.OTHER, "pinned convergent", memory="tensor",
   latency="14", since=_SINCE, doc="this CTA will allocate no more")
op("tcgen05.ld", "d, [t], n:b32?", K.OTHER, "reads convergent", lanes="apart", memory="tensor",
   async_until=("tcgen05.wait::ld",), latency="14", since=_SINCE, doc="tensor memory to registers")
op("tcgen05.ld.red", "d, d2, [t], n:b32?", K.OTHER, "reads convergent", lanes="apart",
   memory="tensor", async_until=("tcgen05.wait::ld",), latency="14", since="8.8 sm_101a",
   doc="tensor memory to registers, and the least or greatest of them")
op("tcgen05.st", "[t], a:any, x:any*", K.OTHER, "writes convergent", memory="tensor",
   async_until=("tcgen05.wait::st",), latency="14", since=_SINCE, doc="registers to tensor memory")
ops("tcgen05.wait::ld tcgen05.wait::st", "", K.WAIT, "sync pinned convergent", latency="14",
    since=_SINCE, doc="wait for this thread's loads or stores of tensor memory")
op("tcgen05.cp", "[t], s:b64", K.OTHER, "reads writes", memory="tensor", async_until=MBARRIER_WAITS,
   latency="14", since=_SINCE, doc="shared to tensor memory")
op("tcgen05.shift", "[t]", K.OTHER, "reads writes", memory="tensor", async_until=MBARRIER_WAITS,
   latency="14", since=_SINCE, doc="rows of tensor memory moved down by one")
ops("tcgen05.mma tcgen05.mma.ws", "[t], a:any, b:b64, i:b32, x:any*", K.ASYNC_MATRIX,
    "reads writes", memory="tensor", async_until=MBARRIER_WAITS, latency="14", since=_SINCE,
    doc="matrix product into tensor memory; a there or in shared memory")
ops("tcgen05.mma.sp tcgen05.mma.ws.sp", "[t], a:any, b:b64, [e], i:b32, x:any*", K.ASYNC_MATRIX,
    "reads writes", memory="tensor", async_until=MBARRIER_WAITS, latency="14", since=_SINCE,
    doc="as mma, with a half empty by metadata e in tensor memory")
op("tcgen05.commit", "[m], k:any?", K.COMMIT, "reads writes sync pinned", memory="tensor",
   latency="14", since=_SINCE,
   doc="have the operations issued so far arrive on mbarrier m when done")
ops("tcgen05.fence::before_thread_sync tcgen05.fence::after_thread_sync", "", K.OTHER,
    "sync pinned", latency="14", since=_SINCE,
    doc="order tcgen05 operations around a thread barrier")
