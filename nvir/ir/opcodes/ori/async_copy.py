"""Asynchronous copies, barrier objects in memory, and tensor maps.

A copy is under way until one of its `async_until` rows has run: a wait on the
group that it was committed to, or on the mbarrier that it signals.
"""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes.ori.memory import MBARRIER_WAITS

op = ORI.op

_GROUP_WAITS = ("cp.async.wait_group", "cp.async.wait_all", *MBARRIER_WAITS)
_BULK_WAITS = ("cp.async.bulk.wait_group", *MBARRIER_WAITS)

# Copies by each thread of 4, 8 or 16 bytes.
op("cp.async", "[a], [b], n, s?, p?", reads=True, writes=True, async_until=_GROUP_WAITS,
   since="7.0 sm_80",
   doc="n bytes from global to shared; s of them read, or a predicate to ignore")
op("cp.async.commit_group", "", sync=True, pinned=True, since="7.0 sm_80",
   doc="close the group of the copies issued so far")
op("cp.async.wait_group", "n", sync=True, pinned=True, since="7.0 sm_80",
   doc="wait until at most the n newest groups are pending")
op("cp.async.wait_all", "", sync=True, pinned=True, since="7.0 sm_80",
   doc="wait for every copy of this thread")
op("cp.async.mbarrier.arrive", "[m]", reads=True, writes=True, sync=True, since="7.0 sm_80",
   doc="arrive on m when the copies issued so far are done")

# Bulk copies by the copy engine.
op("cp.async.bulk", "[a], [b], n, x*", reads=True, writes=True, async_until=_BULK_WAITS,
   since="8.0 sm_90", doc="n bytes between global and shared")
op("cp.reduce.async.bulk", "[a], [b], n, x*", reads=True, writes=True, async_until=_BULK_WAITS,
   since="8.0 sm_90", doc="n bytes combined into the destination")
op("cp.async.bulk.prefetch", "[b], n, p?", pinned=True, since="8.0 sm_90",
   doc="bring n bytes into L2")
op("cp.async.bulk.tensor", "[a], [b], x*", reads=True, writes=True, async_until=_BULK_WAITS,
   since="8.0 sm_90", doc="a box of a tensor between global and shared")
op("cp.reduce.async.bulk.tensor", "[a], [b], x*", reads=True, writes=True,
   async_until=_BULK_WAITS, since="8.0 sm_90",
   doc="a box combined into a tensor in global memory")
op("cp.async.bulk.prefetch.tensor", "[b], x*", pinned=True, since="8.0 sm_90",
   doc="bring a box of a tensor into L2")
op("cp.async.bulk.commit_group", "", sync=True, pinned=True, since="8.0 sm_90",
   doc="close the group of the bulk copies issued so far")
op("cp.async.bulk.wait_group", "n", sync=True, pinned=True, since="8.0 sm_90",
   doc="wait until at most the n newest bulk groups are pending (.read: are unread)")
op("multimem.cp.async.bulk", "[a], [b], n, x*", reads=True, writes=True,
   async_until=_BULK_WAITS, since="9.1 sm_90", doc="n bytes to all replicas")
op("multimem.cp.reduce.async.bulk", "[a], [b], n, x*", reads=True, writes=True,
   async_until=_BULK_WAITS, since="9.1 sm_90", doc="n bytes combined into replicas")

# Barrier objects. Arriving releases, waiting acquires, unless .relaxed.
op("mbarrier.init", "[m], n", writes=True, sync=True, since="7.0 sm_80",
   doc="make a barrier of n expected arrivals")
op("mbarrier.inval", "[m]", writes=True, sync=True, since="7.0 sm_80", doc="end a barrier's life")
op("mbarrier.expect_tx", "[m], n", reads=True, writes=True, sync=True, since="8.0 sm_90",
   doc="expect n more bytes in this phase")
op("mbarrier.complete_tx", "[m], n", reads=True, writes=True, sync=True, since="8.0 sm_90",
   doc="count n bytes as arrived")
op("mbarrier.arrive", "d?, [m], n?", reads=True, writes=True, sync=True, since="7.0 sm_80",
   doc="n arrivals; d is the phase, to test")
op("mbarrier.arrive_drop", "d?, [m], n?", reads=True, writes=True, sync=True, since="7.0 sm_80",
   doc="n arrivals, and n fewer expected from the next phase on")
op("mbarrier.test_wait", "d, [m], s", result="pred", reads=True, sync=True, since="7.0 sm_80",
   doc="whether phase s (or of parity s) is complete")
op("mbarrier.try_wait", "d, [m], s, t?", result="pred", reads=True, sync=True, since="7.8 sm_90",
   doc="whether phase s is complete, after sleeping up to a time limit")
op("mbarrier.pending_count", "d, s", result="u32", since="7.0 sm_80",
   doc="arrivals still expected, from a phase value")

# Tensor maps.
op("tensormap.replace", "[a], b, c?", writes=True, since="8.3 sm_90a",
   doc="change one field of a tensor map, in dimension b for the arrays")
op("tensormap.cp_fenceproxy", "[a], [b], n", reads=True, writes=True, sync=True, convergent=True,
   since="8.3 sm_90", doc="copy a tensor map and make it visible to the tensor proxy")
