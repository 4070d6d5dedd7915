"""Phase 24 of the documented compiler: from latency classes to the slots of a modulo schedule.

    0  VerifyStride    the loop counts, and its body writes neither variable nor bound
    1  annotate        a latency class for each operand (pipeline/feasible.py)
    2  feasibility     60 or 130 for each instruction (the same)
    3  graph           an edge's latency is the producer's stall count, which the classes of its
                       operands 0 and 1 cap by their units (of FP32, whose class is that of memory,
                       FMA: 32); each machine operation takes a pipe of its opcode
    4  MII             the larger of recurrences and of resources
    5  slots           modulo scheduling from MII on
    6  expand          prologue, kernel, epilogue (pipeline/expand.py)

Readings (the notes leave them open)
    operand 0   is the result, operand 1 the first source; both are classed by the opcode, and for
                stalls operand 1 by what writes its register in the body, too (LAT-05)
    class 8     has a pipe of its own (SFU), of width 1: profile sm_80_notes
    pipes       the noted table gives one to each class, and the notes' worked example another to
                FP32; `loop-pipeline<classes>` takes the table, section `classes` of a profile
    check       as noted it rejects the pipes 0 to 3, which are those of arithmetic, and so nearly
                every loop; `loop-pipeline<noted-check>` asks it, else properties of the operation
                decide, and flags of operands
    lanes       what needs them together (shuffles, votes, matrix operations) is rejected, wherever
                they leave the loop
    stride      has to be a literal, which is asked behind VerifyStride
    score       VerifyStride's, of the predicates that the body makes: phase 24 asks for it, and the
                notes do not say what for. It is held against the predicates that there are: a
                loop that needs more in one iteration overlaps no two (SWP-20, assumed)

Cost     that of the modulo schedule.
Source   the notes on ptxas, phase 24.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.induction import trip_count
from nvir.assembler.unroll.latch_exit import RUN_TIME, counted_exit
from nvir.documented.unroll.steps import PREDICATES
from nvir.ir.block import Block
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop
from nvir.ir.opcodes.form import find_row
from nvir.ir.text.trace import Brief, note, shown, step
from nvir.ir.values import Constant, Value
from nvir.passes.context import Context
from nvir.passes.loop.pipeline.feasible import (
    Annotation,
    Feasibility,
    Finding,
    Obstacle,
    annotate,
    feasible,
    is_register,
    operand_count,
)
from nvir.passes.loop.pipeline.loop_pipeline import LARGEST
from nvir.passes.loop.region import tell_form
from nvir.passes.policies import PipelineSlots, slots_of
from nvir.sm.graph import DependenceGraph
from nvir.sm.latency import (
    CLASSES,
    DEFAULT,
    GLOBAL,
    SKIP,
    TEXTURE,
    Units,
    class_resource_bound,
    family_named,
    is_long,
    latency_class,
    pipe_of_class,
    register_class_latency,
    stall_cap,
    stall_cycles,
)
from nvir.sm.loopgraph import LoopGraph, loop_graph, machine_graph
from nvir.sm.machine import operand_class
from nvir.sm.mii import minimum_ii
from nvir.sm.profile import Profile
from nvir.sm.schedule.driver import modulo_schedule

# register classes: of global loads, of textures and uniform loads, uniform registers, all others
LOADED, FETCHED, UNIFORM, DEFAULT_CLASS = 4, 2, 5, 0
CONTROL = ("ALU", "FMA", "DFMA", "MMA")  # the pipes 0 to 3, which the notes call those of control


STEPS = ("0 VerifyStride", "1 annotate", "2 feasibility", "3 graph", "4 MII", "5 slots")


def _settled(made: PipelineSlots | tuple[Obstacle, str]) -> Brief:
    """The steps that ran, in their order, and how the last of them ended."""
    if isinstance(made, PipelineSlots):
        last, ended = len(STEPS), f"II {made.ii}"
    else:
        last, ended = 1 if made[0] is Obstacle.STRIDE else 3, made[0].text(made[1])
    ran = list(STEPS[:last])
    return Brief(f"{', '.join(ran)}: {ended}", {"ran": ran, "ended": ended})


@attrs.frozen
class OperandClasses:
    """The latency classes of an instruction's operands 0 (its result) and 1 (its first source), by
    its opcode: the check asks for them. Stalls take the `register`'s for operand 1, where that has
    a class of its own."""

    result: int
    source: int
    register: int = attrs.field(
        default=attrs.Factory(lambda self: self.source, takes_self=True))


def phase_24(loop: Loop, ctx: Context, level: str) -> PipelineSlots | tuple[Obstacle, str]:
    """The slots of a loop's instructions, or what is in the way."""
    tell_form(loop, 24)
    made = _in_order(loop, ctx, level)
    note("SWP-19", "phase 24", _settled(made), loop=loop)
    return made


