"""What lanes and threads do together: shuffles, votes, barriers, fences.

A mask of lanes that is no literal is checked against the lanes that are there, which costs a
branch out of line; the templates hold the operations of the way that all lanes take.
"""

from __future__ import annotations

from nvir.sm.templates.table import Shape, fixed, rule


def _masked(s: Shape, operation: str) -> str:
    if s.literals and s.literals[-1] is not None:
        return operation
    if s.on("gathers_lanes"):
        return f"R2UR t9, A; WARPSYNC , t9; {operation}"
    return (
        "VOTEU t7; MATCH t8, A; REDUX t9, t8; LOP3 t6, t9 t7; ISETP p9, t6; BRA , p9; "
        f"{operation} | MOV t5; CALL , t5; BRA"
    )


@rule("shfl.sync shfl")
def shfl(s: Shape) -> str | None:
    operation = ("MOV t4; " if s.literal(0) else "") + "SHFL D, a b c"
    return operation if s.name == "shfl" else _masked(s, operation)


@rule("vote.sync vote")
def vote(s: Shape) -> str | None:
    operation = "VOTE d, a"
    return operation if s.name == "vote" else _masked(s, operation)


@rule("match.any.sync match.all.sync")
def match(s: Shape) -> str | None:
    return _masked(s, "MATCH D, a")


@rule("redux.sync")
def redux(s: Shape) -> str | None:
    family = "CREDUX" if s.on("uniform_reductions") and s.has("min", "max") else "REDUX"
    return _masked(s, f"{family} t0, a; MOV d, t0")


@rule("elect.sync")
def elect(s: Shape) -> str | None:
    return "ELECT t0 d1; MOV d, t0"


fixed({
    "activemask": "VOTE d",
    "barrier.cluster.arrive": "UCGABAR_ARV",
    "barrier.cluster.wait": "UCGABAR_WAIT; CCTL",
    "bar.warp.sync": "",
})


@rule(
    "bar.sync bar.arrive bar.red bar.cta.sync bar.cta.arrive bar.cta.red barrier.sync "
    "barrier.arrive barrier.red barrier.cta.sync barrier.cta.arrive barrier.cta.red"
)
def bar(s: Shape) -> str | None:
    if s.name.endswith(".red"):
        result = "B2R d"
        return f"BAR , A; {result}"
    if s.literal(0) is None:
        return "BAR , A" if s.on("barriers_by_register") else "R2B , a; BAR , A"
    return "BAR , A"


@rule("membar fence")
def fence(s: Shape) -> str | None:
    if s.has("cta"):
        return "MEMBAR"
    cga = "CGAERRBAR; " if s.on("clusters") else ""
    return f"MEMBAR; ERRBAR; {cga}CCTL"


@rule(
    "fence.proxy membar.proxy fence.proxy.tensormap::generic.acquire "
    "fence.proxy.tensormap::generic.release"
)
def fence_proxy(s: Shape) -> str | None:
    if s.has("alias"):
        return "MEMBAR"
    return "FENCE" if s.has("global", "shared::cta") else "MEMBAR; FENCE"


@rule("fence.mbarrier_init")
def fence_mbarrier_init(s: Shape) -> str | None:
    return ""
