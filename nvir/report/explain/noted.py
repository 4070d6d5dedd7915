"""What the documented compiler does with a loop, step by step, and what the real one does with it.

    noted_events   the trace of the loop passes under policy `documented`, one after the other, and
                   of the scheduler behind register allocation
    made_before    of what ran before them: the front end, copies and structs
    compare        unrolling, hoisting and pipelining: as noted, as ptxas was observed to decide,
                   and as the ptxas that is installed did with the file

What ptxas did is read from the copies of the loop's own accesses in its machine code, by the PTX
line (-lineinfo); where those do not say it clearly, nothing is said. Each decision is compared on
the loop as it is written: hoisting by the lines of PTX that are invariant in it, and how many of
them then stand no longer in it, but in front of it or in a loop around it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

from nvir.ir.clone import clone_module
from nvir.ir.errors import NvirError
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop, natural_loops
from nvir.ir.module import Module
from nvir.ir.text.trace import Trace, TraceEvent, note
from nvir.passes.driver import run_passes
from nvir.passes.knobs import POLICIES, Knobs, Policy
from nvir.ptx import print_ptx, read_ptx
from nvir.report.bodies import work
from nvir.report.explain.decisions import Decision, LoopDecisions, loop_steps, summary
from nvir.report.real import accesses_of, machine_copies
from nvir.sm.body import MachineBody, register_bits
from nvir.sm.profile import Profile

HOISTS = "loop-simplify,licm<id=0>,licm<id=1>,licm<id=2>,licm<id=3>"
LITERAL = "loop-pipeline<classes;noted-check>"  # GAP-22 and GAP-23 as they stand
LOADS = ("LD", "LDG", "LDS", "LDSM")
TRACED = {"loop-unroll": "unrolling", "licm": "hoisting", "loop-pipeline": "pipelining"}


@attrs.frozen
class Compared:
    """One decision as three compilers take it; `ptxas` is None where none is installed or its code
    does not say."""

    what: str
    noted: str
    observed: str
    ptxas: str | None


def noted_events(asked: LoopDecisions) -> tuple[TraceEvent, ...]:
    """The events of the noted passes about the loop that is asked about, and those about none."""
    return (*(e for stage in asked.stages.values() for e in stage.events), *_behind(asked))


FRONT = ("FN", "CAL", "ASM", "MEM", "STR")


def made_before(events: Sequence[TraceEvent], function: Function) -> tuple[TraceEvent, ...]:
    """Of the events of a compilation those of the steps that stand before the loop passes: about
    the function, and about those that are no more and that it calls, for they are part of it. Whom
    no call of a known function names stays."""
    module = function.module
    mine = str(function.name)
    others = {str(f.name) for f in module.functions if f.blocks} if module is not None else set()
    others.discard(mine)
    calls: dict[str, set[str]] = {}
    for e in events:
        if e.row == "CAL-09":  # the callee, its casts folded away
            calls.setdefault(e.function, set()).add(str(e.outcome))
    others |= _reached(others, calls) - _reached({mine}, calls)
    return tuple(e for e in events if e.row.partition("-")[0] in FRONT and e.function not in others)


def _reached(roots: set[str], calls: Mapping[str, set[str]]) -> set[str]:
    seen, left = set(roots), list(roots)
    while left:
        new = calls.get(left.pop(), set()) - seen
        seen |= new
        left += new
    return seen


@attrs.frozen
class NotedFunction:
    """A function without a loop under policy `documented`: the trace of the steps alone."""

    function: str
    kind: str
    arch: str
    profile: str
    trace: tuple[TraceEvent, ...]

    def to_json(self) -> dict[str, object]:
        """The document of schema `nvir.explain/1` with no loop in it."""
        return {
            "schema": "nvir.explain/1", "function": self.function, "kind": self.kind,
            "arch": self.arch, "profile": self.profile, "policy": "documented", "loop": None,
            "trace": events_json(self.trace),
        }


def noted_function(
    function: Function, module: Module, machine: Profile, arch: str, knobs: Knobs,
    before: Sequence[TraceEvent],
) -> NotedFunction:
    """What the noted steps say of a function without a loop."""
    asked = LoopDecisions(function, module, None, knobs, machine)
    events = (e for stage in asked.stages.values() for e in stage.events)
    return NotedFunction(
        str(function.name), function.kind, arch, machine.name, (*before, *events))


def _behind(asked: LoopDecisions) -> tuple[TraceEvent, ...]:
    """The events of the scheduler behind register allocation, on what the passes left of a loop."""
    from nvir.analysis.analyses import Analyses
    from nvir.assembler.postra import loop_code, schedule
    from nvir.assembler.postra.handed import handed
    from nvir.passes.loop.pipeline.loop_pipeline import Options
    from nvir.sm.profile import profile_for

    function, header = asked.left
    loop = next((x for x in Analyses.of(function).loops if x.header.name == header), None)
    if loop is None:
        return ()
    machine = asked.profile or profile_for(asked.module.target)
    with Trace() as trace:
        try:
            given = handed(loop)
            schedule(loop_code(loop, machine, spread=given is not None), level=Options().level,
                     policy="documented", given=given)
        except NvirError as e:
            note("PRA-01", "behind register allocation", f"not pipelined: {e}", loop=loop,
                 blocks=loop.blocks, machine=machine.name)
    return tuple(trace)


def compare(
    function: Function, loop: Loop, module: Module, machine: Profile, arch: str,
    path: Path | None = None,
) -> tuple[Compared, ...]:
    """The three decisions. `path` is the PTX file, for the ptxas that is installed: of a text with
    several statements on a line that text one statement a line, since its code is known by
    lines; without a file the module as PTX."""
    with tempfile.TemporaryDirectory() as folder:
        if path is None or _shares_lines(function):
            text = print_ptx(module) if path is None else \
                one_a_line(path.read_text("utf-8", "replace"))
            path = Path(folder, "apart.ptx")
            path.write_text(text, "utf-8")
            module = read_ptx(path)
            loop = _same_loop(loop, module)
            function = loop.header.function
        real = _real(function, path, arch)
    said = {
        policy: _decisions(LoopDecisions(
            function, module, loop.header.name, Knobs(policy=policy), machine, alone=True
        ))
        for policy in POLICIES
    }
    lines = _invariant_lines(loop)
    seen = set() if real is None else lines & set(_deepest(real[0]))
    lines = seen or lines  # those that the machine code has, where it has any
    if lines:
        for policy in POLICIES:
            said[policy]["hoisting"] = _left(lines, _inside(loop, module, policy, machine))
    done = {} if real is None else {
        "unrolling": _copies(loop, *real), "pipelining": _ahead(loop, real[0]),
        "hoisting": _left_machine(loop, seen, real[0]),
    }
    return tuple(
        Compared(what, said["documented"][what], said["observed"][what], done.get(what))
        for what in TRACED.values()
    )


def _left(lines: set[int], inside: set[int]) -> str:
    return f"{len(lines - inside)} of {len(lines)} invariant lines stand outside of the loop"


def _invariant_lines(loop: Loop) -> set[int]:
    """The lines of what may leave a loop as it is written; what nothing reads has none to leave."""
    from nvir.analysis.hoisting.nest import Nest
    from nvir.analysis.hoisting.region import survey

    nest = Nest(loop.header.function)
    mine = next(x for x in nest.loops if x.header is loop.header)
    found, dead = survey(mine, nest).invariant, set[Instruction]()
    for i in reversed(found):
        if all(u in dead for r in i.results for u in r.users):
            dead.add(i)
    return {i.line for i in found if i.line and i not in dead}


def _inside(loop: Loop, module: Module, policy: Policy, machine: Profile) -> set[int]:
    """The lines that stand as deep as the loop, once a policy's instances of hoisting have run."""
    made = clone_module(module)
    run_passes(made, HOISTS, policy=policy, profile=machine)
    function = next(f for f in made.functions if f.name == loop.header.function.name)
    return {
        i.line for x in natural_loops(function) if x.depth >= loop.depth
        for b in x.blocks for i in b
    }


