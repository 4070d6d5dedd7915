"""What the notes' unroller knows of a loop before it decides.

    the body      one record of counts, as the tool's scanner makes it
    the exit      induction variable, bound, stride: or the code that says what is wrong
    frequencies   how often blocks run: `.pragma "frequency N"`, else estimated
    calls         a scan of the whole function before any loop is looked at

The tool works on registers that are written again; here a header phi stands for the
register, its value on the back edge for the write. What the tool calls killed is a
write of the body that replaces what the iteration before wrote: one for each phi that
changes.

Needs    CFG annotations.
Cost     linear in the loop.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from collections.abc import Set as AbstractSet

import attrs

from nvir.analysis.induction import (
    InductionVariable,
    TripCount,
    induction_variables,
    is_invariant,
    trip_count,
)
from nvir.assembler.unroll.body_cost import loop_control
from nvir.assembler.unroll.decision import UnrollCode
from nvir.assembler.unroll.known import Counted, Known, is_symbol
from nvir.ir import PRED, Block, Function, Instruction, Loop, OpKind, Param, Value, natural_loops
from nvir.ir.text.trace import step

WHOLE = "whole"  # a pass of the scanner that did not end early
CALL_WEIGHT = 9  # of a call of a function of one block
UNKNOWN_ITERATIONS = 10  # estimate of a loop whose count is not known (assumed)


@attrs.define
class BodyRecord:
    """The scanner's record, field by field as the tool lays it out (OFFSETS, in bytes).

    size            instructions
    foldable_ldc    constant loads whose address unrolling makes known
    tex             texture and surface instructions
    call_weight     9 for each call of a function of one block
    mem_flag        volatile and ordered accesses
    memory, loads, stores
    cross_edges     an edge other than the latch's leaves the loop
    branches        branches inside
    single_exit_reg the exit reads one register that the body makes
    killed          writes that replace what the iteration before wrote
    inner_nounroll  blocks of inner loops that must stay

    and beside the record: `foldable` operations of any kind, `foldable_addresses`, `cold`
    instructions, `tex3d` fetches.
    """

    size: int = 0
    foldable_ldc: int = 0
    tex: int = 0
    call_weight: int = 0
    mem_flag: int = 0
    memory: int = 0
    loads: int = 0
    stores: int = 0
    cross_edges: bool = False
    branches: int = 0
    single_exit_reg: bool = False
    killed: int = 0
    inner_nounroll: int = 0
    foldable: int = 0
    foldable_addresses: int = 0
    cold: int = 0
    tex3d: int = 0

    @property
    def saved(self) -> int:
        """Percent of the body that folds in copies."""
        return 100 * self.foldable // self.size if self.size else 0


OFFSETS = {
    "size": 0, "foldable_ldc": 4, "tex": 16, "call_weight": 24, "mem_flag": 28, "memory": 32,
    "loads": 36, "stores": 40, "cross_edges": 44, "branches": 52, "single_exit_reg": 56,
    "killed": 60, "inner_nounroll": 64,
}
RECORD_SIZE = 68  # bytes


@step("UNR-12", "ScanLoopBody", "loop")
def scan_body(
    loop: Loop, nounroll: Container[Block], trip: TripCount | None, arch: int = 80
) -> BodyRecord:
    """The record of a loop, by the scanner's three passes; `nounroll` blocks must not be copied.

    The notes give the passes and the fields, not which pass fills which field nor its early outs;
    both are assumed here: each pass ends at what makes the rest of it pointless.
    """
    r = BodyRecord()
    scan_header(r, loop)
    scan_forward(r, loop, Counted(loop, trip), arch)
    scan_backward(r, loop, nounroll)
    return r


@step("UNR-54", "header")
def scan_header(r: BodyRecord, loop: Loop) -> str:
    """What the header's phis and the latch's test tell: writes that replace, the exit's register.
    Ends early at a latch without a test."""
    inside = loop.members
    for phi in loop.header.phis:
        back = {v for v, b in phi.incoming if b in inside}
        r.killed += any(v is not phi and not is_invariant(v, inside) for v in back)
    latch = loop.latches[0].terminator
    test = latch.guard.definer if latch is not None and latch.guard is not None else None
    if test is None:
        return "the latch tests nothing"
    r.single_exit_reg = sum(not is_invariant(v, inside) for v in test.operands) == 1
    return WHOLE


@step("UNR-54", "forward")
def scan_forward(r: BodyRecord, loop: Loop, counted: Counted, arch: int) -> str:
    """Instruction by instruction: sizes, memory, calls, what folds. Asks nothing of folding where
    the loop has no induction variable that could become a constant."""
    known, control = Known(counted, arch), loop_control(counted)
    foldable = counted.trip is not None
    for block in loop.blocks:
        for i in block:
            if i.form.op.pseudo:
                continue
            r.size += 1
            r.cold += "cold" in block.flags
            _count(r, i, known)
            if foldable and i not in control and known.folds(i):
                r.foldable += 1
    r.foldable += r.foldable_ldc
    return WHOLE if foldable else "nothing counts"


@step("UNR-54", "backward")
def scan_backward(r: BodyRecord, loop: Loop, nounroll: Container[Block]) -> str:
    """From the latch up: branches, edges that leave, inner blocks that must stay. Ends at the
    first edge that leaves: the loop is passed over then."""
    inside = loop.members
    r.inner_nounroll = sum(b in nounroll for child in loop.children for b in child.blocks)
    for block in reversed(loop.blocks):
        branch = block.terminator
        if branch is None or block in loop.latches:
            continue
        r.branches += len(branch.successors) > 1
        if any(s not in inside for s in branch.successors):
            r.cross_edges = True
            return f"an edge leaves from {block.name}"
    return WHOLE


def _count(r: BodyRecord, i: Instruction, known: Known) -> None:
    f = i.form
    if f.is_call:
        callee = getattr(i.aux, "callee", None)
        if isinstance(callee, Function) and len(callee.blocks) == 1:
            r.call_weight += CALL_WEIGHT
        return
    if f.op.memory in ("texture", "surface") and f.n_results:
        r.tex += 1
        r.tex3d += any(m in ("3d", "cube") for m in f.mods)
        return
    if not f.addresses or not (f.reads or f.writes):
        return
    r.memory += 1
    r.mem_flag += any(m in ("volatile", "acquire", "release", "acq_rel", "sc", "relaxed", "mmio")
                      for m in f.mods)
    r.loads += f.name == "ld"
    r.stores += f.name == "st"
    base = i.operands[f.addresses[0][0]]
    fixed = known(base) or is_symbol(base) or isinstance(base, Param)
    if f.name == "ld" and f.space in ("const", "param") and fixed:
        r.foldable_ldc += 1
    elif known(base) and not is_symbol(base):
        r.foldable_addresses += 1


# --------------------------------------------------------------------- the exit


@attrs.frozen(eq=False)
class CountedExit:
    """A latch test that can be counted. `kind`: 10 pointer, 11 signed, 12 unsigned, 13 float.

    swapped   the bound is the comparison's first operand
    """

    trip: TripCount
    kind: int
    stride: int | float
    swapped: bool

    @property
    def direction(self) -> int:
        return direction(self.trip.compare)


POINTER, SIGNED, UNSIGNED, FLOAT = 10, 11, 12, 13
ASCENDING, DESCENDING, UNKNOWN = 2, 5, 13


@step("UNR-37", "direction", "compare")
def direction(compare: str) -> int:
    """The class of a comparison, as the tool numbers them: 2 up, 5 down, 13 neither."""
    sign = compare.partition(".")[0]
    if sign in ("lt", "le", "lo", "ls"):
        return ASCENDING
    return DESCENDING if sign in ("gt", "ge", "hi", "hs") else UNKNOWN


@step("UNR-35", "overflow guard", "kind", "stride", "factor", "bits")
def stride_fits(kind: int, stride: int | float, factor: int, bits: int) -> bool:
    """Whether factor − 1 strides stay within the variable's width; a stride of 0 never does."""
    if stride == 0:
        return False
    if kind == FLOAT:
        return abs((factor - 1.0) * stride) < float("inf")
    total = int(stride) * (factor - 1)
    if kind == SIGNED:
        return -(1 << bits - 1) <= total < 1 << bits - 1
    return abs(total) < 1 << bits


