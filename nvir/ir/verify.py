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
Opcodes
14  rows are of the module's level
15  an instruction has the operands and results that its form lays out
16  operands and results have the register classes of their row and modifiers
17  a guard is a predicate; each result has one fallback of its class
18  tied operands have the class of their result
19  live ranges of the carry flag do not overlap; it has no phi and leaves no function
20  a value that an asynchronous operation still reads or writes has no other use before the
    wait, as far as that stands in the same block
21  calls pass what the callee takes, `ret` what the function returns

Of blocks that the entry does not reach all is asked but dominance. Classes are
checked as ptxas does: registers may be wider than the type of `ld`, `st` and
`cvt`, literals fit all, symbols may be taken at any width.

Method   One walk over the blocks in reverse post-order: a value met in an
         operand must be among those met as definitions, in a block that
         dominates. Classes depend on the form and the types alone, so each
         combination is worked out once.
Cost     Linear; about 1 µs an instruction (benchmarks/ir.py).
"""

from __future__ import annotations

from typing import Any, NoReturn

from nvir.ir.block import Block
from nvir.ir.cfg import dominator_tree, successors
from nvir.ir.errors import VerifyError
from nvir.ir.form import Form
from nvir.ir.function import Function
from nvir.ir.instruction import CallInfo, Instruction, Loose
from nvir.ir.module import Module
from nvir.ir.opcodes import TIED, UNKNOWN
from nvir.ir.types import CC, IMM, PRED, SCALARS, VOID, ScalarType, Type
from nvir.ir.values import (
    UNTRACKED,
    Argument,
    Constant,
    Result,
    SpecialRegister,
    Symbol,
    SymbolOffset,
    Undef,
    Value,
)


def verify(unit: Module | Function) -> None:
    """Raise VerifyError unless every invariant holds for a module or one function."""
    if isinstance(unit, Function):
        _verify_function(unit, unit.module.level if unit.module is not None else "ori")
        return
    names: set[str] = set()
    for x in unit.order:
        if x.name in names:
            raise VerifyError(f"the module has two symbols named {x.name}")
        names.add(str(x.name))
    if {*unit.functions, *unit.globals} != set(unit.order):
        raise VerifyError("the module's order does not list its functions and globals")
    for f in unit.functions:
        if f.module is not unit:
            raise VerifyError("the function's module is another one", str(f.name))
        _verify_function(f, unit.level)


def _verify_function(function: Function, level: str) -> None:
    if function.blocks:
        check = _Check(function, level)
        check.structure()
        check.body()
        check.phis()
        check.uses()
        check.notes()
        if check.carries:
            check.carry()


class _Check:
    """The verification of one function."""

    def __init__(self, function: Function, level: str) -> None:
        self.function, self.level = function, level
        self.block_set = set(function.blocks)
        # value -> number of the block that makes it; 0, the entry, for what is always there
        self.where: dict[Value, int] = {}
        self.pairs = 0  # (value, user) pairs among the operands
        self.made: list[Value] = [p for p in function.params if isinstance(p, Argument)]
        self.all_phis: list[Instruction] = []
        self.carries = False
        self.outer: set[Any] | None = None
        for a in self.made:
            self.where[a] = 0

    def fail(self, invariant: str, instruction: Instruction | None = None) -> NoReturn:
        raise VerifyError(invariant, str(self.function.name), _text(instruction))

    # ---------------------------------------------------------- structure

    def structure(self) -> None:
        """Blocks, terminators and edges; numbers the blocks in RPO, unreachable ones behind."""
        f = self.function
        blocks = f.blocks
        if len({b.name for b in blocks}) < len(blocks):
            twice = next(b for k, b in enumerate(blocks) if b.name in {c.name for c in blocks[:k]})
            self.fail(f"two blocks are named {twice.name}")
        preds: dict[Block, list[Block]] = {b: [] for b in blocks}
        if len(preds) < len(blocks):
            self.fail("a block stands twice in the layout")
        for b in blocks:
            if b.function is not f:
                self.fail(f"block {b.name} belongs to another function")
            last = b.last
            if last is None:
                self.fail(f"block {b.name} is empty")
            if not last.form.terminator:
                self.fail(f"block {b.name} has no terminator", last)
            self.targets(last)
            for s in successors(b):
                preds[s].append(b)
        self.preds = preds
        if preds[blocks[0]]:
            b = preds[blocks[0]][0]
            self.fail(f"block {b.name} leads back to the entry", b.last)
        self.number_blocks()
        if f.cfg_state == "fresh":
            for b in blocks:
                if b._succs != successors(b) or set(b._preds) != set(preds[b]):
                    self.fail(f"the snapshot of the control flow is wrong at block {b.name}")

    def targets(self, last: Instruction) -> None:
        aux = last.aux
        if aux.__class__ is not tuple:
            self.fail("a terminator's aux is the tuple of its successors", last)
        for t in aux:
            if t not in self.block_set:
                name = getattr(t, "name", t)
                self.fail(f"successor {name} is no block of the function", last)
        if self.level != "ori":
            return
        guarded = last.form.guard is not None
        name = last.form.name
        n = len(aux) - guarded
        if not (n == 1 if name == "bra" else n >= 1 if name == "brx.idx" else n == 0):
            self.fail(f"{name} does not have {len(aux)} successors", last)

    def number_blocks(self) -> None:
        entry = self.function.blocks[0]
        order: list[Block] = []
        seen = {entry}
        stack = [(entry, iter(successors(entry)))]
        while stack:
            block, targets = stack[-1]
            for t in targets:
                if t not in seen:
                    seen.add(t)
                    stack.append((t, iter(successors(t))))
                    break
            else:
                order.append(block)
                stack.pop()
        order.reverse()
        self.reached = len(order)
        order.extend(b for b in self.function.blocks if b not in seen)
        self.order = order
        self.number = number = {b: k for k, b in enumerate(order)}
        n = self.reached
        tree = dominator_tree(
            [[number[p] for p in self.preds[b] if number[p] < n] for b in order[:n]]
        )
        self.first, self.last = tree.first, tree.last

    def dominates(self, a: int, b: int) -> bool:
        """Whether block number `a` dominates `b`; true where `b` is not reached."""
        if b >= self.reached or a == b:
            return True
        return a < self.reached and self.first[a] <= self.first[b] < self.last[a]

    # --------------------------------------------------------------- body

    def body(self) -> None:
        """Every instruction: links, layout, classes, uses, dominance."""
        for k, block in enumerate(self.order):
            self.block(k, block)

    def block(self, k: int, block: Block) -> None:
        where, made, known = self.where, self.made, _known[self.level]
        reached = k < self.reached
        first, last_of = self.first, self.last
        here = first[k] if reached else -1
        pairs = 0
        previous: Instruction | None = None
        i = block.first
        asynchronous = False
        while i is not None:
            form = i.form
            operands = i._operands
            if i.block is not block or i.prev is not previous:
                self.fail(f"the instruction's links in block {block.name} are broken", i)
            if form.is_phi:
                if previous is not None and not previous.form.is_phi:
                    self.fail("a phi stands behind another instruction", i)
                self.all_phis.append(i)
                where[i] = k
                made.append(i)
                pairs += self.operand_uses(i)
                previous, i = i, i.next
                continue
            results = i._results
            signature = (form, i.type if results is None else results_key(results),
                         *[v.type for v in operands])  # fmt: skip
            if signature not in known:
                self.signature(i, signature)
            for v in operands:
                u = v._uses
                if u is i:
                    pairs += 1
                elif u is UNTRACKED:
                    if v not in where:
                        self.shared(v, i)
                    continue
                elif u.__class__ is dict and u.get(i) == 1:
                    pairs += 1
                else:
                    pairs += self.repeated_use(v, i, operands)
                d = where.get(v)
                if d is None:
                    self.undefined(v, i, reached)
                elif d != k and not (first[d] <= here < last_of[d] if d < self.reached and reached
                                     else not reached):
                    self.fail(f"{v.name} does not dominate this use", i)
            if results is None:
                if i.type is not VOID:
                    where[i] = k
                    made.append(i)
            else:
                for r in results:
                    where[r] = k
                    made.append(r)
            if form.op.async_until:
                asynchronous = True
            previous, i = i, i.next
        if previous is not block.last:
            self.fail(f"block {block.name} does not end with its last instruction", previous)
        self.pairs += pairs
        if asynchronous:
            self.in_flight(block)

    def signature(self, i: Instruction, signature: tuple[Any, ...]) -> None:
        """Check layout and classes of an instruction; remember the answer where the form and
        the types alone decide it."""
        form = i.form
        if form.op.level != self.level:
            self.fail(f"row {form.op.name} is of level {form.op.level}, not {self.level}", i)
        if form.terminator and i.next is not None:
            self.fail("a terminator stands before the end of its block", i)
        self.owned(i)
        if form.carry_in or form.carry_out:
            self.carries = True
        if self.level != "ori":
            return
        if form.name == "ret":
            self.returned(i)
        elif form.is_call or form.op is UNKNOWN:
            self.loose(i)
        else:
            problem = classes(i)
            if problem is not None:
                self.fail(problem, i)
            if not (i._results or form.terminator or form.carry_in or form.carry_out):
                _known["ori"].add(signature)

    def owned(self, i: Instruction) -> None:
        for k, r in enumerate(i._results or ()):
            if not isinstance(r, Result) or r.instruction is not i or r.index != k:
                self.fail(f"result {k} belongs to another instruction", i)

    # ---------------------------------------------------------------- uses

    def operand_uses(self, i: Instruction) -> int:
        """The (value, user) pairs of one instruction, each checked from the value's side."""
        pairs = 0
        operands = i._operands
        for v in operands:
            u = v._uses
            if u is i or (u.__class__ is dict and u.get(i) == 1):
                pairs += 1
            elif u is UNTRACKED:
                if v not in self.where:
                    self.shared(v, i)
            else:
                pairs += self.repeated_use(v, i, operands)
        return pairs

    def repeated_use(self, v: Value, i: Instruction, operands: tuple[Value, ...]) -> int:
        """A use that is no plain single one: right only if it is repeated and counted so.
        Each occurrence contributes its share, so that one pair comes of all of them."""
        n = sum(x is v for x in operands)
        u = v._uses
        if n < 2 or u.__class__ is not dict or u.get(i) != n:
            self.fail(f"{v.name} does not know this use", i)
        self.repeats = getattr(self, "repeats", {})
        key = (v, i)
        if key in self.repeats:
            return 0
        self.repeats[key] = n
        return 1

    def uses(self) -> None:
        """No value knows a user that its operands do not show: the pairs are as many."""
        count = 0
        for v in self.made:
            u = v._uses
            if u is not None:
                count += len(u) if u.__class__ is dict else 1
        if count == self.pairs:
            return
        for v in self.made:
            for user in v.users:
                if not any(x is v for x in user._operands):
                    self.fail(f"{v.name} has a user that does not name it", user)
                if user.block not in self.block_set:
                    self.fail(f"{v.name} has a user outside of the function's blocks", user)
        self.fail("uses and operands do not agree")

    # -------------------------------------------------------------- values

    def shared(self, v: Value, i: Instruction) -> None:
        """A value without uses: fine if it is a literal or the like, or a symbol in sight."""
        symbol: Any = v.symbol if isinstance(v, SymbolOffset) else v
        if isinstance(symbol, Symbol):
            self.in_sight(symbol, i)
        elif not isinstance(v, Constant | Undef | SpecialRegister):
            self.fail(f"{v!r} is no operand", i)
        self.where[v] = 0

    def in_sight(self, symbol: Symbol, i: Instruction) -> None:
        f = self.function
        if self.outer is None:
            self.outer = {f, *f.locals, *f.params, *f.returns}
            if f.module is not None:
                self.outer.update(f.module.order)
        if symbol not in self.outer and f.module is not None:
            self.fail(f"{symbol.name} is no symbol of the function or the module", i)

    def undefined(self, v: Value, i: Instruction, reached: bool) -> None:
        """An operand whose definition the walk has not met."""
        d = v.definer
        if d is None:
            self.fail(f"{v.name} is no argument of this function", i)
        if d.block is None:
            self.fail(f"{v.name} is made by an instruction that is in no block", i)
        if d.block not in self.block_set:
            self.fail(f"{v.name} is made in another function", i)
        if d is not v and v not in d.results:
            self.fail(f"{v.name} is no result of its instruction", i)
        if v is d and d.type is VOID:
            self.fail("an operand names an instruction that has no result", i)
        if reached:
            self.fail(f"{v.name} does not dominate this use", i)

    def phis(self) -> None:
        number, where = self.number, self.where
        for i in self.all_phis:
            preds = self.preds[i.block]  # type: ignore[index]  # links are checked by now
            blocks = i.aux
            if i.form.op.level != self.level:
                self.fail(f"row phi is of level {i.form.op.level}, not {self.level}", i)
            if i.type is VOID or i._results is not None:
                self.fail("a phi has one result", i)
            if i.type is CC:
                self.fail("the carry flag has no phi", i)
            if blocks.__class__ is not tuple or len(blocks) != len(i._operands):
                self.fail("a phi has one block for each operand", i)
            if len(blocks) != len(preds) or set(blocks) != set(preds):
                self.fail("the entries of a phi are not the block's predecessors", i)
            reached = number[i.block] < self.reached  # type: ignore[index]
            for v, b in zip(i._operands, blocks, strict=True):
                if not fits(v, i.type):
                    self.fail(f"{v.name} is a {v.type}, the phi a {i.type}", i)
                d = where.get(v)
                if d is None:
                    self.undefined(v, i, reached and number[b] < self.reached)
                elif reached and not self.dominates(d, number[b]):
                    self.fail(f"{v.name} does not dominate the end of block {b.name}", i)

    def notes(self) -> None:
        f = self.function
        for i in (*f.marks, *f.loaded_params.values()):
            if i.block is not None and i.block not in self.block_set:
                self.fail("a note names an instruction of another function", i)

    # ------------------------------------------------- calls and returns

    def returned(self, i: Instruction) -> None:
        returns = [r for r in self.function.returns if isinstance(r, Argument)]
        n = i.form.n_operands
        if len(i._operands) != n + len(returns):
            self.fail(f"ret has {len(i._operands) - n} values, the function {len(returns)}", i)
        self.guarded(i, i.form.guard_index)
        for v, r in zip(i._operands[n:], returns, strict=True):
            if not fits(v, r.type):
                self.fail(f"{v.name} is a {v.type}, the function returns a {r.type}", i)

    def guarded(self, i: Instruction, index: int) -> None:
        if index >= 0 and i._operands[index].type is not PRED:
            self.fail("the guard is no predicate", i)

    def loose(self, i: Instruction) -> None:
        """Calls and unknown mnemonics say themselves how their operands lie."""
        aux = i.aux
        if not isinstance(aux, Loose):
            self.fail("calls and unknown mnemonics carry their layout as aux", i)
        guarded = i.form.guard is not None
        n, results = aux.n_sources, i.results
        expected = n + (1 + len(results) if guarded else 0)
        if len(i._operands) != expected or (guarded and aux.guard_index != n):
            self.fail(f"{len(i._operands)} operands, {expected} laid out", i)
        self.guarded(i, aux.guard_index if guarded else -1)
        for r, o in aux.ties:
            if not (0 <= r < len(results) and 0 <= o < len(i._operands)):
                self.fail("a tie names an operand that is not there", i)
            if not fits(i._operands[o], results[r].type):
                self.fail("a tied operand has another class than its result", i)
        if guarded and len({r for r, o in aux.ties if o > n}) != len(results):
            self.fail("a result has no fallback", i)
        if isinstance(aux, CallInfo):
            self.call(i, aux)
        elif i.form.is_call:
            self.fail("a call carries a CallInfo", i)

    def call(self, i: Instruction, info: CallInfo) -> None:
        indirect = info.callee is None
        if indirect and not i.sources:
            self.fail("an indirect call has an address", i)
        for p in info.return_params:
            self.shared(p, i)
        if info.callee is None:
            if info.prototype is not None and info.prototype not in self.function.prototypes:
                self.fail(f"the function has no prototype {info.prototype}", i)
            return
        self.shared(info.callee, i)
        callee = info.callee
        if not isinstance(callee, Function):
            return
        passed, taken = len(i.sources), len(callee.params)
        if passed != taken:
            self.fail(f"the call passes {passed} arguments, {callee.name} takes {taken}", i)
        given = len(i.results) + len(info.return_params)
        if given not in (0, len(callee.returns)):
            self.fail(f"the call has {given} results, {callee.name} {len(callee.returns)}", i)
        for v, p in zip(i.sources, callee.params, strict=True):
            if isinstance(p, Argument) and not fits(v, p.type):
                self.fail(f"{v.name} is a {v.type}, {callee.name} takes a {p.type}", i)

    # --------------------------------------------- carry and asynchrony

    def carry(self) -> None:
        """Every use of a carry sees that very definition as the last one, on every path."""
        top, clash = object(), object()
        out: dict[Block, Any] = {}

        def through(b: Block, report: bool) -> Any:
            states = [out.get(p, top) for p in self.preds[b]]
            known = {id(s): s for s in states if s is not top}
            state = next(iter(known.values())) if len(known) == 1 else clash if known else None
            for i in b:
                for v in i._operands:
                    if v.type is CC and v._uses is not UNTRACKED and v is not state and report:
                        self.fail("another carry is live here: their ranges overlap", i)
                if i.form.carry_out:
                    state = i.results[-1]
            return state

        work = list(reversed(self.order))
        while work:
            b = work.pop()
            new = through(b, False)
            if b not in out or out[b] is not new:
                out[b] = new
                work.extend(successors(b))
        for b in self.order:
            through(b, True)

    def in_flight(self, block: Block) -> None:
        """Tied values of asynchronous operations until their wait in the same block."""
        groups: list[dict[Value, tuple[str, ...]]] = [{}]
        for i in block:
            row = i.form.op
            tied = {o for r, o in i.ties} if any(x.role == TIED for x in row.operands) else set()
            for k, v in enumerate(i._operands):
                if k not in tied and any(v in g for g in groups):
                    self.fail(f"{v.name} is still being written: its wait comes later", i)
            if row.async_until and tied:
                for r, o in i.ties:
                    groups[-1][i.results[r]] = row.async_until
                    if i._operands[o].is_tracked:
                        groups[-1][i._operands[o]] = row.async_until
            elif row.name.endswith(".commit_group"):
                groups.append({})
            elif any(row.name in until for g in groups for until in g.values()):
                n = i._operands[0]
                keep = n.value if isinstance(n, Constant) else 0
                groups = groups[len(groups) - 1 - keep :] if keep < len(groups) else groups


