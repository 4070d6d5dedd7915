"""The notes' LICM core: five stages for each block of a loop, in the order of the real routine.

    1  budget       from the knobs, the instance, the kind of loop and the block's mode
    2  forward      an operation whose registers are all made outside is marked invariant
    3  backward     marks of operations that must stay are taken back; the others are counted
    4  transitive   what reads marked results, and nothing else of the loop, is marked as well
    5  profit       score · budget / (weight · size) ≥ penalty, block by block

hoist/core.py runs them. Marks are named fields (`Marks`): `def_block` of a value is the block that
it is made in, or OUTSIDE once it is external or to be hoisted. What the stages mark is hoisted only
if hoisting/region.py finds it right to move, so the literal tables never decide whether a result is
right.

Readings (the notes leave them open)
    simple      a loop of a single block
    inner       a loop inside of another; only then the inner loop's divisor applies
    weights     header: the header block; body: all blocks of the loop
    safe        every iteration runs the block
    "no-op"     a predicate of the caller; by default a copy, which the machine runs for free
    nesting     the penalty lies inside of the invariant branch
    counts      stages 4 and 5 take a mark for good once stage 3 has counted it
    special     the class that the last instance passes over: predicates, but for an addition's
                carry-in (the machine keeps carries in predicates). Stage 2 alone does so: the notes
                have one routine for stages 2 and 3, which then could take no false mark back

Cost    a few visits an instruction of the loop.
Source  the notes on ptxas, phases 35, 66, 79 and 88.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from fractions import Fraction

import attrs

from nvir.analysis.hoisting.region import HoistRegion
from nvir.analysis.source_loops import has_pragma
from nvir.assembler.hoist import tables
from nvir.assembler.hoist.score import Verdict
from nvir.assembler.hoist.tables import Mode
from nvir.ir import CC, PRED, VOID, Block, Form, Instruction, Loop, Value
from nvir.ir.text.trace import Brief, is_traced, note, shown, step
from nvir.passes.knobs import KnobKind

OUTSIDE = -1


class HoistState(enum.Enum):
    """What a stage says of a value."""

    UNKNOWN = 0
    EXTERNAL = 1
    INVARIANT = 2
    VARIANT = 3


class Marks:
    """The stages' marks on values: where made, how often used in the loop, and the state."""

    __slots__ = ("def_block", "index", "state", "use_count")

    def __init__(self, index: int) -> None:
        self.index = index  # of the block at hand
        self.def_block: dict[Value, int] = {}
        self.use_count: dict[Value, int] = {}
        self.state: dict[Value, HoistState] = {}

    def made_in(self, v: Value) -> int:
        found = self.def_block.get(v)
        return home(v) if found is None else found

    def is_candidate(self, v: Value) -> bool:
        """Whether a value made in the block may leave it, as far as the marks say."""
        return self.made_in(v) != self.index

    def all_leave(self, i: Instruction) -> bool:
        """Whether that holds of all results; of one without any too."""
        if i._results is None:
            if i.type is VOID:
                return True
            found = self.def_block.get(i)
            return (home(i) if found is None else found) != self.index
        return all(self.is_candidate(r) for r in i._results)

    def counted(self, i: Instruction) -> bool:
        """Whether stage 3 or 4 has counted all results."""
        return all(self.use_count.get(r) for r in i.results)


def home(v: Value) -> int:
    """The number of the block that a register is made in."""
    assert v.definer is not None
    assert v.definer.block is not None
    return v.definer.block.rpo_index


def is_register(v: Value) -> bool:
    return v.definer is not None  # literals, symbols and special registers have none


def skipped_by_last(i: Instruction, v: Value) -> bool:
    """Whether the last instance passes over an operand: of the special class, but for an addition's
    carry-in (the operand before the last of the real operation)."""
    return v.type is PRED or (v.type is CC and not i.form.carry_in)


def passed_over(items: Sequence[Instruction]) -> dict[Instruction, list[Value]]:
    """The operands that the last instance passes over, by their instruction."""
    found = {i: [v for v in i.operands if skipped_by_last(i, v)] for i in items}
    return {i: skipped for i, skipped in found.items() if skipped}


