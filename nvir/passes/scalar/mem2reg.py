"""Allocas that are only loaded and stored whole become SSA values.

    %x = alloca i32
    store i32 %a, ptr %x                      br i1 %c, label %then, label %join
    br i1 %c, label %then, label %join   then:
  then:                                       br label %join
    store i32 %b, ptr %x            ==>   join:
    br label %join                            %x = phi i32 [%a, %entry], [%b, %then]
  join:                                       ret i32 %x
    %v = load i32, ptr %x
    ret i32 %v

Method   All allocas at once. One walk notes for each block which variables it reads before it
         writes them, and which it writes; data flow over sets of bits finds where they are live.
         A variable gets a phi in the iterated dominance frontier of its writes, where live
         (pruned SSA). A walk of the dominator tree carries the current
         value of each variable. Uses of the loads are rewritten at the end, each user once.
Needs    SSA, dominators.
Keeps    blocks and edges. Allocas whose address goes anywhere else, those with several
         elements, volatile and atomic accesses, accesses of another type than the first.
Leaves   aggregates and pieces of them to sroa; equal phis to copy-prop and gvn.
Cost     Linear in instructions, phis and the dominance frontiers (which are small but for
         towers of loops with one common exit).
Source   Cytron et al., TOPLAS 13(4), 1991; Cooper, Harvey, Kennedy, 2001, for the frontiers.
"""

from __future__ import annotations

from nvir.analysis.callees import is_lifetime
from nvir.ir.block import Block
from nvir.ir.bulk import bulk
from nvir.ir.errors import Unsupported
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction
from nvir.ir.loops import MAX_MEMBERS
from nvir.ir.opcodes import OpKind
from nvir.ir.opcodes.form import nvvm_form
from nvir.ir.types import Type
from nvir.ir.values import Constant, Value, undef
from nvir.passes.context import Context
from nvir.passes.remarks import missed, passed
from nvir.passes.rewrite import substitute

PROMOTED = passed("Promoted", "{allocas} {allocas:alloca|allocas} became values, "
                  "with {phis} {phis:phi|phis}")
STAYS = missed("StaysInMemory", "{name} ({type}) stays in memory: {reason}")
CODES = (PROMOTED, STAYS)

_LOAD, _STORE = nvvm_form("load"), nvvm_form("store")
_INVARIANT_LOAD = nvvm_form("load invariant")


def run(function: Function, ctx: Context) -> bool:
    allocas: list[tuple[Instruction, Type]] = []
    for i in function.instructions():
        if i.form.name == "alloca":
            found = promotable_type(i)
            if isinstance(found, Type):
                allocas.append((i, found))
            else:
                ctx.remark(STAYS, i, name=str(i.name), type=i.aux[0].name, reason=found)
    if not allocas:
        return False
    with bulk():
        phis = _Promotion(function, allocas).run()
    ctx.count("promoted", len(allocas))
    ctx.count("phis", phis)
    ctx.remark(PROMOTED, allocas=len(allocas), phis=phis)
    return True


def promotable_type(alloca: Instruction) -> Type | str:
    """The type of the value that an alloca holds, or why it cannot be one."""
    count = alloca.operands[0]
    if not isinstance(count, Constant) or count.value != 1:
        return "it has several elements"
    type: Type | None = None
    for user in alloca.users:
        form = user.form
        if form is _LOAD or form is _INVARIANT_LOAD:
            accessed = user.type
        elif form is _STORE:
            if user.operands[0] is alloca:
                return "its address is stored"
            accessed = user.operands[0].type
        elif form.is_call and is_lifetime(user):
            continue
        elif form.kind in (OpKind.LOAD, OpKind.STORE):
            return "an access is volatile or atomic"
        else:
            return f"its address is used by {form.spelling}"
        if type is not None and accessed is not type:
            return f"it is accessed as {type.name} and as {accessed.name}"
        type = accessed
    return type if type is not None else alloca.aux[0]


