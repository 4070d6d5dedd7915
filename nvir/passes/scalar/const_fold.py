"""Constant folding: what follows from literals is worked out, branches on it included.

    %a = mov 6                     %a = mov 6
    %b = mul.lo %a, 7       ==>    %b = mov 42
    %p = setp.lt %b, 50            %p = mov 1
    @%p bra T                      bra T

What an instruction gives is asked of evaluate.py.

Method   Sparse conditional propagation: values start as unknown, only fall (unknown, one constant,
         varying), and are looked at again when an operand fell. Phis meet the values of the edges
         that can be taken; a branch on a constant lets one be taken. Then constants become moves
         (literals at nvvm), decided branches jumps, and what nothing leads to is deleted.
Needs    SSA.
Keeps    undefined values: they may be anything, but not two things. Values that asynchronous
         operations hold in place.
Leaves   moves to copy-prop, dead code to dce.
Skips    phis of more than 64 entries (each look at one costs its entries). Vectors. NaNs of PTX,
         which are the machine's; at nvvm, where LLVM leaves open which comes out, they are LLVM's.
Cost     linear: each value falls twice at most, and each fall costs its uses.
Source   Wegman, Zadeck, "Constant Propagation with Conditional Branches", TOPLAS 13(2), 1991.
"""

from __future__ import annotations

import attrs

from nvir.analysis.held import held_in_place
from nvir.ir import Block, Constant, Function, Instruction, ScalarType, Type, Value
from nvir.ir.opcodes.evaluate import APPROXIMATE, bits_of, evaluate, literal_of
from nvir.ir.opcodes.form import Form, form, nvvm_form
from nvir.ir.ssa.rewrite import substitute
from nvir.passes.context import Context
from nvir.passes.loop.region import drop
from nvir.passes.remarks import passed

FOLDED = passed("Folded", "{instructions} "
                "{instructions:instruction is a constant|instructions are constants}")
DECIDED = passed("BranchDecided", "{branch} always leads to {target}")
UNREACHABLE = passed("UnreachableRemoved", "removed {blocks} {blocks:block|blocks} "
                     "that nothing leads to")
CODES = (FOLDED, DECIDED, UNREACHABLE)

_MAX_ENTRIES = 64  # of a phi that is looked into


@attrs.frozen
class Options:
    """`branches`: decide branches and delete what is not reached. `approximate`: fold approximate
    functions as the assembler does, which the last bits of the hardware's results may not match."""

    branches: bool = True
    approximate: bool = False


def run(function: Function, ctx: Context) -> bool:
    if function.is_declaration:
        return False
    options: Options = ctx.options
    lattice = Lattice(function, branches=options.branches, approximate=options.approximate)
    lattice.solve()
    folded = _replace(function, lattice)
    if folded:
        ctx.count("folded", folded)
        ctx.remark(FOLDED, instructions=folded)
    decided = _decide(function, lattice, ctx) if options.branches else False
    return decided or folded > 0