def tell_last(row: str, name: str, items: Sequence[Instruction]) -> None:
    """Note what the last instance passes over, and the carries-in that it asks of all the same."""
    carries = {i: [v.definer or v for v in i.operands
                   if v.type is CC and not skipped_by_last(i, v)]
               for i in items} if is_traced() else {}
    note(row, name, passed_over(items) or "no operand", pass_id=3,
         carries={i: asked for i, asked in carries.items() if asked} or "none")


# ------------------------------------------------------------------------- stage 1


@step("LIC-12", "1 budget", "pass_id", "mode", "simple", "preds", "inner", "base", "cbo", "scale")
def budget(
    pass_id: int, mode: Mode, *, simple: bool, preds: int = 1, inner: bool = False,
    base: float = 10.0, cbo: float = 22.0, scale: int = 10,
) -> Fraction | None:
    """The block's budget; None is unlimited. `base`, `cbo`, `scale`: knobs 483, 482, 380."""
    amount = None if base == 0 else Fraction(base)
    if simple:
        aggressive = mode >= tables.AGGRESSIVE_MODE.value
        latch = tables.LATCH_BUDGET[min(pass_id, 1)].value
        amount = Fraction(latch) if aggressive else Fraction(cbo)
    if amount is None:
        return None
    times = tables.LAST_SCALE.value if pass_id == 3 else 1
    parts = (max(preds, 1) if mode is Mode.LATCH else 1) * (scale if inner else 1)
    note("LIC-13", "1 modifiers", amount * times / parts, amount=amount, times=times, parts=parts)
    return amount * times / parts


@step("LIC-06", "iteration limit", "kind", "value")
def iteration_limit(kind: int, value: int) -> int:
    """The ratio that a nest is held to: 2 unless configured, 0: unlimited."""
    if kind == KnobKind.DEFAULT:
        return tables.ITERATIONS.value
    return value if kind == KnobKind.INT else 0


# ------------------------------------------------------------------- stages 2 to 4


@attrs.frozen
class HoistScope:
    """What the marking stages know of the loop.

    gone      what has left it already
    blocked   operations that must stay for what they do, whatever their operands
    """

    region: HoistRegion
    pass_id: int
    multi_depth: bool
    gone: set[Instruction]
    blocked: Container[Instruction] = ()

    def in_range(self, v: Value) -> bool:
        """Whether a value is made between the loop's header and its deepest block."""
        d = v.definer
        return d is not None and d in self.region.members and d not in self.gone


@step("LIC-14", "2 forward", "scope.pass_id", "scope.multi_depth", "items")
def forward(
    items: Sequence[Instruction], marks: Marks, scope: HoistScope
) -> list[Instruction]:
    """Stage 2: mark operations whose registers are all made outside, looking at operands from the
    last to the first. Returns what it marked."""
    members, gone = scope.region.members, scope.gone
    last, deep, index = scope.pass_id == 3, scope.multi_depth, marks.index
    if last:
        tell_last("LIC-16", "2 passed over", items)
    if deep and is_traced():
        read = dict.fromkeys(v for i in items for v in i.operands if is_register(v))
        note("LIC-15", "2 by depth", {v: (
            "blocks" if scope.in_range(v) else "external") for v in read} or "no operand",
            block=index)
    uses, state, def_block = marks.use_count, marks.state, marks.def_block
    marked = []
    for i in items:
        registers = [v for v in i._operands if is_register(v)]
        for v in registers:
            uses[v] = 0
        invariant = True
        for v in reversed(registers):
            if last and skipped_by_last(i, v):
                continue
            d = v.definer
            if d in members and d not in gone and (deep or home(v) == index):
                invariant = False
                break
            state[v] = HoistState.EXTERNAL
            uses[v] = 0
        for r in i.results:
            state[r] = HoistState.INVARIANT if invariant else HoistState.VARIANT
            if invariant:
                def_block[r] = OUTSIDE
        if invariant and i.results:
            marked.append(i)
    return marked


@step("LIC-17", "2 side effects", "items", "legal", "region.stay")
def side_effects(
    items: Sequence[Instruction], region: HoistRegion, legal: set[Instruction]
) -> dict[Instruction, str]:
    """What must stay for what it does: it has an effect, memory that it reads may be written, or
    lanes and orders hold it. Purely arithmetic operations stay for a reason of the region alone."""
    kept = {s.instruction: s.why.value for s in region.stay}
    return {
        i: kept.get(i) or _effect(i.form)
        for i in items if i not in legal and (i in kept or not i.form.pure)
    }