class _Promotion:
    """Allocas of one function on their way into registers; variables are numbered.

    writes, reads   variable -> blocks that store it; that load it before they store it
    values          the current value of each variable during the walk
    """

    def __init__(self, function: Function, allocas: list[tuple[Instruction, Type]]) -> None:
        self.function = function
        self.allocas = [a for a, _ in allocas]
        self.types = [t for _, t in allocas]
        self.index: dict[Value, int] = {a: k for k, a in enumerate(self.allocas)}
        self.writes: list[dict[Block, None]] = [{} for _ in allocas]
        self.reads: list[dict[Block, None]] = [{} for _ in allocas]
        self.accesses: dict[Block, list[tuple[Instruction, int]]] = {}
        self.phis: dict[Block, list[tuple[int, Instruction]]] = {}
        self.leaders: dict[Value, Value] = {}

    def run(self) -> int:
        """Promote; returns how many phis it took."""
        self._scan()
        self._place_phis()
        self._rename()
        self._clean_up()
        return sum(map(len, self.phis.values()))

    def _scan(self) -> None:
        """Note the accesses of each block in their order."""
        index, reads, writes = self.index, self.reads, self.writes
        for block in self.function.blocks:
            found: list[tuple[Instruction, int]] = []
            i = block.first
            while i is not None:
                kind = i.form.kind
                if kind is OpKind.LOAD or kind is OpKind.STORE:
                    k = index.get(i.operands[-1])
                    if k is not None:
                        found.append((i, k))
                        if kind is OpKind.STORE:
                            writes[k][block] = None
                        elif block not in writes[k]:
                            reads[k][block] = None
                i = i.next
            if found:
                self.accesses[block] = found

    # -------------------------------------------------------------- phis

    def _place_phis(self) -> None:
        asked = [k for k, reads in enumerate(self.reads) if reads and self.writes[k]]
        if not asked:
            return  # no block asks for what another one left
        live = self._live()
        frontiers = dominance_frontiers(self.function)
        for k in asked:
            work = [b for b in self.writes[k] if b._rpo_index >= 0]
            done: set[Block] = set()
            bit = 1 << k
            while work:
                for join in frontiers.get(work.pop(), ()):
                    if join not in done and live[join] & bit:
                        done.add(join)
                        self._add_phi(k, join)
                        work.append(join)

    def _live(self) -> dict[Block, int]:
        """For each block the variables that are live into it, as a set of bits."""
        read: dict[Block, int] = {}
        written: dict[Block, int] = {}
        for noted, bits in ((self.reads, read), (self.writes, written)):
            for k, blocks in enumerate(noted):
                for b in blocks:
                    bits[b] = bits.get(b, 0) | 1 << k
        rpo = self.function.rpo
        live = dict.fromkeys(self.function.blocks, 0)
        work = list(rpo)
        waiting = set(work)
        while work:
            b = work.pop()
            waiting.discard(b)
            leaving = 0
            for s in b._succs:
                leaving |= live[s]
            now = read.get(b, 0) | leaving & ~written.get(b, 0)
            if now != live[b]:
                live[b] = now
                again = [p for p in b._preds if p not in waiting]
                work.extend(again)
                waiting.update(again)
        return live

    def _add_phi(self, k: int, block: Block) -> None:
        phi = Instruction(nvvm_form("phi"), (), self.types[k], self.allocas[k].name, ())
        block.insert_phi(phi)
        self.phis.setdefault(block, []).append((k, phi))

    # ---------------------------------------------------------- renaming

    def _rename(self) -> None:
        values: list[Value] = [undef(t) for t in self.types]
        children: dict[Block, list[Block]] = {}
        for b in self.function.rpo:
            if b._idom is not None:
                children.setdefault(b._idom, []).append(b)
        arriving: dict[Instruction, dict[Block, Value]] = {
            phi: {} for phis in self.phis.values() for _, phi in phis
        }
        # (block, None): enter it; (None, undo): leave it, taking its changes back
        stack: list[tuple[Block | None, list[tuple[int, Value]]]] = [(self.function.entry, [])]
        while stack:
            block, undo = stack.pop()
            if block is None:
                for k, old in reversed(undo):
                    values[k] = old
                continue
            undo = []
            self._walk(block, values, undo)
            for s in block._succs:
                for k, phi in self.phis.get(s, ()):
                    arriving[phi][block] = values[k]
            stack.append((None, undo))
            stack.extend((c, []) for c in reversed(children.get(block, ())))
        for phi, given in arriving.items():
            assert phi.block is not None
            preds = phi.block._preds
            nothing = undef(phi.type)
            phi.set_incoming([given.get(p, nothing) for p in preds], preds)

    def _walk(self, block: Block, values: list[Value], undo: list[tuple[int, Value]]) -> None:
        for k, phi in self.phis.get(block, ()):
            undo.append((k, values[k]))
            values[k] = phi
        for i, k in self.accesses.get(block, ()):
            if i.form.name == "store":
                undo.append((k, values[k]))
                values[k] = i.operands[0]
            else:
                self.leaders[i] = values[k]

    def _clean_up(self) -> None:
        for block, found in self.accesses.items():  # what the entry does not reach reads nothing
            if block._rpo_index < 0:
                for i, k in found:
                    if i.form.name == "load":
                        self.leaders[i] = undef(self.types[k])
        for found in self.accesses.values():
            for i, _ in found:
                if i.form.name == "store":
                    i.erase()
        substitute(self.leaders)
        marks = self.function.marks
        for load in self.leaders:
            assert isinstance(load, Instruction)
            marks.pop(load, None)
            load.erase()
        for alloca in self.allocas:
            for marker in alloca.users:
                marker.erase()
            marks.pop(alloca, None)
            alloca.erase()


def dominance_frontiers(function: Function) -> dict[Block, list[Block]]:
    """For each block the joins that it reaches just beyond what it dominates. A nest of n loops
    has n² of them: raises Unsupported beyond MAX_MEMBERS."""
    size = 0
    out: dict[Block, list[Block]] = {}
    for join in function.rpo:
        preds = [p for p in join._preds if p._rpo_index >= 0]
        if len(preds) < 2 and join._idom is not None:
            continue
        for p in preds:
            runner: Block | None = p
            while runner is not None and runner is not join._idom:
                found = out.setdefault(runner, [])
                if found and found[-1] is join:
                    break
                found.append(join)
                size += 1
                runner = runner._idom
        if size > MAX_MEMBERS:
            raise Unsupported("loops nested this deep", where=f"function {function.name}")
    return out
