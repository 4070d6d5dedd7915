"""Strength reduction: a product with an induction variable becomes a sum that is carried on.

    pre:                                   pre:  %a0 = mad %i0, %n, %b;  %d = …
    L:  %i = phi [%i0, pre], [%j, L]  ==>  L:    %a = phi [%a0, pre], [%a1, L]
        %a = mad %i, %n, %b                      use %a
        use %a; %j = add %i, 4                   %a1 = add %a, %d;  %j = add %i, 4

A value is linear if it is made of one induction variable by additions of, and multiplications by,
what the loop does not change. In arithmetic modulo 2^bits it then grows by one amount each
iteration, wrapped or not; that amount is the value of the chain one step on, less its value at the
start, both worked out before the loop (a literal where all factors are). Where the chain widens
(mul.wide, cvt) the narrow value must be known not to wrap, by the ranges of `affine`.

Method   One walk over a loop finds the linear values; its roots are those that something else
         uses. What goes with each root is weighed: operations of the chain that nothing else needs,
         against the addition and the register that come. Roots a constant apart share a recurrence.
Needs    SSA, fresh CFG annotations, canonical loops (loop-simplify).
Keeps    blocks and edges, the tested variable, what each value is in each iteration.
Leaves   the old chain to dce.
Skips    floats. Chains that widen what may wrap. Loops whose pressure is at the limit already.
Policy   `observed` weighs machine operations: a product or shift and the sum that takes it are one
         (IMAD, LEA), a 64-bit sum is two. So an address stays as it is, and 64-bit products
         go. `documented` counts every operation as one, a product as three.
Cost     linear in the loops, a block once for each loop around it.
Source   The notes' phase 21; Allen, Cocke, Kennedy, "Reduction of Operator Strength", 1981.
"""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from nvir.analysis.affine import AffineForms
from nvir.analysis.held import held_in_place
from nvir.analysis.induction import InductionVariable, Recomputed, induction_variables, is_invariant
from nvir.analysis.pressure import loop_pressures, width
from nvir.ir import SCALARS, Block, Form, Function, Instruction, Loop, OpKind, ScalarType, form
from nvir.ir.ssa.rewrite import substitute
from nvir.ir.values import Constant, Value, integer
from nvir.passes.context import Context
from nvir.passes.loop import region
from nvir.passes.loop.unroll.fold import move_of
from nvir.passes.remarks import analysis, missed, passed

REDUCED = passed(
    "StrengthReduced", "{value} ({what}) is carried on by {step}: weight {saved} for {added}"
)
SHARED = passed("RecurrenceShared", "{value} ({what}) is {other} plus {distance}")
NOT_PAYING = analysis(
    "ReductionNotPaying", "{value} ({what}) stays: weight {saved} would go, {added} come"
)
WRAPS = missed("NarrowValueMayWrap", "{what} stays: what it widens may wrap")
PRESSURE = missed(
    "ReductionPressure", "{value} ({what}) stays: {registers} registers are live, limit {limit}"
)
CODES = (REDUCED, SHARED, NOT_PAYING, WRAPS, PRESSURE, region.NOT_CANONICAL)


@attrs.frozen
class Options:
    """`pressure`: 32-bit registers live in the loop up to which recurrences are added; 0: any."""

    pressure: int = 128


_BITS = (32, 64)


@attrs.define(eq=False)
class Linear:
    """A linear value: of which variable, and by how much it grows for each step of one; None where
    that is no number."""

    value: Instruction
    variable: InductionVariable
    growth: int | None
    widens: bool = False


def run(function: Function, ctx: Context) -> bool:
    if not function.back_edges:
        return False
    changed = False
    held = held_in_place(function)
    known = ctx.analyses(function)
    loops, forms = known.loops[::-1], known.affine
    pressures = loop_pressures([x for x in loops if region.is_canonical(x)], known.liveness)
    for loop in loops:
        if not region.is_canonical(loop):
            ctx.remark(region.NOT_CANONICAL, loop, done="reduced")
            continue
        work = _Reduction(loop, ctx, forms, pressures[loop.header], held)
        changed |= work.run()
    return changed