def _in_order(loop: Loop, ctx: Context, level: str) -> PipelineSlots | tuple[Obstacle, str]:
    """The steps, in the order of the notes."""
    why = verified(loop)
    if why:
        return Obstacle.STRIDE, why
    body = [i for i in loop.header if not i.form.is_phi]
    classes = operand_classes(body, annotate(body, ctx.profile, classified), ctx.profile)
    lanes = Analyses.of(loop.header.function).divergence
    parts = loop.header in lanes.divergent_loops
    note("SWP-16", "2 divergent exit", "lanes leave in iterations of their own: each passes the "
         "guards by its own count" if parts
         else "all lanes leave together", loop=loop, divergent=parts)
    optimize = FLAGS_FROM if ctx.options is None else ctx.options.optimize
    more = [lambda: flags(body, optimize)]
    if ctx.options is not None and ctx.options.noted_check:
        more.append(lambda: noted_check(classes, ctx.profile))
    against = feasible(loop.header, parts=parts, together=True, more=more).obstacle
    if against is not None:
        return against
    plain = loop_graph(loop, ctx.profile, level=level)
    if len(plain.operations) > LARGEST:
        return Obstacle.TOO_LARGE, str(len(plain.operations))
    by_class = ctx.options is not None and ctx.options.classes
    graph = class_graph(plain, classes, by_class)
    by = machine_classes(plain, classes) if by_class else []
    bounds = minimum_ii(graph)
    cycle = bounds.recurrence
    assert cycle is not None  # that of the count at least
    note("SWP-08", "4 RecMII", bounds.rec_mii, recurrence=[_names(plain)[n] for n in cycle.nodes],
         latency=cycle.latency, distance=cycle.distance)
    mii = minimum(bounds.rec_mii, resources(graph, by, ctx.profile))
    return slots(plain, graph, mii)


@step("SWP-20", "0 VerifyStride", "loop")
def verified(loop: Loop) -> str:
    """Why the loop does not count as phase 24 needs it, or ""."""
    found = counted_exit(loop, trip_count(loop), scored=True)
    if isinstance(found, tuple):
        return found[1]
    if isinstance(found.stride, Value):
        return RUN_TIME
    score = found.score
    assert score is not None  # it was asked for
    return f"its score is {score}, for {PREDICATES} predicates" if score > PREDICATES else ""


@step("LAT-05", "1 classes of operands 0 and 1", "annotated")
def operand_classes(
    body: Sequence[Instruction], annotated: Sequence[Annotation], profile: Profile
) -> dict[Instruction, OperandClasses]:
    """Of each instruction: registers as annotated, the default class where they were not; other
    operands are classified here."""
    said = {(a.instruction, a.index): a.latency_class for a in annotated}
    made = {}
    for i in body:
        result, source = (
            said.get((i, k), DEFAULT) if k < operand_count(i) and is_register(i, k)
            else classified(i, k, profile) for k in (0, 1))
        made[i] = OperandClasses(result, source, _looked_up(i, source))
    known = sorted({code for of in made.values() for code in attrs.astuple(of)})
    note("LAT-02", "1 meaning", {code: CLASSES[code].meaning for code in known}, classes=known)
    return made