def results_key(results: tuple[Result, ...]) -> tuple[Type, ...]:
    return tuple([r.type for r in results])


def _text(i: Instruction | None) -> str:
    if i is None:
        return ""
    try:
        return str(i).strip()
    except Exception:  # what is broken may not print
        return repr(i)


# ------------------------------------------------------------------ classes

# Signatures that were found good: (form, result types, operand types).
_known: dict[str, set[tuple[Any, ...]]] = {"ori": set(), "nvvm": set()}

# What the sources of a row are, in order; the last letter holds for all that follow.
#   t  a register of (one of) the instruction's types     w  32 bits
#   T  the same or wider                                  r  as the first result
#   p  predicate                                          a  an address, 32 or 64 bits
#   .  not checked
_SOURCES: dict[str, str] = {}


def _sources(letters: str, rows: str) -> None:
    _SOURCES.update(dict.fromkeys(rows.split(), letters))


_sources("t", "add sub mul mul24 div rem abs neg min max sad add.cc addc addc.cc sub.cc subc subc.cc "
              "and or xor not cnot popc clz bfind brev sqrt rsqrt rcp sin cos ex2 lg2 tanh copysign "
              "testp fma shf bmsk szext")  # fmt: skip
_sources("ttr", "mad mad24 mad.lo.cc mad.hi.cc madc.lo madc.hi madc.lo.cc madc.hi.cc")
_sources("tw", "shl shr")
_sources("tww", "bfe")
_sources("ttww", "bfi")
_sources("ttp", "selp")
_sources("tt.", "slct")
_sources("ttp", "setp set")
_sources("a", "ld ldu")
_sources("T", "cvt")
_sources("w", "shfl.sync shfl redux.sync")


