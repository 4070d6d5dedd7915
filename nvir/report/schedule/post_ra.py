"""The listing of `nvir schedule --post-ra`: a pipelined loop on its physical registers.

A line an instruction, in the order of the kernel: slot, cycle of its iteration, stage, pipe, stall
count, the barriers that it waits for and sets, registers, bank conflict. The yield hint is not
modelled. Behind it stands what the registers cost: the interval before and after allocation, the
pairs of instructions that raised it, and what the first of them means.
"""

from __future__ import annotations

from typing import Any

import attrs

from nvir.assembler.postra.check import require
from nvir.assembler.postra.code import PhysicalOp, reg_name
from nvir.assembler.postra.control import LONGEST_STALL, Fields
from nvir.assembler.postra.dependences import Dependence
from nvir.assembler.postra.expand import expand
from nvir.assembler.postra.fold import schedule_then_allocate
from nvir.assembler.postra.handed import handed
from nvir.assembler.postra.lower import loop_code
from nvir.assembler.postra.place import has_conflict
from nvir.assembler.postra.schedule import PostRaSchedule, schedule
from nvir.ir.clone import clone_function
from nvir.ir.loops import Loop, natural_loops
from nvir.ir.module import Module
from nvir.ir.text.trace import looking_at
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs
from nvir.passes.registry import all_passes
from nvir.report.explain.decisions import followed
from nvir.report.names import spoken
from nvir.sm.loopgraph import loop_graph
from nvir.sm.profile import Profile
from nvir.sm.schedule.loops import LoopSchedule, schedule_loop

SCHEMA = "nvir.post_ra/1"
SHOWN = 12  # of the pairs that raise the interval; JSON has all


@attrs.frozen(eq=False)
class PostRaListing:
    """A loop before allocation (`before`: registers are unlimited) and behind it."""

    before: LoopSchedule
    after: PostRaSchedule
    spread: bool
    copies: int = 1


def listing(
    loop: Loop, profile: Profile, *, level: str = "l1", policy: str = "observed",
    spread: bool = False, limit: int | None = None, copies: int = 1,
) -> PostRaListing:
    """Schedule a loop of one block before and behind allocation; the second is checked.

    spread   values get registers after the schedule, see `nvir.assembler.postra.fold`
    limit    registers a thread
    copies   iterations that make one pass of the kernel, each with registers of its own
    Raises Unsupported as `loop_code` does, NvirError if the judge refuses the schedule (a bug).
    """
    before = schedule_loop(loop_graph(loop, profile, level=level, policy=policy), effort="quick")
    if spread:
        after = schedule_then_allocate(
            loop, profile, copies=copies, limit=limit, level=level, policy=policy
        )
    else:
        given = handed(loop)
        code = loop_code(loop, profile, limit=limit, spread=given is not None)
        after = schedule(expand(code, copies, limit), level=level, policy=policy, given=given)
    require(after, level=level, policy=policy)
    return PostRaListing(before, after, spread, copies)


def pipelined(loop: Loop, module: Module, profile: Profile, level: str) -> Loop:
    """A loop as phase 24 of policy `documented` leaves it, in a copy of its function: the kernel
    with what it hands over, or the loop itself."""
    made = clone_function(loop.header.function)
    made.analyze_cfg()
    row = all_passes()["loop-pipeline"]
    ctx = Context(module, Knobs(policy="documented"), profile)
    ctx.function, ctx.pass_, ctx.options = made, row, row.options(level=level)
    ctx.loop = str(loop.header.name)
    row.run(made, ctx)
    made.analyze_cfg()
    header = followed(made, ctx.loop)
    looking_at(header or "")
    return next(x for x in natural_loops(made) if x.header.name == header)


# ---------------------------------------------------------------- text


