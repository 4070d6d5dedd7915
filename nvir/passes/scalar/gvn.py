"""Global value numbering over the dominator tree.

Two instructions of the same form, result class and operand numbers compute the
same value; the one whose block dominates the other replaces it.

    %x = add %a, %b            %x = add %a, %b
    %y = add %b, %a     ==>    %z = mul %x, %x
    %z = mul %x, %y

Method   Preorder walk of the dominator tree with a scoped table: entries of a
         block hold while its subtree lasts. The number of a value is its
         leader. Phis of one block agree when their operands do, or are the same
         steps of each: two counters that begin alike. A load is keyed by a
         number for the state of memory, which changes at every write, barrier
         and call and where paths meet; loads that no store can change (.nc,
         .const, parameters of a kernel) go without.
Needs    SSA, dominator tree.
Keeps    blocks and edges. Operand order where the opcode does not commute.
         Every convergent operation in place.
Leaves   copies and dead code to their passes.
Skips    operations with effects, and convergent ones: a shuffle on two paths
         reads two different sets of lanes although its operands agree. Carry
         chains. Volatile special registers. Operations on constants alone,
         whose results are cheaper made anew than held in a register. Values
         that asynchronous operations hold in place.
Cost     one visit an instruction, one table lookup for a pure one.
Source   Briggs, Cooper, Simpson, "Value Numbering", SP&E 27(6), 1997, section 3.
"""

from __future__ import annotations

import functools
from typing import Any

import attrs

from nvir.analysis.callees import is_pure, may_write
from nvir.analysis.held import held_in_place
from nvir.ir import Block, Form, Function, Instruction, SpecialRegister, SymbolOffset, Value
from nvir.ir.ssa.rewrite import can_stand_for, discard, substitute
from nvir.ir.types import VOID, ScalarType
from nvir.passes.context import Context
from nvir.passes.remarks import line_of, missed, passed, place_of

REPLACED = passed(
    "Replaced", "replaced {instructions} instructions that compute a value anew, {loads} of "
    "them loads"
)
CLOBBERED = missed(
    "Clobbered", "{load} reads again what line {first} has read, for memory may have been "
    "written by {cause}"
)
CODES = (REPLACED, CLOBBERED)


@attrs.frozen
class Options:
    """loads: also loads that no write can have changed."""

    loads: bool = True


# What a form means to the walk.
_SKIP, _PURE, _COMMUTES, _PHI, _LOAD, _INVARIANT, _CLOBBER = range(7)


def run(function: Function, ctx: Context) -> bool:
    numbering = _Numbering(function, ctx.options.loads)
    numbering.walk()
    for load, first, cause in numbering.read_again:
        ctx.remark(CLOBBERED, load, load=load.form.spelling, first=line_of(first), cause=cause)
    leaders = numbering.leaders
    if not leaders:
        return False
    substitute(leaders)
    instructions = list(dict.fromkeys(i for v in leaders if (i := v.definer) is not None))
    loads = 0
    for i in instructions:
        loads += i.form.reads
    discard(instructions, function)
    ctx.count("replaced", len(instructions))
    ctx.count("loads", loads)
    ctx.remark(REPLACED, instructions=len(instructions), loads=loads)
    return True


@functools.cache
def _kind(form: Form, makes: bool, loads: bool) -> tuple[int, bool]:
    """What a form that makes results (or none) means to the walk, and whether it commutes."""
    return _meaning(form, makes, loads), form.op.commutes


def _meaning(form: Form, makes: bool, loads: bool) -> int:
    op = form.op
    if form.is_phi:
        return _PHI
    if form.pure:
        if form.carry_in or form.carry_out or not makes:
            return _SKIP
        if op.level == "nvvm":
            return _INVARIANT  # whose key has `aux`
        plain = "!" not in form.shape and "{" not in form.shape
        return _COMMUTES if op.commutes and plain else _PURE
    if op.pseudo:
        return _SKIP
    if form.writes or form.sync or form.is_call or form.convergent or form.pinned:
        return _CLOBBER
    if form.reads and loads and makes and not op.async_until:
        return _INVARIANT if form.invariant else _LOAD
    return _SKIP


