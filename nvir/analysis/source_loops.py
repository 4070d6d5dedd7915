"""Loops of the code grouped by the loop of the source that they come from.

A front end unrolls, peels and specialises loops before the assembler sees them, so that one loop of
the source may be several of the code: a main loop with several copies of the body and a loop for
the remainder, two versions under different conditions, copies in an unrolled loop around it.

Method   The branch back of a loop carries the place of the loop's statement and of the calls that
         it was inlined through; loops that share all of them are one loop of the source. Without
         places a loop and a neighbour that counts down to zero behind it are one where the counts
         of their operations are as n to 1. How often the body stands in a loop is told by the
         operations that share place and spelling: by their number against that in the smallest
         loop of the group; where all are the same, by a number that divides theirs and the stride
         of an induction variable. Without places a test behind the loop tells both: whether the
         count's remainder by a factor is zero, from which a loop of one copy counts down.
Cost     linear in the instructions of loops.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType

import attrs

from nvir.analysis.analyses import Analyses
from nvir.analysis.counts.ends import FOLLOWED, shifted_out, threshold
from nvir.analysis.induction import (
    InductionVariable,
    comparison,
    constant_of,
    induction_variables,
    is_invariant,
    trip_count,
)
from nvir.analysis.places import SourceLines
from nvir.ir import Form, OpKind
from nvir.ir.block import Block
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.loops import Loop, natural_loops
from nvir.ir.module import Module
from nvir.ir.opcodes.form import lanes
from nvir.ir.values import Value

MOST_COPIES = 64  # of a body that are looked for in a loop without a remainder
CONDITIONS = 8  # of a branch that are looked at
AGREEING = 0.7  # of the operations of a body that must stand as often as it is said to stand

Place = tuple[int, int]  # number of a file, line
Places = Callable[[Instruction], Sequence[Place]]
Signature = Counter[Hashable]


@attrs.frozen(eq=False)
class LoopPart:
    """A loop of the code, how often the body of the source's loop stands in it, and what it is:
    "whole", "main", "remainder" or "version"."""

    loop: Loop
    copies: int
    role: str


@attrs.frozen(eq=False)
class SourceLoop:
    """A loop of the source.

    places   (file number, line) of its statement and of the calls around it, innermost first;
             empty where the code does not say
    parts    what became of it, in the order of the code
    """

    places: tuple[Place, ...]
    parts: tuple[LoopPart, ...]

    @property
    def copies(self) -> int:
        """The front end's factor: copies of the body in an iteration of the main loop."""
        return max(p.copies for p in self.parts)

    @property
    def main(self) -> LoopPart:
        """The part in which most iterations run."""
        return max(self.parts, key=lambda p: p.copies)

    @property
    def nounroll(self) -> bool:
        """Whether the main loop says that it is not to be unrolled further."""
        return has_pragma(self.main.loop)


def has_pragma(loop: Loop) -> bool:
    """Whether `.pragma "nounroll"` stands in the loop's first block, anywhere after its label."""
    return "nounroll" in loop.header.pragmas or any(
        i.form.name == "pragma" and "nounroll" in str(i.aux) for i in loop.header
    )


def source_loops(
    loops: Sequence[Loop], places: Places, trips: Mapping[Place, int] = MappingProxyType({}),
    heads: Mapping[Place, int] = MappingProxyType({}),
) -> list[SourceLoop]:
    """The groups of a function's loops, in the order of their first loops.

    `places` gives (file number, line) of an instruction, the inlined callee first; `trips` the
    literal count of the loop statement at a place, `heads` how many statements begin on a line.
    """
    groups: dict[Hashable, list[Loop]] = {}
    at: dict[Hashable, tuple[Place, ...]] = {}
    marked = {x for x in loops if has_pragma(x)}
    for loop in loops:
        found, col = _statement(loop, places)
        if (outer := next((x for x in groups.get((found, col), ())
                           if loop.header in x.members), None)) is not None:
            guard = _guard(outer, places)
            if guard and heads.get(found[0]) == 1 and heads.get(guard[0]) and (
                guard not in at.values()
            ):  # its test is also the inner loop's first one
                groups[found, col].remove(outer)
                groups.setdefault((guard, -1), []).append(outer)
                at[guard, -1] = guard
            elif any(b in loop.latches for b in outer.latches):  # its test is the inner loop's
                groups[found, col].remove(outer)
                groups[outer], at[outer] = [outer], ()
            else:
                found = ()  # of a function without places of its own that is inlined there
        key: Hashable = (found, col) if found else loop
        if not found and (before := _main_of(loop, groups, marked)) is not None:
            key = before
        groups.setdefault(key, []).append(loop)
        at[key] = found
    made = []
    order = {loop: n for n, loop in enumerate(loops)}
    for key, group in sorted(groups.items(), key=lambda x: order[x[1][0]]):
        place = at[key][0] if at[key] else None
        apart = _apart(group, heads.get(place, 1) if place else 1)
        count = trips.get(place) if place and len(apart) == 1 else None
        made += [_grouped(at[key], x, count) for x in apart]
    return made


