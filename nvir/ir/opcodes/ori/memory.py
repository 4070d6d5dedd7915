"""Loads, stores, multimem and cache hints. Modifiers add volatility, ordering and space."""

from __future__ import annotations

from nvir.ir.opcodes import ORI

op = ORI.op

# What a thread waits on for the copies that signal a memory barrier object.
MBARRIER_WAITS = ("mbarrier.test_wait", "mbarrier.try_wait")

op("ld", "d, [a], p?", reads=True, since="1.0", doc="load; p is a cache policy")
op("ldu", "d, [a]", reads=True, since="2.0",
   doc="load of read-only data at one address for all lanes")
op("st", "[a], b, p?", writes=True, since="1.0", doc="store; p is a cache policy")
op("st.async", "[a], b, [m]?", writes=True, async_until=MBARRIER_WAITS, since="8.1 sm_90",
   doc="store to a cluster's shared memory that completes on mbarrier m")
op("st.bulk", "[a], n, v", writes=True, since="8.6 sm_100",
   doc="n bytes of shared memory set to v, which is 0")
op("multimem.ld_reduce", "d, [a]", reads=True, since="8.1 sm_90",
   doc="load from all replicas behind a multimem address, reduced")
op("multimem.st", "[a], b", writes=True, since="8.1 sm_90",
   doc="store to all replicas behind a multimem address")
op("multimem.red", "[a], b", reads=True, writes=True, since="8.1 sm_90",
   doc="reduction at all replicas behind a multimem address")

# Hints. Nothing depends on them, yet moving or dropping one undoes its purpose.
op("prefetch", "[a]", pinned=True, since="2.0 sm_20", doc="bring a line into L1 or L2")
op("prefetchu", "[a]", pinned=True, since="2.0 sm_20", doc="bring a line into the uniform cache")
op("applypriority", "[a], n", pinned=True, since="7.4 sm_80",
   doc="set the eviction priority of n bytes")
op("discard", "[a], n", writes=True, pinned=True, since="7.4 sm_80",
   doc="give up n bytes without writing them back: their content is lost")
op("createpolicy.fractional", "d, f?", since="7.4 sm_80",
   doc="cache policy for a fraction of the accesses")
op("createpolicy.range", "d, [a], n, m", since="7.4 sm_80",
   doc="cache policy for n bytes at a, another for the rest of m")
op("createpolicy.cvt", "d, a", since="7.4 sm_80", doc="cache policy from an access property")

# The stack.
op("stacksave", "d", pinned=True, since="7.3 sm_52", doc="the stack pointer")
op("stackrestore", "a", writes=True, pinned=True, since="7.3 sm_52",
   doc="set the stack pointer; what alloca gave since is lost")
op("alloca", "d, n, a?", pinned=True, since="7.3 sm_52",
   doc="n bytes of stack, aligned by a")