class _Reduction:
    def __init__(
        self, loop: Loop, ctx: Context, forms: AffineForms, live: int, held: frozenset[Value],
    ) -> None:
        self.loop, self.ctx, self.forms, self.held = loop, ctx, forms, held
        self.inside = loop.members
        self.live = live
        self.linear: dict[Value, Linear] = {}
        self.made: list[tuple[Instruction, Instruction]] = []  # root, its phi

    def run(self) -> bool:
        self._find()
        roots = [x for x in self.linear.values() if self._is_root(x)]
        for root in sorted(roots, key=self._depth, reverse=True):
            self._consider(root)
        if not self.made:
            return False
        substitute(dict(self.made))
        return True

    # ------------------------------------------------------ what is linear

    def _find(self) -> None:
        for iv in induction_variables(self.loop):
            if isinstance(iv.step, Recomputed):
                continue  # its step is not there before the loop
            if iv.kind != "float" and iv.phi.type.bits == iv.bits and iv.bits in _BITS:
                self.linear[iv.phi] = Linear(iv.phi, iv, 1)
        if not self.linear:
            return
        near = self._users()
        held = {i.block for i in near}
        for i in (i for b in self.loop.blocks if b in held for i in b if i in near):
            found = self._linear(i)
            if found is not None:
                self.linear[i] = found

    def _users(self) -> set[Instruction]:
        """What in the loop is made of linear values, at whatever distance."""
        near: set[Instruction] = set()
        todo: list[Value] = list(self.linear)
        while todo:
            for i in todo.pop().users:
                if i not in near and i.form.op.linear and i.block in self.inside:
                    near.add(i)
                    todo.append(i)
        return near

    def _linear(self, i: Instruction) -> Linear | None:
        f = i.form
        carriers = f.op.linear  # what else it reads must not change in the loop
        if not carriers or f.guard is not None or i._results is not None or i in self.held:
            return None
        t = f.type
        if t is None or not _wraps(i) or f.carry_in or f.carry_out:
            return None
        found = [k for k in carriers if i.operands[k] in self.linear]
        rest = [v for k, v in enumerate(i.operands) if k not in found]
        if len(found) != 1 or not all(is_invariant(v, self.inside) for v in rest):
            return None
        source = self.linear[i.operands[found[0]]]
        inner = source.growth
        if inner is not None:  # of a narrow value that does not wrap: the number that it grows by
            inner = _nearest_zero(inner, source.value.type.bits)
        growth = _growth(i, found[0], inner)
        if growth == ():
            return None
        if i.type.bits > source.value.type.bits and not (f.name == "mad" and found[0] == 2):
            if not self._is_kept(i, source):
                self.ctx.remark(WRAPS, i, what=f.spelling)
                return None
            return Linear(i, source.variable, _number(growth), True)
        if t.bits != i.type.bits or i.type.bits != source.value.type.bits:
            return None
        return Linear(i, source.variable, _number(growth), source.widens)

    def _is_kept(self, i: Instruction, source: Linear) -> bool:
        """Whether widening the source gives its number in every iteration."""
        types = [m for m in i.form.mods if m[0] in "us" and m[1:].isdigit()]
        if not types or self.forms.range_of(source.variable.phi) is None:
            return False
        read = types[-1]
        bits = int(read[1:])
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if read[0] == "s" else (
            0, (1 << bits) - 1)
        interval = self.forms.interval(self.forms.of(source.value))
        return (
            bits == source.value.type.bits and interval is not None
            and low <= interval[0] and interval[1] <= high
        )

    def _is_root(self, x: Linear) -> bool:
        """Whether something reads the value that is no part of a longer chain."""
        if x.value.form.is_phi or x.value is x.variable.update:
            return False
        return any(u not in self.linear for u in x.value.users)

    def _depth(self, x: Linear) -> int:
        return len(self._chain(x.value))

    # -------------------------------------------------------- what it pays

    def _consider(self, root: Linear) -> None:
        i, ctx = root.value, self.ctx
        name, what = str(i.name), i.form.spelling
        if self._share(root):
            return
        chain = self._chain(i)
        gone = self._goes_with(i, chain)
        saved = sum(self._weight(x, gone) for x in gone)
        added = 2 if ctx.policy == "observed" and i.type.bits == 64 else 1
        if saved <= added:
            ctx.remark(NOT_PAYING, i, value=name, what=what, saved=saved, added=added)
            return
        limit = ctx.options.pressure
        if limit and self.live + width(i.type) > limit:
            ctx.remark(PRESSURE, i, value=name, what=what, registers=self.live, limit=limit)
            return
        self.live += width(i.type)
        step = self._carry(root, chain)
        ctx.count("reduced")
        ctx.remark(REDUCED, i, value=name, what=what, step=step, saved=saved, added=added)

    def _chain(self, root: Instruction) -> list[Instruction]:
        """The linear operations that a root is made of, operands first."""
        chain: list[Instruction] = []
        i: Value = root
        while i in self.linear and not self.linear[i].value.form.is_phi:
            assert isinstance(i, Instruction)
            chain.append(i)
            i = next(v for v in i.operands if v in self.linear)
        return chain[::-1]

    def _goes_with(self, root: Instruction, chain: list[Instruction]) -> list[Instruction]:
        """What nothing needs once the root is carried on."""
        gone: dict[Instruction, None] = {root: None}
        for i in reversed(chain[:-1]):
            if i is self.linear[root].variable.update or any(u not in gone for u in i.users):
                break
            gone[i] = None
        return list(gone)

    def _weight(self, i: Instruction, gone: list[Instruction]) -> int:
        wide = i.type.bits == 64 and i.form.type is not None and i.form.type.bits == 64
        product = i.form.kind is OpKind.MULTIPLY
        if self.ctx.policy != "observed":
            return 3 if product else 1
        if i.form.name == "add" and any(
            v in gone and v.definer is not None and _scales(v.definer.form)
            and v.use_count == 1 for v in i.operands
        ):
            return 0
        return (4 if product else 2) if wide else 1

    # ------------------------------------------------------------- rewrites

    def _share(self, root: Linear) -> bool:
        """Name the value by a recurrence that is there, if a constant lies between."""
        i = root.value
        for other, phi in self.made:
            if self.linear[other].variable is not root.variable or other.type.bits != i.type.bits:
                continue
            difference = self.forms.of(i) - self.forms.of(other)
            if not (difference.is_constant and difference.modulus >= i.type.bits):
                continue
            distance = difference.constant
            sum_ = _sum(phi, integer(distance), i)
            sum_.insert_before(i)
            self.made.append((i, sum_))
            self.ctx.count("shared")
            self.ctx.remark(
                SHARED, i, value=str(i.name), what=i.form.spelling, other=str(other.name),
                distance=distance,
            )
            return True
        return False

    def _carry(self, root: Linear, chain: list[Instruction]) -> str:
        """Make the recurrence; returns by how much it is carried on, as text."""
        i, iv, loop = root.value, root.variable, self.loop
        entry, latch = loop.entries[0], loop.latches[0]
        start = _copy(chain, {iv.phi: _register(iv.start, iv.phi, entry)}, entry)
        step = self._step(root, chain, start, entry)
        phi = Instruction(form("phi"), (), i.type, i.name, ())
        phi.loc, phi.line = i.loc, i.line
        loop.header.insert_phi(phi)
        following = _sum(phi, step, i)
        end = latch.terminator
        assert end is not None
        following.insert_before(end)
        phi.set_incoming((start, following), (entry, latch))
        self.made.append((i, phi))
        return "a value from before the loop" if step.name is None else str(step.name)

    def _step(self, root: Linear, chain: list[Instruction], start: Value, entry: Block) -> Value:
        iv, bits = root.variable, root.value.type.bits
        if root.growth is not None and isinstance(iv.step, int):
            return integer(_nearest_zero(root.growth * iv.step, bits))
        assert isinstance(iv.step, int | Value)
        amount = iv.step if isinstance(iv.step, Value) else integer(iv.step)
        next_ = _sum(_register(iv.start, iv.phi, entry), amount, iv.phi)
        _at_end(next_, entry)
        later = _copy(chain, {iv.phi: next_}, entry)
        t = f"s{bits}"
        difference = Instruction(form(f"sub.{t}", "%s, %s, %s"), (later, start), root.value.type)
        return _at_end(difference, entry)