def _decisions(asked: LoopDecisions) -> dict[str, str]:
    told: dict[str, list[Decision]] = {what: [] for what in TRACED.values()}
    literal: Decision | None = None
    unroller = "unroll-decision" if asked.knobs.policy == "observed" else "loop-unroll"
    for step in loop_steps():
        name = "loop-unroll" if step.row.name == unroller else step.row.name
        if name not in TRACED or (name == "loop-unroll" and step.row.name != unroller):
            continue
        if name == "loop-pipeline" and asked.knobs.policy == "observed":
            continue  # ptxas was not seen to pipeline
        told[TRACED[name]].append(asked.decide(step, vary=False))
        if name == "loop-pipeline":
            options = step.row.options(classes=True, noted_check=True)
            literal = asked.decide(attrs.evolve(step, label=LITERAL, options=options), vary=False)
    said = {
        what: "; ".join(dict.fromkeys(summary(d) for d in made if d.remarks)) or "nothing is done"
        for what, made in told.items()
    }
    if literal is not None and literal.remarks and summary(literal) != said["pipelining"]:
        said["pipelining"] += f"; {LITERAL}: {summary(literal)}"
    return said


# ----------------------------------------------------------------- what ptxas did


def _shares_lines(function: Function) -> bool:
    lines = [i.line for i in function.instructions() if i.line]
    return len(set(lines)) < len(lines)


_STATEMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|;[ \t]*(?!\n)', re.DOTALL)


def one_a_line(text: str) -> str:
    """PTX with a line's end behind each statement; strings and comments stay."""
    return _STATEMENT.sub(lambda m: ";\n" if m[0][0] == ";" else m[0], text)


def _same_loop(loop: Loop, module: Module) -> Loop:
    """The loop in a module that was printed and read: blocks may have other names there."""
    old = loop.header.function
    at = [x.header for x in natural_loops(old)].index(loop.header)
    function = next(f for f in module.functions if f.name == old.name)
    function.analyze_cfg()
    return natural_loops(function)[at]


def _real(function: Function, path: Path, arch: str) -> tuple[MachineBody, Profile] | None:
    from nvir.sm.profile import profile_for
    from nvir.toolchain import ToolError, available, bodies, ptxas

    if not available("ptxas", "nvdisasm"):
        return None
    try:
        made = ptxas(path, arch, options=("-lineinfo",))
        if made.cubin is None:
            return None
        found = bodies(made.cubin, arch, lines="ptx", profile=profile_for(arch))
    except ToolError:
        return None
    body = found.get(str(function.name))
    return None if body is None else (body, profile_for(arch))


def _copies(loop: Loop, body: MachineBody, machine: Profile) -> str | None:
    n = machine_copies(loop, body, machine)
    if not n:
        return None if n is None else "no loop is left"
    return "one copy in the loop" if n == 1 else f"{n} copies in the loop"


def _left_machine(loop: Loop, lines: set[int], body: MachineBody) -> str | None:
    """How many of the lines left the loop in the machine code; None where it is not there as deep
    as it was. What is left over of an unrolled loop stands around it: the deepest copies count."""
    depth = _deepest(body)
    inner = {b for x in loop.children for b in x.blocks}
    own = {i.line for b in loop.blocks if b not in inner for i in b} - lines
    if not lines or max((depth.get(n, 0) for n in own), default=0) != loop.depth:
        return None
    return _left(lines, {n for n in lines if depth[n] >= loop.depth})


def _deepest(body: MachineBody) -> dict[int, int]:
    """By line how deep in loops it stands; moves of registers, which are nobody's work, aside."""
    depth: dict[int, int] = {}
    for b in body.blocks:
        at = b.loop.depth if b.loop is not None else 0
        for i in b.instructions:
            if work(i) != "MOV":
                depth[i.line] = max(at, depth.get(i.line, 0))
    return depth


def loads_ahead(loop: Loop, body: MachineBody) -> tuple[set[int], set[int]] | None:
    """The lines of a loop's loads in its machine loop, and of these that are pipelined: what a
    load ahead of the machine loop gives is read in it. What is read ahead alone, by a copy of the
    body, is a peeled iteration's. None where no load is there."""
    lines = {i.line for i in accesses_of(loop) if i.form.reads and i.form.n_results}
    own = [(i, b.index) for b in body.blocks for i in b.instructions
           if i.line in lines and i.family in LOADS]
    kernel = max(body.loops, key=lambda x: sum(b in x.blocks for _, b in own), default=None)
    inside = {i.line for i, b in own if kernel is not None and b in kernel.blocks}
    if kernel is None or not inside:
        return None
    needed = killed = 0
    for i in body.loop_instructions(kernel):
        needed |= register_bits(i.reads) & ~killed
        killed |= register_bits(i.writes) if i.guard is None else 0
    held = dict.fromkeys(inside, 0)  # line → the registers that hold what it loaded
    loads = {i for i, _ in own}
    for i in (i for b in body.blocks[:min(kernel.blocks)] for i in b.instructions):
        read, written = register_bits(i.reads), register_bits(i.writes)
        for n, bits in held.items():
            kept = bits & ~written if i.guard is None else bits
            brings = i.line == n if i in loads else work(i) == "MOV" and bool(bits & read)
            held[n] = kept | written if brings else kept
    return inside, {n for n, bits in held.items() if bits & needed}


def _ahead(loop: Loop, body: MachineBody) -> str | None:
    found = loads_ahead(loop, body)
    if found is None:
        return None
    inside, ahead = found
    return f"{len(ahead)} of {len(inside)} loads run an iteration ahead"


def events_json(events: Sequence[TraceEvent]) -> list[dict[str, object]]:
    return [
        {"row": e.row, "step": e.step, "inputs": dict(e.inputs), "outcome": e.outcome,
         "loop": e.at or None, "function": e.function or None}
        for e in events
    ]
