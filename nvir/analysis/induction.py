"""Induction variables and trip counts of natural loops.

An induction variable is a phi of the loop header whose value on every back edge
is the phi plus a loop-invariant step: integers of any width and direction,
pointers, floats. A counted exit compares such a variable with an invariant
bound; from start, step, bound and comparison the trip count follows, as a number
where all are constants and as an expression where not.

The trip count is how often the loop's body runs: the executions of the header
for a loop tested at its bottom, one fewer for a test at the top.

Method   Chains of add, sub and mad from the back-edge value to the phi; copies and
         width changes that keep the value are looked through. A step may be worked
         out anew in each iteration, as code that no optimiser has seen has it: by
         pure operations on values from outside alone. The arithmetic of counts, with
         wrap-around checked, is that of counting.py.
Cost     Linear in the phis and exits of a loop.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

import attrs

from nvir.analysis import counting
from nvir.ir import (
    IMM,
    SCALARS,
    Block,
    Constant,
    Instruction,
    IntType,
    Loop,
    OpKind,
    Param,
    SpecialRegister,
    Value,
)
from nvir.ir.opcodes.evaluate import fold

TREE = 64  # instructions that a recomputed step is made of, at most


@attrs.frozen(eq=False)
class Recomputed:
    """An invariant amount that the loop works out anew in each iteration: the product of the
    factors, modulo the variable's width. No value from outside of the loop holds it."""

    factors: tuple[Value, ...]


Step = int | float | Value | Recomputed


@attrs.frozen(eq=False)
class InductionVariable:
    """`phi` is `start` at first and grows by `step` each iteration.

    kind    "int", "pointer" (used as an address) or "float"
    step    an int, a float, a value from outside of the loop, or an amount worked out in it
    update  the instruction whose result is the next value
    bits    width of the arithmetic
    """

    phi: Instruction
    start: Value
    step: Step
    update: Value
    kind: str
    bits: int

    @property
    def is_constant_step(self) -> bool:
        return isinstance(self.step, int | float)


@attrs.frozen(eq=False)
class TripCount:
    """How often a loop's body runs.

    count      the number, or None where it depends on run-time values
    text       the number, or an expression over parameters and registers
    compare    the comparison under which the loop goes on, as PTX spells it ("lt.s32")
    bound      the invariant value compared with
    tests_update  the variable is compared after its update, not before
    exit       the block that holds the test
    test       the comparison
    """

    count: int | None
    text: str
    variable: InductionVariable
    compare: str
    bound: Value
    tests_update: bool
    exit: Block
    test: Instruction


def is_invariant(value: Value, inside: AbstractSet[Block]) -> bool:
    """Whether a value is made outside of the blocks (constants are)."""
    d = value.definer
    return d is None or d.block not in inside


def constant_of(value: Value, depth: int = 12) -> int | None:
    """The integer that a value always is (bits of a float), through copies and folds."""
    if isinstance(value, Constant):
        return value.value if isinstance(value.value, int) else None
    d = value.definer
    if d is None or depth == 0 or d is not value or d.form.guard is not None:
        return None
    f = d.form
    if f.kind is OpKind.COPY and len(d.operands) == 1:
        c = constant_of(d.operands[0], depth - 1)
        return None if c is None else c
    if f.op.fold is None or d.is_phi:
        return None
    known = []
    for v in d.operands:
        c = constant_of(v, depth - 1)
        if c is None:
            return None
        known.append(c)
    return fold(f, known)


def induction_variables(loop: Loop) -> list[InductionVariable]:
    """The induction variables of a loop, in the order of its header's phis."""
    inside = loop.members
    found = []
    for phi in loop.header.phis:
        variable = _variable(phi, loop, inside)
        if variable is not None:
            found.append(variable)
    return found


def _variable(phi: Instruction, loop: Loop, inside: AbstractSet[Block]) -> InductionVariable | None:
    update: Value | None = None
    start: Value | None = None
    for v, b in phi.incoming:
        if b in inside:
            if v is not (update or v):
                return None
            update = v
        elif v is not (start or v):
            return None
        else:
            start = v
    if update is None or start is None:
        return None
    total: int | float = 0
    symbolic: Value | Recomputed | None = None
    bits = 0
    is_float = False
    v = _through_copies(update)
    for _ in range(64):
        if v is phi:
            break
        d = v.definer
        if d is None or d.block not in inside or d.form.guard is not None:
            return None
        link = _step_of(d, inside)
        if link is None:
            return None
        v, step, bits, is_float = link[0], link[1], link[2], link[3]
        v = _through_copies(v)
        if not isinstance(step, int | float):
            if symbolic is not None or total:
                return None
            symbolic = step
        elif symbolic is not None:
            return None
        else:
            total += step
    else:
        return None
    if v is not phi or not bits or (symbolic is None and total == 0):
        return None
    kind = "float" if is_float else "pointer" if _is_address(phi) else "int"
    return InductionVariable(
        phi, start, symbolic if symbolic is not None else total, update, kind, bits
    )