class _Numbering:
    """The walk. `leaders` maps each redundant value to the one that replaces it.

    The table needs no undoing: an entry whose block does not dominate the block
    at hand lies in a subtree that is done, and the next one takes its place.
    Whatever may speak against merging two instructions is looked at when their
    keys meet, which is rare, not when the keys are made.
    """

    def __init__(self, function: Function, loads: bool) -> None:
        self.function, self.loads = function, loads
        self.leaders: dict[Value, Value] = {}
        self.stale: set[Instruction] = set()  # users of a key of `leaders`
        # For each form what it means, whether it commutes, and its instructions by the rest of
        # their key: for most the operands, a tuple that is there already.
        self.forms: dict[Form, tuple[int, bool, dict[Any, Instruction]]] = {}
        self.held = held_in_place(function)
        self.parameters = frozenset(function.params if function.is_kernel else ())
        self.memory = 0  # number of the state of memory at the place of the walk
        self.states = 0  # how many there have been
        self.at_end: dict[Block, int] = {}  # the state at the end of each block
        self.causes: list[Instruction | None] = [None]  # what began each state; None: paths meet
        self.newest: dict[Any, tuple[Instruction, int]] = {}  # load of each key, its state
        self.read_again: list[tuple[Instruction, Instruction, str]] = []

    def walk(self) -> None:
        children: dict[Block, list[Block]] = {}
        for block, parent in self.function.idom.items():
            if parent is not None:
                children.setdefault(parent, []).append(block)
        work = [self.function.entry]
        while work:
            block = work.pop()
            self._enter(block)
            self._block(block)
            self.at_end[block] = self.memory
            work.extend(reversed(children.get(block, ())))

    def _enter(self, block: Block) -> None:
        """Memory is as a single predecessor left it; where paths meet it is new."""
        preds = block.preds
        if len(preds) == 1 and preds[0] is block.idom:
            self.memory = self.at_end[preds[0]]
        else:
            self._clobber(None)

    def _clobber(self, cause: Instruction | None) -> None:
        self.states += 1
        self.memory = self.states
        self.causes.append(cause)

    def _block(self, block: Block) -> None:
        leaders, stale, forms = self.leaders, self.stale, self.forms
        key: Any
        i = block.first
        while i is not None:
            form = i.form
            known = forms.get(form)
            if known is None:
                makes = i._results is not None or i.type is not VOID
                known = forms[form] = (*_kind(form, makes, self.loads), {})
            kind, commutes, table = known
            if kind == _SKIP:
                i = i.next
                continue
            key = i._operands
            if i in stale:
                key = tuple([leaders.get(v, v) for v in key])
            if kind == _COMMUTES:
                a, b, *rest = key
                if id(b) < id(a):
                    key = (b, a, *rest)
            elif kind != _PURE:
                key = self._key(i, kind, commutes, key)
            if key is not None:
                first = table.setdefault(key, i)
                if first is i:
                    pass
                elif first.block is block or first.block.dominates(block):  # type: ignore[union-attr]
                    self._merge(i, first)
                else:
                    table[key] = i
            i = i.next

    def _key(
        self, i: Instruction, kind: int, commutes: bool, operands: tuple[Value, ...]
    ) -> Any:
        """What must agree, beside the form, for two instructions to be one; None: `i` stays."""
        if kind == _CLOBBER:
            return self._call_key(i, operands) if i.form.is_call else self._clobber(i)
        if kind == _PHI:
            return self._phi_key(i, operands)
        aux = i.aux
        if aux.__class__ in (list, dict):
            return None
        cls: Any = i.type  # zext to i32 is not zext to i64
        if cls.__class__ is ScalarType:
            cls = cls.cls
        if commutes and id(operands[1]) < id(operands[0]):
            operands = (operands[1], operands[0], *operands[2:])
        if kind == _LOAD and not self._is_parameter(i):
            self._compare(i, (i.form, operands, aux, cls))
            return (operands, aux, cls, self.memory)
        return (operands, aux, cls)

    def _call_key(self, i: Instruction, operands: tuple[Value, ...]) -> Any:
        """Calls of nvvm may do less than the row says: read a register, compute."""
        if i.form.op.level == "nvvm":
            if is_pure(i):
                return (i.aux.callee, operands, i.type)
            if not may_write(i):
                return None
        return self._clobber(i)

    def _phi_key(self, phi: Instruction, operands: tuple[Value, ...]) -> Any:
        values = set(operands)
        values.discard(phi)
        if len(values) == 1:  # a phi of one value is that value
            value = values.pop()
            if not value.is_constant and self._may_replace(phi, value):
                self._replace(phi, value)
            return None
        order = sorted(range(len(operands)), key=[b.rpo_index for b in phi.aux].__getitem__)
        return (phi.block, tuple([self._step(phi, operands[k]) for k in order]))

    def _step(self, phi: Instruction, value: Value) -> Any:
        """What a phi gets from a predecessor; of a pure operation on the phi itself the operation:
        phis that begin alike and take the same steps stay alike."""
        d = value.definer
        if d is not value or not d.form.pure or phi not in d._operands \
                or d.form.carry_in or d.form.carry_out or d.aux.__class__ in (list, dict) \
                or not _worth_keeping(d._operands):
            return value
        others = tuple([None if v is phi else self.leaders.get(v, v) for v in d._operands])
        return (d.form, others, d.aux, getattr(d.type, "cls", d.type))

    def _compare(self, load: Instruction, key: Any) -> None:
        """Note a load that could go if memory were as it was at an earlier one."""
        first, state = self.newest.get(key, (load, self.memory))
        self.newest[key] = (load, self.memory)
        assert first.block is not None
        assert load.block is not None
        if state != self.memory and first.block.dominates(load.block):
            cause = self.causes[self.memory]
            where = f"{cause.form.spelling} at {place_of(cause)}" if cause else "other paths"
            self.read_again.append((load, first, where))

    def _is_parameter(self, i: Instruction) -> bool:
        """Whether a load reads a parameter of the kernel, which nothing can change."""
        addresses: tuple[tuple[int, int], ...] = i.form.addresses
        if not self.parameters or not addresses:
            return False
        base = i.operands[addresses[0][0]]
        return (base.symbol if isinstance(base, SymbolOffset) else base) in self.parameters

    def _merge(self, i: Instruction, first: Instruction) -> None:
        """Let `first`, whose key is that of `i`, replace it if nothing speaks against it."""
        if i.form.pure and not _worth_keeping(i._operands):
            return
        olds, news = i.results, first.results
        if len(olds) != len(news):
            return
        if len(olds) == 1:
            if self._may_replace(olds[0], news[0]):
                self._replace(olds[0], news[0])
            return
        for old, new in zip(olds, news, strict=True):
            if not self._may_replace(old, new):
                return
        for old, new in zip(olds, news, strict=True):
            self._replace(old, new)

    def _may_replace(self, old: Value, new: Value) -> bool:
        if self.held and (old in self.held or new in self.held):
            return False
        return old.type is new.type or can_stand_for(new, old)

    def _replace(self, old: Value, new: Value) -> None:
        self.leaders[old] = new
        self.stale.update(old.users)


def _worth_keeping(operands: tuple[Value, ...]) -> bool:
    """Whether the operands are not all constants, and none is a volatile register."""
    found = False
    for v in operands:
        if v.__class__ is Instruction:
            found = True
        elif isinstance(v, SpecialRegister):
            if v.volatile:
                return False
            found = True
        elif not v.is_constant:
            found = True
    return found