def source_loops_of(function: Function, module: Module) -> list[SourceLoop]:
    """The groups of all loops of a function by its own places, kept until it is edited."""
    return Analyses.of(function).get("source_loops", lambda f: source_loops(
        natural_loops(f), SourceLines(f, module).numbers))


def parts_by_header(function: Function, module: Module) -> dict[str, tuple[SourceLoop, LoopPart]]:
    """Of each loop of a function, by its header's name, what it is of a loop of the source."""
    return {str(p.loop.header.name): (g, p)
            for g in source_loops_of(function, module) for p in g.parts}


def _apart(group: list[Loop], statements: int) -> list[list[Loop]]:
    """The loops of one line, which PTX gives one place, by their statements where it has several:
    a loop and its remainder are one's."""
    made: list[list[Loop]] = []
    for loop in group:
        if made and len(made[-1]) == 1 and _are_one(loop, made[-1][0]):
            made[-1].append(loop)
        else:
            made.append([loop])
    return made if len(made) <= statements else [group]


def _statement(loop: Loop, places: Places) -> tuple[tuple[Place, ...], int]:
    """Where the statement of a loop stands, and its column: the place of a branch back, or of the
    way out where a latch falls through to the header. The latter may be the branch back of a loop
    within, whose place it has."""
    falls = [b for b in loop.own if _leaves(b, loop)] if len(loop.latches) == 1 else []
    own = [b for b in loop.latches if not any(b in c.latches for c in loop.children)]
    for b in (*own, *(falls if len(falls) == 1 else ())):
        branch = b.terminator
        if branch is not None and branch.loc is not None and branch.loc.line:
            return tuple(places(branch)), branch.loc.col
    return (), 0


def _guard(loop: Loop, places: Places) -> tuple[Place, ...]:
    """Where the branch stands that leads past a loop."""
    block = loop.entries[0] if len(loop.entries) == 1 else None
    for _ in range(4):
        if block is None or len(block.succs) > 1:
            break
        block = block.preds[0] if len(block.preds) == 1 else None
    branch = block.terminator if block is not None and len(block.succs) > 1 else None
    return tuple(places(branch)) if branch is not None else ()


def signature(loop: Loop, places: bool = True, joined: bool = False) -> Signature:
    """How often each operation on memory or floating point stands in a loop, by place and
    spelling; of a loop with none of them, each operation that is no copy. `joined`: an access of
    several numbers counts as often."""
    return _signature(loop.own, places, joined)


def _signature(blocks: Sequence[Block], places: bool, joined: bool = False) -> Signature:
    strong: Signature = Counter()
    weak: Signature = Counter()
    for b in blocks:
        for i in b:
            f = i.form
            loc = i.loc if places else None
            if f.op.pseudo or f.is_phi or f.terminator or (loc is not None and not loc.line):
                continue
            n = lanes(f) if joined else 1
            (strong if heavy(f) else weak)[loc, f.name, f.type, f.space] += n
    return strong or weak


def heavy(f: Form) -> bool:
    """On memory or floating point; a constant that all copies take stands once."""
    return f.reads or f.writes or (
        f.type is not None and f.type.is_float and f.op.kind is not OpKind.COPY)


def _main_of(
    loop: Loop, groups: dict[Hashable, list[Loop]], marked: AbstractSet[Loop]
) -> Hashable | None:
    """The key of the loop before this one of which this one, without places, is the remainder; or
    which is this one's, as it stands first where the count is not known before."""
    counts_down = _counts_down(loop)
    if not counts_down and not marked:
        return None
    for key in reversed(groups):
        other = groups[key][-1]
        if other is not key or other.parent is not loop.parent:
            continue
        if (counts_down and _is_rest(loop, other)) or (other in marked and _is_rest(other, loop)):
            return key
    return None


