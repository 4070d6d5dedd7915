"""What may stand in a software pipeline: each instruction of a loop's body, and why not.

The real tool's check answers 60 (reject) or 130 (accept) for an instruction; here the same two
codes follow from properties of the instruction, since the check as the notes have it compares a
pipe class and would reject all arithmetic and admit barriers. An accepted instruction keeps two
operand slots for the latency annotation, as there.

    row of RULES    property of the instruction -> reason
    annotate        latency class of each register operand (the step before the check)
    Obstacle          the closed list of why a loop is not pipelined

Cost     a look at each instruction.
Source   the notes on ptxas, phase 24, steps 1 and 2. Policy documented has their check, too:
         `loop-pipeline<noted-check>` (nvir/documented/pipelining.py).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable

import attrs

from nvir.ir import Block, Form, Instruction
from nvir.ir.text.trace import note, step
from nvir.sm.latency import SKIP, latency_class
from nvir.sm.profile import Profile


class Feasibility(enum.IntEnum):
    """The result of the check of one instruction, by the real tool's numbers."""

    REJECT = 60
    ACCEPT = 130


class Obstacle(enum.Enum):
    """Why a loop is not pipelined: the closed list."""

    NOT_INNERMOST = "it holds another loop"
    SEVERAL_BLOCKS = "its body has several blocks"
    EARLY_EXIT = "lanes may leave it at {what}"
    PRAGMA = "it is marked nounroll, by hand or by unrolling, and knob OkToPipelineNoUnroll is 0"
    PIPELINED = "it is a pipeline already"
    STRIDE = "it does not count as it would have to: {what}"
    NOT_COPIED = "it cannot be copied: {what}"
    UNKNOWN = "{what} is no operation that the table knows"
    BARRIER = "{what} is a barrier or a fence, which no iteration may cross"
    CALL = "{what} is a call"
    CONVERGENT = "lanes leave it apart, and {what} needs them together"
    TOGETHER = "{what} needs lanes together, and the noted compiler pipelines no such loop"
    PINNED = "{what} has an order that iterations in flight would break"
    ASYNC = "{what} counts groups of copies, which iterations in flight would change"
    TEMPLATE = "the machine's model lacks something: {what}"
    TEST = "its exit test needs what the body loads: {what}"
    NO_LOAD = "it has no load of long latency"
    RECURRENCE = "its loads wait for what the iteration before made: {what}"
    SHORT = "{what} iterations are fewer than the stages"
    FORM = "a kernel alone cannot do it: {what}"
    LIMIT = "a limit is set: {what}"
    TOO_LARGE = "{what} operations are too many"
    MANY = "{what} loops of the function were judged before it, and option judged allows no more"
    REGISTERS = "no depth leaves enough registers: {what}"
    NO_GAIN = "no depth is predicted to pay: {what}"
    PIPE = "the noted check takes the pipe for one of control: {what}"
    FLAGS = "the notes take no operand with a flag: {what}"
    UNLIKE = "the noted check asks for one latency class of operands 0 and 1: {what}"

    def text(self, what: str = "") -> str:
        return str(self.value).format(what=what)


@attrs.frozen
class Finding:
    """The check of one instruction: the code, the reason of a rejection, operand slots kept, and of
    a body's first rejection what is rejected."""

    code: Feasibility
    reason: Obstacle | None = None
    slots: int = 2
    what: str = ""

    @property
    def obstacle(self) -> tuple[Obstacle, str] | None:
        return None if self.reason is None else (self.reason, self.what)


def _is_async(f: Form) -> bool:
    return bool(f.op.async_until) or f.name.startswith(("cp.", "wgmma.", "tcgen05."))


RULES: tuple[tuple[Callable[[Form], bool], Obstacle], ...] = (  # property and reason
    (lambda f: f.name == "unknown", Obstacle.UNKNOWN),
    (lambda f: f.is_call, Obstacle.CALL),
    (_is_async, Obstacle.ASYNC),
    (lambda f: f.sync, Obstacle.BARRIER),
    (lambda f: f.pinned, Obstacle.PINNED),
)


def check(i: Instruction, *, parts: bool = True, together: bool = False) -> Finding:
    """The check of one instruction that ends no block. `parts`: lanes may leave the loop in
    different iterations; `together`: what needs them together is rejected even where they do not.
    """
    for holds, reason in RULES:
        if holds(i.form):
            return Finding(Feasibility.REJECT, reason, len(i.operands))
    if i.form.convergent and (parts or together):
        reason = Obstacle.CONVERGENT if parts else Obstacle.TOGETHER
        return Finding(Feasibility.REJECT, reason, len(i.operands))
    return Finding(Feasibility.ACCEPT, slots=min(2, len(i.operands)))


@step("SWP-04", "2 feasibility", "block", "parts", "together")
def feasible(
    block: Block, *, parts: bool, together: bool = False,
    more: Iterable[Callable[[], Finding]] = (),
) -> Finding:
    """130, or 60 with the first instruction of a body that rejects it, and the reason. `more` is
    what a policy asks of the body behind that."""
    for i in block:
        if i is block.last:
            continue
        found = check(i, parts=parts, together=together)
        if found.reason is not None:
            note("SWP-06", "2 rejected", found.code, instruction=i, reason=found.reason.name)
            if found.reason is Obstacle.BARRIER:
                note("SWP-17", "2 barrier", "crosses no stage: rejected", instruction=i)
            return attrs.evolve(found, what=i.form.spelling)
    asked = (ask() for ask in more)
    return next((found for found in asked if found.reason is not None), Finding(Feasibility.ACCEPT))


@attrs.frozen
class Annotation:
    """An operand of the body and its latency class. `index` counts as the real tool does, which has
    the result first: 1 is the first source. Of a predicated instruction two are taken off."""

    instruction: Instruction
    index: int
    latency_class: int


def made_class(i: Instruction, index: int, profile: Profile) -> int:
    """The class of the operation that makes a source: what is waited for."""
    d = i.operands[index - 1].definer if index else None
    return REWRITES if d is None or d.form.is_phi else latency_class(d.form.spelling, profile)


REWRITES = 6  # the default class: what differs from it is annotated


@step("SWP-03", "1 annotate", "instructions")
def annotate(
    instructions: Iterable[Instruction], profile: Profile,
    classify: Callable[[Instruction, int, Profile], int] = made_class,
) -> list[Annotation]:
    """Latency classes of the register operands that differ from the default class, as `classify`
    has them; literals and symbols have none."""
    made = []
    for i in instructions:
        opcode, count = i.form, operand_count(i)
        for k in range(count):
            if is_register(i, k) and (code := classify(i, k, profile)) != REWRITES:
                made.append(Annotation(i, k, code))
        for k in range(count, 1 + len(i.operands)):
            note("LAT-04", "1 past the end", SKIP, opcode=opcode.spelling, count=count, index=k)
        note("SWP-19", "1 wrapper: the opcode changed", i.form is not opcode, instruction=i)
    return made


def operand_count(i: Instruction) -> int:
    """Operands that have a class, the result among them, the two of a guard not."""
    return 1 + len(i.operands) - (2 if i.form.guard is not None and i.results else 0)


def is_register(i: Instruction, index: int) -> bool:
    """Whether an operand is a register that some instruction writes; 0 is the result."""
    values = (i.results[:1], *((v,) for v in i.operands))[index]
    return any(v.definer is not None for v in values)
