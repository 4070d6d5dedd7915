"""Hot and cold order inside loops: what a loop seldom runs stands behind it.

    h:  @p bra slow             h:  @p bra slow
        …                           …
    s:  …  bra h          ==>   s:  …  bra h
    slow: … bra s               e:  …
    e:  …                       slow: … bra s

The loop's own blocks are then one after the other in the text, and in the instruction cache.

Cold are blocks with the flag "cold" (a profile's), those that end the program (`trap`, a call of a
function that does not return, as `assert` makes), and blocks that lead to cold ones alone or that
only cold ones lead to, inside the loop.

Method   For each outermost loop the blocks between its first and its last in layout are put in the
         order: hot ones of the loop, cold ones of the loop, blocks of other parts; each kind in
         the order that it had.
Needs    fresh CFG annotations.
Keeps    blocks and edges; only their order in the text.
Cost     linear.
Source   The notes' phase 108, of which they say no more than the name and the purpose; Pettis,
         Hansen, "Profile Guided Code Positioning", PLDI 1990, for moving what is seldom run.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from nvir.ir import Block, CallInfo, Function, Loop
from nvir.passes.context import Context
from nvir.passes.remarks import passed

ORDERED = passed(
    "HotColdOrdered", "the loop's {hot} {hot:block stands|blocks stand} together, "
    "{cold} cold behind them"
)
CODES = (ORDERED,)

_NEVER_RETURN = frozenset(("__assertfail", "__assert_fail", "abort"))


def run(function: Function, ctx: Context) -> bool:
    loops = [x for x in ctx.analyses(function).loops if x.parent is None]
    if not loops:
        return False
    blocks = function.blocks
    at = {b: k for k, b in enumerate(blocks)}
    for loop in loops:
        inside = loop.members
        cold = cold_blocks(loop)
        places = [at[b] for b in loop.blocks]
        first, last = min(places), max(places)
        span = blocks[first : last + 1]
        order = sorted(span, key=lambda b: (b not in inside) * 2 or b in cold)
        if order != span:
            blocks[first : last + 1] = order
            at.update((b, first + k) for k, b in enumerate(order))
            ctx.count("loops")
            ctx.remark(ORDERED, loop, hot=len(inside) - len(cold), cold=len(cold))
            function.cfg_changed()
    if function.cfg_state == "fresh":
        return False
    function.analyze_cfg()
    return True


def cold_blocks(loop: Loop) -> set[Block]:
    """The cold blocks of a loop; never its header."""
    inside = loop.members
    cold = {b for b in loop.blocks if b is not loop.header and _is_cold(b)}
    work = list(cold)
    while work:
        b = work.pop()
        for n in (*b.preds, *b.succs):
            if n in inside and n not in cold and n is not loop.header and _only_cold(n, cold):
                cold.add(n)
                work.append(n)
    return cold


def _only_cold(block: Block, cold: AbstractSet[Block]) -> bool:
    return all(p in cold for p in block.preds) or all(s in cold for s in block.succs)


def _is_cold(block: Block) -> bool:
    if "cold" in block.flags:
        return True
    i = block.first
    while i is not None:
        if i.form.guard is None and (i.form.name == "trap" or _ends(i.aux)):
            return True
        i = i.next
    return False


def _ends(aux: object) -> bool:
    """Whether a call is of a function that does not return."""
    if not isinstance(aux, CallInfo) or aux.callee is None:
        return False
    directives = getattr(aux.callee, "directives", {})
    return "noreturn" in directives or aux.callee.name in _NEVER_RETURN