Wrong = tuple[UnrollCode, str]  # why the exit cannot be counted


@attrs.frozen(eq=False)
class Counter:
    """What AnalyzeIV finds: the variable that the latch's test compares, and the other side.

    variable   None where the body writes it on several paths
    """

    variable: InductionVariable | None
    test: Instruction
    bound: Value
    swapped: bool


def counted_exit(
    loop: Loop, trip: TripCount | None, floats: bool = False, strict_stride: bool = False
) -> CountedExit | Wrong:
    """The exit of the latch, or the code of the first thing that is wrong with it (step M).

    Each of the noted routines takes what the one before found: AnalyzeIV the variable, ExtractBound
    the bound, VerifyStride what the body writes of both.
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
    checked = verify_stride(loop, found, bound)
    if checked.mask & INIT_WRITTEN:
        return UnrollCode.IRREGULAR, "the body writes the variable on several paths"
    if checked.mask & LIMIT_WRITTEN:
        return UnrollCode.DEGENERATE, "the body writes the bound"
    stride = stride_sign(found, trip, loop)
    if isinstance(stride, tuple):
        return stride
    assert trip is not None
    return CountedExit(trip, kind, stride, found.swapped)


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
    sides = [_side(v, loop, variables, inside) for v in test.operands[:2]]
    for k, side in enumerate(sides):
        if isinstance(side, InductionVariable):
            return Counter(side, test, test.operands[1 - k], k == 1)
    if UnrollCode.IRREGULAR in sides:
        k = sides.index(UnrollCode.IRREGULAR)
        return Counter(None, test, test.operands[1 - k], k == 1)
    return UnrollCode.NO_INDUCTION, UnrollCode.NO_INDUCTION.text


@step("UNR-29", "ValidateIV", "floats")
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


@step("UNR-30", "ExtractBound", "strict")
def extract_bound(found: Counter, loop: Loop, strict: bool) -> Value | Wrong:
    """The bound: 16 where the body makes it, and strictly where the stride is no literal. A bound
    that a phi of the header carries passes: VerifyStride sees that the body writes it."""
    iv = found.variable
    if strict and iv is not None and not iv.is_constant_step:
        return UnrollCode.NO_BOUND, "the stride is no literal"
    d = found.bound.definer
    carried = d is not None and d.form.is_phi and d.block is loop.header
    if not carried and not is_invariant(found.bound, loop.members):
        return UnrollCode.NO_BOUND, "the bound is made in the body"
    return found.bound


@step("UNR-31", "bound block", "bound")
def bound_block(found: Counter, bound: Value, loop: Loop) -> Wrong | None:
    """The block that steps has one way in, else 17; start and bound differ, else 18."""
    iv = found.variable
    if iv is None:
        return None
    update = iv.update.definer
    home = update.block if update is not None else loop.header
    assert home is not None
    ways = [p for p in home.preds if p not in loop.latches]
    if len(ways) != 1:
        return UnrollCode.IRREGULAR, f"the step's block is reached {len(ways)} ways"
    if bound is iv.start:
        return UnrollCode.DEGENERATE, "the variable starts at its bound"
    return None


INIT_WRITTEN, LIMIT_WRITTEN = 2, 1  # bits of VerifyStride's result


@attrs.frozen
class StrideCheck:
    """What VerifyStride says. mask: INIT_WRITTEN, LIMIT_WRITTEN; score: of the directions, which
    phase 24 asks for. The tool counts registers of class 5; here these are predicates (assumed)."""

    mask: int = 0
    score: int = 0


@step("UNR-32", "VerifyStride", "bound")
def verify_stride(loop: Loop, found: Counter, bound: Value) -> StrideCheck:
    """Walk the body's definitions and uses: whether it writes the variable beside its step, or the
    bound."""
    mask = INIT_WRITTEN if found.variable is None else 0
    if not is_invariant(bound, loop.members):
        mask |= LIMIT_WRITTEN
    made = [r for b in loop.blocks for i in b for r in i.results if r.type is PRED]
    read = {v for b in loop.blocks for i in b for v in i.operands if v.type is PRED}
    once = sum(len(set(r.users)) == 1 for r in made)
    alone = sum(r not in read for r in made)
    return StrideCheck(mask, once + alone if once else alone + (len(made) > alone))


@step("UNR-29", "stride sign")
def stride_sign(found: Counter, trip: TripCount | None, loop: Loop) -> int | float | Wrong:
    """The stride: 19 where it leads away from the bound, or where only a run knows it."""
    iv = found.variable
    assert iv is not None
    stride = iv.step
    if not isinstance(stride, int | float):
        return UnrollCode.STRIDE_SIGN, "the stride is known at run time only"
    if trip is None or trip.variable.phi is not iv.phi or trip.exit not in loop.latches:
        return UnrollCode.IRREGULAR, "the exit test is not of the variable and its bound"
    away = {ASCENDING: -1, DESCENDING: 1}.get(direction(trip.compare), 0)
    if away * stride > 0:
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
) -> InductionVariable | UnrollCode | None:
    """What one side of the comparison is: a variable, what is wrong with it, None if invariant."""
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
    if d.form.is_phi:
        back = [x for x, b in d.incoming if b in inside]
        if any(x.definer is not None and x.definer.form.is_phi for x in back):
            return UnrollCode.IRREGULAR
    return UnrollCode.NO_INDUCTION


# -------------------------------------------------------------- frequencies, calls

_FREQUENCY = re.compile(r"frequency\s+(\d+)")


def frequencies(function: Function, trips: Mapping[Block, TripCount | None]) -> dict[Block, int]:
    """How often each reachable block runs: as a pragma says, else iterations of its loops, whose
    trip counts are given by their headers."""
    runs = dict.fromkeys(function.rpo, 1)
    for loop in natural_loops(function):
        trip = trips[loop.header]
        n = trip.count if trip is not None and trip.count is not None else UNKNOWN_ITERATIONS
        for b in loop.blocks:
            runs[b] = min(runs[b] * max(n, 1), 1 << 40)
    for b in function.rpo:
        for text in b.pragmas:
            found = _FREQUENCY.fullmatch(text.strip())
            if found is not None:
                runs[b] = int(found[1])
    return runs


@attrs.frozen
class PreScan:
    """The calls of a function: of functions of one block, and whether one of them leaves early."""

    inlinable_calls: int = 0
    multi_exit: bool = False


@step("UNR-05", "pre-scan", "function")
def pre_scan(function: Function) -> PreScan:
    """Look at the calls before the loops; exits are looked at in loops that run more than once."""
    found = []
    for block in function.blocks:
        for i in block:
            callee = getattr(i.aux, "callee", None) if i.form.is_call else None
            if isinstance(callee, Function) and len(callee.blocks) == 1:
                found.append((block, callee))
    if not found:
        return PreScan()
    repeated: set[Block] = set()
    for loop in natural_loops(function):
        trip = trip_count(loop)
        if trip is None or trip.count is None or trip.count > 1:
            repeated.update(loop.blocks)
    multi = any(block in repeated and _leaves_early(callee) for block, callee in found)
    return PreScan(len(found), multi)


def _leaves_early(callee: Function) -> bool:
    ends = (x.form.kind is OpKind.RETURN or x.form.name == "trap" for x in callee.instructions())
    return sum(ends) > 1


