"""Cutting a block where code with blocks of its own goes in, each instruction moved once.

    cut = Cut(block, first)
    for i in cut.rest:                # `first` and what followed it; they are in no block now
        if wanted(i):
            done = cut.new("nonzerotrip")
            ... code at the end of cut.here, branches, cut.place(done)
        else:
            cut.keep(i)
    cut.close()

Copies that follow each other in one block would make splitting at each of them quadratic.
"""

from __future__ import annotations

from nvir.ir import Block, Instruction


class Cut:
    """A block on its way to several. `here` is the block that takes what follows."""

    def __init__(self, block: Block, first: Instruction) -> None:
        self.block = self.here = block
        self.placed = [block]
        self.rest: list[Instruction] = []
        i: Instruction | None = first
        while i is not None:
            self.rest.append(i)
            i = i.next
        for i in self.rest:
            i.remove()

    def new(self, name: str) -> Block:
        """An empty block that is in no function's list before `place`."""
        f = self.block.function
        return Block(f.unique_block_name(name), f)

    def place(self, block: Block) -> Block:
        """Put a block behind those that are there and go on in it."""
        self.placed.append(block)
        self.here = block
        return block

    def keep(self, i: Instruction) -> None:
        self.here.append(i)

    def close(self) -> None:
        """Tell the successors' phis, and hand on what is noted of the block's end."""
        last = self.here
        if last is self.block:
            return
        last.aux, self.block.aux = self.block.aux, None
        end = last.terminator
        for s in dict.fromkeys(end.successors if end is not None else ()):
            for phi in s.phis:
                phi.aux = tuple(last if b is self.block else b for b in phi.aux)
        self.block.function.cfg_changed()
