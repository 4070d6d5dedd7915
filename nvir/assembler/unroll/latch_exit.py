"""The exit of a loop's latch as the notes' unroller reads it: variable, bound, stride, or the code
that says what is wrong with it. Both policies tell the codes by these routines.

    analyze_iv      the variable that the test compares                          14
    validate_iv     of a class that counts                                       15
    extract_bound   what it is compared with, known before the loop              16
    bound_block     the bound's block has one way in; start and bound differ     17, 18
    verify_stride   what the body writes of both; for phase 24 its score, too    17, 18
    stride_sign     the step, which leads towards the bound if it is a number    19

The tool works on registers that are written again; here a header phi stands for the register, its
value on the back edge for the write. What the notes call the bound is an instruction: IMAD_WIDE (2)
or UBMSK (139), whose operand 1 is the register that counts and operand 2 the stride, in a block of
the loop's own depth. That is the step, so the block that has to have one way in is the step's
(UNR-31); the value compared with is made before the loop. A `bmsk` there is accepted and rejected
at once, as noted, with code 16: no meaning is given to it (UNR-30).

Needs    CFG annotations.
Cost     linear in the loop.
Source   the notes on ptxas, phase 22, step M.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import attrs

from nvir.analysis.induction import (
    InductionVariable,
    TripCount,
    induction_variables,
    is_invariant,
    trip_count,
)
from nvir.assembler.unroll.decision import UnrollCode
from nvir.ir import PRED, Block, Instruction, Loop, Value
from nvir.ir.text.trace import Brief, note, step


@attrs.frozen(eq=False)
class CountedExit:
    """A latch test that can be counted. `kind`: 10 pointer, 11 signed, 12 unsigned, 13 float.

    stride    a number, or a value from before the loop
    swapped   the bound is the comparison's first operand
    score     of VerifyStride, where it was asked for
    """

    trip: TripCount
    kind: int
    stride: int | float | Value
    swapped: bool
    score: int | None = None

    @property
    def direction(self) -> int:
        return direction(self.trip.compare)


POINTER, SIGNED, UNSIGNED, FLOAT = 10, 11, 12, 13
ASCENDING, DESCENDING, UNKNOWN = 2, 5, 13


CLASSES = {ASCENDING: "ascending", DESCENDING: "descending", UNKNOWN: "unknown"}
KINDS = {POINTER: "pointer", SIGNED: "signed", UNSIGNED: "unsigned", FLOAT: "float"}


@step("UNR-37", "direction", "compare", tell=lambda made, compare: f"{CLASSES[made]} ({made})")
def direction(compare: str) -> int:
    """The class of a comparison, as the tool numbers them: 2 up, 5 down, 13 neither."""
    sign = compare.partition(".")[0]
    if sign in ("lt", "le", "lo", "ls"):
        return ASCENDING
    return DESCENDING if sign in ("gt", "ge", "hi", "hs") else UNKNOWN


BESIDE = "the body writes what its test compares on several paths"
RUN_TIME, MADE = "the stride is known at run time only", "the stride is made in the body"
Wrong = tuple[UnrollCode, str]  # why the exit cannot be counted


@attrs.frozen(eq=False)
class Counter:
    """What AnalyzeIV finds: the variable that the latch's test compares, and the other side.

    variable   None where the body writes it beside its step, and where no sum steps it
    mask       the `bmsk` that steps it then
    """

    variable: InductionVariable | None
    test: Instruction
    bound: Value
    swapped: bool
    mask: Instruction | None = None

    @property
    def block(self) -> Block | None:
        """The block that steps."""
        update = self.variable.update.definer if self.variable is not None else self.mask
        return update.block if update is not None else None


def counted_exit(
    loop: Loop, trip: TripCount | None, floats: bool = False, strict_stride: bool = False,
    scored: bool = False,
) -> CountedExit | Wrong:
    """The exit of the latch, or the code of the first thing that is wrong with it (step M).

    Each of the noted routines takes what the one before found: AnalyzeIV the variable, ExtractBound
    the bound, VerifyStride what the body writes of both. `scored`: with its score, for which phase
    24 asks.
    """
    found = analyze_iv(loop)
    if not isinstance(found, Counter):
        return found
    kind = validate_iv(found, floats)
    if not isinstance(kind, int):
        return kind
    bound = extract_bound(found, loop, strict_stride)
    if isinstance(bound, tuple):
        return bound
    wrong = bound_block(found, bound, loop)
    if wrong is not None:
        return wrong
    checked = verify_stride(loop, found, bound, scored)
    if checked.mask & INIT_WRITTEN:
        return UnrollCode.IRREGULAR, BESIDE
    if checked.mask & LIMIT_WRITTEN:
        return UnrollCode.DEGENERATE, "the body writes the bound"
    stride = stride_sign(found, trip, loop)
    if isinstance(stride, tuple):
        return stride
    assert trip is not None
    return CountedExit(trip, kind, stride, found.swapped, checked.score)


@step("UNR-28", "AnalyzeIV", "loop")
def analyze_iv(loop: Loop) -> Counter | Wrong:
    """The variable of the latch's test: 14 where there is none."""
    if len(loop.latches) != 1:
        return UnrollCode.IRREGULAR, f"{len(loop.latches)} back edges"
    branch = loop.latches[0].terminator
    if branch is None or branch.form.name != "bra" or branch.guard is None:
        return UnrollCode.INDIRECT_EXIT, UnrollCode.INDIRECT_EXIT.text
    test = _comparison(branch.guard)
    if test is None:
        return UnrollCode.NO_INDUCTION, "the exit depends on no comparison"
    variables = {iv.phi: iv for iv in induction_variables(loop)}
    inside = loop.members
    sides = [_side(v, loop, variables, inside) for v in test.operands]
    counts = [x for x in sides if isinstance(x, InductionVariable | Instruction)]
    side = counts[0] if counts else UnrollCode.IRREGULAR
    if side not in sides:
        return UnrollCode.NO_INDUCTION, UnrollCode.NO_INDUCTION.text
    k = sides.index(side)
    return Counter(
        side if isinstance(side, InductionVariable) else None, test, test.operands[1 - k], k == 1,
        side if isinstance(side, Instruction) else None,
    )