def _through_copies(v: Value) -> Value:
    for _ in range(16):
        d = v.definer
        if d is None or not _is_copy(d):
            return v
        v = d.operands[0]
    return v


def _is_copy(d: Instruction) -> bool:
    f = d.form
    return f.name == "mov" and f.guard is None and len(d.operands) == 1 and "{" not in f.shape


def _step_of(
    d: Instruction, inside: AbstractSet[Block]
) -> tuple[Value, Step, int, bool] | None:
    """(previous value, step, bits, is float) of an add, sub or mad with an invariant, or None."""
    f = d.form
    t = f.type
    if isinstance(d.type, IntType):
        t = SCALARS.get(f"s{d.type.bits}")
    if f.name == "mad":
        return _step_of_product(d, inside)
    if f.kind is not OpKind.SUM or t is None or len(d.operands) != 2 or "sat" in f.mods:
        return None
    x, y = d.operands
    if f.name == "add" and _is_steady(x, inside) and not is_invariant(y, inside):
        x, y = y, x
    if not _is_steady(y, inside):
        return None
    sign = -1 if f.name == "sub" else 1
    bits = constant_of(y)
    if bits is None:
        amount = y if is_invariant(y, inside) else Recomputed(_factors(y, inside))
        return (x, amount, t.bits, t.is_float) if sign > 0 else None
    if t.is_float:
        if t.name not in ("f32", "f64"):
            return None
        return x, sign * counting.float_of(bits, t.name), t.bits, True
    return x, sign * counting.signed(bits, t.bits), t.bits, False


def _step_of_product(
    d: Instruction, inside: AbstractSet[Block]
) -> tuple[Value, Step, int, bool] | None:
    """The same of a mad that adds the low half of an invariant product to the variable."""
    f, t = d.form, d.form.type
    if t is None or t.is_float or "lo" not in f.mods or "sat" in f.mods or len(d.operands) != 3:
        return None
    a, b, x = d.operands
    if not (_is_steady(a, inside) and _is_steady(b, inside)):
        return None
    m, n = constant_of(a), constant_of(b)
    if m is not None and n is not None:
        return x, counting.signed(m * n, t.bits), t.bits, False
    return x, Recomputed((*_factors(a, inside), *_factors(b, inside))), t.bits, False


def _is_steady(value: Value, inside: AbstractSet[Block]) -> bool:
    """Whether a value is the same in every iteration: from outside of the blocks, or made in them
    from such values by pure operations. Larger trees than `TREE` are taken for changing."""
    if is_invariant(value, inside):
        return not (isinstance(value, SpecialRegister) and value.volatile)
    seen: set[Instruction] = set()
    work = [value]
    while work:
        v = work.pop()
        if is_invariant(v, inside):
            if isinstance(v, SpecialRegister) and v.volatile:
                return False
            continue
        d = v.definer
        assert d is not None
        if d in seen:
            continue
        seen.add(d)
        f = d.form
        same = f.invariant or (f.pure and not f.reads)  # or a load that no store can change
        if f.is_phi or f.guard is not None or f.convergent or not same or len(seen) > TREE:
            return False
        work += d.operands
    return True


def _factors(v: Value, inside: AbstractSet[Block]) -> tuple[Value, ...]:
    """An amount as a product, where the loop multiplies to get it."""
    d = _through_copies(v).definer
    if d is None or d.block not in inside or d.form.name != "mul" or "lo" not in d.form.mods:
        return (v,)
    return d.operands[:2]


def _is_address(phi: Instruction) -> bool:
    """Whether the variable itself, or it plus a constant, is used as an address."""
    for user in phi.users:
        if any(user.operands[base] is phi for base, _ in user.form.addresses):
            return True
    return False


# --------------------------------------------------------------- trip counts


def trip_count(loop: Loop) -> TripCount | None:
    """The trip count by the counted exit that every iteration passes; None if there is none.

    Other exits (a break) may end the loop earlier. Of several counted exits the
    one with the smallest constant count is given.
    """
    best: TripCount | None = None
    for found in counted_exits(loop):
        if best is None or (
            found.count is not None and (best.count is None or found.count < best.count)
        ):
            best = found
    return best


