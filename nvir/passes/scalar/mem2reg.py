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
         writes them, and which it writes; nvir.ir.ssa.construct places phis and finds what each
         load sees. Uses of the loads are rewritten at the end, each user once.
Needs    SSA, dominators.
Keeps    blocks and edges. Allocas whose address goes anywhere else, those with several
         elements, volatile and atomic accesses, accesses of another type than the first.
Leaves   aggregates and pieces of them to sroa; equal phis to copy-prop and gvn.
Cost     Linear in instructions, phis, the dominance frontiers (which are small but for towers of
         loops with one common exit) and the blocks where a variable is live.
Source   Cytron, Ferrante, Rosen, Wegman, Zadeck, TOPLAS 13(4), 1991.
"""

from __future__ import annotations

from nvir.analysis.callees import only_describes
from nvir.ir import Block, Function, Instruction, OpKind, Type, dominator_tree, nvvm_form
from nvir.ir.ssa.construct import Undo, place_phis, rename
from nvir.ir.ssa.rewrite import substitute
from nvir.ir.values import Constant, Value, undef
from nvir.passes.context import Context
from nvir.passes.remarks import missed, passed

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
        elif form.is_call and only_describes(user):
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
    """Allocas of one function on their way into registers; variables are numbered, and so are
    blocks: 1 and on in reverse post-order, 0 above the entry.

    writes, reads   variable -> blocks that store it; that load it before they store it
    accesses        the loads and stores of each block in their order, with their variables
    """

    def __init__(self, function: Function, allocas: list[tuple[Instruction, Type]]) -> None:
        self.function = function
        self.allocas = [a for a, _ in allocas]
        self.types = [t for _, t in allocas]
        self.index: dict[Value, int] = {a: k for k, a in enumerate(self.allocas)}
        self.writes: list[list[int]] = [[] for _ in allocas]
        self.reads: list[list[int]] = [[] for _ in allocas]
        self.accesses: dict[Block, list[tuple[Instruction, int]]] = {}
        self.values: list[Value] = [undef(t) for t in self.types]
        self.leaders: dict[Value, Value] = {}

    def run(self) -> int:
        """Promote; returns how many phis it took."""
        self._scan()
        rpo = self.function.rpo
        preds = [[], *([p._rpo_index + 1 for p in b._preds if p._rpo_index >= 0] for b in rpo)]
        preds[1] = [0, *preds[1]]
        tree = dominator_tree(preds)
        asked = [k for k, reads in enumerate(self.reads) if reads and self.writes[k]]
        phis = place_phis(
            preds, tree, {k: self.reads[k] for k in asked}, {k: self.writes[k] for k in asked},
            str(self.function.name),
        )
        made = [[self._phi(k, rpo[b - 1]) for k in found] for b, found in enumerate(phis)]
        arriving = rename(preds, tree.idom, phis, made, self.values, self._walk)
        for b, block in enumerate(rpo, 1):
            for phi, given in zip(made[b], arriving[b], strict=True):
                nothing = undef(phi.type)
                values = [given.get(p._rpo_index + 1, nothing) for p in block._preds]
                phi.set_incoming(values, block._preds)
        self._clean_up()
        return sum(map(len, phis))

    def _scan(self) -> None:
        """Note the accesses of each block in their order."""
        index = self.index
        for block in self.function.blocks:
            found: list[tuple[Instruction, int]] = []
            n = block._rpo_index + 1
            written: set[int] = set()
            i = block.first
            while i is not None:
                kind = i.form.kind
                if kind is OpKind.LOAD or kind is OpKind.STORE:
                    k = index.get(i._operands[-1])
                    if k is not None:
                        found.append((i, k))
                        self._note(k, n, kind is OpKind.STORE, written)
                i = i.next
            if found:
                self.accesses[block] = found

    def _note(self, k: int, block: int, store: bool, written: set[int]) -> None:
        if not block or k in written:
            return
        if store:
            written.add(k)
            self.writes[k].append(block)
        elif block not in self.reads[k][-1:]:
            self.reads[k].append(block)

    def _phi(self, k: int, block: Block) -> Instruction:
        phi = Instruction(nvvm_form("phi"), (), self.types[k], self.allocas[k].name, ())
        return block.insert_phi(phi)

    def _walk(self, b: int, undo: Undo) -> None:
        values = self.values
        for i, k in self.accesses.get(self.function.rpo[b - 1], ()) if b else ():
            if i.form.kind is OpKind.STORE:
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
