"""What the notes' unroller knows of a loop before it decides.

    the body      one record of counts, as the tool's scanner makes it
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

from collections.abc import Callable, Container, Mapping

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.induction import TripCount, is_invariant, trip_count
from nvir.analysis.pressure import register_pressure
from nvir.assembler.unroll.body_cost import loop_control
from nvir.assembler.unroll.known import Counted, Known, is_symbol
from nvir.assembler.unroll.latch_exit import FLOAT, SIGNED
from nvir.ir import (
    Block,
    Function,
    Instruction,
    Loop,
    OpKind,
    Param,
    SymbolOffset,
    Value,
    natural_loops,
)
from nvir.ir.text.trace import Brief, note, step
from nvir.passes.loop.frequency import is_cold, said_frequency

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
    cross_edges     an edge other than the latch's leaves the loop, or a thread ends in it
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


@step("UNR-12", "ScanLoopBody", "loop", "nounroll", "trip.variable.phi")
def scan_body(
    loop: Loop, nounroll: Container[Block], trip: TripCount | None
) -> BodyRecord:
    """The record of a loop, by the scanner's three passes; `nounroll` blocks must not be copied.

    The notes give the passes and the fields, not which pass fills which field nor its early outs;
    both are assumed here: each pass ends at what makes the rest of it pointless.
    """
    r = BodyRecord()
    scan_header(r, loop)
    scan_forward(r, loop, Counted(loop, trip))
    scan_backward(r, loop, nounroll)
    return r


def _found(*names: str) -> Callable[..., Brief]:
    """How a pass of the scanner ended, with the fields that it filled."""
    def tell(ended: str, r: BodyRecord, *_: object) -> Brief:
        return Brief(ended, {"ended": ended} | {n: getattr(r, n) for n in names})

    return tell


@step("UNR-54", "header", "loop", "loop.latches",
      tell=_found("killed", "single_exit_reg"))
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


@step("UNR-54", "forward", "loop.blocks", "counted.trip.variable.phi", tell=_found(
    "size", "foldable_ldc", "tex", "call_weight", "mem_flag", "memory", "loads", "stores",
    "foldable", "foldable_addresses", "cold", "tex3d"))
def scan_forward(r: BodyRecord, loop: Loop, counted: Counted) -> str:
    """Instruction by instruction: sizes, memory, calls, what folds. Asks nothing of folding where
    the loop has no induction variable that could become a constant."""
    known, control = Known(counted), loop_control(counted)
    foldable = counted.trip is not None
    for block in loop.blocks:
        cold = is_cold(block)
        for i in block.written:
            r.size += 1
            r.cold += cold
            _count(r, i, known)
            if foldable and i not in control and known.folds(i):
                r.foldable += 1
    r.foldable += r.foldable_ldc
    return WHOLE if foldable else "nothing counts"


@step("UNR-54", "backward", "loop.blocks", "nounroll",
      tell=_found("branches", "cross_edges", "inner_nounroll"))
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
        if branch.form.kind is OpKind.RETURN or any(s not in inside for s in branch.successors):
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
    symbol = base.symbol if isinstance(base, SymbolOffset) else base
    fixed = known(base) or is_symbol(base) or isinstance(base, Param)
    space = f.space.partition("::")[0]  # of param::entry and param::func
    if space == "param" and not isinstance(symbol, Param):
        fixed = False  # what a call takes and gives is another each time
    if f.name == "ld" and space in ("const", "param") and fixed:
        r.foldable_ldc += 1
    elif known(base) and not is_symbol(base):
        r.foldable_addresses += 1


@step("UNR-35", "overflow guard", "kind", "stride", "factor", "bits")
def stride_fits(kind: int, stride: int | float | Value, factor: int, bits: int) -> bool:
    """Whether factor − 1 strides stay within the variable's width; a stride of 0 never does. One
    that only a run knows passes: the guard at run time sees to it."""
    if isinstance(stride, Value):
        return True
    if stride == 0:
        return False
    if kind == FLOAT:
        whole = (factor - 1.0) * stride
        note("UNR-36", "float strides", whole, stride=stride, factor=factor)
        return abs(whole) < float("inf")
    total = int(stride) * (factor - 1)
    if kind == SIGNED:
        return -(1 << bits - 1) <= total < 1 << bits - 1
    return abs(total) < 1 << bits


# ------------------------------------------------- pressure, frequencies, calls


@attrs.frozen
class Prepared:
    """What is worked out anew of a function before its loops are looked at.

    instructions   of the function
    predicates     most that are live at an instruction of each block
    """

    instructions: int
    predicates: Mapping[Block, int]


@step("UNR-04", "prepare", "function")
def prepare(function: Function) -> Prepared:
    """Register pressure and the list of instructions; kept until the function is edited, as turns
    ask again."""
    return Analyses.of(function).get("documented unroll", _prepare)


def _prepare(function: Function) -> Prepared:
    pressure = register_pressure(function, Analyses.of(function).liveness)
    most = dict.fromkeys(function.blocks, 0)
    for i, n in zip(pressure.instructions, pressure.predicates, strict=True):
        if i.block is not None:
            most[i.block] = max(n, most[i.block])
    return Prepared(sum(len(b) for b in function.blocks), most)


def known_trips(function: Function) -> Mapping[Block, TripCount | None]:
    """The trip counts of all loops by their headers, kept in the same way."""
    return Analyses.of(function).get(
        "documented trips", lambda f: {x.header: trip_count(x) for x in natural_loops(f)}
    )


def known_frequencies(function: Function) -> Mapping[Block, int]:
    """How often each block runs, kept in the same way."""
    return Analyses.of(function).get(
        "documented frequencies", lambda f: frequencies(f, known_trips(f))
    )


def frequencies(function: Function, trips: Mapping[Block, TripCount | None]) -> dict[Block, int]:
    """How often each reachable block runs: as a pragma says, else iterations of its loops, whose
    trip counts are given by their headers."""
    runs = dict.fromkeys(function.rpo, 1)
    for loop in natural_loops(function):
        trip = trips[loop.header]
        n = trip.count if trip is not None and trip.count is not None else UNKNOWN_ITERATIONS
        for b in loop.blocks:
            runs[b] = min(runs[b] * max(n, 1), 1 << 40)
    said = {b: said_frequency(b) for b in function.rpo}
    return runs | {b: n for b, n in said.items() if n is not None}


@attrs.frozen
class PreScan:
    """The calls of a function: of functions of one block, and whether one of them leaves early."""

    inlinable_calls: int = 0
    multi_exit: bool = False


@step("UNR-05", "pre-scan", "function")
def pre_scan(function: Function) -> PreScan:
    """Look at the calls before the loops; exits are looked at in loops that run more than once."""
    calls = Analyses.of(function).get("documented calls", _calls)
    found = [(b, f) for b, f in calls if len(f.blocks) == 1]
    if not found:
        return PreScan()
    repeated: set[Block] = set()
    trips = known_trips(function)
    for loop in natural_loops(function):
        trip = trips[loop.header]
        if trip is None or trip.count is None or trip.count > 1:
            repeated.update(loop.blocks)
    multi = any(block in repeated and _leaves_early(callee) for block, callee in found)
    return PreScan(len(found), multi)


def _calls(function: Function) -> list[tuple[Block, Function]]:
    called = ((b, getattr(i.aux, "callee", None)) for b in function.blocks for i in b
              if i.form.is_call)
    return [(b, callee) for b, callee in called if isinstance(callee, Function)]


def _leaves_early(callee: Function) -> bool:
    ends = (x.form.kind is OpKind.RETURN or x.form.name == "trap" for x in callee.instructions())
    return sum(ends) > 1