def listing_text(found: PostRaListing, function: str) -> str:
    """The page: a heading, the table, what raised the interval."""
    made, before = found.after, found.before
    code = made.code
    given = made.handed
    shape = f"{made.stages} stages" if made.is_pipelined else "not pipelined"
    if given is not None:
        shape = f"a round of {given.copies} {'copy' if given.copies == 1 else 'copies'}, phase 24: "
        shape += f"II {given.ii}, {given.stages} stages"
        shape += "" if made.is_pipelined else ", which the registers do not let it keep"
    lines = [
        f"{spoken(function)} · loop {code.name} · {code.profile.name} · behind register allocation",
        f"II {made.ii} · {shape} · {len(code.operations)} instructions · "
        f"R{code.registers - 1} is the highest register · {code.used()} in the loop · "
        f"{made.control.barriers} barriers",
        f"before     II {before.ii}, {before.stages} stages, registers unlimited "
        f"(MaxLive {before.max_live})",
        f"predicted  {made.cycles / found.copies:g} cycles an iteration: II {made.ii}"
        + (f", branch {made.branch_cycles}" if made.branch_cycles else "")
        + (f", shared barriers {made.control.extra}" if made.control.extra else "")
        + (f", for {found.copies} iterations" if found.copies > 1 else ""),
        "",
        *_table(made),
        "",
        *_raised(found),
    ]
    return "\n".join(lines) + "\n"


_HEAD = ("slot", "cycle", "stage", "pipe", "stall", "wait", "set", "instruction", "bank")


def _table(made: PostRaSchedule) -> list[str]:
    rows = [_HEAD, *(_row(made, n) for n in made.order())]
    width = [max(len(r[k]) for r in rows) for k in range(len(_HEAD))]
    right = (0, 1, 2, 4)
    out = []
    for r in rows:
        cells = [f"{c:>{w}}" if k in right else f"{c:{w}}"
                 for k, (c, w) in enumerate(zip(r, width, strict=True))]
        out.append(("  ".join(cells)).rstrip())
    out.insert(1, "─" * max(len(x) for x in out))
    return out


def _row(made: PostRaSchedule, n: int) -> tuple[str, ...]:
    r, f = made.placement.records[n], made.control.fields[n]
    op = made.code.operations[n]
    note = f"   ; {op.role}" if op.role not in ("", "branch") else ""
    return (
        str(r.cycle % made.ii), str(r.cycle), str(_stage(made, n)), r.pipe or "–",
        str(f.stall) if f.stall <= LONGEST_STALL else f"{LONGEST_STALL}+{f.stall - LONGEST_STALL}",
        " ".join(f"B{b}" for b in f.wait), _sets(f), f"{op}{note}",
        "conflict" if has_conflict(op) else "",
    )


def _stage(made: PostRaSchedule, n: int) -> int:
    """The stage of an operation; of a kernel that of phase 24, which has overlapped it already."""
    return made.handed_stages[n] if made.handed_stages else made.placement.records[n].stage


def _sets(f: Fields) -> str:
    parts = [f"w{f.write}"] if f.write is not None else []
    return " ".join([*parts, f"r{f.read}"] if f.read is not None else parts)


def _raised(found: PostRaListing) -> list[str]:
    made = found.after
    code = made.code
    out = []
    if made.reason:
        out.append(f"unpipelined  {made.reason}")
    if made.raised_by:
        out.append(
            f"raised     {made.true_ii} → {made.bound} by registers that are used again "
            f"(without: pipes and true dependences):"
        )
        out += [f"             {d.text(code)}" for d in made.raised_by[:SHOWN]]
        if len(made.raised_by) > SHOWN:
            out.append(f"             … and {len(made.raised_by) - SHOWN} more on the same cycle")
        out += _in_words(found)
    noted = bool(made.handed_stages)  # nothing else is looked for then
    if made.ii > made.bound and not noted:
        out.append(f"placement  {made.bound} → {made.ii}: no schedule was found below")
    extra = len(code.operations) - found.copies * len(found.before.graph.operations)
    moves = sum(op.role == "move" for op in code.operations)
    spills = sum(op.role.startswith("spill") for op in code.operations)
    tuples = sum(op.role == "tuple move" for op in code.operations)
    if extra > 0:
        kinds = [
            f"{moves} moves of phis" if moves else "",
            f"{tuples} moves into tuples" if tuples else "",
            f"{spills} of spills" if spills else "",
        ]
        rest = extra - moves - spills - tuples
        if rest > 0:
            kinds.append(f"{rest} of the whole function's code, not joined or not hoisted")
        out.append(f"more       {extra} instructions: {', '.join(k for k in kinds if k)}")
    if code.hoisted:
        out.append(f"hoisted    {len(code.hoisted)} instructions, into registers that were free")
    if noted:
        pass
    elif made.raised_by and not found.spread:
        out.append("try        --spread: values in registers of their own")
    elif made.raised_by:
        out.append(
            "try        --copies N: what is left are registers that each iteration writes again"
        )
    return out or ["The registers cost nothing: the interval is that of pipes and dependences."]


