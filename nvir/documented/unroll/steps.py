"""The decision on unrolling as the notes on the real tool tell it: steps A to P.

    A  a nounroll mark reaches the loops inside          I  forced by pragma
    B  headers only, nothing inherited                   J  outer loops: enough fetches?
    C  the latch ends in a conditional branch: 13        K  the factor
    D  nounroll, convergence, knob 91: 11                L  the factor that a knob sets
    E  is it hot?                                        M  variable, bound, stride: 14 .. 19
    F  the body's record                                 N  is the count a constant?
    G  the cost that remains                             O  full unrolling: 12 where it shrinks to 1
    H  the override string                               P  partial unrolling, else 24

The notes contradict their purpose in places. Read literally, a known count above 2
gives no factor at all (code 12), the penalty for inner loops that stay makes
unrolling easier, and no loop is hot by what is estimated: a header runs as often as its
latch (`.pragma "frequency N"` in both blocks says otherwise). `Rules.literal` keeps that,
as the policy `documented` asks; without it the repaired reading holds: full up to 200
instructions, else the largest power of two within the budget, entry frequency for hotness,
the knob's factor before code 12. What the notes name without using, both readings use
alike: see `Rules`.

Nothing is transformed here.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

import attrs

from nvir.analysis.source_loops import has_pragma
from nvir.assembler.unroll.decision import UnrollCode, UnrollDecision, pieces_of
from nvir.assembler.unroll.latch_exit import CountedExit, counted_exit
from nvir.documented.unroll.facts import (
    BodyRecord,
    Prepared,
    known_frequencies,
    known_trips,
    prepare,
    scan_body,
    stride_fits,
)
from nvir.ir import Block, Function, Instruction, Loop, OpKind, natural_loops
from nvir.ir.text.trace import Brief, looking_at, note, step
from nvir.passes.loop.region import tell_form
from nvir.passes.loop.unroll.apply import copies_that_fit
from nvir.passes.loop.unroll.prepare import Refusal, Refusals
from nvir.passes.loop.unroll.wishes import overridden
from nvir.passes.policies import Turn

HOT_RUNS = 999  # a hot latch runs more often than that
HOT_RATIO = 3  # and more than that many times as often as its header
TEX_EACH, TEX_BASE, TEX_MOST = 5, 22, 100  # texture budget of an unknown count: min(5·n + 22, 100)
SMALL_WITH_TEX = 49  # largest body that counts as small where it fetches
TEX_GAIN = 10  # instructions that a fetch pays for
SMALL_COUNT = 2  # path A: counts up to this are unrolled fully
REDUCED = 4  # path A, too large: 4/T copies
CLAMPED = 2  # the factor of what is not small
ALWAYS_ROUND = 4  # a larger factor becomes a multiple of 4 (count 1)
LEAST_FOR_PIECES = 3  # copies
PREDICATES = 7  # predicate registers of a thread
BLOCKS_LEAST = 2  # functions of so many blocks have no loop worth the name


@attrs.frozen
class Rules:
    """The knobs, with the notes' defaults.

    enabled .. penalty_scale   as in the knob table
    budget         of factor · cost, and `per_percent` more for each percent that folds
    inst_limit     of the body, where the count is unknown (0: none), as is `unknown_limit`
    small_limit    bodies below it are unrolled fully, if they stay below full_limit
    preg_percent   of the predicates that may be live
    small_body     bodies up to it need no budget (0: off)
    single_factor  percent by which the saving counts more in kernels of one loop
    large_share, flexible   repaired: a loop that large gets that much more of full_limit
    force_factor   a forced loop gets 2 to that power copies
    """

    literal: bool = True
    enabled: bool = True  # LoopUnroll
    factor: int = 0  # set for every loop
    factor_from: str = ""  # the option or knob that sets it
    override: str = ""  # LoopUnrollFactorBlocks
    budget: int = 140  # UnrollBudget
    per_percent: int = 2  # UnrollExtraInstPerPercentSaving
    extra_base: int = 46  # LoopUnrollNumExtraInstBase: in their context, and used nowhere
    flexible: float = 0.25  # UnrollFlexableFullLimit
    unknown_count: int = 4  # UnrollUnknownCount
    small_limit: int = 4  # UnrollSmallLoopLimit
    large_share: float = 0.4  # LoopUnrollLargePartOfShaderPct
    inst_limit: float = 20.0  # UnrollInstLimit
    preg_percent: int = 50  # UnrollPregThreshold
    full_limit: int = 200  # UnrollFullInstLimit
    non_innermost: bool = True  # LoopUnrollNonInnermost
    multi_block: bool = True  # UnrollMultiBlockLoops
    penalty_scale: float = 0.5  # inner-nounroll-penalty-scale
    tex_budget: int = 0  # LoopUnrollNumInstTex
    variable_bounds: bool = True  # UnrollVariableBounds
    no_overflow_check: bool = False  # DisablePartialUnrollOverflowCheck
    unknown_limit: int = 0  # UnrollUnknownInstLimit
    tex3d_percent: int = 0  # UnrollTex3DPercentSavedThreshold
    cold_scale: int = 0  # UnrollProfiledColdInstsScale
    ldc_weight: int = 0  # LoopUnrollExtraFoldableLdcWeight
    address_weight: int = 0  # LoopUnrollFoldableAddrWeight
    small_body: int = 0  # LoopUnrollNumInstSmallLoop
    single_factor: int = 0  # LoopUnrollSingleLoopSavedPctFactor
    unknown_multi_block: bool = False  # LoopUnrollUnknownMultiBlock
    floats: bool = False
    strict_stride: bool = False
    force_all: bool = False
    force_factor: int = 2


# ---------------------------------------------------------------- single steps


@step("UNR-11", "E hot", "latch", "header")
def is_hot(latch: int, header: int) -> bool:
    """Step E: how often latch and header run."""
    return latch > HOT_RUNS and header > 0 and latch // header > HOT_RATIO


@step("UNR-14", "G remaining cost", "r.size", "r.call_weight", "r.foldable_ldc", "r.killed",
      "r.inner_nounroll", "rules.penalty_scale")
def remaining_cost(r: BodyRecord, rules: Rules) -> int:
    """Step G: what a copy costs."""
    size = r.size
    if rules.cold_scale:
        size += r.cold * (rules.cold_scale - 100) // 100
    penalty = int(rules.penalty_scale * r.inner_nounroll)
    cost = r.call_weight + size - r.foldable_ldc - r.killed
    cost -= rules.ldc_weight * r.foldable_ldc + rules.address_weight * r.foldable_addresses
    return cost - penalty if rules.literal else cost + penalty


@step("UNR-19", "K factor, count known", "T", "cost", "rules.full_limit", "small")
def known_factor(
    T: int, cost: int, rules: Rules, share: float = 0.0, small: bool = False
) -> int:
    """Step K, count known: the factor, T for full unrolling (of `small` bodies always), 0 for
    none."""
    if small:
        return T
    if rules.literal:
        if 1 <= T <= SMALL_COUNT:
            return T if rules.full_limit // T > cost else REDUCED // T
        note("UNR-20", "K path B", f"no factor for more than {SMALL_COUNT}", T=T)
        return 0
    limit = rules.full_limit
    if share >= rules.large_share:
        limit = int(limit * (1 + rules.flexible))
    if T * cost <= limit:
        return T
    fits = [f for f in (64, 32, 16, 8, 4, 2) if f < T and f * cost <= rules.budget]
    return next((f for f in fits if T % f == 0), fits[0] if fits else 0)


@step("UNR-23", "K1 texture budget", "fetches", "rules.tex_budget")
def tex_budget(fetches: int, rules: Rules) -> int:
    """Step K1."""
    return rules.tex_budget or min(TEX_EACH * fetches + TEX_BASE, TEX_MOST)


@step("UNR-24", "K2-K4 factor, count unknown", "cost", "r.tex", "hot", "multi",
      "rules.unknown_count", "rules.non_innermost", tell=lambda made, *_: Brief(
          f"{made[0]}, {'with' if made[1] else 'without'} epilogue",
          {"factor": made[0], "need_epilogue": made[1]}))
def unknown_factor(
    r: BodyRecord, cost: int, hot: bool, multi: bool, rules: Rules, budget: int
) -> tuple[int, bool]:
    """Steps K2 to K4: the factor, and need_epilogue, which UnrollUnknownCount clears."""
    factor = 0 if rules.literal else rules.unknown_count
    assumed = False
    if r.tex > 0 and cost <= SMALL_WITH_TEX:
        if not (hot and multi):
            factor, assumed = rules.unknown_count, True
        elif TEX_GAIN * r.tex >= cost:
            factor = CLAMPED
        else:
            factor = min(factor, CLAMPED)
    else:
        assumed = budget > cost
        factor = rules.unknown_count if assumed else min(factor, CLAMPED)
        note("UNR-25", "K3", factor, small=assumed, cost=cost)
    if factor == 0 and rules.non_innermost:
        factor = CLAMPED
        note("UNR-26", "K4", factor, non_innermost=rules.non_innermost)
    return factor, not assumed


@step("UNR-21", "allowance", "saved", "rules.budget", "rules.per_percent", "single")
def allowance(saved: int, rules: Rules, single: bool = False) -> int:
    """Instructions that all copies together may have."""
    if single:
        saved = saved * (100 + rules.single_factor) // 100
    return rules.budget + rules.per_percent * saved


@step("UNR-22", "O budget", "factor", "cost", "limit", "T", "free")
def within_budget(factor: int, cost: int, limit: int, T: int | None, free: bool = False) -> int:
    """The evaluator's loop: the factor reduced until all copies fit, unless it is `free` of the
    budget; more than 4 copies of a count of 1 are a multiple of 4, whoever asked for them."""
    if factor > ALWAYS_ROUND and T == 1:
        factor &= ~3
    while not free and factor > 1 and factor * cost > limit:
        factor -= 1
    return factor


@step("UNR-07", "A nounroll reaches inwards", "loops")
def nounroll_inwards(loops: list[Loop], marked: Container[Block]) -> frozenset[Block]:
    """Step A: the blocks inside of loops that must stay, which have these headers."""
    stay = [x for x in loops if x.header in marked]
    return frozenset(b for loop in stay for child in loop.children for b in child.blocks)


@step("UNR-08", "B passed over", "loop", "marked", "rules.force_all")
def passed_over(loop: Loop, marked: frozenset[Block], rules: Rules) -> str:
    """Step B: why a loop is passed over without a code, or ""."""
    if loop.header in marked and not rules.force_all:
        return 'a loop around it has .pragma "nounroll"'
    return ""


@step("UNR-09", "C indirect exit", "branch")
def indirect_exit(branch: Instruction | None) -> bool:
    """Step C: whether the latch ends in something else than a conditional branch."""
    return branch is None or branch.form.name != "bra" or branch.guard is None


@attrs.frozen
class Convergence:
    """A loop's entry in the table of what ties lanes together.

    convergent   the operation, None where the loop has none
    within       the limit: lanes of a warp wait for each other or exchange values (votes, shuffles,
                 `match`, `redux`, `activemask`, `bar.warp.sync`). Barriers that a whole block
                 reaches, matrix operations and calls are beyond it: copied, in their direction.
    """

    convergent: Instruction | None
    within: bool


def convergence(loop: Loop) -> Convergence:
    """The entry of a loop: of several operations the first that is within the limit."""
    tied = [i for b in loop.blocks for i in b if i.form.convergent]
    warp = [i for i in tied if i.form.kind is OpKind.WARP
            or (i.form.op.gathers and "aligned" not in i.form.mods)]
    return Convergence(next(iter(warp or tied), None), bool(warp))


@step("UNR-10", "D nounroll", "loop", "refused", "off", "rules.enabled", "tied.convergent",
      "tied.within")
def nounroll(
    loop: Loop, refused: tuple[Refusal, str] | None, rules: Rules, off: frozenset[Block],
    tied: Convergence,
) -> str:
    """Step D: why the loop must stay, or ""."""
    header, function = loop.header, loop.header.function
    first = (header.first, next((i for i in header if not i.form.is_phi), None))
    if not rules.enabled:
        return "knob LoopUnroll is off"
    if refused is not None and refused[0] is Refusal.CONVERGENT:
        return refused[0].text(refused[1])
    if tied.convergent is not None and tied.within:
        return f"{tied.convergent.form.spelling} ties the lanes of a warp together"
    if has_pragma(loop):  # that of a module keeps the pass from running at all
        return '.pragma "nounroll"'
    if any("nounroll" in function.marks.get(i, ()) for i in first if i is not None):
        return "the header's first instruction is marked nounroll"
    return "knob block-nounroll" if loop.header in off else ""


@step("UNR-15", "H override", "rules.override", "number", "name")
def override_string(rules: Rules, number: int, name: str) -> str:
    """Step H: what the override string says of a block."""
    return overridden(rules.override, number, name)


@step("UNR-17", "J fetches of an outer loop", "r.tex", "cost", "rules.non_innermost", "forced")
def few_fetches(r: BodyRecord, cost: int, rules: Rules, forced: bool) -> str:
    """Step J: why a loop has too few fetches for its size, or ""."""
    if rules.non_innermost or forced or TEX_GAIN * r.tex >= cost:
        return ""
    return f"{TEX_GAIN}·{r.tex} < {cost}"


@step("UNR-18", "K forced", "forced", "rules.force_factor")
def forced_factor(forced: bool, rules: Rules) -> int:
    """Step K of a forced loop; 0 for others."""
    return 1 << rules.force_factor if forced else 0


@step("UNR-27", "L knob", "rules.factor_from", "rules.factor")
def knob_factor(rules: Rules) -> int:
    """Step L: the factor that a knob, or the option, sets; 0 for none."""
    return rules.factor


@step("UNR-49", "unknown counts", "r.size", "multi", "rules.variable_bounds",
      "rules.unknown_multi_block", "rules.unknown_limit", "rules.inst_limit", "rules.small_body")
def unknown_refused(r: BodyRecord, multi: bool, rules: Rules) -> tuple[UnrollCode, str] | None:
    """What knobs have against a loop of unknown count. The notes name these knobs and give no place
    to them; here they stand at the gate of step O, where the count is found to be no constant."""
    if not rules.variable_bounds:
        return UnrollCode.NO_BOUND, "knob UnrollVariableBounds is off"
    if multi and not rules.unknown_multi_block:
        return UnrollCode.OTHER, "several blocks and an unknown count"
    if rules.unknown_limit and r.size > rules.unknown_limit:
        return UnrollCode.OTHER, f"{r.size} > {rules.unknown_limit} at an unknown count"
    if rules.inst_limit and r.size > max(rules.inst_limit, rules.small_body):
        return UnrollCode.OTHER, f"{r.size} > {rules.inst_limit:g} at an unknown count"
    return None


@step("UNR-33", "N constant count", "exit.trip.variable.phi", "exit.trip.bound")
def constant_count(exit: CountedExit) -> int | None:
    """Step N: the count, where it is a constant."""
    return exit.trip.count


@step("UNR-53", "swap", "loop", "exit.swapped", "tied.convergent")
def swaps(loop: Loop, exit: CountedExit, tied: Convergence) -> bool:
    """Whether the copies run the other way: the bound is the first operand, and nothing in the
    body ties lanes together. An entry of the tool's convergence table goes over to the copies;
    here each copy of a convergent operation is one itself, so there is no table to keep."""
    return exit.swapped and tied.convergent is None


@step("UNR-39", "pieces", "factor", "loop.depth", "swapped", "rules.literal", "T", "epilogue")
def rest_pieces(
    loop: Loop, factor: int, swapped: bool, rules: Rules, T: int | None, epilogue: bool
) -> tuple[int, ...]:
    """The copies of the pieces that do the rest of a count, falling powers of two: none of a known
    count, whose rest is peeled (UNR-42), none but of an outermost loop that does not run the other
    way and has more than two copies. Literally 2 to the power 1 is the last, and the loop does what
    is left, all of it where step K cleared need_epilogue (UNR-24); repaired 2 to the power 0."""
    if T is not None or swapped or loop.depth > 1 or factor < LEAST_FOR_PIECES:
        return ()
    if rules.literal and not epilogue:
        return ()
    return pieces_of(factor, least=int(rules.literal))


@step("UNR-48", "predicates", "used", "rules.preg_percent", "chosen")
def predicate_pressure(used: int, rules: Rules, chosen: bool) -> str:
    """Why too many predicates are live, or ""."""
    if chosen or 100 * used <= rules.preg_percent * PREDICATES:
        return ""
    return f"{used} of {PREDICATES} predicates are live"


@step("UNR-34", "O full", "factor", "T", "small", "foldable", "blocks", "rules.multi_block")
def unrolls_fully(
    factor: int, T: int | None, small: bool, foldable: int, blocks: int, rules: Rules
) -> bool:
    """Step O: whether the evaluator is asked for all iterations: of a body of one block, or of
    several where the knob takes those, of which something folds."""
    if factor != T or (blocks > 1 and not rules.multi_block):
        return False
    return small or foldable > 0 or not rules.literal


@step("UNR-42", "P rounds", "T", "factor")
def rounds(T: int | None, factor: int) -> int | None:
    """Step P: iterations of the unrolled loop; the remainder of the count is peeled."""
    return (T - T % factor) // factor if T is not None else None


# ------------------------------------------------------------------- the flow


def documented_decisions(
    function: Function, rules: Rules, off: frozenset[Block] = frozenset(),
    refusals: Refusals | None = None, forced: bool = False,
) -> dict[Block, UnrollDecision]:
    """The verdict on each natural loop of a function as it is, by its header.

    `off` are headers that knob 91 names, `forced` a pragma of the module.
    """
    refusals = refusals or Refusals(function)
    flow = UnrollFlow(function, rules, off, refusals, forced, prepare(function))
    return flow.decisions(x.header for x in flow.loops)


@step("UNR-45", "verdict", "loop")
def verdict(flow: UnrollFlow, loop: Loop) -> UnrollDecision:
    """What becomes of a loop: the code of the step that rejects it, or its factor."""
    return flow.decide(loop)


class UnrollFlow:
    """What is known of a function, and the flow of the steps."""

    def __init__(
        self, function: Function, rules: Rules, off: frozenset[Block], refusals: Refusals,
        forced: bool, state: Prepared, turn: Turn | None = None,
    ) -> None:
        self.function, self.rules, self.off = function, rules, off
        self.refusals, self.forced, self.state = refusals, forced, state
        self.loops = natural_loops(function)
        self.trips = known_trips(function)
        self.number = turn.numbers if turn else {b: k for k, b in enumerate(function.blocks)}
        self.marked = {  # what unrolling has marked is not what was to stay
            x.header for x in self.loops
            if (turn is None or x.header in turn.marked) and has_pragma(x)
        }
        self.inherited = nounroll_inwards(self.loops, self.marked)

    def decisions(self, headers: Iterable[Block]) -> dict[Block, UnrollDecision]:
        """The verdicts on the loops of these headers, from the last in reverse post-order on."""
        asked, made = set(headers), {}
        for loop in reversed(self.loops):
            if loop.header in asked:
                looking_at(loop.header.name)
                note("UNR-06", "visited", f"number {loop.header.rpo_index} in RPO, the last first",
                     loop=loop, depth=loop.depth)
                tell_form(loop, 22)
                made[loop.header] = verdict(self, loop)
        return made

    def decide(self, loop: Loop) -> UnrollDecision:
        header, rules = loop.header, self.rules
        none = UnrollDecision(step="B")
        why = passed_over(loop, self.inherited, rules)
        if why:
            return attrs.evolve(none, reason=why)
        if indirect_exit(loop.latches[0].terminator):
            return none.none(UnrollCode.INDIRECT_EXIT, "", "C")
        why = nounroll(loop, self.refusals.of(loop), rules, self.off, convergence(loop))
        if why:
            return none.none(UnrollCode.NOUNROLL, why, "D")
        entry = header if rules.literal else (loop.preheader or header)
        runs = known_frequencies(self.function)
        hot = is_hot(runs[loop.latches[0]], runs[entry])
        r = scan_body(loop, self._staying(loop), self.trips[header])
        none = attrs.evolve(none, size=r.size, saved=r.saved, folds=r.foldable)
        note("UNR-13", "F cross edges", r.cross_edges, loop=loop)
        if r.cross_edges:
            return attrs.evolve(none, step="F", reason="an edge leaves the body")
        cost = remaining_cost(r, rules)
        none = attrs.evolve(none, cost=cost)
        said = override_string(rules, self.number[header], header.name)
        if said == "skip":
            return attrs.evolve(none, step="H", reason="the override string names the block")
        forced = self.forced or said == "force"
        note("UNR-16", "I forced", forced, module=self.forced)
        why = few_fetches(r, cost, rules, forced)
        if why:
            return none.none(UnrollCode.TEXTURE_RATIO, why, "J")
        return self._factor(loop, r, none, forced, hot)

    def _staying(self, loop: Loop) -> set[Block]:
        return {
            b for child in loop.children for b in child.blocks
            if child.header in self.marked or b in self.inherited
        }

    def _factor(
        self, loop: Loop, r: BodyRecord, none: UnrollDecision, forced: bool, hot: bool
    ) -> UnrollDecision:
        """Steps K to N. K goes by the count that the analysis of the loop knows, the evaluator by
        the one that N finds."""
        rules, cost, trip = self.rules, none.cost, self.trips[loop.header]
        T = trip.count if trip is not None else None
        none = attrs.evolve(none, T=T)
        chosen = 0 if rules.literal else knob_factor(rules)  # step L, where it is repaired
        small = r.size < rules.small_limit and T is not None and T * r.size <= rules.full_limit
        power = forced_factor(forced, rules)
        given, epilogue = power or chosen, True
        if given:
            factor, why = given, "forced" if power else rules.factor_from
        elif T is not None:
            share = r.size / self.state.instructions
            factor = known_factor(T, cost, rules, share, small)
            why = f"T = {T}, cost {cost}"
            if factor <= 0:
                return none.none(UnrollCode.NO_FACTOR, f"{why}: no factor", "K")
        else:
            factor, epilogue = unknown_factor(
                r, cost, hot, len(loop.blocks) > 1, rules, tex_budget(r.tex, rules))
            why = f"unknown count, cost {cost}, {'' if hot else 'not '}hot"
        if rules.literal and not power:
            chosen = knob_factor(rules)  # step L
            if chosen:
                factor, why = chosen, rules.factor_from
        exit = counted_exit(loop, trip, rules.floats, rules.strict_stride)
        if not isinstance(exit, CountedExit):
            return none.none(*exit, "M")
        none = attrs.evolve(none, T=constant_count(exit))
        if none.T is None and not given:
            limited = unknown_refused(r, len(loop.blocks) > 1, rules)
            if limited is not None:
                return none.none(*limited, "O")
        return self._emit(
            loop, r, none, exit, factor, why, bool(power or chosen), small, epilogue)

    def _emit(
        self, loop: Loop, r: BodyRecord, none: UnrollDecision, exit: CountedExit, factor: int,
        why: str, forced: bool, small: bool, epilogue: bool,
    ) -> UnrollDecision:
        """Steps O and P."""
        rules, T, cost = self.rules, none.T, none.cost
        limit = allowance(r.saved, rules, len(self.loops) == 1)
        none = attrs.evolve(none, limit=limit)

        def reject(code: UnrollCode, step: str, text: str) -> UnrollDecision:
            if step == "P":
                note("UNR-43", "P code", code, factor=factor, why=text)
            return attrs.evolve(none, code=code, step=step, reason=f"{why}: {text}")

        if len(loop.blocks) > 1 and not rules.multi_block:
            return reject(UnrollCode.OTHER, "O", "knob UnrollMultiBlockLoops is off")
        used = max(self.state.predicates[b] for b in loop.blocks)
        full = predicate_pressure(used, rules, forced)
        if full:
            return reject(UnrollCode.OTHER, "O", full)
        if r.tex3d and r.saved < rules.tex3d_percent:
            return reject(UnrollCode.OTHER, "O", f"saves {r.saved} % < {rules.tex3d_percent} %")
        whole = unrolls_fully(factor, T, small, r.foldable, len(loop.blocks), rules)
        wanted = factor
        free = forced or small or whole or r.size <= rules.small_body
        factor = within_budget(factor, cost, limit, T, free)
        if factor <= 1 < wanted:
            return reject(UnrollCode.NO_FACTOR, "O", f"2·{cost} > {limit}")
        fits = stride_fits(exit.kind, exit.stride, factor, exit.trip.variable.bits)
        if whole:
            note("UNR-50", "O copies", fits, kind=exit.kind, iter_index=0, factor=factor,
                 needs_epilogue=epilogue, is_outermost=loop.depth == 1)
        if whole and fits:
            pieces = self._pieces(loop, exit, factor, T, epilogue)
            return attrs.evolve(none.full(why), step="O", pieces=pieces)
        if factor < 2:
            return reject(UnrollCode.OTHER, "P", f"factor {factor}")
        if not fits and not rules.no_overflow_check:
            return reject(
                UnrollCode.OTHER, "P", f"{factor - 1} strides of {exit.stride} overflow"
            )
        most = copies_that_fit(loop, self.state.instructions)
        if factor > most:
            return reject(UnrollCode.OTHER, "P", f"{factor} copies are more than {most}")
        pieces = self._pieces(loop, exit, factor, T, epilogue)
        return attrs.evolve(
            none.partial(factor, why), step="P", pieces=pieces, iterations=rounds(T, factor)
        )

    def _pieces(
        self, loop: Loop, exit: CountedExit, factor: int, T: int | None, epilogue: bool
    ) -> tuple[int, ...]:
        swapped = swaps(loop, exit, convergence(loop))
        return rest_pieces(loop, factor, swapped, self.rules, T, epilogue)
