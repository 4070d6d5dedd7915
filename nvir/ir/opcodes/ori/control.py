"""Barriers and fences, control flow, traps, moves, and what lanes pass to each other.

Barriers and the .aligned operations are convergent. The predicate reductions of
`bar.red` have their result first, then barrier, thread count and predicate.
"""

from __future__ import annotations

from nvir.ir.opcodes import ORI
from nvir.ir.opcodes import OpKind as K
from nvir.ir.opcodes.ori import folds
from nvir.ir.opcodes.ori.memory import MBARRIER_WAITS

op = ORI.op
ops = ORI.ops

for _prefix, _since in (
    ("bar", ""), ("bar.cta", "7.8"), ("barrier", "6.0 sm_30"), ("barrier.cta", "7.8 sm_30"),
):
    op(f"{_prefix}.sync", "a:u32, n:u32?", K.BARRIER, "sync convergent", scope="block",
       gathers=_prefix.startswith("barrier"), latency="12", since=_since or "1.0",
       doc="wait at barrier a for n threads, or all of the CTA")
    op(f"{_prefix}.arrive", "a:u32, n:u32", K.ARRIVE, "sync convergent", scope="block",
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


# -------- Control flow. Labels are successors of the instruction, not operands; so are jump tables.
# `trap` ends no block: the debugger may resume after it. What a call names, the
# reader parses and `CallInfo` holds.

op("bra", "", K.BRANCH, "terminator", targets=1, latency="1", since="1.0", doc="jump")
op("brx.idx", "a:u32", K.SWITCH, "terminator", targets=-1, latency="1", since="6.0 sm_30",
   doc="jump to entry a of a table of labels")
op("call", "", K.OTHER, "reads writes convergent is_call", lanes="apart", latency="1", since="1.0",
   doc="call by name, or through a register with a prototype")
op("ret", "", K.RETURN, "terminator", latency="1", since="1.0", doc="return")
op("exit", "", K.RETURN, "terminator", latency="1", since="1.0", doc="end the thread")


# ------------------ Traps, events, sleeping, register counts, and the launching of further clusters

op("trap", "", K.OTHER, "pinned", latency="1", since="1.0",
   doc="abort the grid and interrupt the host")
op("brkpt", "", K.OTHER, "pinned", latency="1", since="1.0 sm_11", doc="suspend for the debugger")
op("pmevent", "a:b32", K.OTHER, "pinned", latency="1", since="1.4",
   doc="trigger performance-monitor events")
op("nanosleep", "t:b32", K.OTHER, "pinned", latency="1", since="6.3 sm_70",
   doc="sleep for about t nanoseconds")
op("setmaxnreg", "n:b32", K.OTHER, "pinned convergent", latency="1", since="8.0 sm_90a",
   doc="change the registers that each thread of the warpgroup may have")
op("clusterlaunchcontrol.try_cancel", "[a], [m]", K.OTHER, "writes pinned",
   async_until=MBARRIER_WAITS, since="8.6 sm_100",
   doc="try to take over a cluster that has not started; the answer goes to memory")
op("clusterlaunchcontrol.query_cancel", "d, a:any", result="first", since="8.6 sm_100",
   doc="from that answer: whether it was taken over, and its first CTA")


# ------------------------------------------- Moves, conversions, and what lanes pass to each other.
# Every operation that exchanges values between the lanes of a warp is convergent:
# which lanes take part is an input that no operand shows.

op("mov", "d, a:split", K.COPY, "cheap", result="split", latency="6 b64,u64,s64,f64,b128=7",
   fold=folds.mov, since="1.0", doc="a copy, an address, or packing and unpacking of a vector")
op("prmt", "d, a, b, c", K.OTHER, "bits", fold=folds.prmt, since="2.0 sm_20",
   doc="four of the eight bytes of b:a")
op("cvt", "d, a:last, b:last?, c:any?", K.CONVERT, "relaxed numeric cheap uniform", linear=(0,),
   result="first", latency="9 f16,bf16,f16x2,bf16x2=7", fold=folds.cvt, since="1.0",
   doc="conversion; two sources are packed, a third gives random bits (.rs)")
op("cvt.pack", "d, a:last, b:last, c:b32?", K.CONVERT, result="b32", relaxed=True,
   latency="9 f16,bf16,f16x2,bf16x2=7", since="6.5 sm_72",
   doc="two integers narrowed with saturation and packed, over the low part of c")
op("cvta", "d, a", K.COPY, "cheap", latency="11", since="2.0 sm_20",
   doc="an address to or from generic space")
op("isspacep", "d, a", K.COMPARE, result="pred", latency="11", since="2.0 sm_20",
   doc="whether a generic address lies in the state space")
op("istypep", "d, a:b64", K.COMPARE, lanes="agreed", result="pred", latency="11", since="4.0 sm_30",
   doc="whether a handle is of the opaque type")
op("mapa", "d, a, b:b32", latency="11", since="7.8 sm_90",
   doc="the address in CTA b of the cluster that is like shared address a here")
op("getctarank", "d, a", result="u32", latency="11", since="7.8 sm_90",
   doc="rank in the cluster of the CTA that holds a shared address")

# Between lanes.
op("shfl", "d|p, a, b:b32, c:b32", K.WARP, "convergent gathers", latency="12", since="3.0 sm_30",
   doc="another lane's a; p whether that lane is in range (before Volta)")
op("shfl.sync", "d|p, a, b:b32, c:b32, m:b32", K.WARP, "convergent gathers", latency="12",
   since="6.0 sm_30", doc="another lane's a among the lanes of mask m; p whether it is in range")
op("vote", "d, a:pred", K.WARP, "convergent gathers", lanes="agreed", since="1.2",
   doc="all, any, uniform or ballot of the active lanes (before Volta)")
op("vote.sync", "d, a:pred, m:b32", K.WARP, "convergent gathers", lanes="agreed", since="6.0 sm_30",
   doc="all, any, uniform or ballot of the lanes of mask m")
op("match.any.sync", "d, a, m:b32", K.WARP, "convergent gathers", lanes="apart", result="b32",
   latency="12", since="6.0 sm_70", doc="mask of the lanes that hold the same value")
op("match.all.sync", "d|p, a, m:b32", K.WARP, "convergent gathers", lanes="agreed", result="b32",
   latency="12", since="6.0 sm_70", doc="m where all lanes hold the same value, else 0")
op("redux.sync", "d, a, m:b32", K.WARP, "convergent gathers", lanes="agreed", latency="12",
   since="7.0 sm_80", doc="reduction over the lanes of mask m")
op("activemask", "d", K.WARP, "convergent", lanes="agreed", since="6.2 sm_30",
   doc="mask of the lanes running it")
op("elect.sync", "d|p, m:b32", K.WARP, "convergent", result="b32", since="8.0 sm_90",
   doc="number of one lane of mask m; p true in that lane alone")
