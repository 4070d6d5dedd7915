"""Loads, stores, multimem and cache hints. Modifiers add volatility, ordering and space."""

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
op("stackrestore", "a:any", K.OTHER, "writes pinned", since="7.3 sm_52",
   doc="set the stack pointer; what alloca gave since is lost")
op("alloca", "d, n:any, a:any?", K.OTHER, "pinned", lanes="apart", since="7.3 sm_52",
   doc="n bytes of stack, aligned by a")