def classified(i: Instruction, index: int, profile: Profile) -> int:
    """ClassifyLatency: the class of an operand by the opcode that has it."""
    opcode, count = i.form.spelling, operand_count(i)
    made = operand_class(i, index, profile) if index < count else SKIP
    note("LAT-01", "1 class", made, opcode=i.form.name, secondary=".".join(i.form.mods),
         operands=i.operands, count=count, index=index)
    family = family_named(opcode)
    if index >= count:
        note("LAT-04", "1 past the end", made, opcode=opcode, count=count, index=index)
    elif family is None:
        known = find_row(opcode) is not None
        note("LAT-07", "1 no family", made, opcode=opcode, known=known, default=DEFAULT)
    else:
        words = (made,) * 5  # that of a load reads word 4, where its class is
        note("LAT-03", "1 family", made, opcode=opcode, family=family.category,
             numbers=[f"{n:#x}" for n in (family.first, family.last)], index=index,
             by_rule=family.rule(0, words, min(index, 4)))
    return made


def _looked_up(i: Instruction, source: int) -> int:
    """The class of operand 1, the first source, with that of its register."""
    if operand_count(i) < 2:
        return source
    v = i.operands[0]
    register = register_class(v, i.block)
    made = register_class_latency(register, source)
    note("LAT-05", "1 class of a register", made, opcode=i.form.spelling, operand=v,
         register_class=register)
    return made


def register_class(v: Value, body: Block | None) -> int:
    """The class of a register by what writes it in the body, behind phis, which are no operations
    of the real tool: that of one that a load writes holds for who reads it an iteration later."""
    written, seen = set[int](), [v]
    for of in seen:
        d = of.definer
        if d is not None and d.form.is_phi:
            seen += [x for x in d.operands if x not in seen]
        elif d is not None and d.block is body:
            written.add(latency_class(d.form.spelling))
    if GLOBAL in written:
        return LOADED
    if TEXTURE in written:
        return FETCHED
    return UNIFORM if v.definer is None and not isinstance(v, Constant) else DEFAULT_CLASS


FLAGS_FROM = 2  # the level of optimisation from which on flags reject


def operand_flag(i: Instruction) -> str:
    """What changes operand 0 or 1 where it stands, or "". The notes have two masks of bits; of what
    gets so far a form has saturation alone: carries are tied, and rejected before."""
    return "a saturated result" if any(m.startswith("sat") for m in i.form.mods) else ""


def flags(body: Sequence[Instruction], optimize: int) -> Finding:
    """60 for an instruction with a flag on operand 0 or 1, above level 1 of optimisation."""
    for i in body:
        flag = operand_flag(i)
        rejected = bool(flag) and optimize >= FLAGS_FROM
        note("SWP-05", "2 flags", "rejected" if rejected else "no objection", instruction=i,
             flag=flag, optimize=optimize)
        if rejected:
            why = f"{i.form.spelling} has {flag}"
            return Finding(Feasibility.REJECT, Obstacle.FLAGS, len(i.operands), why)
    return Finding(Feasibility.ACCEPT)


@step("SWP-06", "2 noted check", "classes")
def noted_check(classes: Mapping[Instruction, OperandClasses], profile: Profile) -> Finding:
    """What the notes ask of pipes and classes: 60 for an instruction of the pipes 0 to 3, or whose
    operands 0 and 1 are of unlike classes."""
    for i, of in classes.items():
        if i.form.terminator:
            continue
        pipe, what = pipe_of_class(of.result, profile), i.form.spelling
        if pipe in CONTROL:
            return Finding(Feasibility.REJECT, Obstacle.PIPE, len(i.operands), f"{what} on {pipe}")
        if of.result != of.source:
            why = f"{what} has {of.result} and {of.source}"
            return Finding(Feasibility.REJECT, Obstacle.UNLIKE, len(i.operands), why)
    return Finding(Feasibility.ACCEPT)


def _names(plain: LoopGraph) -> list[str]:
    """The machine operations as events name them: family, number, line."""
    lines = (f" (line {op.line})" if op.line else "" for op in plain.operations)
    return [f"{op.family or 'operation'} {n}{line}"
            for n, (op, line) in enumerate(zip(plain.operations, lines, strict=True))]


def _graph_told(made: DependenceGraph, plain: LoopGraph, *_: object) -> dict[str, object]:
    names = _names(plain)
    edges = [f"{names[a]} to {names[b]} {cycles} {'cycle' if cycles == 1 else 'cycles'} "
             f"distance {far}" for a, b, cycles, far in sorted(made.edges, key=lambda e: -e[3])]
    return {str(made): edges}


