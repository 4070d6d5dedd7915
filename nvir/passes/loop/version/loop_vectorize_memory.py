"""Neighbouring accesses of a loop become vector accesses, in a version for aligned addresses.

    L: ld.f32 %a, [%p]          preheader: is %p a multiple of 8?
       ld.f32 %b, [%p+4]               │yes                          │no
       …                   ==>   F: ld.v2.f32 {%a, %b}, [%p]         L as it was
       add %p, %p, 8                …
       @%q bra L                    @%q bra F

What engineers do by `float2` and `float4`. The assembler joins neighbours only where it knows that
their address is aligned.

Method   In each block, loads of one kind whose addresses differ by a constant are gathered as long
         as nothing writes to them, stores as long as nothing else touches their bytes. Runs of four
         or two become one access: loads where the first of them stands, stores where the last does.
         What their addresses rest on is tested in front of the loop (aligned.py), by a test that
         is the same for all lanes; where it is known to hold, the loop has no second version.
Needs    innermost loops that may be copied; makes them canonical itself.
Keeps    what the function does, and the bytes that are read and written.
Skips    loops with an `Unjoined`; each is remarked. Volatile, ordered and guarded accesses.
Cost     a copy of the loop; a few instructions for each address where it is entered
Source   LLVM's LoadStoreVectorizer, and `__builtin_assume_aligned`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence

import attrs

from nvir.analysis.affine import Affine
from nvir.analysis.alias import AliasAnalysis, Passed
from nvir.analysis.analyses import Analyses
from nvir.ir.block import Block
from nvir.ir.builder import Builder
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop
from nvir.ir.opcodes import OpKind
from nvir.ir.opcodes.form import form
from nvir.ir.types import Type
from nvir.ir.values import Constant, Value, integer
from nvir.passes.context import Context
from nvir.passes.loop.unroll.prepare import Refusals, regions
from nvir.passes.loop.version.aligned import Alignments, Multiple, NotAligned, holds
from nvir.passes.loop.version.extent import constant_offset, place
from nvir.passes.loop.version.fork import fork
from nvir.passes.remarks import missed, passed

JOINED = passed("Joined", "{accesses} accesses are {vectors} vector accesses, where {tests} "
                "{tests:address is|addresses are} aligned")


class Unjoined(enum.Enum):
    """Why a loop gets no vector accesses: the closed list."""

    OUTER = "it has a loop in it"
    NOTHING = "no neighbours in it have an address of which the alignment can be told"
    COPIES = "it cannot be copied: {what}"


MISSED = {
    a: missed("NotJoined" + a.name.title(), "no vector accesses: {reason}") for a in Unjoined
}
CODES = (JOINED, *MISSED.values())
MOST = 8  # tests of one loop
WIDEST = 16  # bytes of an access
LOAD, STORE = (("%s, [%s]", "%s, [%s+%s]"), ("[%s], %s", "[%s+%s], %s"))  # shapes


@attrs.frozen
class Options:
    """`loop`: only the loop with this header; all by default."""

    loop: str = ""


@attrs.frozen(eq=False)
class Vectorized:
    """A loop with vector accesses: its header, and what each of these was made of. `rest`: the
    header of the loop for other addresses, if there is one."""

    header: Block
    rest: Block | None
    made: dict[Instruction, Sequence[Instruction]]


def run(function: Function, ctx: Context) -> bool:
    if not function.back_edges:
        return False
    name = ctx.options.loop
    wanted = [x.header for x in ctx.analyses(function).loops
              if (str(x.header.name) == name if name else x.is_innermost)]
    return sum(vectorize(h, ctx) is not None for h in wanted) > 0


def vectorize(header: Block, ctx: Context) -> Vectorized | None:
    """Give a loop vector accesses; None where there are none to be had, which is remarked."""
    function = header.function
    loop = Analyses.of(function).loop(header)
    assert loop is not None
    why, what, groups, tests = Unjoined.OUTER, "", list[list[Instruction]](), list[Multiple]()
    if loop.is_innermost:
        why = Unjoined.NOTHING
        groups, tests = _look(loop)
    refusals = Refusals(function)
    if groups and tests:
        refused = refusals.of(loop)
        if refused is not None:
            why, what, groups = Unjoined.COPIES, refused[0].text(refused[1]), []
    if not groups:
        ctx.remark(MISSED[why], loop, reason=str(why.value).format(what=what))
        return None
    ctx.remark(JOINED, loop, accesses=sum(map(len, groups)), vectors=len(groups), tests=len(tests))
    ctx.count("joined", len(groups))
    fast = header
    if tests:
        area = regions(function, {header}, refusals.held)[header]
        assert area.preheader.last is not None
        right = holds(Builder(area.preheader).at(area.preheader.last), tests)
        copies, _ = fork(area, right, ("aligned", "unaligned"))
        fast = copies[header]
        groups = [[copies[i] for i in group] for group in groups]
        function.analyze_cfg()
    return Vectorized(fast, header if tests else None, {_join(group): group for group in groups})


def has_neighbours(loop: Loop, copies: int) -> bool:
    """Whether a loop may have accesses that are neighbours, after so many copies of its body."""
    if copies == 1:
        return bool(_look(loop)[0])
    known = Analyses.of(loop.header.function)
    variables = known.affine.variables(loop.header)
    kinds: dict[object, list[Instruction]] = {}
    for i in filter(_is_plain, loop.header):
        kinds.setdefault(_place(i, known.alias)[0], []).append(i)
    for some in kinds.values():
        access, t = known.alias.accesses(some[0])[0], some[0].form.type
        terms = access.address.terms if access.address is not None else ()
        steps = [(t.coefficient, variables[t.symbol].step) for t in terms if t.symbol in variables]
        step = sum(c * s if isinstance(s, int) else 1 for c, s in steps)
        size = t.bits // 8 * len(some) if t is not None else 0
        if abs(step) == size <= WIDEST // 2:
            return True
    return False


# ----------------------------------------------------------------- what can be joined


def _look(loop: Loop) -> tuple[list[list[Instruction]], list[Multiple]]:
    """Accesses that are one where some addresses are aligned."""
    alias = Analyses.of(loop.header.function).alias
    found: list[list[Instruction]] = []
    tests: dict[Multiple, None] = {}
    ahead: Alignments | None = None
    for block in loop.blocks:
        for places in _gathered(block, alias):
            ahead = ahead or Alignments(loop)
            for group, wanted in _runs(places, alias, ahead):
                if len(tests.keys() | set(wanted)) <= MOST:
                    tests |= dict.fromkeys(wanted)
                    found.append(group)
    return found, list(tests)


_Places = dict[int, Instruction]  # by their distance from what they have in common


def _gathered(block: Block, alias: AliasAnalysis) -> list[_Places]:
    """Accesses of one kind between which nothing stands in the way, two at least."""
    done: list[_Places] = []
    open_: dict[object, _Places] = {}
    held: dict[object, Passed] = {}
    passed: dict[object, Passed] = {}  # writes since each was opened: loads move up
    for i in block:
        f = i.form
        if f.sync or f.is_call or f.pinned or f.name == "unknown":
            done += open_.values()
            open_ = {}
            continue
        if not (f.reads or f.writes):
            continue
        for key in list(open_):
            if held[key].meets(i):
                done.append(open_.pop(key))
        if _is_plain(i):
            kind, at = _place(i, alias)
            if kind in open_ and passed[kind].meets(i):
                done.append(open_.pop(kind))
            if kind not in open_:
                open_[kind], held[kind], passed[kind] = {}, Passed(alias), Passed(alias)
            if at not in open_[kind]:
                open_[kind][at] = i
                held[kind].add(i)
        if f.writes:
            for key, places in open_.items():
                if next(iter(places.values())).form.reads:
                    passed[key].add(i)
    done += open_.values()
    return [places for places in done if len(places) > 1]


def _is_plain(i: Instruction) -> bool:
    """An ordinary load or store of one number at a known distance from its base."""
    f = i.form
    return (
        f.kind in (OpKind.LOAD, OpKind.STORE) and f.guard is None and not f.pinned
        and f.shape in (LOAD if f.kind is OpKind.LOAD else STORE) and f.type is not None
        and 8 <= f.type.bits <= 64 and constant_offset(i) is not None
        and f.space in ("", "global", "shared", "local", "const")
        and not any(m[0] == "v" and m[1:].isdigit() for m in f.mods)
    )


def _place(i: Instruction, alias: AliasAnalysis) -> tuple[object, int]:
    """What accesses that may be one have in common, and the distance of this one from it."""
    address = alias.accesses(i)[0].address
    if address is not None and address.is_exact:
        return (i.form.spelling, frozenset(address.terms)), address.constant
    base, offset = place(i)
    return (i.form.spelling, base), offset


def _runs(
    places: _Places, alias: AliasAnalysis, ahead: Alignments
) -> Iterator[tuple[list[Instruction], list[Multiple]]]:
    """Groups of four or two neighbours, and what makes each an aligned whole."""
    at = sorted(places)
    some = places[at[0]].form.type
    assert some is not None
    size = some.bits // 8
    taken = at[0]
    for k in at:
        if k < taken:
            continue
        for n in (4, 2):
            wanted = range(k, k + n * size, size)
            if n * size > WIDEST or not all(o in places for o in wanted):
                continue
            address: Affine | None = alias.accesses(places[k])[0].address
            try:
                tests = ahead.of(address, n * size) if address is not None else None
            except NotAligned:
                continue
            if tests is not None:
                yield [places[o] for o in wanted], tests
                taken = k + n * size
                break


# --------------------------------------------------------------------------- joining


def _join(group: Sequence[Instruction]) -> Instruction:
    """Put one access in the place of neighbours, which are in the order of their addresses."""
    stores = group[0].form.writes
    order = list(_in_order(group))
    at = order[-1 if stores else 0]
    f = at.form
    head, _, type = f.spelling.rpartition(".")
    base = at.operands[f.addresses[0][0]]
    assert f.type is not None
    offset = (constant_offset(at) or 0) - group.index(at) * (f.type.bits // 8)
    b = Builder.ahead_of(at)
    values = [_register(b, i.operands[-1], type) for i in group] if stores else []
    braces = "{" + ", ".join(["%s"] * len(group)) + "}"
    address = "[%s+%s]" if offset else "[%s]"
    shape = f"{address}, {braces}" if stores else f"{braces}, {address}"
    operands = (base, *([integer(offset)] if offset else []), *values)
    made = Instruction(form(f"{head}.v{len(group)}.{type}", shape), operands, loc=at.loc)
    made.line = at.line
    if not stores:
        types: list[Type] = [i.type for i in group]
        made.set_results(types, [i.name for i in group])
    made.insert_before(at)
    for k, i in enumerate(group):
        if stores:
            i.erase()
        else:
            i.replace_with(made.results[k])
    return made


def _in_order(group: Iterable[Instruction]) -> Iterator[Instruction]:
    wanted = set(group)
    block = next(iter(wanted)).block
    assert block is not None
    return (i for i in block if i in wanted)


def _register(b: Builder, v: Value, type: str) -> Value:
    """A value that may stand in braces."""
    return b.compute(f"mov.{type if type[1:] != '8' else 'b16'}", v) if isinstance(
        v, Constant) else v