def _in_words(found: PostRaListing) -> list[str]:
    """What the register means that binds first: one iteration at a time between write and read."""
    code, d = found.after.code, found.after.raised_by[0]
    if d.register is None:
        return []
    name = reg_name(d.register)
    makers = [op.family for op in code.operations if d.register in op.writes]
    lines = [f"that is    {d.words(code)}:"]
    if any(f.startswith("LD") for f in makers):
        lines.append(
            f"           {name} is taken from the load until its value was read, so the load of "
            "the next iteration starts behind that"
        )
    else:
        lines.append(f"           one value of {name} at a time, so iterations wait for each other")
    return lines


# ---------------------------------------------------------------- JSON


def listing_json(found: PostRaListing, function: str) -> dict[str, Any]:
    """The document of schema `nvir.post_ra/1`, as plain JSON types."""
    made, before = found.after, found.before
    code = made.code
    return {
        "schema": SCHEMA, "function": function, "loop": code.name,
        "profile": code.profile.name, "ii": made.ii, "stages": made.stages,
        "pipelined": made.is_pipelined, "reason": made.reason or None, "cycles": made.cycles,
        "branch_cycles": made.branch_cycles, "barrier_cycles": made.control.extra,
        "barriers": made.control.barriers, "registers": code.registers,
        "before": {"ii": before.ii, "stages": before.stages, "max_live": before.max_live},
        "true_ii": made.true_ii, "bound": made.bound, "spread": found.spread,
        "copies": found.copies,
        "handed": None if made.handed is None else {
            "ii": made.handed.ii, "stages": made.handed.stages, "copies": made.handed.copies},
        "raised_by": [_dependence(d) for d in made.raised_by],
        "hoisted": [str(op) for op in code.hoisted],
        "live": {
            reg_name(r): {"in": _bits(row.live_in), "out": _bits(row.live_out)}
            for r, row in sorted(made.placement.liveness.items())
        },
        "behind": {
            reg_name(r): _bits(row.live_in) for r, row in sorted(made.placement.behind.items())
        },
        "instructions": [_instruction(made, n) for n in made.order()],
    }


def _bits(mask: int) -> list[int]:
    return [k for k in range(mask.bit_length()) if mask >> k & 1]


def _dependence(d: Dependence) -> dict[str, Any]:
    return {
        "kind": d.kind, "register": None if d.register is None else reg_name(d.register),
        "source": d.source, "target": d.target, "cycles": d.cycles, "distance": d.distance,
    }


def _instruction(made: PostRaSchedule, n: int) -> dict[str, Any]:
    r, f = made.placement.records[n], made.control.fields[n]
    op = made.code.operations[n]
    return {
        "number": n, "slot": r.cycle % made.ii, "cycle": r.cycle, "stage": _stage(made, n),
        "pipe": r.pipe or None, "route": r.route.value, "flags": r.flags, "stall": f.stall,
        "wait": list(f.wait), "write_barrier": f.write, "read_barrier": f.read,
        "operation": op.family, "role": op.role or None,
        "writes": [reg_name(x) for x in op.writes], "reads": [reg_name(x) for x in op.reads],
        "guard": None if op.guard is None else reg_name(op.guard),
        "bank": r.bank, "offset": r.offset, "bank_conflict": has_conflict(op),
        "max_predecessor_cycle": r.max_predecessor_cycle,
        "max_dependency_cycle": r.max_dependency_cycle, "line": _line(op),
    }


def _line(op: PhysicalOp) -> int | None:
    return op.source.line or None if op.source is not None else None
