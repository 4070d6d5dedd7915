"""Loop simplification: the form that all other loop passes expect (phase 18).

    one latch        all back edges to a header come from one block
    one preheader    the only way in, which does nothing but lead there
    own exits        blocks that the loop leads to are led to by nothing else

    a:  bra h      b:  bra h                a:  bra pre    b:  bra pre
    h:  phi [x, a], [y, b],                 pre: phi [x, a], [y, b]; bra h
            [u, c], [v, d]        ==>       h:  phi [pre's], [latch's]
        …                                   …
    c:  @p bra h   d:  bra h                c:  @p bra latch    d:  bra latch
                                            latch: phi [u, c], [v, d]; bra h

Method   Peeling, where it is asked for, then that of canonical.py: the latches, and behind the
         knob all else.
Needs    fresh CFG annotations.
Keeps    every instruction: only jumps and phis come in, and a header's phi goes that holds one
         value in the loop, which now comes of the preheader. A second run changes nothing.
Skips    loops with an unknown operation. Regions that control enters sideways: they have no
         header; reported. Under the convergent flag, edges on which lanes may part: a new
         block there would be a new place for them to be apart.
Knobs    LoopMakeSingleEntry (487) off leaves only the single latch.
Cost     linear; blocks only, unless something is to be done.
Source   The notes' phase 18, with peeling at levels 4 and 5 or by the flag. Exits of their own are
         not noted; LICM's sinking side and the unroller want them.
"""

from __future__ import annotations

import attrs

from nvir.ir.function import Function
from nvir.ir.text.trace import looking_at, note
from nvir.passes.context import Context
from nvir.passes.loop.simplify import canonical, loop_peel
from nvir.passes.remarks import missed

IRREDUCIBLE = missed(
    "Irreducible", "control enters {target} sideways, from {source}: no header, not simplified"
)
CODES = (IRREDUCIBLE, *canonical.CODES, *loop_peel.CODES)


@attrs.frozen
class Options:
    """Options of `loop-simplify`.

    enable      loop optimisation as a whole (bit 0 of the flags at 1368)
    level       of optimisation; 4 and 5 peel
    peel        peel at any level (bit 2 of the flags at 1382)
    convergent  lanes stay together in this code (bit 7 of the flags at 1380); so does the
                function's flag "convergent"
    """

    enable: bool = True
    level: int = 2
    peel: bool = False
    convergent: bool = False


def run(function: Function, ctx: Context) -> bool:
    options: Options = ctx.options
    note("P18-01", "guard", options.enable, level=options.level)
    if not options.enable or not (function.back_edges or function.irreducible_edges):
        return False
    sideways = list(function.irreducible_edges)
    for source, target in sideways:
        ctx.remark(IRREDUCIBLE, target, source=source.name, target=target.name)
    together = options.convergent or "convergent" in function.flags
    peel = (options.level >= 4 or options.peel) and not together
    note("P18-02", "peeling", peel, level=options.level)
    changed = peel and loop_peel.peel_loops(function, ctx, as_they_are=True)

    def whole() -> bool:
        looking_at("")
        note("P18-01", "guard, again", options.enable, level=options.level)
        knob = bool(ctx.knob("LoopMakeSingleEntry"))
        note("P18-04", "single entries too", knob, LoopMakeSingleEntry=knob)
        left = "reported, not simplified" if knob else "left behind the knob"
        note("P18-06", "several entries", left if sideways else "none",
             entries=[f"{a.name} to {b.name}" for a, b in sideways], LoopMakeSingleEntry=knob)
        return knob

    return canonical.in_two_rounds(function, ctx, whole, together) or changed
