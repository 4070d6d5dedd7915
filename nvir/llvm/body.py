"""Reading a function's body: one method a kind of instruction, over the tokens.

Values are looked up by token. One that is named before its definition gets a stand-in, which
is replaced when the body is read. Casts between pointers of one space make no
instruction: their result is another name of the operand. An error costs its line.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any, NoReturn

from nvir.ir import (
    LABEL,
    VOID,
    Block,
    CallInfo,
    Constant,
    Function,
    Instruction,
    Type,
    Value,
    nvvm_form,
)
from nvir.ir.nvvm_values import NvvmCall
from nvir.ir.types import FloatType, IntType, PointerType, VoidType
from nvir.ir.verify.nvvm import element, problem
from nvir.llvm import whole_body
from nvir.llvm.attributes import has
from nvir.llvm.calls import type_of
from nvir.llvm.grammar import FLAGS, FLAGS_OF, SIMPLE, Grammar
from nvir.llvm.instructions import METHODS
from nvir.llvm.lexer import Stop, name_in, number_of
from nvir.llvm.metadata import KINDS, SCOPES, kind_problem

_NOT_DONE = frozenset((
    "indirectbr", "invoke", "callbr", "resume", "landingpad", "catchswitch", "catchret",
    "cleanupret", "catchpad", "cleanuppad", "ptrtoaddr",
))
ORDERINGS = frozenset(("unordered", "monotonic", "acquire", "release", "acq_rel", "seq_cst"))
# How many parts each record for debuggers has.
_RECORDS = {"#dbg_value": 4, "#dbg_declare": 4, "#dbg_assign": 7, "#dbg_label": 2,
            "#dbg_declare_value": 4}
_DIGITS = frozenset("0123456789")
MAX_NAME = 12  # digits of a number that counts
MAX_GOOD = 4000
_NO_FLAGS: frozenset[str] = frozenset()
# Combinations of a form and types that every file may have, once found good, and their types.
GOOD: set[tuple[Any, ...]] = set()
LASTING = frozenset((IntType, FloatType, PointerType, VoidType))
# Rows whose other data the methods here have checked: the types decide the rest.
_BY_TYPES = frozenset((
    "load", "store", "getelementptr", "alloca", "atomicrmw", "cmpxchg", "br", "extractvalue",
))


class Forward(Value):
    """Stands for a value until its definition is read. `at` is the token that named it first."""

    __slots__ = ("at",)

    def __init__(self, type: Type, name: str, at: int) -> None:
        super().__init__(type, name)
        self.at = at


class DefinitionReader(Grammar):
    """One function's body; `read` fills the function with blocks."""

    def __init__(self, reader: Any, function: Function) -> None:
        super().__init__(reader.text)
        self.share(reader)
        self.reader, self.function = reader, function
        self.values: dict[str, Value] = {}
        self.forwards: list[Forward] = []
        self.blocks: dict[str, Block] = {}
        self.named_at: dict[str, int] = {}  # blocks not yet met, and where they are named
        self.phis: list[tuple[Instruction, int]] = []
        self.must_tail: list[tuple[Instruction, str]] = []  # and their calling conventions
        self.ends: dict[Block, Block] = {}  # of labels' blocks that go on in another
        self.count = 0  # of values and blocks without a name
        self.good: set[tuple[Any, ...]] = reader.good
        self.literals: dict[tuple[Type, str], Value] = reader.literals
        self.current: Block | None = None
        self.broken = False
        self.own: Counter[str] | None = None  # how often the body has each token, once asked
        self.extent = (0, 0)
        self.line = 0  # from 0

    def arguments(self, tokens: list[str]) -> None:
        """Give the arguments the tokens that name them, "" for a number."""
        for p, token in zip(self.function.params, tokens, strict=True):
            if not token:
                token = f"%{self.count}"
            if token[1:].isdigit():
                self.count = int(token[1:]) + 1
            self.values[token] = p

    # -------------------------------------------------------------- lines

    def read(self, k: int, end: int) -> None:
        """Read the tokens from `k` up to the closing brace at `end`."""
        t, first = self.t, self.text.first
        self.k, self.extent = k, (k, end)
        self.line = self.text.line_of(k)
        while self.k < end:
            self.start = start = self.k
            while first[self.line + 1] <= start:
                self.line += 1
            try:
                token = t[start]
                if token[-1] == ":" and token != ":":
                    self._label(token)
                elif token[0] == "#":
                    if token not in _RECORDS:
                        self.fail("a record such as '#dbg_value'")
                    self._record(_RECORDS[token])
                    self.known_nodes(start)
                elif token == "uselistorder":
                    self.use_list_order()
                else:
                    self._instruction(token)
            except Stop as e:
                self.broken = True
                self.reader.stopped(e)
                self._forget(start)
                self.k = self.text.resume(e, start)
                while e.unsupported and self.k < end and self._goes_on():
                    self.k = self.text.next_line(self.k)
            if self.k > end and not self.broken:
                self.broken = True
                self.reader.stopped(Stop("the instruction runs into the end of the body", end))
        self._finish(end)

    def _record(self, parts: int) -> None:
        """Pass over `#dbg_value(i32 %a, !8, !DIExpression(), !9)`, of so many parts."""
        self.k += 1
        self.expect("(")
        for n in range(parts):
            start = self.k
            while self.t[self.k] not in (",", ")") and self.k < self.extent[1]:
                opens = self.t[self.k + 1] == "("
                self.k += 1
                if opens:
                    self.skip_brackets()
            if self.k == start:
                self.fail("a value or a node")
            self.expect("," if n + 1 < parts else ")")

    def _goes_on(self) -> bool:
        """Whether the line at `k` begins no instruction or label: `to label %a unwind label %b`."""
        token = self.t[self.k]
        begins = token in METHODS or token in _NOT_DONE or token[0] == "#"
        return not (begins or token[-1] == ":" or self.t[self.k + 1] == "=")

    def stopped(self, e: Stop) -> None:
        self.reader.stopped(e)

    def _forget(self, start: int) -> None:
        """What a broken line would have defined is not an error again."""
        token = self.t[start]
        if token[:1] == "%" and self.t[start + 1] == "=":
            self.values.setdefault(token, Forward(VOID, "?", start))

    def known_nodes(self, start: int) -> None:
        """Hold the metadata named in what was passed over to be there."""
        places = self.reader.metadata.places
        for k in range(start, self.k):
            token = self.t[k]
            if token[0] == "!" and token not in places and token[1:].isdigit():
                raise Stop(f"use of undefined metadata '{token}'", k)

    def _label(self, token: str) -> None:
        self.k += 1
        name = f"%{token[:-1]}"
        if name[1:].isdigit():
            number = number_of(name[1:], self.k - 1)
            if number < self.count and len(name) < MAX_NAME:
                raise Stop(f"expected the label {self.count} or a greater number", self.k - 1)
            self.count = number + 1
        known = self.blocks.get(name)
        if known is not None and name not in self.named_at:
            raise Stop(f"the label '{name[1:]}' is defined twice", self.k - 1)
        if name in self.values:
            self.named_at.pop(name, None)
            raise Stop(f"'{name}' is a value and a label", self.k - 1)
        if self.current is not None:
            self._ended(self.k - 1)
        self._start(name)

    def _start(self, name: str) -> None:
        block = self.target(name, self.k)
        del self.named_at[name]
        self.function.blocks.append(block)
        self.current = block

    def goes_on(self, block: Block) -> None:
        """What was read last has ended in another block, to which labels' phis refer then."""
        if block is not self.current:
            assert self.current is not None
            label = next((a for a, b in self.ends.items() if b is self.current), self.current)
            self.ends[label] = self.current = block

    def _ended(self, at: int) -> None:
        if not self.broken:
            self.reader.stopped(Stop("the block before has no terminator", at))
            self.broken = True

    def target(self, token: str, at: int) -> Block:
        """The block of a label, made when first named."""
        block = self.blocks.get(token)
        if block is None:
            name = name_in(token)
            if token[1:].isdigit():
                name = f"bb{name}"
            block = Block(self.function.unique_block_name(name), self.function)
            self.blocks[token] = block
            self.named_at[token] = at
        return block

    def _instruction(self, token: str) -> None:
        t, k = self.t, self.k
        result = ""
        if token[0] == "%" and token != "%" and t[k + 1] == "=":
            result = token
            if len(token) == 1:
                self.fail("a name such as '%x'", k)
            self.k = k + 2
            token = t[k + 2]
        method = METHODS.get(token)
        if method is None:
            if token in _NOT_DONE:
                self._not_done(token)
            self.fail("an instruction")
        self.k += 1
        if self.current is None:
            self._start(f"%{self.count}")
            self.count += 1
        made = method(self, token)
        if made is None:  # left out knowingly
            pass
        elif made.__class__ is not Instruction or made.block is not None:  # a value's other name
            self._define(result or f"%{self.count}", made, k)
            made = None
        else:
            self._check(made, k)
            if made.type is not VOID:
                number = f"%{self.count}" if not result or result[1] in _DIGITS else ""
                if (number == result or not result) and number not in self.values:
                    self.values[number] = made
                    self.count += 1
                else:
                    self._named(result or number, made, k)
            elif result and not any(v.type is VOID for v in made.operands):
                raise Stop(f"{made.form.name} has no result", k)
            self.place(made)
        if t[self.k] == ",":
            self._attachments(made)

    def _not_done(self, token: str) -> NoReturn:
        """Tell of an instruction that nvir does not take; what it takes itself is to be right."""
        at = self.k
        self.k += 1
        if token == "landingpad":
            self.type()
            if self.t[self.k] not in ("cleanup", "catch", "filter"):
                self.fail("'cleanup', 'catch' or 'filter'")
            if len(self.function.blocks) == (self.current is not None):
                raise Stop(f"a {token} in the entry", at)
        elif token == "invoke":
            while self.k < self.extent[1] and self.t[self.k : self.k + 2] != ["to", "label"]:
                self.k += 1
            if self.t[self.k + 3] != "unwind":
                self.fail("'unwind label'", self.k + 3)
        elif token in ("indirectbr", "resume"):
            v = self.typed()
            if v.__class__ is not Forward and (
                    v.type is VOID if token == "resume" else v.type.__class__ is not PointerType):
                raise Stop(f"{token} of a {v.type}", at + 1)
        self.unsupported(f"the instruction {token}", at)

    def place(self, i: Instruction) -> None:
        """Append to the current block; a terminator ends it."""
        block: Any = self.current
        i.line = self.line + 1
        i.block = block
        last = block.last
        if last is None:
            block.first = i
        else:
            i.prev = last
            last.next = i
        block.last = i
        if i.form.terminator:
            self.current = None

    def _named(self, token: str, made: Instruction, at: int) -> None:
        """Define a result that is not just the next number."""
        hint = token[1:]
        numbered = hint.isdigit()
        if token in self.blocks and token not in self.named_at:
            raise Stop(f"'{token}' is a label", at)
        if numbered or token in self.values:
            self._define(token, made, at)
        else:
            self.values[token] = made
        if not numbered:
            made.name = hint if hint[:1] != '"' else name_in(token)

    def _define(self, token: str, v: Value, at: int) -> None:
        known = self.values.get(token)
        if known is not None and known.__class__ is not Forward:
            raise Stop(f"'{token}' is defined twice", at)
        if known is not None and known.type is not v.type and known.type is not VOID:
            raise Stop(f"'{token}' is of type {v.type}, used before as {known.type}", at)
        self.values[token] = v
        if token[1:].isdigit():
            number = number_of(token[1:], at)
            if number < self.count:
                raise Stop(f"expected number %{self.count} or a greater one", at)
            self.count = number + 1

    def _check(self, i: Instruction, at: int) -> None:
        form = i.form
        if form.is_phi:
            return
        kind: Any = i.aux.callee if form.is_call else form
        key = (kind, i.type, *map(type_of, i._operands))
        if key in self.good or (self.broken and VOID in key[2:]):  # as a broken line defines it
            return
        wrong, remember = problem(i, self.function)
        if wrong:
            for v in i._operands:
                v.drop_use(i)
            raise Stop(wrong, at)
        if remember or form.name in _BY_TYPES or (form.is_call and isinstance(kind, Function)):
            self.good.add(key)
            if kind is form and len(GOOD) < MAX_GOOD and (
                all(t.__class__ in LASTING for t in key[1:])
            ):
                GOOD.add(key)

    def _attachments(self, made: Instruction | None) -> None:
        """`, !dbg !5, !llvm.loop !6`; None behind what makes no instruction."""
        t = self.t
        while t[self.k] == ",":
            kind = t[self.k + 1]
            if kind[:1] != "!" or len(kind) < 2:
                self.fail("metadata such as '!dbg !5'", self.k + 1)
            at = self.k + 2
            self.k = at
            node = t[at]
            if node[:1] != "!":
                self.fail("a metadata node")
            held: Any = None  # what stands here itself
            if node[1:].isdigit():
                if node not in self.reader.metadata.places:
                    raise Stop(f"use of undefined metadata '{node}'", at)
                self.k += 1
            else:
                self.reader.metadata.k = at
                held = self.reader.metadata.content()
                self.k = self.reader.metadata.k
            if made is None:
                continue
            if kind == "!dbg" or kind == "!llvm.loop":
                if held is None:
                    self._place_or_loop(made, kind, node, at)
            elif kind == "!invariant.load":
                if made.form.name == "load":
                    made.form = nvvm_form(made.form.spelling + " invariant")
            elif kind == "!nvir.was":
                self._was(made, node, at)
            elif kind in KINDS or kind == "!range" or kind == "!callalign":
                if held is None:
                    held = self.reader.metadata.node(node, at)
                self._fact(made, kind, held, at)

    def _was(self, made: Instruction, node: str, at: int) -> None:
        """Take a row that is printed as another or without a flag."""
        held = self.reader.metadata.node(node, at) if node[1:].isdigit() else None
        if self.reader.is_own and isinstance(held, tuple) and held and isinstance(held[0], str):
            made.form = nvvm_form(held[0])

    def _place_or_loop(self, made: Instruction, kind: str, node: str, at: int) -> None:
        if kind == "!dbg":
            made.loc = self.reader.metadata.location(node, at)
        elif made.block is not None:
            made.block.aux = {"llvm.loop": self.reader.metadata.loop(node, at)}

    def _fact(self, made: Instruction, kind: str, held: Any, at: int) -> None:
        """Take what metadata say of an instruction's value, or refuse it."""
        if kind == "!range":
            self._range(made, held, at)
        elif kind == "!callalign":
            if made.form.is_call:
                if not all(isinstance(n, int) for n in _integers(held)):
                    raise Stop(f"{kind} is a list of numbers", at)
                made.aux = _with_alignments(made.aux, held)
        elif kind in SCOPES:
            if wrong := self.reader.metadata.alias_problem(kind, held, at):
                raise Stop(wrong, at)
        elif (wrong := kind_problem(made, kind, held)) or (kind == "!tbaa" and (
                wrong := self.reader.metadata.alias_problem(kind, held, at))):
            raise Stop(wrong, at)

    def _range(self, i: Instruction, node: Any, at: int) -> None:
        """Hold `!range` to what it is for: pairs of bounds of the result's type."""
        bounds = node if isinstance(node, tuple) else ()
        if i.form.name not in ("load", "call"):
            raise Stop(f"a range of what {i.form.name} makes", at)
        if not bounds or len(bounds) % 2 or any(
            getattr(v, "type", None) is not element(i.type) for v in bounds
        ):
            raise Stop(f"a range is pairs of numbers of type {i.type}", at)
        if any(a is b for a, b in zip(bounds[::2], bounds[1::2], strict=True)):
            raise Stop("a range with equal bounds is empty", at)
        numbers = [int(getattr(v, "value", 0)) for v in bounds]
        if len(numbers) > 2 and any(a >= b for a, b in itertools.pairwise(numbers[:-1])):
            raise Stop("ranges stand in their order, and none begins where another ends", at)
        if i.form.is_call and len(bounds) == 2 and all(isinstance(v, Constant) for v in bounds):
            info: Any = i.aux
            text = f"{element(i.type)} {bounds[0].value}, {bounds[1].value}"
            if not isinstance(info, NvvmCall):
                info = i.aux = NvvmCall(info.n_sources, callee=info.callee)
            if not has(info.result, "range"):
                info.result += (("range", text),)

    def _finish(self, end: int) -> None:
        f = self.function
        for token in self.values.keys() & self.named_at.keys():
            self.reader.stopped(Stop(f"'{token}' is a value, not a label", self.named_at[token]))
            self.broken = True
        if self.named_at and not self.broken:
            for token, at in self.named_at.items():
                self.reader.stopped(Stop(f"use of undefined label '{token}'", at))
            self.broken = True
        if not f.blocks and not self.broken:
            self.reader.stopped(Stop("a body has at least one block", end))
            return
        if self.current is not None:
            self._ended(end)
        for x in self.forwards:
            real: Value = x
            while real.__class__ is Forward and self.values.get(real.name or "") is not real:
                real = self.values[str(real.name)]
            if real.__class__ is Forward or real.type is not x.type:
                if not self.broken:
                    self.reader.stopped(Stop(f"use of undefined value '{x.name}'", x.at))
                continue
            for user in x.users:
                user.replace_operand(x, real)
        if not self.broken:
            try:
                whole_body.check(self)
            except Stop as e:
                self.reader.stopped(e)

    # ------------------------------------------------------------- values

    def value(self, t: Type) -> Value:
        """The operand of type `t` at `k`."""
        token = self.t[self.k]
        v = self.values.get(token)
        if v is not None:
            if v.type is not t and v.type is not VOID:
                raise Stop(f"'{token}' is of type {v.type}, here {t}", self.k)
            self.k += 1
            return v
        if token[:1] == "%":
            at = self.k
            self.k += 1
            if t is VOID or t is LABEL:
                raise Stop(f"there are no values of type {t}", at)
            x = self.values[token] = Forward(t, token, at)
            self.forwards.append(x)
            return x
        known = self.literals.get((t, token))
        if known is not None:
            self.k += 1
            return known
        at = self.k
        made = self.constant(t)
        if self.k == at + 1 and t.__class__ is IntType:
            self.literals[t, token] = made
        return made

    def written(self, local: bool) -> Counter[str]:
        if not local:
            return super().written(local)
        if self.own is None:
            self.own = Counter(self.t[slice(*self.extent)])
        return self.own

    def value_of(self, t: Type) -> Any:
        if t is not LABEL:
            return self.value(t)
        self.k += 1
        return self.target(self.t[self.k - 1], self.k - 1)

    def typed(self) -> Value:
        """`T a`"""
        t = self.t
        simple = SIMPLE.get(t[self.k])
        if simple is not None:
            v = self.values.get(t[self.k + 1])
            if v is not None and v.type is simple:
                self.k += 2
                return v
        return self.value(self.type())

    def pair(self) -> tuple[Type, Value, Value]:
        """`T a, b`"""
        t = self.type()
        a = self.value(t)
        self.expect(",")
        return t, a, self.value(t)

    def block(self) -> Block:
        """`label %x`"""
        self.expect("label")
        token = self.t[self.k]
        if token[:1] != "%":
            self.fail("a label")
        self.k += 1
        return self.target(token, self.k - 1)

    def flags(self, row: str) -> str:
        t, k = self.t, self.k
        if t[k] not in FLAGS:
            return row
        words = [row]
        allowed = FLAGS_OF.get(row, _NO_FLAGS) if row else FLAGS
        while t[k] in FLAGS:
            if t[k] not in allowed:
                raise Stop(f"{row} has no flag '{t[k]}'", k)
            words.append(t[k])
            k += 1
        self.k = k
        return " ".join(words)

    def align(self) -> int:
        """`, align 8` if it stands here; `, !…` is left."""
        t, n = self.t, 0
        while t[self.k] == "," and t[self.k + 1] == "align":
            self.k += 2
            n = self.alignment()
        return n

    def scope(self) -> str:
        if not self.accept("syncscope"):
            return ""
        self.expect("(")
        text = self.string()
        self.expect(")")
        return text

    def ordering(self) -> str:
        token = self.t[self.k]
        if token not in ORDERINGS:
            self.fail("an ordering such as 'seq_cst'")
        self.k += 1
        return token

    def skip_words(self) -> None:
        self.reader.attributes.parameter(self)


def _with_alignments(info: CallInfo, node: Any) -> CallInfo:
    """A call through a pointer with its `callalign`: numbers of 16 bits of alignment under the
    number of what they align, the result first."""
    found = {int(n) >> 16: int(n) & 0xFFFF for n in _integers(node)}
    if not found:
        return info
    own = info if isinstance(info, NvvmCall) else NvvmCall(info.n_sources, callee=info.callee)
    own.callalign = tuple(found.get(k, 0) for k in range(max(found) + 1))
    return own


def _integers(node: Any) -> list[Any]:
    return [getattr(x, "value", x) for x in node] if isinstance(node, tuple) else []