def _wraps(i: Instruction) -> bool:
    """Whether an operation is integer arithmetic that wraps, of the width of its register."""
    if not {"sat", "hi", "cc"}.isdisjoint(i.form.mods) or i.type.bits not in _BITS:
        return False
    types = [SCALARS[m] for m in i.form.mods if m in SCALARS]
    if not types or any(t.name[0] not in "usb" or not t.name[1:].isdigit() for t in types):
        return False
    return i.form.name != "cvt" or types[0].bits == i.type.bits


def _nearest_zero(n: int, bits: int) -> int:
    n &= (1 << bits) - 1
    return n - (1 << bits) if n >> (bits - 1) else n


def _scales(f: Form) -> bool:
    return f.kind in (OpKind.MULTIPLY, OpKind.SHIFT) and f.n_sources == 2


def _growth(i: Instruction, at: int, inner: int | None) -> int | tuple[()] | None:
    """How much a linear value grows for each 1 of its variable; () where the shape is another."""
    name, operands = i.form.name, i.operands
    if name == "cvt":
        return inner if len(operands) == 1 else ()
    if i.form.kind is OpKind.SUM or (name == "mad" and at == 2):
        if name == "sub" and at == 1:
            return None if inner is None else -inner
        return inner
    if name == "shl":
        by = operands[1]
        if not isinstance(by, Constant) or not 0 <= by.value < i.type.bits:
            return ()
        return None if inner is None else inner << by.value
    if "lo" not in i.form.mods and "wide" not in i.form.mods:
        return ()
    factor = operands[1 - at]
    if isinstance(factor, Constant) and isinstance(factor.value, int):
        return None if inner is None else inner * _as_read(i, factor.value)
    return None


