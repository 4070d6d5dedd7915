"""Instructions: a form filled with operand values.

An instruction of one result is its own value. One of several results owns
`Result` objects. Operands are a tuple that only the setters here replace, so
the uses of values always agree with it.

`aux` holds what is neither value nor spelling:

    phi             tuple of predecessor blocks, one for each operand
    terminators     tuple of successor blocks
    call, unknown   a `CallInfo`, a `Loose`
    debug.label, pragma   the text
    nvvm rows       what the row documents (element type, alignment, indices …)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import attrs

from nvir.ir.display import Printed
from nvir.ir.opcodes.form import Form
from nvir.ir.types import VOID, Type
from nvir.ir.values import UNTRACKED, Result, Value

if TYPE_CHECKING:
    from nvir.ir.block import Block
    from nvir.ir.function import Function
    from nvir.ir.opcodes import Op


@attrs.frozen
class Location:
    """A source place. `inlined` holds PTX's further `.loc` attributes as they are written."""

    file: int
    line: int
    col: int = 0
    inlined: str = ""


class Instruction(Value, Printed):
    """One operation. `block`, `prev` and `next` place it; see the module docstring for `aux`."""

    __slots__ = (
        "_operands", "_results", "aux", "block", "form", "line", "loc", "next", "prev",
    )
    block: Block | None
    prev: Instruction | None
    next: Instruction | None

    def __init__(
        self,
        form: Form,
        operands: tuple[Value, ...] = (),
        type: Type = VOID,
        name: str | None = None,
        aux: Any = None,
        loc: Location | None = None,
    ) -> None:
        self.form = form
        self._operands = operands
        self.type = type
        self.name = name
        self._uses = None
        self._results: tuple[Result, ...] | None = None
        self.aux = aux
        self.loc = loc
        self.line = 0  # in the text that was read; 0 for an instruction that was built
        self.block = self.prev = self.next = None
        for v in operands:
            u = v._uses
            if u is None:
                v._uses = self
            elif u is not UNTRACKED:
                v.add_use(self)

    def set_results(self, types: Sequence[Type], names: Sequence[str | None]) -> None:
        """Give the instruction several results (or none, or one that is itself)."""
        if len(types) == 1:
            self.type, self.name, self._results = types[0], names[0], None
        else:
            self._results = tuple(
                Result(self, i, t, n) for i, (t, n) in enumerate(zip(types, names, strict=True))
            )

    # ---------------------------------------------------------- reading

    @property
    def op(self) -> Op:
        """The opcode's row."""
        return self.form.op

    @property
    def operands(self) -> tuple[Value, ...]:
        return self._operands

    @property
    def results(self) -> tuple[Value, ...]:
        """The values that the instruction makes: none, itself, or its `Result`s."""
        if self._results is not None:
            return self._results
        return () if self.type is VOID else (self,)

    @property
    def definer(self) -> Instruction:
        return self

    @property
    def function(self) -> Function | None:
        return self.block.function if self.block is not None else None

    @property
    def is_phi(self) -> bool:
        return self.form.is_phi

    @property
    def is_terminator(self) -> bool:
        return self.form.terminator

    @property
    def guard(self) -> Value | None:
        """The predicate under which the instruction runs, or None. `form.guard` is its sign."""
        g = self.form.guard_index
        if g >= 0:
            return self._operands[g]
        if self.form.guard is not None and isinstance(self.aux, Loose):
            return self._operands[self.aux.guard_index]
        return None

    @property
    def sources(self) -> tuple[Value, ...]:
        """The written sources: operands without tied ones, carry, guard and fallbacks."""
        n = self.form.n_sources
        if n < 0 and isinstance(self.aux, Loose):
            n = self.aux.n_sources
        return self._operands if n < 0 else self._operands[:n]

    @property
    def fallbacks(self) -> tuple[Value, ...]:
        """For each result, the value that it has where the guard is false; () unguarded."""
        g = self.form.guard_index
        if g < 0 and self.form.guard is not None:
            g = self.aux.guard_index
        return self._operands[g + 1 :] if g >= 0 else ()

    @property
    def ties(self) -> tuple[tuple[int, int], ...]:
        """(result index, operand index) pairs that must share one register."""
        return self.aux.ties if isinstance(self.aux, Loose) else self.form.ties

    @property
    def successors(self) -> tuple[Block, ...]:
        """Target blocks of a terminator, in order; a block may stand twice."""
        return self.aux if self.form.terminator and self.aux else ()

    @property
    def incoming(self) -> Iterable[tuple[Value, Block]]:
        """(value, predecessor) pairs of a phi."""
        return zip(self._operands, self.aux, strict=True)

    @property
    def has_effect(self) -> bool:
        """Whether it must stay although no result is used."""
        return self.form.has_effect

    # ---------------------------------------------------------- changing

    def _edited(self) -> None:
        if self.block is not None:
            self.block.function.edits += 1

    def set_form(self, form: Form) -> None:
        """Make it another operation of the same operands and results."""
        self._edited()
        self.form = form

    def set_operands(self, operands: tuple[Value, ...]) -> None:
        """Replace all operands; uses follow, and those of an operand that stays are left alone."""
        self._edited()
        old = self._operands
        self._operands = operands
        if len(old) == len(operands):
            for v, new in zip(old, operands, strict=True):
                if v is not new:
                    v.drop_use(self)
                    new.add_use(self)
            return
        for v in old:
            v.drop_use(self)
        for v in operands:
            v.add_use(self)

    def set_operand(self, index: int, value: Value) -> None:
        self._edited()
        ops = self._operands
        ops[index].drop_use(self)
        self._operands = (*ops[:index], value, *ops[index + 1 :])
        value.add_use(self)

    def replace_operand(self, old: Value, new: Value) -> None:
        """Wherever the operands name `old` they name `new`."""
        self._edited()
        count = 0
        ops = []
        for v in self._operands:
            if v is old:
                count += 1
                ops.append(new)
            else:
                ops.append(v)
        self._operands = tuple(ops)
        for _ in range(count):
            old.drop_use(self)
            new.add_use(self)

    def arriving(self, block: Block) -> Value:
        """What a phi is where control comes from `block`."""
        v: Value = self._operands[self.aux.index(block)]
        return v

    def set_incoming(self, values: Sequence[Value], blocks: Sequence[Block]) -> None:
        """Replace all operands of a phi: `values[i]` arrives from `blocks[i]`."""
        if len(values) != len(blocks):
            raise ValueError(f"{len(values)} values for {len(blocks)} blocks")
        self.set_operands(tuple(values))
        self.aux = tuple(blocks)

    def add(self, value: Value, block: Block) -> None:
        """Add to a phi: `value` arrives from `block`."""
        self.set_incoming((*self._operands, value), (*self.aux, block))

    def replace_incoming(
        self, block: Block, values: Sequence[Value], blocks: Sequence[Block]
    ) -> None:
        """Of a phi: in place of what arrives from `block`, `values[i]` arrives from `blocks[i]`."""
        self._edited()
        k, ops = self.aux.index(block), self._operands
        ops[k].drop_use(self)
        for v in values:
            v.add_use(self)
        self._operands = (*ops[:k], *values, *ops[k + 1 :])
        self.aux = (*self.aux[:k], *blocks, *self.aux[k + 1 :])

    def set_successor(self, old: Block, new: Block) -> None:
        """Wherever the terminator leads to `old` it leads to `new`. Phis are the caller's."""
        self.aux = tuple(new if b is old else b for b in self.aux)
        if self.block is not None:
            self.block.function.cfg_changed()

    def replace_with(self, values: Value | Sequence[Value]) -> None:
        """All uses of the results name `values` instead; then erase the instruction."""
        news = (values,) if isinstance(values, Value) else tuple(values)
        for old, new in zip(self.results, news, strict=True):
            old.replace_all_uses_with(new)
        self.erase()

    # ----------------------------------------------------------- placing

    def remove(self) -> None:
        """Take the instruction out of its block; it keeps its operands and can be placed again."""
        block = self.block
        if block is None:
            return
        block.function.edits += 1
        p, n = self.prev, self.next
        if p is None:
            block.first = n
        else:
            p.next = n
        if n is None:
            block.last = p
        else:
            n.prev = p
        self.block = self.prev = self.next = None
        if self.form.terminator:
            block.function.cfg_changed()

    def erase(self) -> None:
        """Remove the instruction for good. Raises ValueError while a result has uses elsewhere."""
        for r in (self,) if self._results is None else self._results:
            u = r._uses
            if u is not None and u is not self and any(x is not self for x in r.users):
                raise ValueError(f"erasing {self.form.spelling}, whose result {r.name} has uses")
        self.remove()
        for v in self._operands:
            v.drop_use(self)
        self._operands = ()

    def insert_before(self, other: Instruction) -> None:
        """Place this instruction directly before `other`."""
        block = other.block
        if block is None or self.block is not None:
            raise ValueError("insert_before needs a placed anchor and an unplaced instruction")
        block.function.edits += 1
        p = other.prev
        self.block, self.prev, self.next = block, p, other
        other.prev = self
        if p is None:
            block.first = self
        else:
            p.next = self
        if self.form.terminator:
            block.function.cfg_changed()

    def insert_after(self, other: Instruction) -> None:
        """Place this instruction directly after `other`."""
        if other.next is not None:
            self.insert_before(other.next)
        elif other.block is not None:
            other.block.append(self)
        else:
            raise ValueError("insert_after needs a placed anchor")

    def move_before(self, other: Instruction) -> None:
        self.remove()
        self.insert_before(other)

    def __repr__(self) -> str:
        return f"<Instruction {self.name or ''} {self.form.spelling}>"


# Read everywhere, so without a call: the slot itself. Whoever would write it, mypy stops.
Instruction.operands = Instruction.__dict__["_operands"]  # type: ignore[method-assign]


@attrs.define(eq=False)
class Loose:
    """The layout of an instruction whose form does not fix it: calls and unknown mnemonics.

    Operands are `n_sources` written ones, then guard and fallbacks. An unknown
    mnemonic has a result for each register that it names, tied to the operand.
    """

    n_sources: int = 0
    guard_index: int = -1
    ties: tuple[tuple[int, int], ...] = ()


@attrs.define(eq=False)
class CallInfo(Loose):
    """What a call says beyond its operands.

    callee         the function symbol; None for an indirect call, whose address is operand 0
    return_params  `.param` variables that take the results; () when registers do (then
                   they are the call's results) or there is none
    prototype      label of the `.callprototype` or `.calltargets` of an indirect call
    """

    callee: Value | None = None
    return_params: tuple[Value, ...] = ()
    prototype: str | None = None

    @property
    def is_indirect(self) -> bool:
        return self.callee is None
