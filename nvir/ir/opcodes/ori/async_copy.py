"""Asynchronous copies, barrier objects in memory, and tensor maps.

A copy is under way until one of its `async_until` rows has run: a wait on the
group that it was committed to, or on the mbarrier that it signals.
"""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes import OpKind as K
from nvir.ir.opcodes.ori.memory import MBARRIER_WAITS

op = ORI.op

_GROUP_WAITS = ("cp.async.wait_group", "cp.async.wait_all", *MBARRIER_WAITS)
_BULK_WAITS = ("cp.async.bulk.wait_group", *MBARRIER_WAITS)

# Copies by each thread of 4, 8 or 16 bytes.
op("cp.async", "[a], [b], n:b32, s:any?, p:any?", K.ASYNC_COPY, "reads writes",
   async_until=_GROUP_WAITS, latency="12", since="7.0 sm_80",
   doc="n bytes from global to shared; s of them read, or a predicate to ignore")
op("cp.async.commit_group", "", K.COMMIT, "sync pinned", latency="12", since="7.0 sm_80",
   doc="close the group of the copies issued so far")
op("cp.async.wait_group", "n:b32", K.WAIT, "sync pinned", latency="12", since="7.0 sm_80",
   doc="wait until at most the n newest groups are pending")
op("cp.async.wait_all", "", K.WAIT, "sync pinned", latency="12", since="7.0 sm_80",
   doc="wait for every copy of this thread")
op("cp.async.mbarrier.arrive", "[m]", K.OTHER, "reads writes sync", latency="12", since="7.0 sm_80",
   doc="arrive on m when the copies issued so far are done")

# Bulk copies by the copy engine.
op("cp.async.bulk", "[a], [b], n:b32, x:any*", K.BULK_COPY, "reads writes", extent=-1,
   async_until=_BULK_WAITS, latency="12", since="8.0 sm_90",
   doc="n bytes between global and shared")
op("cp.reduce.async.bulk", "[a], [b], n:b32, x:any*", K.BULK_COPY, "reads writes", extent=-1,
   async_until=_BULK_WAITS, latency="12", since="8.0 sm_90",
   doc="n bytes combined into the destination")
op("cp.async.bulk.prefetch", "[b], n:b32, p:b64?", K.OTHER, "pinned", latency="12",
   since="8.0 sm_90", doc="bring n bytes into L2")
op("cp.async.bulk.tensor", "[a], [b], x:any*", K.BULK_COPY, "reads writes", extent=-1,
   async_until=_BULK_WAITS, latency="12", since="8.0 sm_90",
   doc="a box of a tensor between global and shared")
op("cp.reduce.async.bulk.tensor", "[a], [b], x:any*", K.BULK_COPY, "reads writes", extent=-1,
   async_until=_BULK_WAITS, latency="12", since="8.0 sm_90",
   doc="a box combined into a tensor in global memory")
op("cp.async.bulk.prefetch.tensor", "[b], x:any*", K.OTHER, "pinned", latency="12",
   since="8.0 sm_90", doc="bring a box of a tensor into L2")
op("cp.async.bulk.commit_group", "", K.COMMIT, "sync pinned", latency="12", since="8.0 sm_90",
   doc="close the group of the bulk copies issued so far")
op("cp.async.bulk.wait_group", "n:b32", K.WAIT, "sync pinned", latency="12", since="8.0 sm_90",
   doc="wait until at most the n newest bulk groups are pending (.read: are unread)")
op("multimem.cp.async.bulk", "[a], [b], n:b32, x:any*", K.BULK_COPY, "reads writes", extent=-1,
   async_until=_BULK_WAITS, latency="12", since="9.1 sm_90", doc="n bytes to all replicas")
op("multimem.cp.reduce.async.bulk", "[a], [b], n:b32, x:any*", K.BULK_COPY, "reads writes",
   extent=-1, async_until=_BULK_WAITS, latency="12", since="9.1 sm_90",
   doc="n bytes combined into replicas")

# Barrier objects. Arriving releases, waiting acquires, unless .relaxed.
op("mbarrier.init", "[m], n:b32", K.MBARRIER, "writes sync", extent=8, latency="31",
   since="7.0 sm_80", doc="make a barrier of n expected arrivals")
op("mbarrier.inval", "[m]", K.MBARRIER, "writes sync", extent=8, latency="31", since="7.0 sm_80",
   doc="end a barrier's life")
op("mbarrier.expect_tx", "[m], n:b32", K.MBARRIER, "reads writes sync", extent=8, latency="31",
   since="8.0 sm_90", doc="expect n more bytes in this phase")
op("mbarrier.complete_tx", "[m], n:b32", K.MBARRIER, "reads writes sync", extent=8, latency="31",
   since="8.0 sm_90", doc="count n bytes as arrived")
op("mbarrier.arrive", "d?, [m], n:b32?", K.MBARRIER, "reads writes sync", lanes="apart", extent=8,
   latency="31", since="7.0 sm_80", doc="n arrivals; d is the phase, to test")
op("mbarrier.arrive_drop", "d?, [m], n:b32?", K.MBARRIER, "reads writes sync", lanes="apart",
   extent=8, latency="31", since="7.0 sm_80",
   doc="n arrivals, and n fewer expected from the next phase on")
op("mbarrier.test_wait", "d, [m], s:any", K.WAIT, "reads sync", lanes="apart", extent=8,
   result="pred", latency="31", since="7.0 sm_80",
   doc="whether phase s (or of parity s) is complete")
op("mbarrier.try_wait", "d, [m], s:any, t:b32?", K.WAIT, "reads sync", lanes="apart", extent=8,
   result="pred", latency="31", since="7.8 sm_90",
   doc="whether phase s is complete, after sleeping up to a time limit")
op("mbarrier.pending_count", "d, s:b64", K.MBARRIER, result="u32", latency="31", since="7.0 sm_80",
   doc="arrivals still expected, from a phase value")

# Tensor maps.
op("tensormap.replace", "[a], b:any, c:any?", K.OTHER, "writes", extent=-1, since="8.3 sm_90a",
   doc="change one field of a tensor map, in dimension b for the arrays")
op("tensormap.cp_fenceproxy", "[a], [b], n:b32", K.OTHER, "reads writes sync convergent", extent=-1,
   since="8.3 sm_90", doc="copy a tensor map and make it visible to the tensor proxy")