def _effect(f: Form) -> str:
    if f.is_phi:
        return "each iteration has its own"
    if f.terminator:
        return "control flow"
    return "it touches memory" if f.reads or f.writes else "it has an effect"


def hold(items: Sequence[Instruction], marks: Marks, scope: HoistScope) -> None:
    """Stage 2, its end: take back the marks of what must stay for what it does."""
    for i in items:
        if i in scope.blocked:
            for r in i.results:
                marks.state[r] = HoistState.VARIANT
                marks.def_block.pop(r, None)


def _backward_told(
    made: list[Instruction], items: Sequence[Instruction], marks: Marks, scope: HoistScope
) -> Brief:
    """Whose marks were taken back, what of the block each of them reads, what must stay, whose
    results were stamped with the block, and how often the others are counted."""
    index, of_items = marks.index, [(i, i.results) for i in items if i.results]
    return Brief(made, {
        "taken_back": made, "reads": {i: made_here(i, marks, scope) for i in made},
        "blocked": [i for i, _ in of_items if i in scope.blocked],
        "stamped": [i for i, results in of_items if index in map(marks.def_block.get, results)],
        "counted": {r: marks.use_count[r] for _, results in of_items for r in results
                    if marks.use_count.get(r)},
    })


def made_here(i: Instruction, marks: Marks, scope: HoistScope) -> list[Value]:
    """The registers that an operation reads of the block, as far as they stay there."""
    members, gone, index = scope.region.members, scope.gone, marks.index
    return [v for v in i.operands if v.definer in members and v.definer not in gone
            and marks.made_in(v) == index]


@step("LIC-18", "3 backward", "items", "marks.index", "marks.state", "marks.use_count",
      tell=_backward_told)
def backward(
    items: Sequence[Instruction], marks: Marks, scope: HoistScope
) -> list[Instruction]:
    """Stage 3: whatever must stay has its results stamped with the block, what may leave is
    counted. Returns whose marks it took back.

    No clearing before, no marks on sources; the stamp comes whatever was there. No operand is
    passed over, so what the last instance marked though it reads a varying predicate of the block
    stays after all. Blocks around it are not looked at, in nests neither.
    """
    state, def_block, uses = marks.state, marks.def_block, marks.use_count
    index, variant = marks.index, HoistState.VARIANT
    revoked = []
    for i in items:
        results = i.results
        blocked = i in scope.blocked
        marked = any(state.get(r) is HoistState.INVARIANT for r in results)
        stays = blocked or any(state.get(r) is variant for r in results)
        if marked and (blocked or made_here(i, marks, scope)):
            stays = True
            revoked.append(i)
        for r in results:
            if stays:
                def_block[r] = index
                state[r] = variant
            elif def_block.get(r) != index:
                uses[r] = uses.get(r, 0) + 1
    return revoked


@step("LIC-20", "4 transitive", "items", tell=lambda mask, *a: Brief(f"mask {mask}: " + (
    "nothing in the way", "memory in the way", "other effects in the way",
    "memory and other effects in the way")[mask], mask))
def propagate(items: Sequence[Instruction], marks: Marks, scope: HoistScope) -> int:
    """Stage 4: what reads marked values of the block, and nothing else that the loop makes, is
    marked and counted too. Returns a mask of what stood in the way: 1 memory, 2 other effects."""
    mask = 0
    chain = []
    members, gone, index = scope.region.members, scope.gone, marks.index
    note("LIC-19", "3 candidates", [i for i in items if i.results and marks.all_leave(i)],
         items=items, block=index)
    for i in items:
        if marks.all_leave(i):
            continue
        if i in scope.blocked:
            mask |= 1 if i.form.reads or i.form.writes else 2
            continue
        chained = False
        for v in i._operands:
            d = v.definer
            if d not in members or d in gone:
                continue
            if home(v) != index or not marks.is_candidate(v):
                break
            chained = True
        else:
            if not chained:
                continue
            chain.append(i)
            for r in i.results:
                marks.def_block[r] = OUTSIDE
                marks.state[r] = HoistState.INVARIANT
                marks.use_count[r] = marks.use_count.get(r, 0) + 1
    if chain:
        note("LIC-20", "4 marked as well", chain, block=index)
    return mask