def _as_read(i: Instruction, n: int) -> int:
    """A literal factor as the instruction reads it: mul.wide extends it."""
    t = i.form.type
    assert t is not None
    return _nearest_zero(n, t.bits) if t.kind == "s" else n & ((1 << t.bits) - 1)


def _number(growth: int | tuple[()] | None) -> int | None:
    return growth if isinstance(growth, int) else None


def _sum(a: Value, b: Value, like: Instruction) -> Instruction:
    """`a + b`, declared as another value, in no block yet."""
    made = Instruction(form(f"add.s{like.type.bits}", "%s, %s, %s"), (a, b), like.type, like.name)
    made.loc, made.line = like.loc, like.line
    return made


def _at_end(i: Instruction, block: Block) -> Instruction:
    last = block.terminator
    assert last is not None
    i.insert_before(last)
    return i


def _register(value: Value, like: Instruction, block: Block) -> Value:
    """A value that every operand takes: of a literal a move, at the end of the block."""
    if not isinstance(value, Constant):
        return value
    assert isinstance(like.type, ScalarType)
    return _at_end(move_of(value, like), block)


def _copy(chain: list[Instruction], given: Mapping[Value, Value], block: Block) -> Value:
    """The chain anew at the end of a block, its variable replaced; the value of the last."""
    known: dict[Value, Value] = dict(given)
    made: Value = next(iter(given.values()))
    for i in chain:
        operands = tuple([known.get(v, v) for v in i.operands])
        copy = Instruction(i.form, operands, i.type, i.name, i.aux)
        copy.loc, copy.line = i.loc, i.line
        known[i] = made = _at_end(copy, block)
    return made