def classes(i: Instruction) -> str | None:
    """What is wrong with the number and the register classes of operands and results, or None."""
    f = i.form
    operands, results = i._operands, i.results
    if len(operands) != f.n_operands:
        return f"{f.spelling} has {f.n_operands} operands, not {len(operands)}"
    if len(results) != f.n_results:
        return f"{f.spelling} has {f.n_results} results, not {len(results)}"
    wider = f.name in ("ld", "ldu", "cvt")
    for r, t in zip(results, f.result_types, strict=True):
        if not _class_fits(r.type, t, wider):
            return f"a result is a {r.type}, the instruction makes a {t}"
    for r, o in f.ties:
        if not fits(operands[o], results[r].type):
            what = "fallback" if o > f.guard_index >= 0 else "tied operand"
            return f"{what} {operands[o].name} is a {operands[o].type}, its result a {results[r].type}"
    if f.guard_index >= 0 and operands[f.guard_index].type is not PRED:
        return "the guard is no predicate"
    if f.carry_in and operands[f.n_sources + len(f.ties) * 0].type is not CC and not any(
        v.type is CC for v in operands[f.n_sources :]
    ):
        return "the carry is no carry flag"
    return _source_classes(f, operands, results)


def _source_classes(
    f: Form, operands: tuple[Value, ...], results: tuple[Value, ...]
) -> str | None:
    letters = _SOURCES.get(f.name)
    for base, _ in f.addresses:
        if not _is_address(operands[base]):
            return f"{operands[base].name} is a {operands[base].type} and no address"
    if letters is None:
        return None
    types = {SCALARS[m].cls for m in f.mods if m in SCALARS}
    if not types:
        return None
    packed = "{" in f.shape
    for k in range(f.n_sources):
        v = operands[k]
        if not isinstance(v, Value) or not v.is_tracked:
            continue
        letter = letters[min(k, len(letters) - 1)]
        wanted = _wanted(letter, types, results)
        if wanted is None or packed:
            continue
        least = min(t.bits for t in wanted)
        if v.type not in wanted and getattr(v.type, "cls", v.type) not in wanted and not (
            letter == "T" and v.type is not PRED and v.type.bits >= least
        ):
            names = " or ".join(sorted(t.name for t in wanted))
            return f"{v.name} is a {v.type}, {f.spelling} takes a {names}"
    return None


def _wanted(
    letter: str, types: set[ScalarType], results: tuple[Value, ...]
) -> set[ScalarType] | None:
    if letter in "tT":
        return types
    if letter == "w":
        return {SCALARS["b32"]}
    if letter == "p":
        return {PRED}
    if letter == "r" and results and isinstance(results[0].type, ScalarType):
        return {results[0].type.cls}
    return None


def _is_address(v: Value) -> bool:
    return v.type.bits in (32, 64) or v.type is IMM or not v.is_tracked


def _class_fits(actual: Type, wanted: ScalarType, wider: bool) -> bool:
    if not isinstance(actual, ScalarType):
        return False
    if actual.cls is wanted.cls:
        return True
    if PRED in (actual, wanted) or CC in (actual, wanted):
        return False
    return wider and actual.bits >= wanted.bits


def fits(v: Value, type: Type) -> bool:
    """Whether a value can stand where a register of this type is."""
    t = v.type
    if t is type:
        return True
    if isinstance(t, ScalarType) and isinstance(type, ScalarType):
        return t.cls is type.cls or t is IMM or isinstance(v, Symbol | SymbolOffset)
    return False