@step("UNR-29", "ValidateIV", "found.variable", "floats", tell=lambda made, *a:
      f"{KINDS[made]} ({made})" if isinstance(made, int) else made)
def validate_iv(found: Counter, floats: bool) -> int | Wrong:
    """The variable's class: 15 for one that does not count, 14 for one that stands still."""
    iv, test = found.variable, found.test
    if iv is None:
        return SIGNED
    if iv.is_constant_step and iv.step == 0:
        return UnrollCode.NO_INDUCTION, "the stride is 0"
    if iv.kind == "float":
        if floats:
            return FLOAT
        return UnrollCode.INDUCTION_CLASS, "the induction variable is a float"
    if iv.kind == "pointer":
        return POINTER
    t = test.form.type
    if t is None or t.bits != iv.bits or t.bits not in (16, 32, 64):
        return UnrollCode.INDUCTION_CLASS, "the induction variable is no plain integer"
    return SIGNED if t.name[0] == "s" else UNSIGNED


@step("UNR-30", "ExtractBound", "found.variable", "found.bound", "strict")
def extract_bound(found: Counter, loop: Loop, strict: bool) -> Value | Wrong:
    """The bound: 16 where the body makes it, and where the stride is none that holds for the whole
    loop, or strictly no literal. A register that the body writes anew from its own value passes:
    VerifyStride sees that."""
    iv, bound, inside = found.variable, found.bound, loop.members
    if found.mask is not None:
        note("UNR-30", "opcode of the bound", "accepted, and rejected as it is not 2",
             instruction=found.mask, number=UBMSK)
        return UnrollCode.NO_BOUND, f"{found.mask.form.spelling} steps the variable"
    if not is_invariant(bound, inside) and not _carried(bound, loop):
        return UnrollCode.NO_BOUND, "the bound is made in the body"
    if iv is None or iv.is_constant_step:
        return bound
    note("UNR-52", "stride no literal", "refused" if strict else "passes", stride=iv.step,
         strict=strict)
    if strict:
        return UnrollCode.NO_BOUND, RUN_TIME
    if not isinstance(iv.step, Value):
        return UnrollCode.NO_BOUND, MADE
    return bound


def _carried(v: Value, loop: Loop) -> bool:
    """Whether a value of the body is one of a register that iterations hand on: a phi of the
    header, or made of one and on the way to its next value."""
    made = _sources(v, loop)
    heads = [phi for phi in loop.header.phis if phi in made]
    return v in heads or any(
        v in _sources(x, loop) for phi in heads for x, b in phi.incoming if b in loop.members
    )


def _sources(v: Value, loop: Loop) -> set[Value]:
    """What a value is worked out of inside of the loop, itself too; not what addresses a load."""
    seen: set[Value] = set()
    work = [v]
    while work:
        x = work.pop()
        d = x.definer
        if x in seen or d is None or d.block not in loop.members:
            continue
        seen.add(x)
        if d.form.reads:
            work += d.fallbacks
        elif not (d.form.is_phi and d.block is loop.header):
            work += d.operands
    return seen


def _written_apart(v: Value, loop: Loop) -> bool:
    """Whether a value of the body is one of a register that iterations hand on, and that the body
    also writes on one of several paths or under a guard."""
    for phi in loop.header.phis:
        for x, b in phi.incoming:
            made = _sources(x, loop) if b in loop.members else set()
            if phi in made and v in made and any(
                _is_partial(w, loop) and phi in _sources(w, loop) for w in made
            ):
                return True
    return False


def _is_partial(v: Value, loop: Loop) -> bool:
    """Whether a value of the body is that of one of several writes of a register: they meet, or one
    is under a guard."""
    d = v.definer
    return d is not None and (
        (d.form.is_phi and d.block is not loop.header) or d.form.guard is not None
    )


