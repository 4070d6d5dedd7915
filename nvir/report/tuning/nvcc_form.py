"""Kernels as nvcc would make them of a changed source, out of the PTX that it made of the old one.

nvcc marks what a kernel only reads through `__restrict__` as read by nothing else (`ld.global.nc`),
keeps sums in registers, and leaves the order of accesses to ptxas. A loop that a pragma had it
unroll is not unrolled again, and a loop of one copy does what it leaves, whose addresses are made
anew of the counter; a loop without a pragma ptxas may unroll further.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.induction import (
    InductionVariable,
    constant_of,
    induction_variables,
    is_invariant,
)
from nvir.analysis.source_loops import counts, left_over
from nvir.ir import Param
from nvir.ir.block import NOUNROLL, Block
from nvir.ir.builder import Builder
from nvir.ir.cfg import common_dominator
from nvir.ir.clone import clone_function
from nvir.ir.errors import NvirError
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop
from nvir.ir.opcodes import OpKind
from nvir.ir.opcodes.form import form
from nvir.ir.values import Value, undef
from nvir.passes.context import Context
from nvir.passes.loop.region import keep_entries
from nvir.passes.loop.simplify.canonical import canonicalise
from nvir.passes.loop.simplify.plain_test import plain_test
from nvir.passes.loop.unroll.transform import delete_blocks, incoming
from nvir.passes.loop.version.extent import adds_product, place
from nvir.passes.loop.version.loop_version import names_tell, version
from nvir.passes.registry import all_passes
from nvir.tune.candidates import Choices, LoopSetting, clean, unrolled
from nvir.tune.weights import dealt

SUMS = 256  # values that an address is followed through


@attrs.frozen(eq=False)
class NvccForm:
    """A copy of a kernel as nvcc makes it, and how often its loops run, by their headers."""

    function: Function
    trips: Mapping[Block, float]


def nvcc_form(
    kernel: Function, settings: Choices, name: str, runs: Mapping[str, float],
    copies: Mapping[str, int], ctx: Context,
) -> NvccForm | None:
    """What nvcc makes of the words for settings; None where that is not known. `runs` of each loop
    by its header, `copies` of the source's body that nvcc made in it."""
    made = clone_function(kernel)
    made.name = name
    made.analyze_cfg()
    ctx.function = made
    trips = {b: runs[str(b.name)] for b in made.blocks if str(b.name) in runs}
    at = {str(b.name): b for b in made.blocks}
    rests = {str(x.header.name): _rest(x) for x in Analyses.of(made).loops}
    try:
        _prepare(made, {at[header]: s for header, s in settings.loops})
        if any(s.apart for _, s in settings.loops) and not _restrict(
                made, at, rests, trips, ctx):
            return None
        for header, s in settings.loops:
            if not _unroll(at[header], s, copies[header],
                           at.get(rests[header]), trips):
                return None
    except NvirError:
        return None
    if settings.launch is not None:
        made.directives[settings.launch[0]] = (settings.launch[1],)
    clean(made, ctx)
    return NvccForm(made, trips)


def _prepare(made: Function, wanted: Mapping[Block, LoopSetting]) -> None:
    canonicalise(made, headers=set(wanted))
    for loop in Analyses.of(made).loops:
        s = wanted.get(loop.header)
        if s is not None and s.unroll not in (None, 1):  # else ptxas finds the test as nvcc left it
            plain_test(loop)


def _lead(block: Block, way: Block) -> None:
    """Let a block lead to one of its ways alone."""
    made = block.function
    for other in block.succs:
        if other is not way:
            keep_entries(other, {p for p in other.preds if p is not block})
    assert block.last is not None
    block.last.erase()
    Builder(block).br(way)
    made.analyze_cfg()
    kept = set(made.rpo)
    for b in kept:
        keep_entries(b, kept)
    delete_blocks(made, {b for b in made.blocks if b not in kept})
    made.analyze_cfg()


