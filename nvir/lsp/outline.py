"""Names of a text and where they stand, found without reading it as a module.

A text that someone is writing is seldom whole, so nothing here fails: what is no statement is
passed over. A routine (a kernel, function or definition) is scanned when it is first asked for.

Cost    linear in the text; a routine 5 µs a statement.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Literal

import attrs

from nvir.ir.opcodes import ADDRESS, DEF, TIED
from nvir.ir.opcodes.form import assign_operands, find_row, operand_parts
from nvir.lsp.text import column
from nvir.ptx.source import PtxText
from nvir.ptx.statements import ATOM, DIRECTIVE_END, LABEL_ROW, REG, STATEMENT

Role = Literal["declare", "write", "read", "both"]
Kind = Literal["register", "label", "variable", "parameter", "function", "kernel", "value"]

_ROUTINE = re.compile(r"(?:\.(?:visible|extern|weak|common)\s+)*\.(entry|func)\b")
_NAMED = re.compile(r"\s*(?:\.noreturn\s*)?(?:\([^)]*\)\s*)?([A-Za-z_$%][\w$]*)")
_OPENING = re.compile(r"\.pragma[^;{]*;|\"[^\"\n]*\"|[{;]")
_BRACE = re.compile(r"\"[^\"\n]*\"|[{}]")
_DECLARED = re.compile(r"(%?[A-Za-z_$][\w$]*)\s*(?:<\s*(\d+)\s*>|\[[^\]]*\]\s*)*\s*(?=[,;=)]|$)")
_GLOBAL = re.compile(r"\.(?:global|const|shared|tex|sampler|surf)\b([^;={]*)")
# The next statement behind one whose semicolon is not written yet.
_UNENDED = re.compile(r"\n\s*(?=@|[A-Za-z_$%][\w$]*\s*:(?!:)|[a-z]\w*\.[a-z])")
_RANGED = re.compile(r"(.*?)(\d+)$")
_BY_LINE = (".loc", ".file")

_LL_ROUTINE = re.compile(
    r"^(?:define|declare)\b[^@\n]*(@(?:[-\w$.]+|\"[^\"\n]*\"))[^\n]*", re.M)
_LL_END = re.compile(r"^\}", re.M)
_LL_TOKEN = re.compile(
    r";[^\n]*|(?P<name>[%@](?:[-\w$.]+|\"[^\"\n]*\"))|c?\"[^\"\n]*\"(?!:)"
    r"|^(?P<label>[-\w$.]+|\"[^\"\n]*\"):|(?P<node>[!#](?:[-\w$.]+))", re.M)
_LL_LINE = re.compile(
    r"^[ \t]*(?:%\S+[ \t]*=[ \t]*)?(?:(?:tail|musttail|notail)[ \t]+)?([a-z_]\w*)([^\n;]*)", re.M)


@attrs.define(eq=False)
class DeclaredName:
    """What a name stands for. `at` is where it is declared, `type` as the text spells it;
    `owner` is its routine, None for a name of the module; `count` is that of `%r<8>`."""

    text: str
    kind: Kind
    at: tuple[int, int]
    type: str = ""
    owner: Routine | None = None
    count: int = 0

    @property
    def block(self) -> str:
        """The block of a label, as the readers name it: that of LLVM's number 5 is bb5."""
        name = self.text.removeprefix("%")
        return f"bb{name}" if name.isdigit() else name


@attrs.frozen(eq=False)
class Mention:
    """One place where a name stands. `statement` is the instruction around it."""

    start: int
    end: int
    text: str
    role: Role
    scope: Scope
    statement: InstructionText | None = None


@attrs.frozen(eq=False)
class InstructionText:
    """An instruction: from its opcode to its end, and the operand text with its place."""

    start: int
    end: int
    opcode: str
    operands: str
    operands_at: int
    guard: bool = False


@attrs.define(eq=False)
class Scope:
    """Names between two braces, within those of `parent`."""

    start: int
    parent: Scope | None = None
    end: int = 0
    names: dict[str, DeclaredName] = attrs.Factory(dict)
    ranges: dict[str, DeclaredName] = attrs.Factory(dict)

    def find(self, text: str) -> DeclaredName | None:
        """What the name stands for here: the innermost declaration."""
        scope: Scope | None = self
        ranged = _RANGED.match(text)
        while scope is not None:
            if (found := scope.names.get(text)) is not None:
                return found
            over = scope.ranges.get(ranged[1]) if ranged is not None else None
            if ranged is not None and over is not None and int(ranged[2]) < over.count:
                found = DeclaredName(text, over.kind, over.at, over.type, over.owner)
                scope.names[text] = found
                return found
            scope = scope.parent
        return self.find(text.partition(".")[0]) if "." in text and text[0] != "." else None