def is_invariant(i: Instruction, marks: Marks) -> bool:
    """The leaf test of stages 4 and 5, of every result (the real tool looks at the last alone)."""
    return i.type is not VOID and marks.all_leave(i) if i._results is None else (
        bool(i._results) and marks.all_leave(i)
    )


# ------------------------------------------------------------------------- stage 5


@attrs.frozen
class Latencies:
    """What stage 5 asks of an operation. `cycles` by the machine profile."""

    cycles: Callable[[Instruction], float]
    scoreboard: Callable[[Instruction], bool]
    noop: Callable[[Form], bool]


@attrs.frozen
class HoistScore:
    """What the invariants of a block save, and what keeping them live costs."""

    score: int
    penalty: int


def _scored_told(
    made: HoistScore, items: Sequence[Instruction], marks: Marks, noop: int, real: int,
    of: Latencies,
) -> Brief:
    """Both numbers, and each operation that counts with what stage 5 asks of it."""
    counts = [i for i in items if is_invariant(i, marks) and marks.counted(i)]
    told = [f"{shown(i)}: latency {of.cycles(i):g}, scoreboard {of.scoreboard(i)}, "
            f"no-op {of.noop(i.form)}" for i in counts]
    return Brief(f"score {made.score}, penalty {made.penalty} of {shown(told, most=3)}", {
        "score": made.score, "penalty": made.penalty, "operations": [
            {"operation": i, "latency": of.cycles(i), "scoreboard": of.scoreboard(i),
             "noop": of.noop(i.form), "results": len(i.results)} for i in counts],
    })


@step("LIC-22", "5 score", "items", "noop", "real", tell=_scored_told)
def scored(
    items: Sequence[Instruction], marks: Marks, noop: int, real: int, of: Latencies
) -> HoistScore:
    """`real` for each result that a scoreboard guards; a penalty of 2 where the latency is beyond
    4, else 1, for each of those, and for others of such latency."""
    score = penalty = 0
    for i in items:
        if not is_invariant(i, marks) or not marks.counted(i):
            continue
        f = i.form
        score += noop if of.noop(f) else 1
        long = of.cycles(i) > tables.LATENCY.value
        each = (tables.LONG_PENALTY if long else tables.SHORT_PENALTY).value
        if of.scoreboard(i):
            score += real * len(i.results)
        if of.scoreboard(i) or long:
            penalty += each * len(i.results)
    return HoistScore(score, penalty)


@step("LIC-23", "5 profit", "pass_id", "budget", "safe", "counts")
def profit(
    items: Sequence[Instruction], marks: Marks, pass_id: int, budget: Fraction | None, safe: bool,
    counts: tuple[int, int], of: Latencies,
) -> Verdict:
    """The score and the penalty of a block's invariants. `counts`: weights of header and body; the
    first instance's size is the number of instructions scanned. A block that only jumps is empty:
    the notes' compiler has no jump where one block falls into the next."""
    empty = all(i.form.op.pseudo or (i.form.name == "bra" and i.form.guard is None) for i in items)
    weights = tables.score_weights(pass_id, safe)
    note("LIC-21", "5 weights", {"no-op": weights.long_latency.value, "real": weights.real.value},
         pass_id=pass_id, safe=safe)
    made = scored(items, marks, weights.long_latency.value, weights.real.value, of)
    header, body = counts
    if pass_id == 0:
        size = Fraction(0 if empty else sum(not i.form.op.pseudo for i in items))
    else:
        size = Fraction(body, tables.BODY_SHARE.value) + header
    verdict = Verdict(made.score, budget, weights.real.value, size, made.penalty)
    if empty:
        note("LIC-24", "5 empty block", verdict.pays, pass_id=pass_id, size=size)
    return verdict


