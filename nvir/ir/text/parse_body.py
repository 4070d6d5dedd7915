"""Reading the bodies of functions in nvir's own text.

A line is cut at ` = ` and its operands at the atoms of one compiled pattern. The
punctuation that is left, with the opcode and the result's type, is the key of a
memo that holds the form: a common line costs one split, one lookup, one
instruction. All other lines go through `_slow`, which works the form out.

A value named before its definition is a placeholder until then.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nvir.ir.block import Block
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction, Location
from nvir.ir.opcodes import NVVM, PHI, UNKNOWN
from nvir.ir.opcodes.form import Form, find_row, form, nvvm_form
from nvir.ir.special import special_register
from nvir.ir.symbols import Param, Variable
from nvir.ir.text.datum import BadDatum, Cursor
from nvir.ir.text.parse_instruction import ATOM, SHAPE, InstructionReader
from nvir.ir.text.properties import read_property
from nvir.ir.types import SCALARS, VOID, Type, VoidType
from nvir.ir.values import Result, Symbol, Value, integer

if TYPE_CHECKING:
    from nvir.ir.text.parse import _Reader

_NAME = r'%(?:[\w$]+(?:\.[\w$]+)*|"[^"]*")(?:~\d+)?'
_RESULT = re.compile(rf"(_|{_NAME}): ?(\w+)", re.ASCII)
_TOKEN = re.compile(rf"(?:_|{_NAME})\Z", re.ASCII)
_LABEL = re.compile(r'\s*([\w$.]+|"[^"]*"):(?:\s*$|\s+(?=(?:pragmas|flags|loc|aux)\b))', re.ASCII)
_HEAD = re.compile(
    r"\s*(?:@(!?)(" + _NAME + r"|pred (?:undef|-?\d+))\s+)?(volatile\s+)?([A-Za-z_][\w.:]*)"
    r"(?:\s+|$)", re.ASCII
)
_TYPE_WORDS = re.compile(
    r"(?:void|label|metadata|token|half|bfloat|float|double|fp128|i\d+|ptr|type|[A-Z]\w*)\Z"
)

Plan = tuple[Form, Type]
_plans: dict[tuple[str, str, str], Plan] = {}  # (opcode, punctuation, result type)
_MAX_PLANS = 100_000


class _Values(dict[str, Value]):
    """Token → value of one body; an unknown token is resolved when first met."""

    __slots__ = ("body",)
    body: BodyParser

    def __missing__(self, token: str) -> Value:
        v = self[token] = self.body.resolve(token)
        return v


class BodyParser:
    """The reader of one function's body, and the scope of what stands in it."""

    def __init__(self, reader: _Reader, function: Function) -> None:
        self.reader, self.function = reader, function
        self.level = reader.module.level
        self.values = _Values(reader.owned.get(function, {}))
        self.values.body = self
        self.forward: dict[str, tuple[Value, int, int]] = {}  # placeholders: value, line, column
        self.poisoned: set[str] = set()  # defined on a line with an error
        self.blocks: dict[str, Block] = {}
        self.wanted: dict[str, tuple[int, int]] = {}  # blocks named before their label
        self.later: list[tuple[Instruction, int, int]] = []  # where `!aux` stands
        self.instructions = InstructionReader(self)
        self.block: Block | None = None
        self.k = 0
        self.text = ""

    # ------------------------------------------------------------ scope

    def value(self, token: str) -> Value:
        return self.values[token]

    def symbol(self, token: str) -> Symbol:
        own = self.values.get(token)
        return own if isinstance(own, Symbol) else self.reader.symbols[token]

    def named_type(self, label: str) -> Type:
        return self.reader.structs[label]

    def target(self, name: str) -> Block:
        b = self.blocks.get(name)
        if b is None:
            b = self.blocks[name] = Block(name, self.function)
            self.wanted[name] = self.k, max(self.text.find(name), 0)
        return b

    def resolve(self, token: str) -> Value:
        """The value of a token that is not known yet. Raises BadDatum."""
        if token[0] == "%":
            special = special_register(token)
            if special is not None:
                return special
            v = Value(VOID, token)
            self.forward[token] = v, self.k, max(self.text.find(token), 0)
            return v
        if token[0] == "@":
            try:
                return self.reader.symbols[token]
            except KeyError:
                raise BadDatum(f"unknown symbol '{token[:80]}'", self._col(token)) from None
        if token.isdigit() and len(token) < 20:
            return integer(int(token))
        try:
            return Cursor(token, self).value()
        except BadDatum as e:
            raise BadDatum(e.message, self._col(token) + e.col) from None

    def _col(self, token: str) -> int:
        return max(self.text.find(token), 0)

    # ------------------------------------------------------------ lines

    def read(self, start: int, end: int) -> None:
        """Read lines `start` to `end` - 1 as the function's body."""
        lines, comments, level = self.reader.lines, self.reader.comments, self.level
        fast = level == "ori"
        for k in range(start, min(end, len(lines))):
            text = lines[k]
            if comments and ";" in text:
                text = text[: text.index(";")]
            self.k, self.text = k, text
            try:
                if not (fast and self.block is not None and self._fast(text)):
                    self._any(text)
            except BadDatum as e:
                self.reader.error(e.message, k, e.col)
                self._poison(text)
        self._finish()

    def _fast(self, text: str) -> bool:
        """Read a common instruction; False if the line is anything else."""
        body, _, suffix = text.partition("  !")
        left, eq, right = body.partition(" = ")
        if eq:
            token, _, tname = left.strip().partition(": ")
            head, _, rest = right.partition(" ")
            if not _TOKEN.match(token):  # a symbol is no result, nor is an empty name
                return False
        else:
            token = tname = ""
            head, _, rest = left.strip().partition(" ")
        parts = ATOM.split(rest)
        plan = _plans.get((head, "%s".join(parts[::2]), tname))
        if plan is None:
            return False
        values = self.values
        operands = tuple([values[a] for a in parts[1::2]])
        f, type = plan
        i = Instruction(f, operands, type)
        i.line = self.k + 1
        if suffix:
            self._suffix(i, len(body) + 2)
        if token:
            if token == "_":
                i.name = "_"
            else:
                known = values.get(token)
                if known is not None:
                    self._replace(token, known, i)
                values[token] = i
                if "~" in token or '"' in token or token[1:].isdigit():
                    i.name = self._hint(token)
                else:
                    i.name = token
        self.block.append(i)  # type: ignore[union-attr]  # the caller has seen to it
        return True

    def _replace(self, token: str, known: Value, new: Value) -> None:
        """A token is defined: what stood for it is replaced."""
        if token not in self.forward or self.forward[token][0] is not known:
            raise BadDatum(f"'{token}' is defined twice", self._col(token))
        for user in known.users:
            user.replace_operand(known, new)
        del self.forward[token]

    def _hint(self, token: str) -> str | None:
        from nvir.ir.text.parse import hint

        try:
            return hint(token, self.level)
        except ValueError:
            raise BadDatum("a name with a bad escape", self._col(token)) from None

    def _define(self, token: str, v: Value) -> None:
        if token == "_":
            v.name = "_"
            return
        v.name = self._hint(token)
        known = self.values.get(token)
        if known is not None:
            self._replace(token, known, v)
        self.values[token] = v

    def _poison(self, text: str) -> None:
        """After an error: what the line defines is no further error where it is used."""
        for m in _RESULT.finditer(text):
            self.poisoned.add(m[1])

    def _finish(self) -> None:
        error = self.reader.error
        for i, k, col in self.later:
            self.k, self.text = k, self.reader.line(k)
            c = Cursor(self.text, self, col)
            try:
                i.aux = c.datum()
                if not c.at("!"):
                    c.end()
            except BadDatum as e:
                error(e.message, k, e.col)
        for token, (_, k, col) in self.forward.items():
            if token not in self.poisoned:
                error(f"'{token}' is defined nowhere", k, col)
        for name, (k, col) in self.wanted.items():
            error(f"no block is named '{name}'", k, col)

    # ------------------------------------------------- labels and the like

    def _any(self, text: str) -> None:
        stripped = text.strip()
        if not stripped:
            return
        m = _LABEL.match(text)
        if m is not None:
            self._label(m)
            return
        if self.block is None:
            self._local(text)
            return
        cut = text.find("  !")
        body = text if cut < 0 else text[:cut]
        i = self._slow(body) if self.level == "ori" else self._nvvm(body)
        i.line = self.k + 1
        if cut >= 0:
            self._suffix(i, cut + 2)
        self.block.append(i)

    def _label(self, m: re.Match[str]) -> None:
        c = Cursor(self.text, self, m.start(1))
        name = c.label()
        c.expect(":")
        b = self.blocks.get(name)
        if b is None:
            b = self.blocks[name] = Block(name, self.function)
        elif name in self.wanted:
            del self.wanted[name]
        else:
            raise BadDatum(f"two blocks are named '{name}'", m.start(1))
        b.line = self.k + 1
        self.function.blocks.append(b)
        self.block = b
        while c.kind == "word":
            at, key = c.start, c.next()
            setattr(b, key, read_property(c, "block", key, at))
        c.end()

    def _local(self, text: str) -> None:
        """A variable or prototype in front of the first block."""
        c = Cursor(text, self)
        if c.accept("prototype"):
            label = c.string()
            self.function.prototypes[label] = c.string()
            c.end()
            return
        look = Cursor(text, self)
        if not look.at("global", "param"):
            look.next()
        is_param = look.at("param")
        if not look.at("global", "param"):
            raise c.fail("a block's label, a variable, or a prototype")
        look.next()
        if look.kind != "symbol":
            raise look.fail("a symbol such as @tile")
        from nvir.ir.symbols import address_type
        from nvir.ir.text.parse import _base

        token = look.token
        at = address_type(self.reader.module.address_size)
        name = _base(token, look)
        v: Variable = (Param(name, at, address_type=at) if is_param else
                       Variable(name, "local", at, address_type=at))
        if token in self.values:
            raise BadDatum(f"'{token}' is declared twice", look.start)
        self.values[token] = v
        self.function.locals.append(v)
        self.reader.variable(c, v)
        c.end()

    def _suffix(self, i: Instruction, col: int) -> None:
        """`!loc 1 20 5 "inlined"  !marks (…)  !aux …`, which stand at `col`."""
        text = self.text[col:].rstrip()
        loc = self.reader.locations.get(text)
        if loc is not None:
            i.loc = loc
            return
        c = Cursor(self.text, self, col)
        while c.accept("!"):
            if c.accept("loc"):
                i.loc = Location(c.number(), c.number(), c.number(),
                                 c.string() if c.kind == "string" else "")
                if c.kind == "end":
                    self.reader.locations[text] = i.loc
            elif c.accept("marks"):
                start = c.start
                marks = c.datum()
                if not isinstance(marks, tuple) or not all(isinstance(m, str) for m in marks):
                    raise BadDatum("marks are strings in parentheses", start)
                self.function.marks[i] = set(marks)
            elif c.at("aux"):  # it may name what comes later
                self.later.append((i, self.k, c.pos))
                self._skip_to_marks(i, c)
                return
            else:
                raise c.fail("loc, marks or aux")
        c.end()

    def _skip_to_marks(self, i: Instruction, c: Cursor) -> None:
        """`!loc` and `!marks` may follow `!aux`; `_finish` reads up to them."""
        cut = self.text.find("  !", c.pos)
        if cut >= 0:
            self.later[-1] = (i, self.k, c.pos)
            self._suffix(i, cut + 2)

    # --------------------------------------------------- ori instructions

    def _slow(self, text: str) -> Instruction:
        """Any instruction of `ori`; remembers the form of a common one."""
        left, eq, right = text.partition(" = ")
        if not eq:
            left, right = "", left
        offset = len(text) - len(right)
        m = _HEAD.match(right)
        if m is None:
            raise BadDatum("expected an instruction", offset + len(right) - len(right.lstrip()))
        tokens, types, lead = self._left(left)
        rest = right[m.end() :].rstrip()
        spelling, volatile = m[4], m[3] is not None
        guard = None if m[2] is None else (m[1], self.values[m[2]])
        found = find_row(spelling)
        op = found[0] if found is not None else UNKNOWN
        if op is PHI:
            i = self.instructions.phi(form("phi"), rest, offset + m.end())
        elif op.is_call:
            i = self.instructions.call(spelling, rest, offset + m.end(), guard, len(tokens))
        elif op.terminator:
            i = self.instructions.terminator(op, spelling, rest, guard, offset + m.end())
        else:
            results = lead, len(tokens)
            i = self.instructions.plain(
                op, spelling, rest, guard, volatile, results, offset + m.end()
            )
            if guard is None and len(tokens) <= 1 and i.aux is None and "+" not in left:
                self._remember(i, spelling, rest, types, volatile, lead)
        self._give_results(i, tokens, types, offset)
        return i

    def _left(self, left: str) -> tuple[list[str], list[Type], str]:
        """Tokens and types of the results, and their punctuation."""
        if not left:
            return [], [], ""
        parts = _RESULT.split(left.strip())
        types: list[Type] = []
        for name in parts[2::3]:
            t = SCALARS.get(name)
            if t is None:
                raise BadDatum(f"no type is spelled '{name}'", self._col(name))
            types.append(t)
        lead = "%s".join(parts[::3])
        closed = all(lead.count(a) == lead.count(b) for a, b in ("{}", "()"))
        if not (closed and "%s" in lead and SHAPE.match(lead)) or set(lead) & set("!-[]"):
            raise BadDatum("expected results such as '%r1: b32'", 0)
        return parts[1::3], types, lead

    def _give_results(
        self, i: Instruction, tokens: list[str], types: list[Type], offset: int
    ) -> None:
        n = i.form.n_results
        if n >= 0 and n != len(tokens):
            raise BadDatum(f"{i.form.spelling} has {n} results, not {len(tokens)}", offset)
        if not tokens:
            return
        if len(tokens) == 1:
            i.type = types[0]
            self._define(tokens[0], i)
            return
        results = tuple(Result(i, k, t) for k, t in enumerate(types))
        i._results = results
        for token, r in zip(tokens, results, strict=True):
            self._define(token, r)

    def _remember(
        self, i: Instruction, spelling: str, rest: str, types: list[Type], volatile: bool, lead: str
    ) -> None:
        f = i.form
        if volatile or f.op is UNKNOWN or f.n_operands != f.n_sources or lead not in ("", "%s"):
            return
        parts = ATOM.split(rest)
        if len(parts[1::2]) != f.n_operands:
            return
        if len(_plans) > _MAX_PLANS:
            _plans.clear()
        key = spelling, "%s".join(parts[::2]), types[0].name if types else ""
        _plans[key] = f, types[0] if types else VOID

    # -------------------------------------------------- nvvm instructions

    def _nvvm(self, text: str) -> Instruction:
        """`%x: i32 = add nsw %a, i32 5`, with successors and phi entries as in `ori`."""
        c = Cursor(text, self)
        results: list[tuple[str, Type]] = []
        while c.kind == "value" or c.at("_"):
            token = c.next()
            c.expect(":")
            start = c.start
            results.append((token, c.type()))
            if isinstance(results[-1][1], VoidType):
                raise BadDatum("a result has a type", start)
            if not c.accept(","):
                c.expect("=")
                break
        start = c.start
        words = []
        while c.kind == "word" and not _TYPE_WORDS.match(c.token) and c.token not in SCALARS:
            words.append(c.next())
        spelling = " ".join(words)
        if not words or words[0] not in NVVM:
            raise BadDatum(f"no instruction is spelled '{spelling}'", start)
        f = nvvm_form(spelling)
        i = (
            self.instructions.phi(f, "", start + len("phi"))
            if f.is_phi
            else self.instructions.nvvm(f, c)
        )
        if results:
            i.set_results([t for _, t in results], [None] * len(results))
        elif f.n_results == 1 and not f.is_call and words[0] != "splitStruct":
            raise BadDatum(f"'{spelling}' has a result", start)
        for (token, _), r in zip(results, i.results, strict=True):
            self._define(token, r)
        return i