@attrs.define(eq=False)
class Routine:
    """A kernel, function or definition. `body` is the offset of its brace, -1 without one."""

    name: str
    kind: Kind
    start: int
    name_at: tuple[int, int]
    body: int
    end: int
    mentions: list[Mention] = attrs.Factory(list)
    statements: list[InstructionText] = attrs.Factory(list)
    labels: list[DeclaredName] = attrs.Factory(list)
    scopes: list[Scope] = attrs.Factory(list)
    scanned: bool = False


class Outline:
    """The names of one PTX text. `routines` in the order of the text; `code` is the text with
    blanks for comments."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.code = self._code()
        self.module = Scope(0)
        self.routines: list[Routine] = list(self._routines())
        self.outside: list[Mention] = []
        self._globals()

    def _code(self) -> str:
        return PtxText(self.text, "").code

    # ------------------------------------------------------------------ asking

    def routine_at(self, offset: int) -> Routine | None:
        k = bisect_right(self.routines, offset, key=lambda r: r.start) - 1
        return self.routines[k] if k >= 0 and offset <= self.routines[k].end else None

    def body(self, routine: Routine) -> Routine:
        """The routine with its names found."""
        if not routine.scanned:
            routine.scanned = True
            self._scan(routine)
            routine.mentions.sort(key=lambda m: m.start)
        return routine

    def at(self, offset: int) -> Mention | None:
        """The name that stands at an offset or ends there."""
        routine = self.routine_at(offset)
        among = self.body(routine).mentions if routine is not None else self.outside
        k = bisect_right(among, offset, key=lambda m: m.start) - 1
        return among[k] if k >= 0 and offset <= among[k].end else None

    def statement_at(self, offset: int) -> InstructionText | None:
        routine = self.routine_at(offset)
        if routine is None:
            return None
        among = self.body(routine).statements
        k = bisect_right(among, offset, key=lambda s: s.start) - 1
        return among[k] if k >= 0 and offset <= among[k].end else None

    def mentions_of(self, name: DeclaredName) -> list[Mention]:
        """Every place where the name stands, its declaration among them."""
        among = [name.owner] if name.owner is not None else self.routines
        found = [] if name.owner is not None else self.outside
        found = found + [m for r in among for m in self.body(r).mentions]
        spelled = (name.text, name.text + ".")
        return [
            m for m in found
            if (m.text == spelled[0] or m.text.startswith(spelled[1]))
            and self.same(m.scope.find(m.text), name)
        ]

    @staticmethod
    def same(a: DeclaredName | None, b: DeclaredName) -> bool:
        return a is not None and (a.text, a.at, a.owner) == (b.text, b.at, b.owner)

    def name_at(self, offset: int) -> tuple[Mention, DeclaredName] | None:
        mention = self.at(offset)
        name = mention.scope.find(mention.text) if mention is not None else None
        return (mention, name) if mention is not None and name is not None else None

    # ------------------------------------------------------------------ PTX

    def _routines(self) -> Iterator[Routine]:
        heads = list(_ROUTINE.finditer(self.code))
        limits = [*(m.start() for m in heads[1:]), len(self.code)]
        for m, limit in zip(heads, limits, strict=False):
            named = _NAMED.match(self.code, m.end(), limit)
            if named is None:
                continue
            body, end = self._extent(named.end(), limit)
            kind: Kind = "kernel" if m[1] == "entry" else "function"
            yield Routine(named[1], kind, m.start(), named.span(1), body, end)

    def _extent(self, at: int, limit: int) -> tuple[int, int]:
        """The brace that opens a body, -1 without one, and where the routine ends."""
        opening = next((x for x in _OPENING.finditer(self.code, at, limit) if x[0] in "{;"), None)
        if opening is None or opening[0] == ";":
            return -1, opening.end() if opening is not None else at
        depth = 0
        for x in _BRACE.finditer(self.code, opening.start(), limit):
            depth += {"{": 1, "}": -1}.get(x[0], 0)
            if depth == 0:
                return opening.start(), x.end()
        return opening.start(), limit

    def _globals(self) -> None:
        for r in self.routines:
            name = self.module.names.get(r.name)
            if name is None or r.body >= 0:
                self.module.names[r.name] = DeclaredName(r.name, r.kind, r.name_at)
        at = 0
        for start, end in [*((r.start, r.end) for r in self.routines), (len(self.code),) * 2]:
            for m in _GLOBAL.finditer(self.code, at, start):
                for x in _DECLARED.finditer(self.code, m.start(1), m.end(1) + 1):
                    self._declare(self.module, x, "variable", m[1], None, self.outside)
            at = end

    def _declare(
        self, scope: Scope, m: re.Match[str], kind: Kind, declaration: str,
        owner: Routine | None, mentions: list[Mention],
    ) -> None:
        words = re.findall(r"\.([a-z]+\d*\w*)", declaration)
        type = next((w for w in reversed(words) if w not in ("align", "ptr")), "")
        name = DeclaredName(m[1], kind, m.span(1), type, owner, int(m[2] or 0))
        if m[2] is not None:
            scope.ranges[m[1]] = name
        else:
            scope.names[m[1]] = name
            mentions.append(Mention(*m.span(1), m[1], "declare", scope))

    def _scan(self, r: Routine) -> None:
        code = self.code
        top = scope = Scope(r.start, self.module, r.end)
        r.mentions.append(Mention(*r.name_at, r.name, "declare", self.module))
        head = r.body if r.body >= 0 else r.end
        for p in re.finditer(r"\.(?:param|reg)\b([^,()]*)", code[r.start : head]):
            x = _DECLARED.search(code, r.start + p.start(1), r.start + p.end(1) + 1)
            if x is not None:
                self._declare(top, x, "parameter", p[1], r, r.mentions)
        if r.body < 0:
            return
        pos, close = r.body + 1, r.end
        while pos < close:
            if (m := STATEMENT.match(code, pos, close)) is None:
                found = DIRECTIVE_END.search(code, pos, close)
                pos = found.end() if found is not None else close
                continue
            pos = m.end()
            if m[7] == "{":
                scope = Scope(m.start(7), scope)
                r.scopes.append(scope)
            elif m[7] == "}":
                scope.end = m.end(7)
                scope = scope.parent if scope is not top and scope.parent is not None else top
            elif m[6]:
                pos = self._directive(r, scope, m[6], m.start(6), close)
            elif m[5]:
                pos = self._label(r, scope, m, close)
            else:
                pos = self._instruction(r, scope, m)

    def _label(self, r: Routine, scope: Scope, m: re.Match[str], close: int) -> int:
        name = DeclaredName(m[5], "label", m.span(5), "", r)
        scope.names[m[5]] = name
        r.mentions.append(Mention(*m.span(5), m[5], "declare", scope))
        row = LABEL_ROW.match(self.code, m.end(), close)
        if row is None:
            r.labels.append(name)
            return m.end()
        if row[1] == "branchtargets":
            self._atoms(r, scope, row.span(2), None, ())
        return row.end()

    def _directive(self, r: Routine, scope: Scope, word: str, at: int, close: int) -> int:
        end = self.code.find("\n" if word in _BY_LINE else ";", at, close)
        if end < 0:
            return close
        m = REG.match(self.code, at, close)
        if m is not None or word in (".local", ".shared", ".param", ".const", ".global"):
            kind: Kind = "register" if m is not None else "variable"
            text = self.code[at:end].partition("=")[0]
            for x in _DECLARED.finditer(self.code, at + len(word), at + len(text)):
                self._declare(scope, x, kind, text, r, r.mentions)
        return end + 1

    def _instruction(self, r: Routine, scope: Scope, m: re.Match[str]) -> int:
        cut = _UNENDED.search(self.code, *m.span(4)) if "\n" in m[4] else None
        at, end = m.start(4), cut.start() if cut is not None else m.end(4)
        text = self.code[at:end]
        s = InstructionText(m.start(3), end + (cut is None), m[3], text, at, m[2] is not None)
        r.statements.append(s)
        if m[2] is not None:
            r.mentions.append(Mention(*m.span(2), m[2], "read", scope, s))
        shape = "%s".join("".join(p.split()) for p in ATOM.split(text)[::2])
        self._atoms(r, scope, (at, end), s, roles(m[3], shape))
        return s.end

    def _atoms(
        self, r: Routine, scope: Scope, span: tuple[int, int], s: InstructionText | None,
        roles: tuple[Role, ...],
    ) -> None:
        for k, x in enumerate(ATOM.finditer(self.code, *span)):
            if not (x[0][0].isdigit() or x[0][0] == "-"):
                role = roles[k] if k < len(roles) else "read"
                r.mentions.append(Mention(*x.span(), x[0], role, scope, s))


@functools.lru_cache(1 << 14)
def roles(opcode: str, shape: str) -> tuple[Role, ...]:
    """What an instruction does with each atom of its operands."""
    found = find_row(opcode)
    if found is None:
        return ()
    row = found[0]
    if row.is_call:
        results = shape.partition(")")[0] if shape.startswith("(") else ""
        return tuple("write" for _ in range(results.count("%s")))
    out: list[Role] = []
    parts = operand_parts(shape)
    for part, operand in zip(parts, assign_operands(parts, row.operands), strict=True):
        role: Role = "read"
        if not part.startswith("[") and operand.role != ADDRESS:
            role = {DEF: "write", TIED: "both"}.get(operand.role, "read")  # type: ignore[assignment]
        out += [role] * part.count("%s")
    return tuple(out)


class LlvmOutline(Outline):
    """The names of one LLVM text: routines are its definitions, labels its blocks."""

    def _code(self) -> str:
        return self.text

    def _routines(self) -> Iterator[Routine]:
        at = 0
        for m in _LL_ROUTINE.finditer(self.code):
            if m.start() < at:
                continue
            body = self.code.rfind("{", m.end(1), m.end()) if m[0].startswith("define") else -1
            close = _LL_END.search(self.code, m.end()) if body >= 0 else None
            at = close.end() if close is not None else m.end() if body < 0 else len(self.code)
            kind: Kind = "kernel" if "ptx_kernel" in m[0] else "function"
            yield Routine(m[1].replace('"', ""), kind, m.start(), m.span(1), body, at)

    def _globals(self) -> None:
        for r in self.routines:
            self.module.names[r.name] = DeclaredName(r.name, r.kind, r.name_at)
        at = 0
        for start, end in [*((r.start, r.end) for r in self.routines), (len(self.code),) * 2]:
            self._tokens(None, self.module, at, start, self.outside)
            at = end

    def _scan(self, r: Routine) -> None:
        scope = Scope(r.start, self.module, r.end)
        self._tokens(r, scope, r.start, r.end, r.mentions)
        if r.body < 0:
            return
        for m in _LL_LINE.finditer(self.code, self.code.find("\n", r.body), r.end):
            if not m[2].startswith(":"):
                r.statements.append(InstructionText(m.start(1), m.end(), m[1], m[2], m.start(2)))

    def _tokens(
        self, r: Routine | None, scope: Scope, at: int, end: int, mentions: list[Mention]
    ) -> None:
        for m in _LL_TOKEN.finditer(self.code, at, end):
            kind = m.lastgroup
            if kind is None:
                continue
            text = m[kind].replace('"', "")
            text = f"%{text}" if kind == "label" else text
            made = kind == "label" or self._is_definition(m, r)
            home = scope if text[0] == "%" or r is None else self.module
            if made and not (r is not None and text[0] == "@"):
                what: Kind = "label" if kind == "label" else "value" if r else "variable"
                name = DeclaredName(text, what, m.span(kind), "", r)
                home.names[text] = name
                if r is not None and kind == "label":
                    r.labels.append(name)
            mentions.append(Mention(*m.span(kind), text, "declare" if made else "read", scope))

    def _is_definition(self, m: re.Match[str], r: Routine | None) -> bool:
        if re.compile(r"[ \t]*=").match(self.code, m.end()):
            return True
        in_head = r is not None and m.end() <= (r.body if r.body >= 0 else r.end)
        if in_head and r is not None and m.start() > r.name_at[1] and m[0][0] == "%":
            return self.code[m.end() : m.end() + 1] in ",)" and self.code[m.start() - 1] == " "
        return r is not None and m.span() == r.name_at


class Lines:
    """Offsets of a text as lines and characters of UTF-16, as editors count, and back."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0, *(m.end() for m in re.finditer("\r\n|\n|\r", text))]

    def position(self, offset: int) -> tuple[int, int]:
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self.starts, offset) - 1
        before = self.text[self.starts[line] : offset]
        wide = 0 if before.isascii() else sum(c > "\uffff" for c in before)
        return line, len(before) + wide

    def offset(self, line: int, character: int) -> int:
        if line >= len(self.starts):
            return len(self.text)
        start = self.starts[line]
        end = self.starts[line + 1] if line + 1 < len(self.starts) else len(self.text)
        return start + column(self.text[start:end], character)