@step("LIC-28", "6 mover", "items", "legal", "pays")
def leaves(
    items: Sequence[Instruction], marks: Marks, legal: set[Instruction], pays: bool,
    anyway: Callable[[Instruction], bool],
) -> list[Instruction]:
    """What the mover takes out of a block: what is right to move and still invariant, where it
    pays or a knob has it leave `anyway`. The code changes when all loops are decided."""
    note("LIC-25", "6 leaf test", [i for i in items if is_invariant(i, marks)], items=items)
    return [
        i for i in items if i in legal and is_invariant(i, marks) and marks.counted(i)
        and (pays or anyway(i))
    ]


@step("LIC-27", "count", "what", "items")
def count(items: Iterable[Instruction], noop: Callable[[Form], bool], what: str = "") -> int:
    """The weight of instructions as the later instances divide by it; `what` of the loop."""
    known: dict[Form, int] = {}
    total = 0
    for i in items:
        f = i.form
        n = known.get(f)
        if n is None:
            row = tables.COUNT_NOOP if noop(f) else tables.COUNT_REAL
            n = known[f] = 0 if f.op.pseudo else row.value
        total += n
    return total


# ----------------------------------------------------------------- boundary analysis


@attrs.frozen
class Boundaries:
    """The five results of the boundary analysis; `reason` is why the loop is skipped, or ""."""

    external_pred: bool
    complex_depth: bool
    barrier: bool
    indirect: bool
    multi_depth_safe: bool
    permitted: bool  # knob 220 and DisableNestedHoist

    @property
    def reason(self) -> str:
        if self.external_pred:
            return "a block inside has a predecessor outside"
        if self.barrier:
            return "it holds a barrier"
        if self.indirect:
            return "it holds an indirect jump"
        if self.complex_depth and not self.permitted:
            return "hoisting over several depths is switched off"
        return ""


@step("LIC-09", "boundaries", "loop")
def analyze_boundaries(
    loop: Loop, permitted: bool = True, hazards: Iterable[Instruction] | None = None,
    depths: Mapping[Block, int] | None = None,
) -> Boundaries:
    """Run for every loop, single-block ones included. `hazards`: those of its instructions that may
    order memory, where they are known; `depths`: loops around each block, likewise."""
    inside = set(loop.blocks)
    if depths is None:
        depths = {b: b.loop_depth for b in loop.blocks}
    external = False
    if hazards is None:
        hazards = (i for b in loop.blocks for i in b)
    barriers = [i for i in hazards if i.form.op.sync]
    jumps = []
    for b in loop.blocks:
        external |= b is not loop.header and any(p not in inside for p in b.preds)
        t = b.terminator
        if t is not None and t.form.name.startswith("brx"):
            jumps.append(t)
    barrier, indirect = bool(barriers), bool(jumps)
    if barriers or jumps:
        note("LIC-10", "barriers, indirect jumps", [*barriers, *jumps], loop=loop)
    return Boundaries(
        external, any(depths[b] != depths[loop.header] for b in loop.blocks), barrier, indirect,
        not any(has_pragma(x) or "nounroll" in x.header.flags for x in loop.children), permitted,
    )


@step("LIC-30", "calls", "loop")
def calls(loop: Loop) -> list[tuple[Block, Mode]]:
    """From which blocks the core is called to hoist, and how: the header, of a loop of several
    blocks those that belong to no loop inside and the headers of those inside (where what they lost
    stands, too), last the deepest latch."""
    out = [(loop.header, Mode.HEADER)]
    last = loop.latches[-1]
    heads = {x.header for x in loop.children}
    deeper = {b for x in loop.children for b in x.blocks} - heads
    for b in loop.blocks:
        if b is loop.header or b is last or b in deeper:
            continue
        if b in loop.latches:
            mode = Mode.LATCH
        else:
            passed = all(b.dominates(x) for x in loop.latches)
            mode = Mode.DOMINATED if passed else Mode.NOT_DOMINATED
        out.append((b, mode))
    out.append((last, Mode.LATCH))
    return out


@step("LIC-31", "nested", "allowed", "simple", "body", "preds", "header", "ratio")
def nested_allowed(
    *, allowed: bool, simple: bool, body: int, preds: int, header: int, ratio: int
) -> bool:
    """Whether what left an inner loop may leave the next one; `ratio` 0 is unlimited."""
    small = ratio == 0 or body < header * ratio
    return allowed and simple and body > 1 and preds == 1 and small


def is_copy(form: Form) -> bool:
    return form.name == "mov" or form.op.pseudo