class Lattice:
    """The propagation. After `solve`, `known` holds the constants among the values reached.

    varying     values that are no one constant
    reached     blocks that can be reached
    walked      those of them whose instructions have been visited, or are being so
    taken       for each block that was reached, the successors that it can lead to
    """

    def __init__(self, function: Function, *, branches: bool, approximate: bool) -> None:
        self.function, self.branches, self.approximate = function, branches, approximate
        self.known: dict[Value, int] = {}
        self.varying: set[Value] = set()
        self.reached: set[Block] = set()
        self.walked: set[Block] = set()
        self.taken: dict[Block, set[Block]] = {}
        self._kinds: dict[Form, int] = {}
        self._held = held_in_place(function)
        self._blocks: list[Block] = []
        self._again: list[Instruction] = []

    def solve(self) -> None:
        self._reach(self.function.entry)
        while self._blocks or self._again:
            while self._again:
                self._visit(self._again.pop())
            if self._blocks:
                self._walk(self._blocks.pop())

    def _walk(self, block: Block) -> None:
        """Visit a block's instructions for the first time. Nobody need be told: what reads a value
        of the block comes behind it, phis when an edge to them is taken behind it, too."""
        self.walked.add(block)
        known, varying, kinds = self.known, self.varying, self._kinds
        i = block.first
        while i is not None:
            kind = kinds.get(i.form)
            if kind == _NEVER:
                varying.add(i)
            elif kind == _PLAIN:
                for v in i._operands:
                    if v not in known and v.__class__ is not Constant:
                        if v in varying or v.__class__ is not Instruction:
                            varying.add(i)
                        else:
                            self._visit(i, first=True)
                        break
                else:
                    self._visit(i, first=True)
            else:
                self._visit(i, first=True)
            i = i.next

    def _reach(self, block: Block) -> None:
        self.reached.add(block)
        self.taken[block] = set()
        self._blocks.append(block)

    def _visit(self, i: Instruction, first: bool = False) -> None:
        """Work a value out anew. At the first visit of its block what uses it follows anyway."""
        if i in self.varying:
            return
        f = i.form
        kind = self._kinds.get(f)
        if kind is None:
            kind = self._kinds[f] = self._kind(f)
        if kind == _NEVER:
            self.varying.add(i)
            return
        if kind == _LEAVES:
            self._leave(i)
            return
        new = self._meet(i) if kind == _PHI else self._compute(i, kind)
        if new is None:
            return
        if new != _VARYING:
            new &= (1 << i.type.bits) - 1
            old = self.known.get(i)
            if old == new:
                return
            if old is None:
                self.known[i] = new
            else:
                new = _VARYING
        if new == _VARYING:
            self.known.pop(i, None)
            self.varying.add(i)
        if not first:
            again, walked = self._again, self.walked
            again += [user for user in i.users if user.block in walked]

    def _compute(self, i: Instruction, kind: int) -> int | None:
        """The value of an instruction from those of its operands; None while one is unknown."""
        known, varying = self.known, self.varying
        for v in i._operands:
            if v not in known and v.__class__ is not Constant:
                if v.__class__ is Instruction and v not in varying:
                    return None
                if kind == _PLAIN:
                    return _VARYING
        new = evaluate(i, known, approximate=self.approximate)
        return _VARYING if new is None else new

    def _kind(self, f: Form) -> int:
        if f.is_phi:
            return _PHI
        if f.terminator:
            return _LEAVES
        if f.op.level == "nvvm":
            return _CHOOSES if f.name == "select" else _PLAIN if f.pure or f.is_call else _NEVER
        if not f.pure or f.n_results != 1 or f.carry_in or f.carry_out:
            return _NEVER
        if f.op.fold is None and not (self.approximate and f.name in APPROXIMATE):
            return _NEVER
        return _CHOOSES if f.guard is not None else _PLAIN

    def _meet(self, phi: Instruction) -> int | None:
        """What the edges that can be taken agree on; None while there is none."""
        if len(phi._operands) > _MAX_ENTRIES or phi in self._held:
            return _VARYING
        found: int | None = None
        block = phi.block
        for v, b in phi.incoming:
            if block not in self.taken.get(b, ()):
                continue
            c = bits_of(v, self.known, None)
            if c is None:
                if v.__class__ is Instruction and v not in self.varying:
                    continue
                return _VARYING
            if phi.type.bits:
                c &= (1 << phi.type.bits) - 1
            if found is None:
                found = c
            elif found != c:
                return _VARYING
        return found

    def _leave(self, last: Instruction) -> None:
        block = last.block
        assert block is not None
        taken = self.taken[block]
        targets = self._targets(last)
        for target in dict.fromkeys(targets):
            if target in taken:
                continue
            taken.add(target)
            if target not in self.reached:
                self._reach(target)
            else:
                self._again.extend(target.phis)

    def _targets(self, last: Instruction) -> tuple[Block, ...]:
        """Where a terminator can lead, as far as is known."""
        choice = choice_of(last)
        if choice is None or not self.branches:
            return last.successors
        c = bits_of(choice, self.known, None)
        if c is not None:
            return (decided(last, c),)
        waits = choice.__class__ is Instruction and choice not in self.varying
        return () if waits else last.successors


_VARYING = -1  # no bit pattern
_NEVER, _PLAIN, _CHOOSES, _PHI, _LEAVES = range(5)


def choice_of(last: Instruction) -> Value | None:
    """The value that decides where a branch or switch leads; None for other terminators."""
    f = last.form
    if f.name == "bra":
        return last.guard if f.guard is not None else None
    if (f.name == "br" and last.operands) or f.name == "switch":
        return last.operands[0]
    return None