def _restrict(
    made: Function, at: dict[str, Block], rests: Mapping[str, str], trips: dict[Block, float],
    ctx: Context,
) -> bool:
    """Keep sums in registers, and mark what is only read, of all loops: `__restrict__` is the
    kernel's. Not where an iteration reads what one before it has read, which nvcc keeps in
    registers in a way of its own."""
    row = all_passes()["loop-version"]
    for name, header in at.items():
        loop = Analyses.of(made).loop(header)
        if loop is None or not loop.is_innermost or not names_tell(loop):
            continue
        if any("asm" in made.marks.get(i, ()) for i in header):
            if any(i.form.writes and is_invariant(place(i)[0], loop.members) for i in header):
                return False  # nvcc keeps such a sum in memory
            continue
        ctx.pass_, ctx.options = row, row.options()
        fast = version(header, ctx)
        if fast is None:
            continue
        made.analyze_cfg()
        way = next(b for b in fast.preds if b is not fast)
        _lead(way.preds[0], way)
        at[name] = fast
        if header in trips:
            trips[fast] = trips.pop(header)
    return _read_only(made, [(at[x], at[rest]) for x, rest in rests.items() if rest])


def _read_only(made: Function, pairs: Iterable[tuple[Block, Block]]) -> bool:
    """Mark what is only read, and hoist what a loop reads of one place in each iteration; `pairs`
    of loops, the one of which does what the other leaves."""
    loads: dict[Instruction, Param] = {}
    stored: dict[Block, set[Param]] = {}
    for i in made.instructions():
        f = i.form
        if f.space != "global" or not f.addresses or not (f.reads or f.writes):
            continue
        to = _pointer(i.operands[f.addresses[0][0]])
        if to is None or i.block is None:
            return False
        if f.writes:
            stored.setdefault(i.block, set()).add(to)
        elif f.spelling.startswith("ld.global.") and not (f.invariant or f.pinned or f.volatile):
            loads[i] = to
    written = {to for some in stored.values() for to in some}
    for i, to in loads.items():
        if to not in written:
            f = i.form
            spelled = f.spelling.replace("ld.global.", "ld.global.nc.", 1)
            i.set_form(form(spelled, f.shape, f.guard, f.volatile))
    loops = Analyses.of(made).loops
    for loop in loops:
        if len(loop.blocks) == 1:
            _hoist(loop, {i for i, to in loads.items() if to not in stored.get(loop.header, ())})
    for main, rest in pairs:
        _join(main, rest, set(loads))
    return not any(_carries(loop) for loop in loops)


def _pointer(address: Value) -> Param | None:
    """The parameter that an address points into, where sums tell."""
    work, found = [address], set()
    seen = set(work)
    while work and len(seen) < SUMS:
        v = work.pop()
        d = v.definer
        if isinstance(v, Param):
            found.add(v)
        elif d is not None and (
            d.form.is_phi or d.form.kind in (OpKind.SUM, OpKind.COPY) or adds_product(d)
            or (d.form.space or "").startswith("param")
        ):
            some = d.operands[2:] if adds_product(d) else d.operands
            new = [x for x in some if x.type.bits == 64 and x not in seen]
            seen.update(new)
            work += new
    return found.pop() if len(found) == 1 else None


def _carries(loop: Loop) -> bool:
    """Whether a loop reads what no store changes again in a later iteration."""
    steps = {v.phi: v.step for v in induction_variables(loop)}
    seen: dict[Value, list[int]] = {}
    for i in (i for b in loop.own for i in b if i.form.invariant and i.form.addresses):
        base, offset = place(i)
        step = steps.get(base) if isinstance(base, Instruction) else None
        if isinstance(step, int) and step:
            before = seen.setdefault(base, [])
            if any(x != offset and (x - offset) % step == 0 for x in before):
                return True
            before.append(offset)
    return False


def _hoist(loop: Loop, loads: AbstractSet[Instruction]) -> None:
    """Move loads of an address from outside in front of a loop of one block."""
    end = loop.preheader.last if loop.preheader is not None else None
    if end is None:
        return
    for i in list(loop.header):
        if i in loads and i.form.guard is None and all(
            is_invariant(v, loop.members) for v in i.operands
        ):
            i.move_before(end)


