"""Functions: parameters, blocks in layout order, and the CFG snapshot over them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from nvir.ir.block import CHECK, Block, erased_ahead
from nvir.ir.display import Displayed
from nvir.ir.errors import VerifyError
from nvir.ir.symbols import Variable
from nvir.ir.types import B64, VOID, Type
from nvir.ir.values import Argument, Symbol

if TYPE_CHECKING:
    from nvir.ir.instruction import Instruction
    from nvir.ir.loops import Loop
    from nvir.ir.module import Module


def are_sizes(numbers: Iterable[int]) -> bool:
    """Whether numbers can stand behind a directive: PTX has 32 bits for each, without a sign."""
    return not any(n >> 32 for n in numbers)


class Function(Symbol, Displayed):
    """A kernel or a device function; as a value, its address.

    kind        "entry" (a kernel) or "func"
    params      `Param`s (in `.param` space) and `Argument`s (in registers), in order
    returns     the same for results; at `nvvm`, `return_type` says it instead
    locals      variables declared in the body: .local, .shared, call parameters
    blocks      in layout order, the first is the entry; empty for a declaration
    directives  performance directives by name: {"maxntid": (256, 1, 1), "minnctapersm": (4,)}
    pragmas     of the whole function
    flags       what passes note about the function, e.g. "convergent"
    marks       notes of passes about single instructions: {instruction: {"hoisted"}}
    loaded_params  what the builder made of `.param` parameters
    prototypes  `.callprototype`, `.calltargets` by label: their text
    aux         attributes, metadata and the like of `nvvm`
    edits       counts changes of instructions and control flow: what was found out at another
                count may be wrong now
    known       what was found out, kept by `nvir.analysis.analyses`
    """

    __slots__ = (
        "_back_edges", "_irreducible", "_loops", "_names", "_next_name", "_numbers", "_places",
        "_rpo", "aux", "blocks", "cfg_state", "directives", "edits", "flags", "kind", "known",
        "linkage", "loaded_params", "loc", "locals", "marks", "module", "params", "pragmas",
        "prototypes", "return_type", "returns",
    )

    def __init__(self, name: str, kind: str = "func", module: Module | None = None) -> None:
        super().__init__(B64, name)
        self.kind = kind
        self.module = module
        self.linkage = ""
        self.params: list[Any] = []
        self.returns: list[Any] = []
        self.return_type: Type = VOID
        self.locals: list[Variable] = []
        self.blocks: list[Block] = []
        self.directives: dict[str, tuple[int, ...]] = {}
        self.pragmas: tuple[str, ...] = ()
        self.flags: set[str] = set()
        self.marks: dict[Instruction, set[str]] = {}
        self.prototypes: dict[str, str] = {}
        self.loaded_params: dict[Any, Instruction] = {}
        self.loc: Any = None
        self.aux: Any = None
        self.cfg_state = "never"  # "never", "fresh" or "stale"
        self._rpo: list[Block] = []
        self._back_edges: dict[Block, tuple[Block, ...]] = {}
        self._irreducible: list[tuple[Block, Block]] = []
        self._loops: list[Loop] | None = None  # of this snapshot, once asked for
        self.edits = 0
        self.known: Any = None
        self._next_name = 0
        self._names: set[str] = set()  # of all its blocks, kept by them
        self._numbers: dict[str, int] = {}  # of the last copy of a block, by the block's name
        self._places: dict[Block, int] = {}  # in the layout, as they were when one was asked for

    # -------------------------------------------------------------- body

    @property
    def is_declaration(self) -> bool:
        return not self.blocks

    @property
    def is_kernel(self) -> bool:
        return self.kind == "entry"

    @property
    def entry(self) -> Block:
        return self.blocks[0]

    @property
    def arguments(self) -> list[Argument]:
        """The parameters that arrive in registers."""
        return [p for p in self.params if isinstance(p, Argument)]

    def instructions(self) -> Iterator[Instruction]:
        """All instructions, block by block in layout order."""
        for b in self.blocks:
            i = b.first
            while i is not None:
                following = i.next
                yield i
                if following is not None and following.block is not b:
                    erased_ahead(following)
                i = following

    def block(self, name: str | None = None, *, after: Block | None = None) -> Block:
        """Add an empty block, at the end or after another. A name in use gets a suffix."""
        b = Block(self.unique_block_name(name), self)
        if after is None:
            self.blocks.append(b)
        else:
            self.blocks.insert(self.blocks.index(after) + 1, b)
        self.cfg_changed()
        return b

    def behind(self, block: Block) -> Block | None:
        """The block behind another in the layout."""
        blocks, at = self.blocks, self._places.get(block, len(self.blocks))
        if at >= len(blocks) or blocks[at] is not block:
            self._places = {b: k for k, b in enumerate(blocks)}
            at = self._places[block]
        return blocks[at + 1] if at + 1 < len(blocks) else None

    def unique_block_name(self, name: str | None) -> str:
        """`name`, or a variation of it that no block of the function has."""
        taken = self._names
        if name is not None and name not in taken:
            return name
        while True:
            self._next_name += 1
            candidate = f"{name or 'bb'}.{self._next_name}"
            if candidate not in taken:
                return candidate

    def remove_block(self, block: Block) -> None:
        """Delete a block with its instructions; phis of its successors lose its entry.

        Raises ValueError when a value made in it is used elsewhere.
        """
        from nvir.ir.cfg import delete_block

        delete_block(block)

    def take_blocks(self) -> list[Block]:
        """All blocks, for another function: this one is left without a body."""
        blocks, self.blocks = self.blocks, []
        self._rpo, self._back_edges, self._irreducible, self._loops = [], {}, [], None
        self._names, self._numbers, self.marks, self.known = set(), {}, {}, None
        self._places = {}
        self.cfg_state, self.edits = "never", self.edits + 1
        return blocks

    # --------------------------------------------------- CFG annotations

    def cfg_changed(self) -> None:
        """Note that the control flow differs from the snapshot."""
        self.edits += 1
        if self.cfg_state == "fresh":
            self.cfg_state = "stale"

    def analyze_cfg(self) -> None:
        """Renew the snapshot: edges, reverse post-order, dominators, back edges, loop depths."""
        from nvir.ir.cfg import analyze

        analyze(self)

    def _fresh(self) -> None:
        if self.cfg_state == "never":
            self.analyze_cfg()
        elif self.cfg_state == "stale":
            from nvir.ir import block

            if block.CHECK or CHECK:
                raise VerifyError(
                    "control flow was changed since the annotations were made; "
                    "call analyze_cfg()", self.name
                )

    @property
    def rpo(self) -> list[Block]:
        """The reachable blocks in reverse post-order: a dominator precedes what it dominates."""
        self._fresh()
        return self._rpo

    @property
    def back_edges(self) -> dict[Block, tuple[Block, ...]]:
        """Latch → the headers that it branches back to (each dominates the latch)."""
        self._fresh()
        return self._back_edges

    @property
    def irreducible_edges(self) -> list[tuple[Block, Block]]:
        """Retreating edges (from, to) whose target does not dominate their source."""
        self._fresh()
        return self._irreducible

    @property
    def idom(self) -> dict[Block, Block | None]:
        """Immediate dominator of each reachable block; None for the entry."""
        self._fresh()
        return {b: b._idom for b in self._rpo}

    def loops(self) -> list[Loop]:
        """The natural loops, outer before inner, in reverse post-order of their headers."""
        from nvir.ir.loops import natural_loops

        return natural_loops(self)

    def __repr__(self) -> str:
        return f"<Function {self.kind} {self.name}, {len(self.blocks)} blocks>"