def body_runs(loop: Loop) -> TripCount | None:
    """As `trip_count`, of the whole body: where nothing but the branch back stands behind an exit
    of the header, the body has run once more than that branch."""
    found = trip_count(loop)
    if found is None or found.exit is not loop.header or found.exit in loop.latches:
        return found
    turns = (i for x in loop.latches for i in x)
    if not all(i.form.terminator or i.form.op.pseudo for i in turns):
        return found
    text = found.text if found.text == "unknown" else _plus(found.text, 1)
    if found.count is not None:
        text = str(found.count + 1)
    return attrs.evolve(
        found, count=None if found.count is None else found.count + 1, text=text
    )


def counted_exits(loop: Loop, loose: bool = False) -> list[TripCount]:
    """The exits that count and that every iteration passes.

    `loose` takes bounds as well that the loop works out anew in each iteration, and one part of a
    conjunction under which the loop goes on: the count is then an upper bound, as beside a break.
    """
    variables = _Variables(loop)
    out = []
    for block, outside in loop.exits:
        if all(block.dominates(latch) for latch in loop.latches):
            found = _counted_exit(loop, block, outside, variables, loose)
            if found is not None:
                out.append(found)
    return out


def _counted_exit(
    loop: Loop, block: Block, outside: Block, variables: _Variables, loose: bool
) -> TripCount | None:
    branch = block.terminator
    if branch is None or branch.form.kind is not OpKind.BRANCH:
        return None
    tested = branch.guard or next(iter(branch.operands), None)
    if tested is None:
        return None
    stays = branch.aux[0] is not outside  # the branch is taken to stay
    holds = branch.form.guard != "!"
    parts: tuple[Value, ...] = (tested,)
    if loose and stays and holds:
        d = _through_copies(tested).definer
        if d is not None and d.form.name == "and" and d.form.guard is None:
            parts = d.operands
    for p in parts:
        found = _counted_test(loop, block, p, stays == holds, variables, loose)
        if found is not None:
            return found
    return None


def _counted_test(
    loop: Loop, block: Block, p: Value, goes_on_if: bool, variables: _Variables, loose: bool
) -> TripCount | None:
    test = comparison(p)
    if test is None:
        return None
    setp, flipped = test
    t = setp.form.type
    compare, type, bits = setp.form.mods[0], t.name if t else "", t.bits if t else 0
    if setp.form.name == "icmp":  # "slt" is .lt on a signed type; ne and eq are as they are
        compare, bits = compare[-2:], setp.operands[0].type.bits
        type = f"{'u' if setp.form.mods[0][0] == 'u' else 's'}{bits}"
    goes_on = compare if goes_on_if != flipped else _NEGATED.get(compare, "")
    x, y = setp.operands[0], setp.operands[1]
    tested = variables.tested(x)
    if tested is None:
        tested = variables.tested(y)
        x, y = y, x
        goes_on = _SWAPPED.get(goes_on, "")
    if tested is None or not goes_on:
        return None
    if not is_invariant(y, loop.members) and not (loose and _is_steady(y, loop.members)):
        return None
    variable, tests_update = tested
    if not bits:
        return None
    at_bottom = block in loop.latches
    n = _count(variable, goes_on, type, bits, y, tests_update)
    if n is not None:
        n = n + 1 if at_bottom else n
    text = str(n) if n is not None else _expression(variable, goes_on, y, tests_update, at_bottom)
    return TripCount(n, text, variable, f"{goes_on}.{type}", y, tests_update, block, setp)


_NEGATED = {
    "lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq",
    "lo": "hs", "hs": "lo", "hi": "ls", "ls": "hi",
    "ltu": "ge", "leu": "gt", "gtu": "le", "geu": "lt", "equ": "ne", "neu": "eq",
}
_SWAPPED = {
    "lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne",
    "lo": "hi", "hi": "lo", "ls": "hs", "hs": "ls",
}


def comparison(p: Value) -> tuple[Instruction, bool] | None:
    """The setp or icmp that makes a predicate, through `not.pred` and copies, and whether it is
    negated."""
    flipped = False
    for _ in range(8):
        p = _through_copies(p)
        d = p.definer
        if d is None or d.form.guard is not None:
            return None
        if d.form.name == "not":
            flipped = not flipped
            p = d.operands[0]
            continue
        if d.form.name == "setp" and len(d.operands) == 2 and d.results[0] is p:
            return d, flipped
        if d.form.name == "icmp":
            return d, flipped
        return None
    return None