def _join(main: Block, rest: Block, loads: AbstractSet[Instruction]) -> None:
    """Load once what is loaded in front of both loops: nvcc does so before there are two."""
    loops = Analyses.of(main.function)
    a, b = (x.preheader if x is not None else None for x in (loops.loop(main), loops.loop(rest)))
    if a is None or b is None:
        return
    end = common_dominator(a, b).last
    for i in [x for x in b if x in loads]:
        same = next((x for x in a if x in loads and x.form is i.form and place(x) == place(i)),
                    None)
        if same is not None and end is not None:
            same.move_before(end)
            i.replace_all_uses_with(same)
            i.erase()


def _unroll(
    header: Block, s: LoopSetting, copies: int, rest: Block | None, trips: dict[Block, float]
) -> bool:
    """Unroll as a pragma says, what is left being done by `rest`; whether it was done."""
    if s.free or s.unroll == 1:
        header.pragmas = tuple(p for p in header.pragmas if p != NOUNROLL)
    if s.unroll == 1:
        header.pragmas += (NOUNROLL,)
    if s.unroll in (None, 1):
        return True
    assert s.unroll is not None
    function = header.function
    loop = Analyses.of(function).loop(header)
    assert loop is not None
    variables = induction_variables(loop)
    runs = trips.get(header, 1.0) * copies + (trips.get(rest, 0.0) if rest is not None else 0.0)
    rest = header if copies == 1 else rest
    main, _ = unrolled(header, s.unroll)
    function.analyze_cfg()
    if main is None or main is header:
        return not s.unroll or main is header
    if rest is None:
        return False
    trips[main], trips[rest] = dealt(runs, s.unroll * copies)
    if header in header.preds and len(header.preds) == len(header.succs) == 2:
        if rest is header:
            _anew(header, variables)
        else:
            _past(header)
        return True
    return rest is header  # of several blocks: as it is


def _rest(loop: Loop) -> str:
    """The name of the header of the loop of one copy that does what a loop of several leaves."""
    found = left_over(loop)
    return next((
        str(x.header.name) for x in Analyses.of(loop.header.function).loops
        if found is not None and x is not loop and found[0] in counts(x)
    ), "")


def _past(header: Block) -> None:
    """Lead past a loop of one block: what it leaves is done by the one behind it."""
    entry = next(b for b in header.preds if b is not header)
    behind = next(b for b in header.succs if b is not header)
    at_entry = {incoming(p, header): incoming(p, entry) for p in header.phis}
    for p in behind.phis:
        p.add(at_entry.get(incoming(p, header), undef(p.type)), entry)
    assert entry.last is not None
    entry.last.erase()
    Builder(entry).br(behind)
    function = header.function
    function.analyze_cfg()
    kept = set(function.rpo)
    keep_entries(behind, kept)
    delete_blocks(function, {b for b in function.blocks if b not in kept})
    function.analyze_cfg()


def _anew(header: Block, variables: Sequence[InductionVariable]) -> None:
    """Make the addresses of a rest of the counter again, as nvcc does."""
    counter = next((v for v in variables if v.kind == "int" and v.bits == 32
                    and isinstance(v.step, int) and constant_of(v.start) == 0), None)
    entry = next(b for b in header.preds if b is not header)
    if counter is None or entry.last is None:
        return
    b = Builder(entry).at(entry.last)
    at = incoming(counter.phi, entry)
    by = counter.step
    assert isinstance(by, int)
    for v in variables:
        step = v.step
        if v.kind == "pointer" and v.bits == 64 and isinstance(step, int) and (
                v.phi.block is header):
            far = b.compute("mul.wide.s32", at, step // by)
            new = b.compute("add.s64", v.start, far)
            v.phi.set_incoming([new if x is entry else y for y, x in v.phi.incoming], v.phi.aux)