@step("UNR-31", "bound block", "found.variable", "found.block", "bound")
def bound_block(found: Counter, bound: Value, loop: Loop) -> Wrong | None:
    """The block of the bound, which is the step, has one way in, else 17; start and bound differ,
    else 18."""
    iv = found.variable
    if iv is None:
        return None
    home = found.block or loop.header
    ways = [p for p in home.preds if p not in loop.latches]
    if len(ways) != 1:
        return (UnrollCode.IRREGULAR,
                f"the block of the bound, which steps, is reached {len(ways)} ways")
    if bound is iv.start:
        return UnrollCode.DEGENERATE, "the variable starts at its bound"
    return None


INIT_WRITTEN, LIMIT_WRITTEN = 2, 1  # bits of VerifyStride's result
UBMSK = 139  # of ExtractBound's two opcodes the one that is rejected behind it


@attrs.frozen
class StrideCheck:
    """What VerifyStride says. mask: INIT_WRITTEN, LIMIT_WRITTEN; score: of the directions, None
    where it was not asked for. The tool counts registers of class 5; here these are predicates
    (assumed)."""

    mask: int = 0
    score: int | None = None


@step("UNR-32", "VerifyStride", "found.variable", "bound", "scored", tell=lambda made, *a: made
      if made.score is not None else Brief(f"mask {made.mask}, score none", made))
def verify_stride(
    loop: Loop, found: Counter, bound: Value, scored: bool = False
) -> StrideCheck:
    """Walk the body's definitions and uses: whether it writes the variable beside its step, or the
    bound. The unroller gives NULL for the score; phase 24 asks for it."""
    mask = INIT_WRITTEN if found.block is None else 0
    if not is_invariant(bound, loop.members):
        mask |= LIMIT_WRITTEN
    if not scored:
        return StrideCheck(mask)
    made = [r for b in loop.blocks for i in b for r in i.results if r.type is PRED]
    read = {v for b in loop.blocks for i in b for v in i.operands if v.type is PRED}
    once = sum(len(set(r.users)) == 1 for r in made)
    alone = sum(r not in read for r in made)
    return StrideCheck(mask, alone + (once or 1))  # that of the exit is read, so some match


@step("UNR-29", "stride sign", "found.variable", "trip.compare")
def stride_sign(
    found: Counter, trip: TripCount | None, loop: Loop
) -> int | float | Value | Wrong:
    """The stride: 19 where it leads away from the bound. That of one which only a run knows is not
    asked for."""
    iv = found.variable
    assert iv is not None
    stride = iv.step
    if trip is None or trip.variable.phi is not iv.phi or trip.exit not in loop.latches:
        return UnrollCode.IRREGULAR, "the exit test is not of the variable and its bound"
    assert isinstance(stride, int | float | Value)
    away = {ASCENDING: -1, DESCENDING: 1}.get(direction(trip.compare), 0)
    if isinstance(stride, int | float) and away * stride > 0:
        return UnrollCode.STRIDE_SIGN, f"stride {stride} under {trip.compare}"
    return stride


def _comparison(p: Value) -> Instruction | None:
    d = p.definer
    while d is not None and d.form.name == "not" and d.form.guard is None:
        d = d.operands[0].definer
    if d is None or d.form.name != "setp" or d.form.guard is not None or len(d.operands) != 2:
        return None
    return d


def _side(
    v: Value, loop: Loop, variables: dict[Instruction, InductionVariable],
    inside: AbstractSet[Block],
) -> InductionVariable | Instruction | UnrollCode | None:
    """What one side of the comparison is: a variable, the `bmsk` that steps it, what is wrong with
    it, None if invariant."""
    d = v.definer
    if isinstance(d, Instruction) and d in variables:
        return variables[d]
    for iv in variables.values():
        if iv.update is v:
            return iv
    if d is None or d.block not in inside:
        return None
    if d.form.is_phi and d.block is not loop.header:  # several writes meet
        return UnrollCode.IRREGULAR
    if _written_apart(v, loop):
        return UnrollCode.IRREGULAR
    phi = d if d.form.is_phi else None
    back = [x.definer for x, b in phi.incoming if b in inside] if phi is not None else [d]
    made = [x for x in back if x is not None]
    if any(x.form.is_phi for x in made):
        return UnrollCode.IRREGULAR
    masks = (x for x in made if x.form.name == "bmsk" and not {*x.operands}.isdisjoint(
        loop.header.phis))
    return next(masks, UnrollCode.NO_INDUCTION)


def what_is_wrong(loop: Loop) -> Wrong:
    """The code of a loop without a trip count: what is wrong with its bound, its stride or what
    writes its variable, else that no exit tests a variable."""
    found = counted_exit(loop, trip_count(loop), floats=True, strict_stride=True)
    told = (UnrollCode.NO_BOUND, UnrollCode.DEGENERATE, UnrollCode.STRIDE_SIGN)
    if isinstance(found, tuple) and (found[0] in told or found[1] is BESIDE):
        return found
    return UnrollCode.NO_INDUCTION, "no exit test compares an induction variable with a bound"
