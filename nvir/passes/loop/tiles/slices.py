"""Slices and control of the loading part of a tile loop: pure backward closures, which branches
decide whether a block runs, and which values change from one iteration to the next.

Method   Post-dominators as bit sets over the part's blocks, iterated to the fixpoint; a block
         depends on a branch of X if it post-dominates a successor of X and not X. Values change
         that hang on a header phi, a load, or on a phi that such a branch decides.
Cost     blocks squared over the word size, a few sweeps over the instructions.
Source   Ferrante, Ottenstein, Warren, "The Program Dependence Graph", TOPLAS 9(3), 1987.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from nvir.ir import Block, Instruction, SpecialRegister, Value


def closure(
    values: Iterable[Value], inside: Callable[[Instruction], bool]
) -> list[Instruction]:
    """The instructions inside that the values are made of, operands before users.

    Phis are leaves where `inside` says no to them; a cycle through phis is cut.
    """
    order: list[Instruction] = []
    seen: set[Instruction] = set()
    stack: list[tuple[Instruction, bool]] = []
    for v in values:
        d = v.definer
        if d is not None and inside(d):
            stack.append((d, False))
        while stack:
            i, done = stack.pop()
            if done:
                order.append(i)
                continue
            if i in seen:
                continue
            seen.add(i)
            stack.append((i, True))
            for o in reversed(i.operands):
                d = o.definer
                if d is not None and d not in seen and inside(d):
                    stack.append((d, False))
    return order


def is_movable(i: Instruction) -> bool:
    """Whether an instruction gives the same at another place: pure, unguarded, no phi."""
    f = i.form
    if f.is_phi or not f.pure or f.guard is not None or f.reads or f.convergent or f.carry_in:
        return False
    if f.carry_out or f.name == "unknown":
        return False
    return not any(isinstance(o, SpecialRegister) and o.volatile for o in i.operands)


class SliceControl:
    """Which branches decide on each block of a part that ends in one block.

    blocks   the part, its head first, `end` among them; every one of them leads to `end`
    deps     block -> the blocks whose branches decide whether it runs, directly or not
    """

    def __init__(self, blocks: Sequence[Block], end: Block) -> None:
        self.blocks, self.end = list(blocks), end
        self.number = {b: k for k, b in enumerate(self.blocks)}
        succs = [
            [] if b is end else [self.number[s] for s in b.succs if s in self.number]
            for b in self.blocks
        ]
        everything = (1 << len(self.blocks)) - 1
        last = self.number[end]
        after = [everything] * len(self.blocks)
        after[last] = 1 << last
        changed = True
        while changed:
            changed = False
            for k in range(len(self.blocks) - 1, -1, -1):
                if k == last:
                    continue
                new = everything
                for s in succs[k]:
                    new &= after[s]
                new |= 1 << k
                if new != after[k]:
                    after[k], changed = new, True
        direct = [0] * len(self.blocks)
        for x, following in enumerate(succs):
            strict = after[x] & ~(1 << x)
            for s in following:
                decided = after[s] & ~strict
                for z in range(len(self.blocks)):
                    if decided >> z & 1:
                        direct[z] |= 1 << x
        self.deps: dict[Block, set[Block]] = {
            b: self._close(direct, k) for k, b in enumerate(self.blocks)
        }

    def _close(self, direct: list[int], k: int) -> set[Block]:
        found, rest = 0, direct[k]
        while rest:
            low = rest & -rest
            rest ^= low
            if not found & low:
                found |= low
                rest |= direct[low.bit_length() - 1] & ~found
        return {self.blocks[n] for n in range(len(self.blocks)) if found >> n & 1}

    def covers(self, head: Block, gone: set[Block]) -> bool:
        """Whether every way from `head` to the end passes a block of `gone`."""
        work, seen = [head], set()
        while work:
            b = work.pop()
            if b in gone or b in seen:
                continue
            if b is self.end:
                return False
            seen.add(b)
            work += [s for s in b.succs if s in self.number]
        return True


class Changes:
    """Which values of the part differ from one iteration of the loop to the next, as far as known.

    `header` holds the phis through which iterations differ.
    """

    def __init__(self, control: SliceControl, header: Block) -> None:
        self.control = control
        self.values: set[Value] = set(header.phis)
        before = -1
        while before != len(self.values):
            before = len(self.values)
            for b in control.blocks:
                for i in b:
                    if i.block is header and i.is_phi:
                        continue
                    if self._differs(i):
                        self.values.update(i.results)

    def _differs(self, i: Instruction) -> bool:
        if any(o in self.values for o in i.operands):
            return True
        if i.is_phi:
            return any(
                self.branch(p) or any(self.branch(x) for x in self.control.deps.get(p, ()))
                for p in i.aux
            )
        f = i.form
        if f.is_call or (f.reads and not f.invariant and not f.space.startswith("param")):
            return True
        return any(isinstance(o, SpecialRegister) and o.volatile for o in i.operands)

    def branch(self, b: Block) -> bool:
        """Whether the branch of a block may go another way in another iteration."""
        t = b.terminator
        return t is not None and any(o in self.values for o in t.operands)

    def runs(self, b: Block) -> bool:
        """Whether a block may run in some iterations and not in others."""
        return any(self.branch(x) for x in self.control.deps[b])