@step("SWP-09", "3 graph", "by_class", tell=_graph_told)
def class_graph(
    plain: LoopGraph, classes: Mapping[Instruction, OperandClasses], by_class: bool
) -> DependenceGraph:
    """The loop's dependences with the latencies that the classes give, and the pipes of opcodes or
    of classes."""
    carried, machine, edges = set(plain.register_edges), plain.profile, []
    names, codes = _names(plain), machine_classes(plain, classes)
    note("SWP-12", "3 class to pipe", {c: machine.class_pipes.get(c, "")
         for c in dict.fromkeys(codes)}, by_class=by_class)
    for k, (a, b, cycles, far) in enumerate(plain.graph.edges):
        if k in carried:
            op = plain.operations[a]
            of, unit = classes[op.parent], machine.operation(op.family or "").unit
            both = unit, unit if of.register == of.source != SKIP else None
            cycles = stall(cycles, of, machine, f"{names[a]} to {names[b]}", both)
        edges.append((a, b, cycles, far))
    if not by_class:
        return machine_graph(machine, [op.family or "" for op in plain.operations], edges)
    nodes = [pipe_of_class(code, machine) for code in codes]
    return DependenceGraph(nodes, edges, {n: machine.pipes[n].units for n in dict.fromkeys(nodes)})


def _stall_told(
    made: int, cycles: int, of: OperandClasses, machine: Profile, edge: str, units: Units
) -> Brief:
    pipes = [_pipe_told(c, machine, unit)
             for c, unit in zip((of.result, of.register), units, strict=True)]
    cap = stall_cap(of.result, of.register, machine, units)
    return Brief(made, {"cycles": made, "cap": cap, "pipes": pipes})


@step("LAT-06", "3 stall", "edge", "cycles", "of", "units", tell=_stall_told)
def stall(
    cycles: int, of: OperandClasses, machine: Profile, edge: str = "", units: Units = (None, None)
) -> int:
    """Cycles from a producer to its reader: the machine's, capped by the classes of its operands
    0 and 1 and by the units that make them."""
    return stall_cycles(cycles, of.result, of.register, machine, units)


def _pipe_told(code: int, machine: Profile, unit: str | None) -> dict[str, object]:
    """The pipe of an operand: of the unit that makes it, else of its class by the noted table where
    the profile has that."""
    of = machine.units.get(unit or (CLASSES[code].unit if code in CLASSES else None) or "")
    pipe = None if unit else machine.class_pipes.get(code)
    pipe = pipe or (of.pipes[0] if of is not None and of.pipes else None)
    return {"class": code, "pipe": pipe, "long": is_long(code, machine, unit)}


def machine_classes(
    plain: LoopGraph, classes: Mapping[Instruction, OperandClasses]
) -> list[int]:
    """The latency class of each machine operation of the loop: of operand 0 of the instruction that
    it is part of, as step 1 found it."""
    return [classes[op.parent].result for op in plain.operations]


@step("SWP-11", "4 ResMII", "graph")
def resources(graph: DependenceGraph, classes: Sequence[int], machine: Profile) -> int:
    """The pipe counters against the widths: by `classes` where they are given."""
    note("SWP-13", "4 widths", {name: p.units for name, p in machine.pipes.items()},
         by_class=bool(classes))
    return class_resource_bound(classes, machine) if classes else minimum_ii(graph).res_mii


@step("SWP-07", "4 MII", "rec_mii", "res_mii")
def minimum(rec_mii: int, res_mii: int) -> int:
    """The larger of both bounds."""
    return max(rec_mii, res_mii)


def _slots_told(made: PipelineSlots, plain: LoopGraph, *_: object) -> Brief:
    body = list(plain.loop.header)
    slots = [{"instruction": shown(body[k]), "at": t, "stage": t // made.ii}
             for k, t in sorted(made.times.items())]
    at = [f"{x['instruction']} at {x['at']}, stage {x['stage']}" for x in slots]
    return Brief(f"II {made.ii}: " + "; ".join(at), {"ii": made.ii, "slots": slots})


@step("SWP-10", "5 slots", "mii", tell=_slots_told)
def slots(plain: LoopGraph, graph: DependenceGraph, mii: int) -> PipelineSlots:
    """The interval, searched from MII on, and the slot of each instruction's first operation."""
    made = modulo_schedule(graph, solver="none")
    return slots_of(plain, max(made.ii, mii), made.times)
