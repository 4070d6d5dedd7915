"""The fifth-generation tensor core: tensor memory, and matrix operations on it.

One thread issues an mma, copy or shift; `tcgen05.commit` has them signal an
mbarrier. Loads and stores are by the whole warp, and waited for by their kind.
"""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes import OpKind as K
from nvir.ir.opcodes.ori.memory import MBARRIER_WAITS

op, ops = ORI.op, ORI.ops

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