class _Variables:
    """The induction variables of a loop that its tests ask for; no others are worked out."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self._made: dict[Instruction, InductionVariable | None] = {}
        self._next: dict[Value, list[Instruction]] | None = None

    def tested(self, v: Value) -> tuple[InductionVariable, bool] | None:
        """The induction variable that a value is, and whether after its update."""
        v = _through_copies(v)
        if isinstance(v, Instruction) and v.is_phi and v.block is self.loop.header:
            variable = self._variable(v)
            if variable is not None:
                return variable, False
        for phi in self._carried(v):
            variable = self._variable(phi)
            if variable is not None:
                return variable, True
        return None

    def _variable(self, phi: Instruction) -> InductionVariable | None:
        if phi not in self._made:
            self._made[phi] = _variable(phi, self.loop, self.loop.members)
        return self._made[phi]

    def _carried(self, v: Value) -> list[Instruction]:
        """The header's phis that are the value, or a copy of it, in the next iteration."""
        if self._next is None:
            self._next = {}
            for phi in self.loop.header.phis:
                seen: dict[Value, None] = {}
                for x, b in phi.incoming:
                    while b in self.loop.members and x not in seen:
                        seen[x] = None
                        d = x.definer
                        if d is None or not _is_copy(d):
                            break
                        x = d.operands[0]
                for x in seen:
                    self._next.setdefault(x, []).append(phi)
        return self._next.get(v, [])


def _count(
    iv: InductionVariable, compare: str, type: str, bits: int, bound: Value, tests_update: bool
) -> int | None:
    """For how many iterations k = 0, 1, … the comparison holds before it first fails."""
    start, end, step = constant_of(iv.start), constant_of(bound), iv.step
    if start is None or end is None or not isinstance(step, int | float):
        return None
    if iv.kind == "float":
        if type not in ("f32", "f64") or not isinstance(step, float):
            return None
        x, y = counting.float_of(start, type), counting.float_of(end, type)
        return counting.float_count(x, step, compare, y, type, tests_update)
    if bits != iv.bits:
        return None
    step = int(step)
    first = start + step if tests_update else start
    return counting.integer_count(first, step, compare, end, type, bits)


def _expression(
    iv: InductionVariable, compare: str, bound: Value, tests_update: bool, at_bottom: bool
) -> str:
    """The trip count over names, e.g. "ceil((n - 1)/16)"; "unknown" where it is none."""
    step = iv.step
    down = compare in ("gt", "ge", "hi", "hs")
    if not isinstance(step, int | float):
        size = describe(step)
    elif compare in ("ne", "eq"):
        down, size = step < 0, str(abs(step))
    elif (step < 0) != down:
        return "unknown"
    else:
        size = str(abs(step))
    if compare == "eq":
        return "unknown"
    a, b = describe(iv.start), describe(bound)
    high, low = (a, b) if down else (b, a)
    if low == "0":
        distance = high
    elif high == "0":
        distance = f"-{low}"
    else:
        distance = _plus(high, -int(low)) if low.lstrip("-").isdigit() else f"{high} - {low}"
    if compare in ("le", "ge", "ls", "hs"):
        distance = _plus(distance, 1)
    if " " in distance:
        distance = f"({distance})"
    if size == "1":
        text = distance
    else:
        text = f"{distance}/{size}" if compare == "ne" else f"ceil({distance}/{size})"
    # A test after the update at the bottom, or before it at the top, counts as it is.
    if tests_update == at_bottom:
        return text
    return _plus(text, 1 if at_bottom else -1)


def _plus(text: str, n: int) -> str:
    """A sum as text with so much more."""
    m = re.fullmatch(r"(.*\S) ([+-]) (\d+)", text)
    if m is not None:
        text, n = m[1], n + int(m[2] + m[3])
    return f"{text} {'+' if n > 0 else '-'} {abs(n)}" if n else text


def describe(v: Value | Recomputed) -> str:
    """A short name for a value: a number, a parameter's name, or its register; for a product, the
    names of its factors."""
    if isinstance(v, Recomputed):
        text = "·".join(map(describe, v.factors))
        return f"({text})" if len(v.factors) > 1 else text
    c = constant_of(v)
    if c is not None and not (isinstance(v, Constant) and v.type is not IMM):
        return str(c)
    v = _through_copies(v)
    d = v.definer
    if d is not None and d.form.name == "ld" and d.operands and isinstance(d.operands[0], Param):
        p = d.operands[0]
        known = p.attributes.get("name")
        if known:
            return known
        function = d.function
        prefix = f"{function.name}_" if function is not None else ""
        return str(p.name).removeprefix(prefix)
    return str(v.name or "?")
