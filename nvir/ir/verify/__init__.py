"""The verifier: what holds of every module between passes.

A pass may break any of these while it runs; all must hold when it returns.
VerifyError names the first that does not, the function and the instruction.

Structure of a function
 1  its blocks belong to it and have names of their own
 2  instructions are linked both ways, and to their block
 3  a block is not empty; exactly one terminator ends it, and nothing follows that
 4  phis stand at block heads
 5  successors are blocks of the function, as many as the terminator leads to
 6  the entry has no predecessors
 7  a phi has one entry for each predecessor, and none else
 8  a snapshot of the control flow that is called fresh names the edges there are
 9  marks and loaded parameters name instructions of the function
Values
10  a definition dominates its uses; a phi uses at the end of the incoming block
11  a value knows its users, each as often as its operands name it, and no others
12  arguments and symbols that operands name belong to the function or to its module
13  an instruction of several results owns them, each at its index
Opcodes (in verify/ori.py and verify/nvvm.py)
14  rows are of the module's level
15  an instruction has the operands and results that its form lays out
16  ori: operands and results have the register classes of their row and modifiers
17  ori: a guard is a predicate; each result has one fallback of its class
18  ori: tied operands have the class of their result
19  ori: live ranges of the carry flag do not overlap; it has no phi
20  ori: a value that an asynchronous operation still reads or writes has no other use
    before the wait, as far as that stands in the same block
21  calls pass what the callee takes, `ret` what the function returns
22  nvvm: types agree exactly; nothing is stored to constant memory (address space 4)
Module
23  its symbols have names of their own, and its functions know it
24  numbers of a function's directives have 32 bits

Of blocks that the entry does not reach all is asked but dominance.

Method   One walk over the blocks in reverse post-order, so that a value met in an
         operand must have been met as a definition, in a block that dominates.
         Uses are checked from the value's side (each claim is true) and counted
         (so none is missing). What depends on form and types alone is worked out
         once for each combination.
Cost     Linear; below 1 µs an instruction.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NoReturn

from nvir.ir.block import Block
from nvir.ir.cfg import dominator_tree, reverse_post_order_now, successors
from nvir.ir.errors import VerifyError
from nvir.ir.function import Function, are_sizes
from nvir.ir.instruction import Instruction
from nvir.ir.module import Module
from nvir.ir.nvvm_values import ConstantExpr, symbols_in
from nvir.ir.types import CC, VOID
from nvir.ir.values import Argument, Result, Symbol, SymbolOffset, Value, same_class
from nvir.ir.verify import nvvm as verify_nvvm
from nvir.ir.verify import ori as verify_ori

_type = attrgetter("type")

# Combinations of form, result type and operand types that were found good.
_good: dict[str, set[tuple[Any, ...]]] = {"ori": set(), "nvvm": set()}


def verify(unit: Module | Function) -> None:
    """Raise VerifyError unless every invariant holds for a module, or for one function.

    A function outside of any module is taken for one of level `ori`.
    """
    if isinstance(unit, Function):
        _verify_function(unit, unit.module.level if unit.module is not None else "ori")
        return
    if not hasattr(unit, "order"):
        raise TypeError(f"expected a module or a function, not {unit.__class__.__name__}")
    names: set[str | None] = set()
    for x in unit.order:
        if x.name in names:
            raise VerifyError(f"the module has two symbols named {x.name}")
        names.add(x.name)
    if {*unit.functions, *unit.globals} != set(unit.order):
        raise VerifyError("the module's order is not that of its functions and globals")
    _check_annotations(unit)
    for v in unit.globals if unit.level == "nvvm" else ():
        if not isinstance(v.init, Value | None):
            raise VerifyError(f"the initial value of {v.name} is a list, as ori has it; at nvvm "
                              "it is a constant")
    for f in unit.functions:
        if f.module is not unit:
            raise VerifyError("the function's module is another one", str(f.name))
        _verify_function(f, unit.level)


def _check_annotations(module: Module) -> None:
    """What `nvvm.annotations` say is said of symbols: (symbol, key, value, key, value …)."""
    aux = module.aux if isinstance(module.aux, dict) else {}
    named = aux.get("metadata", {})
    nodes = named.get("nvvm.annotations", ()) if isinstance(named, dict) else (named,)
    for node in nodes:
        if not (isinstance(node, Sequence) and node and isinstance(node[0], Symbol)):
            raise VerifyError(f"nvvm.annotations: expected (symbol, key, value …), not {node!r}")


def _verify_function(function: Function, level: str) -> None:
    for name, numbers in function.directives.items():
        if not are_sizes(numbers):
            raise VerifyError(f"{name} takes numbers of 32 bits", str(function.name))
    if not function.blocks:
        return
    check = FunctionCheck(function, level)
    check.structure()
    for k, block in enumerate(check.order):
        check.block(k, block)
    check.phis()
    check.uses()
    check.notes()
    if check.carries:
        verify_ori.check_carries(check)


class _Where(dict[Value, int]):
    """Value → number of the block that makes it, met so far. Numbers of other values are made
    up when asked for: SHARED for literals and symbols, `undefined` for what is not yet met."""

    def __init__(self, undefined: int) -> None:
        self.undefined = undefined
        self.symbols: set[Symbol] = set()

    def __missing__(self, v: Value) -> int:
        if v.is_tracked:
            return self.undefined
        if isinstance(v, Symbol):
            self.symbols.add(v)
        elif isinstance(v, SymbolOffset):
            self.symbols.add(v.symbol)
        elif isinstance(v, ConstantExpr):
            self.symbols.update(symbols_in(v))
        self[v] = SHARED
        return SHARED


SHARED = -1


class FunctionCheck:
    """The verification of one function.

    order       its blocks, those reached in reverse post-order, the others behind
    preds       predecessors of each block, as the terminators say now
    reached     how many blocks the entry reaches
    """

    def __init__(self, function: Function, level: str) -> None:
        self.function, self.level = function, level
        self.blocks = set(function.blocks)
        self.where = _Where(len(function.blocks))
        self.slots = 0  # operands that name a value with uses
        self.all_phis: list[Instruction] = []
        self.carries = False
        self.sight: set[Any] | None = None
        for a in function.params:
            if isinstance(a, Argument):
                self.where[a] = 0

    @functools.cached_property
    def own(self) -> set[Any]:
        """The variables and parameters of the function."""
        return {*self.function.locals, *self.function.params, *self.function.returns}

    def fail(self, invariant: str, instruction: Instruction | None = None,
             block: Block | None = None) -> NoReturn:
        module, at = self.function.module, block if instruction is None else instruction
        place = module.place(at.line) if module is not None and at is not None else None
        raise VerifyError(invariant, str(self.function.name), _text(instruction), place)

    # ---------------------------------------------------------- structure

    def structure(self) -> None:
        """Blocks, terminators and edges."""
        f = self.function
        names: set[str] = set()
        self.preds: dict[Block, list[Block]] = {b: [] for b in f.blocks}
        if len(self.preds) < len(f.blocks):
            self.fail("a block stands twice in the layout")
        for b in f.blocks:
            if b.function is not f:
                self.fail(f"block {b.name} belongs to another function", block=b)
            if b.name in names:
                self.fail(f"two blocks are named {b.name}", block=b)
            names.add(b.name)
            self.edges(b)
        entry = f.blocks[0]
        if self.preds[entry]:
            b = self.preds[entry][0]
            self.fail(f"block {b.name} leads back to the entry", b.last)
        self.number_blocks(entry)
        if f.cfg_state == "fresh":
            for b in f.blocks:
                if b._succs != successors(b) or set(b._preds) != set(self.preds[b]):
                    self.fail(f"the snapshot of the control flow is wrong at block {b.name}")

    def edges(self, b: Block) -> None:
        last = b.last
        if last is None:
            self.fail(f"block {b.name} is empty", block=b)
        if not last.form.terminator:
            self.fail(f"block {b.name} has no terminator", last)
        targets = last.aux
        if targets.__class__ is not tuple:
            self.fail("a terminator's aux is not the tuple of its successors", last)
        for t in targets:
            if t not in self.blocks:
                name = getattr(t, "name", t)
                self.fail(f"successor {name} is no block of the function", last)
        n = len(targets) - (last.form.guard is not None)
        wanted = last.form.op.targets
        if n != wanted and not (wanted < 0 < n):
            self.fail(f"{last.form.name} has {len(targets)} successors", last)
        for s in successors(b):
            self.preds[s].append(b)

    def number_blocks(self, entry: Block) -> None:
        """Reverse post-order and dominators, without a look at the function's snapshot."""
        order = reverse_post_order_now(entry)
        self.reached = n = len(order)
        number = {b: k for k, b in enumerate(order)}
        tree = dominator_tree([[number[p] for p in self.preds[b] if p in number] for b in order])
        order.extend(b for b in self.function.blocks if b not in number)
        self.number = {b: k for k, b in enumerate(order)}
        self.order = order
        # No interval holds anything for blocks not reached, and for what is not yet met.
        nowhere = [0] * (len(order) - n + 1)
        self.first, self.last = tree.first + nowhere, tree.last + nowhere

    # --------------------------------------------------------------- body

    def block(self, k: int, block: Block) -> None:
        """The instructions of block number `k`: links, layout, classes, dominance, uses."""
        where, good, blocks = self.where, _good[self.level], self.blocks
        number_of = where.__getitem__
        first, last = self.first, self.last
        here = first[k] if k < self.reached else -1
        slots = 0
        previous, i = self.head(k, block)
        while i is not None:
            operands = i._operands
            if i.block is not block or i.prev is not previous:
                self.fail(f"the links in block {block.name} are broken", i)
            key = (i.form, i.type, *map(_type, operands))
            if key not in good or i.aux is not None or i._results is not None:
                self.instruction(i, key)
            for d in map(number_of, operands):
                if d == k:
                    slots += 1
                elif d >= 0:
                    slots += 1
                    if not first[d] <= here < last[d]:
                        self.not_dominated(i, k)
            if i._results is not None:
                for r in i._results:
                    where[r] = k
                    slots -= self.users(r)
            elif i.type is not VOID:
                where[i] = k
                u = i._uses
                if u.__class__ is Instruction:
                    slots -= 1
                    if u.block not in blocks or i not in u._operands:
                        self.users(i)
                elif u is not None:
                    slots -= self.users(i)
            previous = i
            i = i.next
        if previous is not block.last:
            self.fail(f"block {block.name} does not end with its last instruction", previous)
        self.slots += slots

    def head(self, k: int, block: Block) -> tuple[Instruction | None, Instruction | None]:
        """Collect the phis; the last of them and the instruction behind it."""
        previous, i = None, block.first
        while i is not None and i.form.is_phi:
            if i.block is not block or i.prev is not previous:
                self.fail(f"the links in block {block.name} are broken", i)
            self.all_phis.append(i)
            self.where[i] = k
            self.slots += sum(v.is_tracked for v in i._operands) - self.users(i)
            previous, i = i, i.next
        return previous, i

    def instruction(self, i: Instruction, key: tuple[Any, ...]) -> None:
        """What the form and the types decide. Remembered but for what holds in this place only."""
        form = i.form
        if form.op.level != self.level:
            self.fail(f"row {form.op.name} is of level {form.op.level}, not {self.level}", i)
        if form.is_phi:
            self.fail("a phi stands behind another instruction", i)
        if form.terminator and i.next is not None:
            self.fail("a terminator stands before the end of its block", i)
        for k, r in enumerate(i._results or ()):
            if not isinstance(r, Result) or r.instruction is not i or r.index != k:
                self.fail(f"result {k} belongs to another instruction", i)
        rules = verify_ori if self.level == "ori" else verify_nvvm
        if rules.check_instruction(self, i) and i._results is None:
            _good[self.level].add(key)

    # -------------------------------------------------------------- values

    def users(self, v: Value) -> int:
        """How many operands `v` claims that name it; each claim must be true."""
        u = v._uses
        if u is None:
            return 0
        claims = u if u.__class__ is dict else {u: 1}
        for user, n in claims.items():
            if user.block not in self.blocks:
                self.fail(f"{_named(v)} has a user that is in no block of the function", user)
            if n < 1 or (v not in user._operands if n == 1 else user._operands.count(v) < n):
                self.fail(f"{_named(v)} has a user that does not name it", user)
        return sum(claims.values())

    def uses(self) -> None:
        """No operand names a value that does not know of it: the claims are as many as they."""
        for a in self.function.params:
            if isinstance(a, Argument):
                self.slots -= self.users(a)
        if self.slots:
            for i in self.function.instructions():
                for v in i._operands:
                    u = v._uses
                    if v.is_tracked:
                        claimed = u.get(i, 0) if isinstance(u, dict) else int(u is i)
                        if claimed != i._operands.count(v):
                            self.fail(f"{v.name} does not know this use", i)
            self.fail("uses and operands do not agree")
        for s in self.where.symbols:
            self.in_sight(s)

    def in_sight(self, symbol: Symbol, i: Instruction | None = None) -> None:
        """Hold a symbol to be one of the function or its module."""
        f = self.function
        if self.sight is None:
            self.sight = {f, *self.own}
            if f.module is not None:
                self.sight.update(f.module.order)
        if symbol not in self.sight and f.module is not None:
            i = i or next((i for i in f.instructions() if _names(i, symbol)), None)
            self.fail(f"{symbol.name} is no symbol of the function or the module", i)

    def not_dominated(self, i: Instruction, k: int) -> None:
        """Find which operand of `i` in block number `k` has no definition that dominates."""
        for v in i._operands:
            d = self.where[v]
            if d in (SHARED, k):
                continue
            if d == self.where.undefined:
                self.made_here(v, i)
            if k < self.reached and not self.first[d] <= self.first[k] < self.last[d]:
                self.fail(f"{_named(v)} does not dominate this use", i)

    def made_here(self, v: Value, i: Instruction) -> None:
        """Hold the definition of `v`, not met before its use, to be one of the function."""
        d = v.definer
        if d is None:
            self.fail(f"{v.name} is no argument of the function", i)
        if d.block is None:
            self.fail(f"{_named(v)} is made by an instruction that is in no block", i)
        if d.block not in self.blocks:
            self.fail(f"{_named(v)} is made in another function", i)
        if not any(v is r for r in d.results):
            self.fail(f"{v.name or d.form.spelling} is no result of its instruction", i)

    def phis(self) -> None:
        """Phis, once all definitions are known."""
        for i in self.all_phis:
            block, sources = i.block, i.aux
            assert block is not None
            preds = self.preds[block]
            if i.form.op.level != self.level:
                self.fail(f"row phi is of level {i.form.op.level}, not {self.level}", i)
            if i.type is VOID or i._results is not None:
                self.fail("a phi does not have one result", i)
            if i.type is CC:
                self.fail("the carry flag has a phi", i)
            if sources.__class__ is not tuple or len(sources) != len(i._operands):
                self.fail("a phi does not have one block for each operand", i)
            if len(sources) != len(preds) or set(sources) != set(preds):
                self.fail("the entries of a phi are not the block's predecessors", i)
            reached = self.number[block] < self.reached
            for v, b in zip(i._operands, sources, strict=True):
                if not same_class(v.type, i.type) and not isinstance(v, Symbol | SymbolOffset):
                    self.fail(f"{_named(v)} is of type {v.type}, the phi {i.type}", i)
                d, end = self.where[v], self.number[b]
                if d == self.where.undefined:
                    self.made_here(v, i)
                if d >= 0 and reached and end < self.reached and not (
                    self.first[d] <= self.first[end] < self.last[d]
                ):
                    self.fail(f"{_named(v)} does not dominate the end of block {b.name}", i)

    def notes(self) -> None:
        f = self.function
        for i in (*f.marks, *f.loaded_params.values()):
            if i.block is not None and i.block not in self.blocks:
                self.fail("a mark or loaded parameter is an instruction of another function", i)


def _named(v: Value) -> str:
    """A value's name, or the instruction that makes it: most values have none."""
    if v.name is None and v.definer is not None:
        return f"the value of '{_text(v.definer)}'"
    return str(v.name)


def _names(i: Instruction, symbol: Symbol) -> bool:
    return any(v is symbol or getattr(v, "symbol", None) is symbol for v in i._operands)


def _text(i: Instruction | None) -> str:
    if i is None:
        return ""
    try:
        return str(i).strip()
    except Exception:  # what is broken may not print
        return repr(i)
