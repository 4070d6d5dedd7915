"""Loads, stores, atomics, textures, surfaces, asynchronous copies, and cache hints.

Modifiers add volatility, ordering and space.
"""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes import OpKind as K

op = ORI.op

# What a thread waits on for the copies that signal a memory barrier object.
MBARRIER_WAITS = ("mbarrier.test_wait", "mbarrier.try_wait")

op("ld", "d, [a], p:b64?", K.LOAD, "reads relaxed grouped",
   latency="26 shared=12 shared.v2,shared.v4=14 const,param=20 global,local=26", since="1.0",
   doc="load; p is a cache policy")
op("ldu", "d, [a]", K.LOAD, "reads relaxed grouped", latency="20", since="2.0",
   doc="load of read-only data at one address for all lanes")
op("st", "[a], b:last, p:b64?", K.STORE, "writes relaxed in_registers grouped",
   latency="12 f64,b64,u64,s64,v2,v4,v8=14", since="1.0", doc="store; p is a cache policy")
op("st.async", "[a], b:last, [m]?", K.STORE, "writes relaxed in_registers",
   async_until=MBARRIER_WAITS, latency="12 f64,b64,u64,s64,v2,v4,v8=14", since="8.1 sm_90",
   doc="store to a cluster's shared memory that completes on mbarrier m")
op("st.bulk", "[a], n:any, v:any", K.STORE, "writes", extent=-1,
   latency="12 f64,b64,u64,s64,v2,v4,v8=14", since="8.6 sm_100",
   doc="n bytes of shared memory set to v, which is 0")
op("multimem.ld_reduce", "d, [a]", K.OTHER, "reads", latency="12", since="8.1 sm_90",
   doc="load from all replicas behind a multimem address, reduced")
op("multimem.st", "[a], b:any", K.OTHER, "writes", latency="12", since="8.1 sm_90",
   doc="store to all replicas behind a multimem address")
op("multimem.red", "[a], b:any", K.OTHER, "reads writes", lanes="agreed", extent=-1, latency="12",
   since="8.1 sm_90", doc="reduction at all replicas behind a multimem address")

# Hints. Nothing depends on them, yet moving or dropping one undoes its purpose.
op("prefetch", "[a]", K.OTHER, "pinned", latency="12", since="2.0 sm_20",
   doc="bring a line into L1 or L2")
op("prefetchu", "[a]", K.OTHER, "pinned", latency="12", since="2.0 sm_20",
   doc="bring a line into the uniform cache")
op("applypriority", "[a], n:any", K.OTHER, "pinned", latency="12", since="7.4 sm_80",
   doc="set the eviction priority of n bytes")
op("discard", "[a], n:any", K.OTHER, "writes pinned", extent=-1, latency="12", since="7.4 sm_80",
   doc="give up n bytes without writing them back: their content is lost")
op("createpolicy.fractional", "d, f:any?", lanes="agreed", latency="12", since="7.4 sm_80",
   doc="cache policy for a fraction of the accesses")
op("createpolicy.range", "d, [a], n:b32, m:b32", latency="12", since="7.4 sm_80",
   doc="cache policy for n bytes at a, another for the rest of m")
op("createpolicy.cvt", "d, a:b64", latency="12", since="7.4 sm_80",
   doc="cache policy from an access property")

# The stack.
op("stacksave", "d", K.OTHER, "pinned", lanes="apart", since="7.3 sm_52", doc="the stack pointer")
op("stackrestore", "a", K.OTHER, "writes pinned", since="7.3 sm_52",
   doc="set the stack pointer; what alloca gave since is lost")
op("alloca", "d, n:any, a:any?", K.OTHER, "pinned", lanes="apart", since="7.3 sm_52",
   doc="n bytes of stack, aligned by a")


# ------------------------------- Atomic operations. Ordering (`.acq_rel` …) and scope are modifiers

op("atom", "d, [a], b, c?, p:b64?", K.ATOMIC, "reads writes in_registers", lanes="apart",
   latency="12", since="1.1",
   doc="read, combine with b (compare with b, swap in c) and write; the old value")
op("red", "[a], b, p:b64?", K.ATOMIC, "reads writes in_registers", latency="12", since="1.2",
   doc="combine b into memory")
op("red.async", "[a], b:any, [m]?", K.ATOMIC, "reads writes in_registers",
   async_until=MBARRIER_WAITS, latency="12", since="8.1 sm_90",
   doc="combine b into a cluster's shared memory, completing on mbarrier m")


# ----------------- Texture fetches and queries. The address names texture, sampler and coordinates.
# After the address stand offset vector and depth reference, where there are any;
# a second result tells whether the texels are resident.

op("tex", "d|p, [t], x:any*", K.OTHER, "reads grouped", memory="texture", result="first",
   latency="20", since="1.0", doc="filtered texture fetch")
op("tld4", "d|p, [t], x:any*", K.OTHER, "reads grouped", memory="texture", result="first",
   latency="20", since="2.2 sm_20",
   doc="one component of the four texels that bilinear filtering reads")
op("txq", "d, [t], l:b32?", lanes="agreed", memory="texture", latency="20", since="1.5",
   doc="a property of a texture, sampler or mip level l")


# -------------------------- Surface accesses and queries. The address names surface and coordinates

op("suld", "d, [s]", K.OTHER, "reads relaxed", memory="surface", latency="20", since="1.5 sm_20",
   doc="load from a surface")
op("sust", "[s], a:any", K.OTHER, "writes", memory="surface", latency="20", since="1.5 sm_20",
   doc="store to a surface")
op("sured", "[s], a:any", K.OTHER, "reads writes", memory="surface", latency="20",
   since="2.0 sm_20", doc="reduction on an element of a surface")
op("suq", "d, [s]", memory="surface", latency="20", since="1.5 sm_20",
   doc="a property of a surface")


# --------------------------------- Asynchronous copies, barrier objects in memory, and tensor maps.
# A copy is under way until one of its `async_until` rows has run: a wait on the
# group that it was committed to, or on the mbarrier that it signals.

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