def _counts_down(loop: Loop) -> bool:
    return bool(counts(loop))


def counts(loop: Loop) -> list[Value]:
    """The values from which a loop counts down by one, or from whose negative it counts up."""
    found = []
    for v in induction_variables(loop):
        d = v.start.definer
        if v.step == -1:
            found.append(v.start)
        elif v.step == 1 and d is not None and d.form.name == "neg":
            found.append(d.operands[0])
    return found


def _are_one(loop: Loop, before: Loop) -> bool:
    return _is_rest(loop, before) or (has_pragma(before) and _is_rest(before, loop))


def _is_rest(rest: Loop, main: Loop) -> bool:
    """Whether a loop that counts down to zero has one of the copies of another's body."""
    if not _counts_down(rest):
        return False
    left = left_over(main)
    if left is not None and left[0] in counts(rest):
        return True  # though a copy may take what the one before it has stored
    n, share = _ratio(signature(main, places=False), signature(rest, places=False))
    return n > 1 and share == 1 and _stride(main) % n == 0


def left_over(loop: Loop) -> tuple[Value, int] | None:
    """What the copies in a loop leave of its count, and the copies: the remainder by a number that
    divides the loop's strides, of which the code behind it asks whether it is zero."""
    for _, behind in loop.exits:
        branch = behind.terminator
        test = comparison(branch.guard) if branch is not None and branch.guard else None
        if test is None or constant_of(test[0].operands[1]) != 0:
            continue
        rest = test[0].operands[0]
        d = rest.definer
        by = constant_of(d.operands[1]) if d is not None and len(d.operands) == 2 else None
        if d is None or by is None or not _is_dealt_from(loop, rest):
            continue
        masks = d.form.name == "and"
        n = by + 1 if masks else by
        most = max(_signature(loop.own, False).values(), default=1)
        if (n & by == 0 if masks else d.form.name == "rem") and 1 < n <= most and (
            _stride(loop) % n == 0
        ):
            return rest, n
    return None


def _is_dealt_from(loop: Loop, rest: Value) -> bool:
    """Whether what a loop counts to, down from, or up to zero from, is made of a remainder or of
    what that is of: `threadIdx.x & 31`, from which on a loop counts up, is no rest of it."""
    count = rest.definer.operands[0] if rest.definer is not None else rest
    if count.definer is not None and count.definer.form.name == "neg":
        count = count.definer.operands[0]
    starts: dict[Value, InductionVariable] = {v.phi: v for v in induction_variables(loop)}
    work: list[Value] = [
        b.terminator.guard for b, _ in loop.exits if b.terminator and b.terminator.guard]
    seen = set(work)
    tests = [comparison(v) for v in work]
    to_zero = any(x is not None and 0 in map(constant_of, x[0].operands) for x in tests)
    for _ in range(FOLLOWED):
        if not work or not seen.isdisjoint((rest, count)):
            break
        v = work.pop()
        variable, made = starts.get(v), v.definer
        if variable is not None:
            is_up = isinstance(variable.step, int) and variable.step > 0
            made = variable.start.definer if is_up else None
            if is_up and not to_zero:
                continue
        new = {*made.operands} if made is not None else {variable.start} if variable else set()
        work += new - seen
        seen |= new
    return not seen.isdisjoint((rest, count))


def _ratio(many: Signature, one: Signature, stride: int = 0) -> tuple[int, float]:
    """How often most operations of `one` stand in `many`, and the share for which that holds. It
    divides the stride of the many, if one of the numbers does: a product and a sum may be fused in
    one of the two alone, and copies share loads of neighbours."""
    votes: Counter[int] = Counter()
    for key, n in one.items():
        votes[round(many[key] / n)] += 1
    votes.pop(0, None)
    if not votes:
        return 1, 0.0
    best = max(votes, key=lambda r: (votes[r], stride % r == 0, r))
    if stride % best:
        fit = [r for r in votes if r > 1 and stride % r == 0]
        best = max(fit, key=lambda r: (votes[r], r), default=best)
    return best, votes[best] / len(one)


def _stride(loop: Loop) -> int:
    """What divides the strides of all integer induction variables; 0 where none is constant."""
    steps = [v.step for v in induction_variables(loop) if v.kind == "int"]
    return math.gcd(*(x for x in steps if isinstance(x, int)))


