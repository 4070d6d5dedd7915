"""What an instance of hoisting works out anew: before it looks at loops, the first behind them too.

    before   the list of instructions, register pressure, loop depths; which loop lies in which, by
             the instances 2 and 3 (the tool asks a flag besides, which is taken as set); the marker
             of each block is cleared: it says of which loop the stages last looked at the block
    behind   what is live in each loop, by instance 0 alone

Cost     linear in the sizes of the loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.hoisting.nest import Nest
from nvir.analysis.pressure import loop_pressures
from nvir.ir import Block, Function, Loop
from nvir.ir.text.trace import looking_at, note, step

CLEARED = 0xFFFFFFFF  # the marker of a block at which no stage of the instance has looked
RENEWED = 2  # the first instance that asks anew which loop lies in which


@attrs.frozen
class PreparedLoops:
    """instructions   of the function
    pressures      most registers that are live in a loop, by its header
    depths         loops around each block
    """

    instructions: int
    pressures: Mapping[Block, int]
    depths: Mapping[Block, int]


@step("LIC-07", "prepare", "pass_id")
def prepare_nest(nest: Nest, pass_id: int) -> PreparedLoops:
    """Instructions, pressure and depths, from the function as it is."""
    function = nest.function
    depths = dict.fromkeys(function.rpo, 0)
    for loop in nest.loops:
        for b in loop.blocks:
            depths[b] += 1
    pressures = loop_pressures(nest.loops, Analyses.of(function).liveness)
    return PreparedLoops(sum(len(b) for b in function.blocks), pressures, depths)


@step("LIC-05", "markers cleared", "pass_id",
      tell=lambda made, *a: {b: f"{marker:#x}" for b, marker in made.items()})
def clear_markers(function: Function, pass_id: int) -> dict[Block, int]:
    """The marker of each block: the number of the header of the loop whose stages looked at the
    block last in this instance; none has yet."""
    return dict.fromkeys(function.rpo, CLEARED)


@step("LIC-07", "nesting", "pass_id", tell=lambda made, loops, pass_id: (
    made if pass_id >= RENEWED else "left as it is"))
def nesting(loops: Sequence[Loop], pass_id: int) -> dict[Block, list[Loop]]:
    """The loops directly inside of each, by its header; `loops` are told outer before inner."""
    if pass_id < RENEWED:
        return {x.header: list(x.children) for x in loops}
    found: dict[Block, list[Loop]] = {}
    innermost: dict[Block, Loop] = {}
    for x in loops:
        found[x.header] = []
        around = innermost.get(x.header)
        if around is not None:
            found[around.header].append(x)
        innermost.update(dict.fromkeys(x.blocks, x))
    return found


def analyses_again(function: Function, pass_id: int) -> None:
    """What the first instance has made anew when all has moved; later ones leave that out."""
    looking_at("")
    if pass_id:
        note("LIC-03", "worked out again", "left out: pass_id 0 alone has it", pass_id=pass_id)
        return
    known = Analyses.of(function)
    note("LIC-03", "worked out again", loop_pressures(known.loops, known.liveness), pass_id=pass_id,
         blocks=len(function.blocks))
