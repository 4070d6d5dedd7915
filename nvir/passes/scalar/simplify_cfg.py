"""Control flow made plain: blocks merged, branches folded, empty blocks taken out, small
branches turned into selects.

    entry:                                        entry:
      br i1 %c, label %a, label %b                  %x = select i1 %c, i32 1, i32 %y
    a:                                              ret i32 %x
      br label %join                      ==>
    b:
      br label %join
    join:
      %x = phi i32 [1, %a], [%y, %b]
      ret i32 %x

Method   A worklist of blocks in reverse post-order; each rule looks at one block and puts the
         blocks around a change back. In this order:
           remove    a block that nothing leads to
           fold      a branch on a constant, to one place, on a negation; a switch without cases
                     or with one; a way that leads to `unreachable` alone
           absorb    the only successor of a block that is its only predecessor
           thread    edges through a block of phis and a jump (branch_folding.py)
           decide    edges whose value for a phi of constants decides the branch on it
           select    a diamond or triangle of cheap instructions
           join      two branches in a row with one common destination
Needs    SSA. CFG annotations for loops: latches and headers stay what they are.
Keeps    convergent operations under the conditions that they had. Loop metadata, pragmas.
Leaves   blocks in the order of the layout; dead instructions to dce.
Skips    loads, calls and divisions that may trap are not run where they were not before.
Cost     Linear in blocks, edges and phis changed; a block comes back only after a change.
Source   LLVM's SimplifyCFG.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nvir.ir import I1, Block, Function, Instruction, nvvm_form, successors
from nvir.ir.values import Constant, Value, undef
from nvir.passes.context import Context
from nvir.passes.remarks import passed
from nvir.passes.scalar import branch_folding

SIMPLIFIED = passed(
    "Simplified", "removed {blocks} of {before} blocks; {selects} branches became selects"
)
CODES = (SIMPLIFIED,)

BR = nvvm_form("br")


def run(function: Function, ctx: Context) -> bool:
    before = len(function.blocks)
    s = Simplifier(function)
    s.run()
    if not s.changes:
        return False
    blocks = before - len(function.blocks)
    for name, n in s.changes.items():
        ctx.count(name, n)
    ctx.remark(SIMPLIFIED, blocks=blocks, before=before, selects=s.changes.get("select", 0))
    return True


class Simplifier:
    """The state of one run.

    preds      block -> its predecessors, in an order that does not depend on addresses
    latches    blocks that lead back to a header; headers: of the loops at the start
    deferred   blocks that only jump, which waited once for the one that they jump to
    gone       blocks that were taken out
    changes    rule -> how often it applied
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.preds: dict[Block, dict[Block, None]] = {b: {} for b in function.blocks}
        for b in function.blocks:
            for s in successors(b):
                self.preds[s][b] = None
        self.latches = set(function.back_edges)
        self.headers = {h for headers in function.back_edges.values() for h in headers}
        self.headers.update(b for _, b in function.irreducible_edges)
        self.deferred: set[Block] = set()
        self.gone: set[Block] = set()
        self.changes: dict[str, int] = {}
        reached = function.rpo
        rest = [b for b in function.blocks if b._rpo_index < 0]
        self.work: list[Block] = [*reversed(reached), *rest]
        self.waiting = set(self.work)

    def run(self) -> None:
        rules: tuple[tuple[str, Callable[[Any, Block], bool]], ...] = (
            ("fold", Simplifier._fold), ("absorb", Simplifier._absorb),
            ("thread", branch_folding.thread), ("decide", branch_folding.decide),
            ("select", branch_folding.select), ("join", branch_folding.join),
        )
        while self.work or self._cut_off():
            b = self.work.pop()
            self.waiting.discard(b)
            if b in self.gone:
                continue
            if not self.preds[b] and b is not self.function.entry:
                self.remove(b)
                continue
            for name, rule in rules:
                if rule(self, b):
                    self.changes[name] = self.changes.get(name, 0) + 1
                    self.again(b)
                    break
        if self.changes:
            self.function.blocks = [b for b in self.function.blocks if b not in self.gone]
            for b in self.gone:
                self.function._names.discard(b.name)
            self.function.cfg_changed()

    def _cut_off(self) -> bool:
        """Take out the cycles that edges dropped have left without a way in."""
        if not self.changes:
            return False
        reached = {self.function.entry}
        todo = [self.function.entry]
        while todo:
            new = [s for s in successors(todo.pop()) if s not in reached]
            reached.update(new)
            todo += new
        lost = [b for b in self.function.blocks if b not in reached and b not in self.gone]
        for b in lost:
            self.remove(b)
        return bool(lost)

    # ------------------------------------------------------------- edits

    def again(self, *blocks: Block) -> None:
        """Look at blocks once more."""
        for b in blocks:
            if b not in self.waiting and b not in self.gone:
                self.waiting.add(b)
                self.work.append(b)

    def drop_edge(self, source: Block, target: Block) -> None:
        """`source` no longer leads to `target`: phis lose the entry."""
        self.preds[target].pop(source, None)
        for phi in target.phis:
            kept = [(v, p) for v, p in phi.incoming if p is not source]
            phi.set_incoming([v for v, _ in kept], [p for _, p in kept])
        self.again(target)
        if len(self.preds[target]) == 1:  # which may absorb it now
            self.again(*self.preds[target])

    def remove(self, b: Block) -> None:
        """Take out a block that nothing leads to; what names its values is unreachable too."""
        for s in successors(b):
            self.drop_edge(b, s)
        self.discard(b)
        self.changes["remove"] = self.changes.get("remove", 0) + 1

    def discard(self, b: Block) -> None:
        """Erase the instructions of a block without edges."""
        for i in reversed(b):
            for r in i.results:
                if r.has_uses:
                    r.replace_all_uses_with(undef(r.type))
            self.function.marks.pop(i, None)
            i.erase()
        self.gone.add(b)

    def set_branch(self, b: Block, cond: Value | None, *targets: Block) -> None:
        """Give a block another end. Edges that it adds or drops are the caller's to note."""
        last = b.terminator
        assert last is not None
        last.set_form(BR)
        last.set_operands(() if cond is None else (cond,))
        last.aux = targets
        self.function.cfg_changed()

    # ------------------------------------------------------------- rules

    def _fold(self, b: Block) -> bool:
        """Fold the branch or switch that ends a block; phis of a single entry."""
        last = b.terminator
        if last is None:
            return False
        changed = False
        if len(self.preds[b]) == 1 and b.first is not None and b.first.form.is_phi:
            for phi in b.phis:
                value = phi.operands[0]
                phi.replace_with(value if value is not phi else undef(phi.type))
            changed = True
        if last.form.name == "switch":
            return self._fold_switch(b, last) or changed
        if last.form.name != "br" or not last.operands:
            return changed
        target = self._decided(last)
        if target is not None:
            for s in successors(b):
                if s is not target:
                    self.drop_edge(b, s)
            self.set_branch(b, None, target)
            return True
        cond = last.operands[0]
        inverted = negated(cond)
        if inverted is not None:
            self.set_branch(b, inverted, last.aux[1], last.aux[0])
            return True
        return changed

    def _decided(self, last: Instruction) -> Block | None:
        """Where a branch leads to always."""
        yes, no = last.aux
        if yes is no:
            return yes  # type: ignore[no-any-return]
        cond = last.operands[0]
        if isinstance(cond, Constant):
            return yes if cond.value else no  # type: ignore[no-any-return]
        if is_unreachable(yes):
            return no  # type: ignore[no-any-return]
        if is_unreachable(no):
            return yes  # type: ignore[no-any-return]
        return None

    def _fold_switch(self, b: Block, last: Instruction) -> bool:
        value, cases = last.operands[0], last.operands[1:]
        default, targets = last.aux[0], last.aux[1:]
        if isinstance(value, Constant):
            taken = next((t for c, t in zip(cases, targets, strict=True) if c is value), default)
            for s in successors(b):
                if s is not taken:
                    self.drop_edge(b, s)
            self.set_branch(b, None, taken)
            return True
        kept = [
            (c, t) for c, t in zip(cases, targets, strict=True)
            if t is not default and not is_unreachable(t)
        ]
        if len(kept) > 1:
            if len(kept) == len(cases):
                return False
            old = successors(b)
            last.set_operands((value, *(c for c, _ in kept)))
            last.aux = (default, *(t for _, t in kept))
            self.function.cfg_changed()
            self._drop_others(b, old)
            return True
        old = successors(b)
        if not kept:
            self.set_branch(b, None, default)
        else:
            case, target = kept[0]
            test = Instruction(nvvm_form("icmp eq"), (value, case), I1, None, None, last.loc)
            test.insert_before(last)
            self.set_branch(b, test, target, default)
        self._drop_others(b, old)
        return True

    def _drop_others(self, b: Block, old: tuple[Block, ...]) -> None:
        now = set(successors(b))
        for s in old:
            if s not in now:
                self.drop_edge(b, s)

    def _absorb(self, b: Block) -> bool:
        """Append the only successor to a block that alone leads to it."""
        last = b.terminator
        if last is None or last.form is not BR or len(last.aux) != 1:
            return False
        s = last.aux[0]
        if s is b or len(self.preds[s]) != 1 or s is self.function.entry:
            return False
        if s.pragmas and s.pragmas != b.pragmas and b.pragmas:
            return False
        if any(getattr(phi.operands[0], "block", None) is s for phi in s.phis):
            return False  # a cycle that nothing enters any more: taken out at the end
        last.erase()
        for phi in s.phis:
            phi.replace_with(phi.operands[0])
        _append_all(b, s)
        b.pragmas, b.flags = b.pragmas or s.pragmas, b.flags | s.flags
        b.aux = s.aux if s.aux is not None else b.aux
        for t in successors(b):
            self.preds[t][b] = self.preds[t].pop(s)
            for phi in t.phis:
                phi.aux = tuple([b if p is s else p for p in phi.aux])
        if s in self.latches:
            self.latches.add(b)
        if s in self.headers:
            self.headers.add(b)
        self.gone.add(s)
        self.function.cfg_changed()
        return True


def _append_all(b: Block, s: Block) -> None:
    """Move the instructions of one block behind those of another."""
    first = s.first
    i = first
    while i is not None:
        i.block = b
        i = i.next
    if first is None:
        return
    first.prev = b.last
    if b.last is None:
        b.first = first
    else:
        b.last.next = first
    b.last = s.last
    s.first = s.last = None


def is_unreachable(b: Block) -> bool:
    """Whether a block says of itself that it is never run."""
    return b.first is not None and b.first.form.name == "unreachable"


def negated(cond: Value) -> Value | None:
    """What a condition is the negation of, where it is `xor %c, true`."""
    if isinstance(cond, Instruction) and cond.form.name == "xor":
        x, y = cond.operands
        if isinstance(y, Constant) and y.value:
            return x
        if isinstance(x, Constant) and x.value:
            return y
    return None