def _grouped(places: tuple[Place, ...], group: list[Loop], trips: int | None) -> SourceLoop:
    found = [signature(x, joined=True) for x in group]
    least = min(range(len(group)), key=lambda k: sum(found[k].values()))
    base = [_base(k, found) for k in range(len(group))]
    copies = [_ratio(s, found[b], _stride(x))[0]
              for x, s, b in zip(group, found, base, strict=True)]
    has_heavy = any(heavy(i.form) for b in group[least].own for i in b)
    if not has_heavy and _stride(group[least]) == 1:  # sums of integers are folded
        copies = [_stride(x) or n for x, n in zip(group, copies, strict=True)]
    if not places or max(copies) == 1:
        left = [left_over(x) for x in group]
        copies = [n if x is None else x[1] for x, n in zip(left, copies, strict=True)]
    shared = max(copies) > 1
    if not shared and len(group) > 1:  # copies of one body that are not alike
        steps = [_stride(x) for x in group]
        one = min(steps)
        if one and not any(x % one for x in steps):
            copies = [x // one for x in steps]
    if max(copies) == 1:
        n = _copies(group[least], signature(group[least]), len(group), trips)
        copies = [n] * len(group)
        role = "whole" if len(group) == 1 else "version"
        return SourceLoop(places, tuple(LoopPart(x, n, role) for x in group))
    mains = [(x, s) for x, s, n in zip(group, found, copies, strict=True) if n > 1]
    rests = [any((not shared or _ratio(m, s)[1]) and bool(y.children) == bool(x.children)
                 for y, m in mains) for x, s in zip(group, found, strict=True)]
    return SourceLoop(places, tuple(
        LoopPart(x, n, "main" if n > 1 else "remainder" if rest else "version")
        for x, n, rest in zip(group, copies, rests, strict=True)
    ))


def _base(k: int, found: Sequence[Signature]) -> int:
    """The loop of a group of which another holds copies: the smallest with most operations of the
    same places, itself where that has none of them."""
    size = sum(found[k].values())
    others = [j for j, s in enumerate(found) if j != k and sum(s.values()) < size]
    return max([k, *others], key=lambda j: (j != k and _ratio(found[k], found[j])[1] > 0,
               _ratio(found[k], found[j])[1], -sum(found[j].values())))


def _copies(loop: Loop, found: Signature, versions: int, trips: int | None) -> int:
    """How often the body stands in a loop that has nothing to compare it with."""
    found = _apart_from_calls(found)
    shifted = shifted_out(loop)
    if shifted is not None and shifted[1] > 1:
        return shifted[1]
    tests = _tests(loop)
    alike = {k for k, c in found.items() if c % tests == 0}  # others may be shared by copies
    stores = {k for k in found if is_store(k)}
    if tests > 1 and (len(alike) >= AGREEING * len(found) or (stores and stores <= alike)):
        return tests
    stride = _stride(loop)
    if stride == 1:
        return 1
    behind = None if _is_counted(loop) else _around(loop)
    for n in range(min(max(found.values(), default=1), MOST_COPIES), 1, -1):
        if stride % n:
            continue
        divides = trips is not None and trips % n == 0
        agree = {k for k, c in found.items() if c % n == 0 and (
            behind is None or divides or _is_left(k, c, n, behind[k], versions))}
        # what is added first in front of a loop is added to nothing
        sums = {k for k, c in found.items() if agree and behind is not None and (
            _is_sum(k) and c % n == 0 and behind[k] == c // n * (n - 2))}
        if len(agree | sums) >= AGREEING * len(found):
            return n
    return 1


def _is_left(key: Hashable, count: int, copies: int, around: int, versions: int) -> bool:
    """Whether an operation stands around a loop as often as its copies leave of it."""
    left = count // copies * (copies - 1)
    # of loads the rest is kept, or others stand on that line
    return around in (left, left * versions) or (
        is_load(key) and bool(around) and (left % around == 0 or around > left))


def _is_sum(key: Hashable) -> bool:
    return isinstance(key, tuple) and key[1] == "add"


def _is_counted(loop: Loop) -> bool:
    """Whether constants tell when a loop ends, if nothing else ends it before: where its copies do
    not divide their count, the test stands in the middle and asks some steps further."""
    count = trip_count(loop)
    if count is not None and count.count is not None:
        return True
    tests = [comparison(i.guard) for b, _ in loop.exits
             if (i := b.terminator) is not None and i.guard is not None]
    literal = [x for x in tests if x is not None and constant_of(x[0].operands[1]) is not None]
    return any(_ahead(x, v.phi) is not None for v in induction_variables(loop)
               if literal and constant_of(v.start) is not None for x in literal)


def is_load(key: Hashable) -> bool:
    """Whether a key of a signature is a load, of which straight lines may need fewer."""
    return isinstance(key, tuple) and str(key[1]).startswith("ld")


def is_store(key: Hashable) -> bool:
    """Whether a key of a signature is a store, which copies do not share."""
    return isinstance(key, tuple) and str(key[1]).startswith("st")


def _leaves(block: Block, loop: Loop) -> bool:
    return any(x not in loop.members for x in block.succs)


def _tests(loop: Loop) -> int:
    """How often the loop's own test stands in it: ways out at the place of the branch back, of
    these those that compare with the same bound where there are several; without places those of
    a loop that nvcc says it has unrolled."""
    out = [b.terminator for b in loop.own if b.terminator and _leaves(b, loop)]
    last = [b.terminator for b in loop.latches if b.terminator and _leaves(b, loop)]
    if not any(x.loc for x in last):
        out = out if has_pragma(loop) else []
    else:
        last = [x for x in last if x.loc]
    found = 1
    bounds = {x: _bounds(x, loop) for x in out}
    for branch in last:
        here = [x for x in out if x.loc == branch.loc]
        alike = max((sum(v in bounds[x] for x in here) for v in bounds.get(branch, ())), default=0)
        found = max(found, alike or (len(here) if branch.loc else 1))
    return found if found > 1 else _evenly_asked(loop, [x for x in out if not bounds[x]])


def _evenly_asked(loop: Loop, out: Sequence[Instruction]) -> int:
    """How often ways out ask for one variable, each the same step further, in all of its stride:
    the bound may change in the loop. 1 where they do not."""
    for v in induction_variables(loop):
        if not isinstance(v.step, int) or abs(v.step) < 2:
            continue
        asked = {d for branch in out if branch.guard is not None
                 for d in [_ahead(comparison(branch.guard), v.phi)] if d is not None}
        n = len(asked)
        if 1 < n <= MOST_COPIES and v.step % n == 0 and asked == {
            min(asked) + abs(v.step) // n * k for k in range(n)
        }:
            return n
    return 1


def _ahead(test: tuple[Instruction, bool] | None, phi: Instruction) -> int | None:
    """By how much what is compared is more than a variable; None where it is not that."""
    x = test[0].operands[0] if test is not None and test[0].operands else None
    if x is phi:
        return 0
    d = x.definer if x is not None else None
    if d is None or d.form.name != "add" or len(d.operands) != 2 or d.operands[0] is not phi:
        return None
    by = constant_of(d.operands[1])
    bits = d.type.bits or 64
    return None if by is None else by - (1 << bits) * (by >> (bits - 1) & 1)


def _bounds(branch: Instruction, loop: Loop) -> set[Hashable]:
    """What a branch compares with: values of before the loop, and literals."""
    work = [*([branch.guard] if branch.guard else branch.operands[:1])]
    found: set[Hashable] = set()
    for _ in range(CONDITIONS):
        if not work:
            break
        v = work.pop()
        test = comparison(v)
        if test is None:
            d = v.definer
            work += d.operands if d is not None and d.form.kind is OpKind.LOGIC else ()
            continue
        for x in test[0].operands[:2]:
            if is_invariant(x, loop.members):
                literal = constant_of(x) if x is not test[0].operands[1] else threshold(test[0])
                found.add(x if literal is None else literal)
    return found


def _around(loop: Loop) -> Signature:
    """The operations around a loop: of a count that is not known, what the copies in the loop
    leave over stands there as straight lines, of which nvcc may not say where they were inlined."""
    blocks = loop.parent.blocks if loop.parent is not None else loop.header.function.blocks
    around = [b for b in blocks if b.loop_depth == loop.depth - 1]
    return _apart_from_calls(_signature(around, True))


def _apart_from_calls(found: Signature) -> Signature:
    """The same without the calls that operations were inlined through."""
    made: Signature = Counter()
    for key, n in found.items():
        assert isinstance(key, tuple)  # as `_signature` makes it
        loc = key[0]
        made[loc and (loc.file, loc.line, loc.col), *key[1:]] += n
    return made
