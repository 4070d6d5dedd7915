"""Barriers and fences.

Barriers and the .aligned operations are convergent. The predicate reductions of
`bar.red` have their result first, then barrier, thread count and predicate.
"""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes import OpKind as K

op, ops = ORI.op, ORI.ops

for _prefix, _since in (
    ("bar", ""), ("bar.cta", "7.8"), ("barrier", "6.0 sm_30"), ("barrier.cta", "7.8 sm_30"),
):
    op(f"{_prefix}.sync", "a:b32, n:b32?", K.BARRIER, "sync convergent", scope="block",
       gathers=_prefix.startswith("barrier"), latency="12", since=_since or "1.0",
       doc="wait at barrier a for n threads, or all of the CTA")
    op(f"{_prefix}.arrive", "a:b32, n:b32", K.ARRIVE, "sync convergent", scope="block",
       latency="12", since=_since or "2.0 sm_20",
       doc="arrive at barrier a of n threads without waiting")
    op(f"{_prefix}.red", "d, a:b32, n:any, c:pred?", K.BARRIER, "sync convergent", scope="block",
       gathers=_prefix.startswith("barrier"), latency="12", lanes="agreed",
       since=_since or "2.0 sm_20",
       doc="wait at a barrier; count, and or or of a predicate over its threads")
op("bar.warp.sync", "m:b32", K.BARRIER, "sync convergent gathers", scope="warp", latency="12",
   since="6.0 sm_30", doc="wait for the lanes of mask m")
op("barrier.cluster.arrive", "", K.ARRIVE, "sync convergent", scope="cluster", latency="12",
   since="7.8 sm_90", doc="arrive at the cluster's barrier")
op("barrier.cluster.wait", "", K.BARRIER, "sync convergent", scope="cluster", latency="12",
   since="7.8 sm_90", doc="wait for the cluster's barrier")

op("membar", "", K.FENCE, "sync", latency="12", since="1.4",
   doc="order memory accesses at a level (older spelling)")
op("fence", "", K.FENCE, "sync", latency="12", since="6.0 sm_70",
   doc="order memory accesses at a scope")
op("fence.mbarrier_init", "", K.FENCE, "sync", latency="12", since="8.0 sm_90",
   doc="order the making of barriers before the cluster's use of them")
op("fence.proxy", "", K.FENCE, "sync", latency="12", since="7.5 sm_70",
   doc="order accesses through different proxies")
op("membar.proxy", "", K.FENCE, "sync", latency="12", since="7.5 sm_60",
   doc="order accesses through different proxies (older spelling)")
ops((f"fence.proxy.tensormap::generic.{how}" for how in ("acquire", "release")), "[a]?, n:any?",
    K.FENCE, "sync", since="8.3 sm_90",
    doc="order tensor-map accesses and ordinary ones, to n bytes at a")

op("griddepcontrol.launch_dependents", "", K.OTHER, "sync pinned", since="7.8 sm_90",
   doc="let dependent grids start")
op("griddepcontrol.wait", "", K.OTHER, "sync pinned", since="7.8 sm_90",
   doc="wait for the grids that this one depends on")