def decided(last: Instruction, c: int) -> Block:
    """Where a branch or switch leads if its value is `c`."""
    f, targets = last.form, last.successors
    if f.name == "bra":
        return targets[0 if (c & 1) == (f.guard != "!") else -1]
    if f.name == "br":
        return targets[0 if c & 1 else -1]
    mask = (1 << last.operands[0].type.bits) - 1
    for case, target in zip(last.operands[1:], targets[1:], strict=True):
        if isinstance(case, Constant) and int(case.value) & mask == c & mask:
            return target
    return targets[0]


# ------------------------------------------------------------- the rewrites


def _replace(function: Function, lattice: Lattice) -> int:
    """Constants become moves at ori, literals at nvvm; returns how many."""
    gone: dict[Value, Value] = {}
    count = 0
    for v, bits in lattice.known.items():
        assert isinstance(v, Instruction)
        assert v.block is not None
        if v in lattice._held or not _is_expressible(v.type):
            continue
        value = literal_of(v.type, bits)
        if v.form.op.level == "nvvm":
            gone[v] = value
        elif v.form.is_phi:
            move = _move(value, v)
            anchor = v.block.first_non_phi
            assert anchor is not None
            move.insert_before(anchor)
            gone[v] = move
        elif not (v.form.name == "mov" and v.form.guard is None and v.operands == (value,)):
            if v.form.name == "mov" and v.operands[0].__class__ is Constant and not v.guard:
                continue  # the same bits in another spelling
            _become(v, _move(value, v))
        else:
            continue
        count += 1
    if gone:
        substitute(gone)
        lattice.known.update((move, lattice.known[v]) for v, move in gone.items())  # branches ask
        for v in gone:
            assert isinstance(v, Instruction)
            function.marks.pop(v, None)
            v.erase()
    return count


def _is_expressible(t: Type) -> bool:
    return not isinstance(t, ScalarType) or (t.kind in "usbfp" and t.bits in (1, 16, 32, 64))


def _move(value: Value, like: Instruction) -> Instruction:
    t = like.type
    spelled = t.name if t.name in ("f32", "f64", "pred") else f"b{t.bits}"
    made = Instruction(form(f"mov.{spelled}", "%s, %s"), (value,), t, like.name)
    made.loc, made.line = like.loc, like.line
    return made


def _become(i: Instruction, move: Instruction) -> None:
    """Turn an instruction into another without touching its uses."""
    i.set_form(move.form)
    i.set_operands(move.operands)
    i.aux = None


def _decide(function: Function, lattice: Lattice, ctx: Context) -> bool:
    """Branches on constants become jumps; blocks that nothing leads to go."""
    changed = False
    for block in function.blocks:
        last = block.terminator
        choice = choice_of(last) if last is not None and block in lattice.reached else None
        c = bits_of(choice, lattice.known, None) if choice is not None else None
        if last is None or c is None:
            continue
        target = decided(last, c)
        ctx.count("branches")
        ctx.remark(DECIDED, last, branch=last.form.spelling, target=str(target.name))
        _jump(block, last, target)
        changed = True
    if not changed:
        return False
    unreached = {b for b in function.blocks if b not in lattice.reached}
    if unreached:
        _delete(function, unreached)
        ctx.count("blocks", len(unreached))
        ctx.remark(UNREACHABLE, blocks=len(unreached))
    return True


def _jump(block: Block, last: Instruction, target: Block) -> None:
    for s in dict.fromkeys(last.successors):
        if s is not target:
            _forget(s, {block})
    loc, line = last.loc, last.line
    ori = last.form.op.level == "ori"
    last.erase()
    made = Instruction(form("bra") if ori else nvvm_form("br"), aux=(target,), loc=loc)
    made.line = line
    block.append(made)


def _forget(block: Block, sources: set[Block]) -> None:
    """Phis lose their entries from `sources`."""
    for phi in block.phis:
        kept = [(v, b) for v, b in phi.incoming if b not in sources]
        phi.set_incoming([v for v, _ in kept], [b for _, b in kept])


def _delete(function: Function, gone: set[Block]) -> None:
    for target in dict.fromkeys(s for b in gone for i in (b.terminator,) if i for s in i.aux or ()):
        if target not in gone:
            _forget(target, gone)
    for b in gone:
        for i in b:
            if i.form.is_phi:
                i.set_incoming((), ())
            else:
                i.set_operands(())
    for b in gone:
        for i in b:
            function.marks.pop(i, None)
            i.remove()
    drop(function, gone)
    function.cfg_changed()
