"""Barriers and fences.

Barriers and the .aligned operations are convergent. The predicate reductions of
`bar.red` have their result first, then barrier, thread count and predicate.
"""

from __future__ import annotations

from nvir.ir.opcodes import ORI

op, ops = ORI.op, ORI.ops

for _prefix, _since in (
    ("bar", ""), ("bar.cta", "7.8"), ("barrier", "6.0 sm_30"), ("barrier.cta", "7.8 sm_30"),
):
    op(f"{_prefix}.sync", "a, n?", sync=True, convergent=True, since=_since or "1.0",
       doc="wait at barrier a for n threads, or all of the CTA")
    op(f"{_prefix}.arrive", "a, n", sync=True, convergent=True, since=_since or "2.0 sm_20",
       doc="arrive at barrier a of n threads without waiting")
    op(f"{_prefix}.red", "d, a, n, c?", sync=True, convergent=True, since=_since or "2.0 sm_20",
       doc="wait at a barrier; count, and or or of a predicate over its threads")
op("bar.warp.sync", "m", sync=True, convergent=True, since="6.0 sm_30",
   doc="wait for the lanes of mask m")
op("barrier.cluster.arrive", "", sync=True, convergent=True, since="7.8 sm_90",
   doc="arrive at the cluster's barrier")
op("barrier.cluster.wait", "", sync=True, convergent=True, since="7.8 sm_90",
   doc="wait for the cluster's barrier")

op("membar", "", sync=True, since="1.4", doc="order memory accesses at a level (older spelling)")
op("fence", "", sync=True, since="6.0 sm_70", doc="order memory accesses at a scope")
op("fence.mbarrier_init", "", sync=True, since="8.0 sm_90",
   doc="order the making of barriers before the cluster's use of them")
op("fence.proxy", "", sync=True, since="7.5 sm_70",
   doc="order accesses through different proxies")
op("membar.proxy", "", sync=True, since="7.5 sm_60",
   doc="order accesses through different proxies (older spelling)")
ops((f"fence.proxy.tensormap::generic.{how}" for how in ("acquire", "release")), "[a]?, n?",
    sync=True, since="8.3 sm_90",
    doc="order tensor-map accesses and ordinary ones, to n bytes at a")

op("griddepcontrol.launch_dependents", "", sync=True, pinned=True, since="7.8 sm_90",
   doc="let dependent grids start")
op("griddepcontrol.wait", "", sync=True, pinned=True, since="7.8 sm_90",
   doc="wait for the grids that this one depends on")
