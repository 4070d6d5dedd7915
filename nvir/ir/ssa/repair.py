"""SSA repaired after code was copied: one variable, several definitions, phis where they meet.

A pass that copies blocks (unrolling, rotation, peeling, tail duplication) leaves a value with
definitions on several paths. `repair` is told of them and makes every use name the one
that reaches it:

    a:              b:                         a:              b:
      %x = add ..     %x' = add ..               %x = add ..     %x' = add ..
      bra j           bra j            ==>       bra j           bra j
    j:                                         j:
      use %x                                     %x'' = phi [%x, a], [%x', b]
                                                 use %x''

Uses are operands of any kind: written sources, guards, the fallbacks of guarded instructions
(tied to their results), and phi operands, which count at the end of their incoming block.

Method   Walk backwards from the uses to the definitions: that is where a variable is live. Over
         these blocks in reverse post-order carry forward the name of the definition that
         reaches, a block where two meet giving a phi, a name of its own. Names disagree at
         retreating edges only after the sweep: such blocks get phis as well and the sweep is
         repeated, until none is found. Each phi is a join of two disjoint paths from different
         definitions, so they are the iterated dominance frontier's. What reaches a block
         depends on where a variable is defined alone, so it is worked out once for all
         variables defined at the same blocks; each then gets the phis that its uses ask for,
         which leaves out those where it is dead. All operands are rewritten at the end, each
         user once.
Needs    fresh CFG annotations (they stay fresh).
Keeps    declared spellings: a definition takes over uses of another spelling of its class as
         the class, and so does a phi of definitions that differ (see rewrite.py).
Skips    nothing: `obstacle` tells beforehand which values cannot have two definitions.
Cost     For each set of definition blocks, the blocks where one of its variables is live, times
         the sweeps (one where no phi stands at a loop header, else two or, seldom, more); for
         each variable its uses and phis.
Source   Cytron et al., "Efficiently Computing Static Single Assignment Form", TOPLAS 13(4),
         1991, for where phis belong; Choi, Cytron, Ferrante, POPL 1991, for pruning.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from nvir.ir.block import Block
from nvir.ir.bulk import bulk
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.opcodes.form import form, nvvm_form
from nvir.ir.ssa.rewrite import can_stand_for, join_spelling
from nvir.ir.types import CC, ScalarType, Type
from nvir.ir.values import Argument, Constant, Value, undef

Definitions = Mapping[Block, Value]


def obstacle(value: Value, held: AbstractSet[Value]) -> str | None:
    """Why a value used outside of its block cannot have a second definition, or None.

    `held` are the values that asynchronous operations hold (`analysis.held`).
    """
    if value.type is CC:
        return "a carry flag crosses blocks"
    if value in held:
        return "an asynchronous operation holds a value in its register"
    return None


def repair(
    function: Function, more: Mapping[Value, Definitions], held: AbstractSet[Value] = frozenset()
) -> list[Instruction]:
    """Make each use of the keys name the definition that reaches it; returns the new phis.

    `more[v][b]` is what the variable of `v` is at the end of block `b`, beside `v` itself at
    the end of its own block (if it stands in one: a phi that was taken out is no definition).
    A use of `v` in another block means the variable at the block's head, in a phi at the end of
    the incoming block, whatever stands there: so a copy must not name `v` for anything else. Where
    the phi of a header is `v` of the iteration before, keep that phi in the copy with its
    one entry, and fold it once all is repaired. Definitions are taken as they stand, so none may
    be a key that means something else there. On paths that no definition reaches the variable is
    undefined. Uses in blocks that the entry does not reach stay.

    Raises ValueError for a value that has an `obstacle`, for a second definition at the end of its
    own block, and for one that cannot stand for it: another register class, or at `ori` a
    literal, which not every operand takes (give a move of it).
    """
    edits = _Edits(function)
    _ = function.rpo  # asks for annotations, and in check mode that they are fresh
    with bulk():
        variables = []
        groups: dict[frozenset[Block], _Reach] = {}
        for value, definitions in more.items():
            _check(value, definitions, held)
            variable = _Variable(value, definitions, edits)
            where = frozenset(variable.definitions)
            if where not in groups:
                groups[where] = _Reach(where)
            variable.reach = groups[where]
            variable.reach.asked.update(variable.asks())
            variables.append(variable)
        for reach in groups.values():
            reach.carry()
        for variable in variables:
            variable.repair()
        edits.apply()
    return edits.phis


def _check(value: Value, definitions: Definitions, held: AbstractSet[Value]) -> None:
    why = obstacle(value, held)
    if why is not None:
        raise ValueError(f"{value.name} cannot have several definitions: {why}")
    ori = isinstance(value.type, ScalarType)
    for d in definitions.values():
        if not can_stand_for(d, value) or (ori and isinstance(d, Constant)):
            raise ValueError(f"{d.name} cannot stand for {value.name}")
    home = home_of(value)
    if home is not None and definitions.get(home, value) is not value:
        raise ValueError(f"{value.name} has another definition in its own block")


def home_of(value: Value) -> Block | None:
    """The block that makes a value, None if it stands in none; an argument comes with the entry."""
    if value.definer is not None:
        return value.definer.block
    return value.function.entry if isinstance(value, Argument) and value.function else None


class _Edits:
    """What is to be changed once all values are worked out.

    phis     the new ones, placed
    plain    user -> {old value: new value}, of instructions that are no phi
    merged   user -> {operand index: new value}, of phis
    """

    def __init__(self, function: Function) -> None:
        level = function.module.level if function.module is not None else "ori"
        self.phi_form = form("phi") if level == "ori" else nvvm_form("phi")
        self.phis: list[Instruction] = []
        self.plain: dict[Instruction, dict[Value, Value]] = {}
        self.merged: dict[Instruction, dict[int, Value]] = {}
        self._entries: dict[Instruction, dict[Value, list[tuple[int, Block]]]] = {}

    def entries(self, phi: Instruction) -> dict[Value, list[tuple[int, Block]]]:
        """Value -> (operand index, incoming block); found once, for a phi may have thousands."""
        found = self._entries.get(phi)
        if found is None:
            found = self._entries[phi] = {}
            for k, (v, b) in enumerate(phi.incoming):
                found.setdefault(v, []).append((k, b))
        return found

    def apply(self) -> None:
        for user, news in self.plain.items():
            user.set_operands(tuple([news.get(v, v) for v in user.operands]))
        for phi, at in self.merged.items():
            phi.set_operands(tuple([at.get(k, v) for k, v in enumerate(phi.operands)]))


class _Join:
    """A place where definitions meet: what the phi of its block will be, whatever the variable."""

    __slots__ = ("block",)

    def __init__(self, block: Block) -> None:
        self.block = block


class _Undefined:
    """What reaches a place that no definition reaches."""


_UNDEFINED = _Undefined()
_Name = Block | _Join | _Undefined  # what reaches a place; a block: the definition at its end


class _Reach:
    """What reaches where, of the variables that are defined at the same blocks.

    asked   blocks at whose head one of them is asked for
    at      block -> name of what reaches its head, once `carry` has run
    """

    def __init__(self, defined: frozenset[Block]) -> None:
        self.defined = defined
        self.asked: set[Block] = set()
        self.at: dict[Block, _Name] = {}

    def carry(self) -> None:
        live = self._live()
        at, joins = self.at, dict[Block, _Join]()
        while True:
            at.clear()
            for b in live:
                at[b] = joins[b] if b in joins else self._meet(b)
            late = [b for b in live if not self._is_join(b) and self._disagrees(b)]
            if not late:
                return
            joins.update((b, _Join(b)) for b in late)

    def leaving(self, block: Block) -> _Name:
        """What is at the end of a block."""
        return block if block in self.defined else self.at[block]

    def joins(self, names: Iterable[_Name]) -> list[_Join]:
        """The joins that stand for the names or lead to one of them, in reverse post-order."""
        found: set[_Join] = set()
        work = [x for x in names if isinstance(x, _Join)]
        while work:
            join = work.pop()
            if join not in found:
                found.add(join)
                names = [self.leaving(p) for p in join.block._preds if p._rpo_index >= 0]
                work += [x for x in names if isinstance(x, _Join)]
        return sorted(found, key=lambda x: x.block._rpo_index)

    def _live(self) -> list[Block]:
        """The blocks that a variable is live into, in reverse post-order: those that ask for it
        at their head, and what leads there from the definitions."""
        defined = self.defined
        live: set[Block] = set()
        work = list(self.asked)
        while work:
            b = work.pop()
            if b in live:
                continue
            live.add(b)
            work += [p for p in b._preds if p._rpo_index >= 0 and p not in defined]
        return sorted(live, key=_rpo_index)

    def _meet(self, block: Block) -> _Name:
        """What reaches a block from the predecessors known so far; a join if they disagree."""
        found: _Name | None = None
        for p in block._preds:
            if p._rpo_index < 0:
                continue
            name = p if p in self.defined else self.at.get(p)
            if name is None or name is found:
                continue
            if found is not None:
                return _Join(block)
            found = name
        return found if found is not None else _UNDEFINED

    def _is_join(self, block: Block) -> bool:
        name = self.at[block]
        return isinstance(name, _Join) and name.block is block

    def _disagrees(self, block: Block) -> bool:
        own = self.at[block]
        return any(p._rpo_index >= 0 and self.leaving(p) is not own for p in block._preds)


class _Variable:
    """One value and its definitions.

    definitions   block -> what the variable is at its end
    reach         what of them reaches where
    """

    reach: _Reach

    def __init__(self, value: Value, more: Definitions, edits: _Edits) -> None:
        self.value, self.edits = value, edits
        self.definitions = {b: d for b, d in more.items() if b._rpo_index >= 0}
        self.home = home_of(value)
        if self.home is not None:
            self.definitions[self.home] = value
        self.made: dict[_Join, Instruction] = {}
        self.plain: list[tuple[Instruction, Block]] = []  # (user, block at whose head it asks)
        # (phi, operand, block at whose end it asks)
        self.merged: list[tuple[Instruction, int, Block]] = []

    def asks(self) -> list[Block]:
        """Find the uses; the blocks at whose head they ask for the variable.

        In its own block a value was and is what comes before its uses.
        """
        value, home = self.value, self.home
        for user in value.users:
            block = user.block
            if block is None:
                continue
            if user.form.is_phi:
                entries = self.edits.entries(user)[value]
                self.merged += [(user, k, b) for k, b in entries if b._rpo_index >= 0]
            elif block is not home and block._rpo_index >= 0:
                self.plain.append((user, block))
        asked = [b for _, b in self.plain]
        return asked + [b for *_, b in self.merged if b not in self.definitions]

    def repair(self) -> None:
        reach = self.reach
        plain = [(user, reach.at[b]) for user, b in self.plain]
        merged = [(phi, k, reach.leaving(b)) for phi, k, b in self.merged]
        self._place_phis(reach.joins([*(x for _, x in plain), *(x for *_, x in merged)]))
        for user, name in plain:
            new = self._value(name)
            if new is not self.value:
                self.edits.plain.setdefault(user, {})[self.value] = self._take(new)
        for phi, index, name in merged:
            new = self._value(name)
            if new is not self.value:
                self.edits.merged.setdefault(phi, {})[index] = self._take(new)

    def _place_phis(self, joins: list[_Join]) -> None:
        if not joins:
            return
        type = self._phi_type()
        nothing = undef(type)
        for x in joins:
            phi = Instruction(self.edits.phi_form, (), type, self.value.name, ())
            self.made[x] = x.block.insert_phi(phi)
            self.edits.phis.append(phi)
        leaving = self.reach.leaving
        for x in joins:
            preds = x.block._preds
            operands = [
                self._value(leaving(p)) if p._rpo_index >= 0 else nothing for p in preds
            ]
            self.made[x].set_incoming(operands, preds)

    def _phi_type(self) -> Type:
        """The declared type of the variable's phis: that of all definitions, else their class."""
        type = self.value.type
        if all(d.type is type or d.is_constant for d in self.definitions.values()):
            return type
        return type.cls if isinstance(type, ScalarType) else type

    def _value(self, name: _Name) -> Value:
        if isinstance(name, Block):
            return self.definitions[name]
        return self.made[name] if isinstance(name, _Join) else undef(self.value.type)

    def _take(self, new: Value) -> Value:
        """`new`, declared so that it can take over uses of the value."""
        join_spelling(new, self.value.type)
        return new


def _rpo_index(block: Block) -> int:
    return block._rpo_index
