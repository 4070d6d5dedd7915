"""Scanning a function body: statements into raw instructions over numbered registers.

One regular expression finds a statement; another splits its operand text into
atoms (registers, literals, symbols) and the punctuation between them. The
punctuation with the opcode is the key of a memo table whose entry (`Shape`)
says what is a result and what a source; so a statement costs two matches and a
dictionary look-up for each atom.

Quantifiers are possessive where what follows cannot match what they took: a line of
megabytes fails at once instead of backtracking through it.

The outcome, `RawFunction`, holds blocks of raw instructions that name registers
by number; ssa.py turns it into IR.
"""

from __future__ import annotations

import re
from typing import Any

from nvir.ir.form import Form, form
from nvir.ir.instruction import CallInfo, Location, Loose
from nvir.ir.opcodes import DEBUG_LABEL, PRAGMA, UNKNOWN
from nvir.ir.special import special_register
from nvir.ir.symbols import Variable
from nvir.ir.types import CC, F32, F64, IMM, SCALARS, ScalarType, Type
from nvir.ir.values import Symbol, SymbolOffset, constant, undef
from nvir.ptx.literals import constant_expression, literal, to_f32
from nvir.ptx.source import Source

_INDEXED = re.compile(r"[\w$]\s*\[")
_SYMBOL_OFFSET = re.compile(
    r"(?<![\w%$])([A-Za-z_$%][\w$]*)\s*(?:([-+]\s*\d+)(?!\w)|\[\s*(\d+)\s*\])"
)
STATEMENT = re.compile(
    r"""\s*(?:
      (?:@\s*+(!?)\s*+([%\w$.]++)\s++)?                    # 1 2  guard
      ([a-z_]\w*+(?:(?:\.|::)\w++)*+)(?![\w.:$]|\s*:)\s*+  # 3    opcode
      ([^;{}"]*+(?:\{[^{};"]*+\}[^;{}"]*+)*+);             # 4    operands
    | ([A-Za-z_$%][\w$]*+)\s*+:(?!:)                       # 5    label
    | (\.[a-z]\w*+)                                        # 6    directive
    | ([{}])                                               # 7    scope
    )""",
    re.VERBOSE,
)
ATOM = re.compile(  # the selector `.b0` of a video operand is punctuation
    r"((?<![.\w])%?[A-Za-z_$][\w$]*(?:\.(?![bh][0-3]+\b)[A-Za-z]\w*)*"
    r"|(?:-|(?<!\w))(?:0[xX][0-9a-fA-F]+U?|\d[\w.]*(?:(?<=[eE])[+-]\d+)?))"
)
_ONE = r"[!-]?%s(?:\.[bh][0-3]+)?"
_MANY = rf"\{{{_ONE}(?:,{_ONE})*\}}"
_PART = rf"(?:{_ONE}(?:\|{_ONE})?|{_MANY}|\[%s(?:\+?%s)*(?:,(?:{_ONE}|{_MANY}))*\])"
_PUNCTUATION = re.compile(rf"(?:{_PART}(?:,{_PART})*)?$")
_LABEL_ROW = re.compile(r"\s*\.(callprototype|calltargets|branchtargets)\b([^;]*);")
_LOC = re.compile(
    r"\.loc\s+(\d+)\s+(\d+)(?:\s+(\d+))?([^\n;]*)"
)
_PRAGMA = re.compile(r'\.pragma\s*((?:"[^"\n]*"\s*,?\s*)+);')
_REG = re.compile(r"\.reg\b([^;]*);")
_TARGETS = re.compile(r"\bbra(?:\.uni)?\s+([\w$%]+)\s*;|\.branchtargets\b([^;]*);")
_NEXT_FUNCTION = re.compile(r"\.(?:entry|func)\b")
_DIRECTIVE_END = re.compile(r"[;\n]")
_REG_NAME = re.compile(r"\s*(%?[\w$]+)\s*(?:<\s*(\d+)\s*>)?\s*$")

SINK = -1
MAX_REGISTERS = 1 << 24


class Shape:
    """What an opcode with this punctuation needs to know of its atoms."""

    __slots__ = ("form", "n_results", "plain", "zero_offsets")

    def __init__(self, f: Form, zero_offsets: tuple[int, ...]) -> None:
        self.form = f
        self.zero_offsets = zero_offsets  # atoms that are address offsets
        n = f.n_results - f.carry_out
        self.n_results = n
        self.plain = (
            f.n_results >= 0
            and not f.carry_out
            and f.n_operands == f.n_sources
            and f.slots[:n] == tuple(range(n))
        )


class RawBlock:
    """A block before SSA: `items` are raw instructions, `targets` labels or blocks to come."""

    __slots__ = (
        "falls_through", "index", "items", "line", "loc", "name", "pragmas", "scope", "targets",
        "term",
    )  # fmt: skip

    def __init__(self, name: str | None, line: int, loc: Location | None) -> None:
        self.name, self.line, self.loc = name, line, loc
        self.index = 0
        self.pragmas: tuple[str, ...] = ()
        # (form, result registers, operands, aux, loc, line)
        self.items: list[tuple[Form, tuple[int, ...], tuple[Any, ...], Any, Any, int]] = []
        self.term: tuple[Form, tuple[Any, ...], Any, int] | None = None
        self.targets: list[Any] = []
        self.falls_through = False


class RawFunction:
    __slots__ = ("blocks", "reg_names", "reg_types")

    def __init__(self) -> None:
        self.blocks: list[RawBlock] = []
        self.reg_names: list[str | None] = []
        self.reg_types: list[Type] = []


class _Scope:
    __slots__ = ("labels", "outer", "prefixes", "saved")

    def __init__(self, outer: _Scope | None) -> None:
        self.outer = outer
        self.labels: dict[str, RawBlock] = {}
        self.saved: list[tuple[str, Any]] = []  # names that this scope shadows
        self.prefixes: list[tuple[str, Any]] = []


class BodyReader:
    """Reads one function body. `module` resolves symbols (see reader.ModuleReader)."""

    def __init__(self, source: Source, module: Any, function: Any) -> None:
        self.source, self.module, self.function = source, module, function
        self.raw = RawFunction()
        # atom text -> register number, or a value; filled as atoms turn up
        self.names: dict[str, Any] = {"_": SINK}
        # prefix -> (count, type, first number by index) of `%r<100>`
        self.prefixes: dict[str, tuple[int, ScalarType, dict[int, int]]] = {}
        self.vectors: dict[str, int] = {}
        self.scope = _Scope(None)
        self.current: RawBlock | None = None
        self.loc: Location | None = None
        self.tables: dict[str, tuple[list[str], _Scope]] = {}
        self.line = 1
        self.line_offset = 0
        self.carry = -1
        self.calls = 0

    # -------------------------------------------------------- the walk

    def read(self, start: int) -> int:
        """Read from the body's `{` at `start`; returns the offset behind its `}`."""
        code = self.source.code
        # Up to the next function: the body's own end is not known before it is read, and the
        # first "}" of a line may close a scope inside.
        following = _NEXT_FUNCTION.search(code, start)
        self.targeted = _targets(code, start, following.start() if following else len(code))
        self.line = self.source.line_of(start)
        self.line_offset = start
        pos = start + 1
        depth = 1
        match = STATEMENT.match
        self._begin_block(None)
        while True:
            m = match(code, pos)
            if m is None:
                pos = self._recover(pos)
                if pos < 0:
                    break
                continue
            kind = m.lastindex
            pos = m.end()
            if kind == 4:
                self._instruction(m)
            elif kind == 5:
                pos = self._label(m, pos)
            elif kind == 6:
                pos = self._directive(m[6], m.start(6))
            elif m[7] == "{":
                depth += 1
                self.scope = _Scope(self.scope)
            else:
                depth -= 1
                if depth == 0:
                    break
                self._leave_scope()
        self._finish()
        return pos if pos >= 0 else len(code)

    def _recover(self, pos: int) -> int:
        """Report the statement at `pos` and skip it; -1 at the end of the text."""
        code = self.source.code
        at = pos
        n = len(code)
        while at < n and code[at].isspace():
            at += 1
        if at >= n:
            self.source.error("the body is not closed: expected '}'", at)
            return -1
        semi = code.find(";", at)
        newline = code.find("\n", at)
        line_end = n if newline < 0 else newline
        if semi < 0:
            self.source.error("expected ';' at the end of this statement", at)
            brace = code.find("}", at)
            return brace if brace > at else -1
        if code[at] in '"\\`#' or semi > line_end:
            self.source.error("expected an instruction, a label or a directive", at)
            return max(line_end, at + 1) if semi > line_end else semi + 1
        self.source.error("expected an instruction, a label or a directive", at)
        return semi + 1

    def _line_at(self, offset: int) -> int:
        if offset >= self.line_offset:
            self.line += self.source.code.count("\n", self.line_offset, offset)
        else:
            self.line = self.source.line_of(offset)
        self.line_offset = offset
        return self.line

    def _leave_scope(self) -> None:
        scope = self.scope
        for name, old in reversed(scope.saved):
            if old is None:
                self.names.pop(name, None)
            else:
                self.names[name] = old
        for prefix, before in reversed(scope.prefixes):
            count, _, numbers = self.prefixes[prefix]
            for k in numbers:
                self.names.pop(f"{prefix}{k}", None)
            if before is None:
                del self.prefixes[prefix]
            else:
                self.prefixes[prefix] = before
        self.scope = scope.outer or scope

    # ---------------------------------------------------------- blocks

    def _begin_block(self, name: str | None, line: int = 0) -> RawBlock:
        block = RawBlock(name, line, self.loc)
        block.index = len(self.raw.blocks)
        self.raw.blocks.append(block)
        self.current = block
        return block

    def _block(self) -> RawBlock:
        return self.current if self.current is not None else self._begin_block(None)

    def _label(self, m: re.Match[str], pos: int) -> int:
        name = m[5]
        row = _LABEL_ROW.match(self.source.code, pos)
        if row is not None:
            if row[1] == "branchtargets":
                self.tables[name] = ([t.strip() for t in row[2].split(",")], self.scope)
            else:
                text = " ".join(row[2].split())
                self.function.prototypes[name] = f".{row[1]} {text}"
            return row.end()
        if name in self.scope.labels:
            self.source.error(f"label '{name}' is defined twice", m.start(5))
            return pos
        line = self._line_at(m.start(5))
        if name not in self.targeted:
            self.scope.labels[name] = self._block()
            if self.module.has_debug:
                self._block().items.append((_LABEL_FORM, (), (), name, self.loc, line))
            return pos
        block = self.current
        if block is None or block.items or (block.name is None and block.index == 0):
            if block is not None:
                block.falls_through = True
            block = self._begin_block(name, line)
        elif block.name is None:
            block.name, block.line = name, line
        self.scope.labels[name] = block
        return pos

    def _end_block(self, raw: Any, targets: list[Any], falls_through: bool) -> None:
        block = self._block()
        block.term, block.targets, block.falls_through = raw, targets, falls_through
        self.current = None
        if falls_through:
            self._begin_block(None)

    # ------------------------------------------------------ directives

    def _directive(self, name: str, start: int) -> int:
        code = self.source.code
        if name == ".loc":
            m = _LOC.match(code, start)
            if m is None:
                self.source.error("expected '.loc FILE LINE COLUMN'", start)
                return self._statement_end(start)
            inlined = m[4].strip().lstrip(",").strip()
            self.loc = Location(int(m[1]), int(m[2]), int(m[3] or 0), inlined)
            return m.end()
        if name == ".reg":
            m = _REG.match(code, start)
            if m is None:
                self.source.error("expected ';' after a register declaration", start)
                return self._statement_end(start)
            self._registers(m[1], m.start(1))
            return m.end()
        if name == ".pragma":
            m = _PRAGMA.match(code, start)
            if m is None:
                self.source.error("expected '.pragma \"…\";'", start)
                return self._statement_end(start)
            texts = tuple(re.findall(r'"([^"]*)"', m[1]))
            block = self._block()
            if block.items:
                line = self._line_at(start)
                block.items.append((_PRAGMA_FORM, (), (), texts, self.loc, line))
            else:
                block.pragmas += texts
            return m.end()
        if name in _VARIABLE_SPACES:
            variables, end = self.module.variables(start, local=True)
            for v in variables:
                self._declare(v.name, v, start)
                self.function.locals.append(v)
            return int(end)
        if name == ".file":
            return int(self.module.file_directive(start))
        self.source.error(f"unexpected directive '{name}' in a function body", start)
        return self._statement_end(start)

    def _statement_end(self, start: int) -> int:
        m = _DIRECTIVE_END.search(self.source.code, start)
        return m.end() if m is not None else len(self.source.code)

    def _declare(self, name: str, value: Any, offset: int) -> None:
        """Bind a name in the innermost scope; an outer meaning returns when it ends."""
        for k, (known, _) in enumerate(self.scope.saved):
            if known == name and self.scope.outer is not None and k >= 0:
                self.source.error(f"'{name}' is declared twice", offset)
                return
        if self.scope.outer is None and isinstance(self.names.get(name), int):
            self.source.error(f"'{name}' is declared twice", offset)
            return
        self.scope.saved.append((name, self.names.get(name)))
        self.names[name] = value

    def new_register(self, name: str | None, type: Type) -> int:
        raw = self.raw
        raw.reg_names.append(name)
        raw.reg_types.append(type)
        return len(raw.reg_names) - 1

    def _registers(self, text: str, offset: int) -> None:
        """`.reg .b32 %r<100>, x;`, `.reg .v4 .f32 v;`"""
        words = re.match(r"((?:\s*\.\w+)*)", text)
        qualifiers = words[1].split() if words else []
        names = text[words.end() :] if words else text
        qualifiers = [q for part in qualifiers for q in part.split(".") if q]
        vector = {"v2": 2, "v4": 4}.get(qualifiers[0] if qualifiers else "", 0)
        spelling = qualifiers[-1] if qualifiers else ""
        type = SCALARS.get(spelling)
        if type is None:
            self.source.error(f"no register type is spelled '.{spelling}'", offset)
            return
        for item in names.split(","):
            m = _REG_NAME.match(item)
            if m is None:
                self.source.error(f"expected a register name, not '{item.strip()}'", offset)
                continue
            name, count = m[1], m[2]
            if count is not None:
                self._parameterised(name, int(count[:9]), type, offset)
            elif vector:
                for part in "xyzw"[:vector]:
                    self._declare(f"{name}.{part}", self.new_register(None, type), offset)
                self.vectors[name] = vector
            else:
                self._declare(name, self.new_register(name, type), offset)

    def _parameterised(self, prefix: str, count: int, type: ScalarType, offset: int) -> None:
        before = self.prefixes.get(prefix)
        if count > MAX_REGISTERS:
            self.source.error(f"{count} registers in one declaration are too many", offset)
            return
        if before is not None and self.scope.outer is None:
            self.source.error(f"registers '{prefix}<…>' are declared twice", offset)
            return
        if before is not None:  # shadowed: the outer ones must be looked up anew
            for k in before[2]:
                self.names.pop(f"{prefix}{k}", None)
        self.scope.prefixes.append((prefix, before))
        self.prefixes[prefix] = (count, type, {})

    # ---------------------------------------------------- instructions

    def _instruction(self, m: re.Match[str]) -> None:
        sign, pred, spelling, text = m[1], m[2], m[3], m[4]
        parts = ATOM.split(text)
        if self.vectors and self._expand_vectors(m, parts):
            return
        guard = None if pred is None else sign
        try:
            shape = _shapes[spelling, "%s".join(parts[::2]), guard]
        except KeyError:
            shape = self._new_shape(m, parts, guard)
            if shape is None:
                return
        f = shape.form
        if f.terminator or f.is_call or f.op is UNKNOWN:
            self._special(m, f, parts, guard)
            return
        names = self.names
        self.volatile = False
        values = []
        for atom in parts[1::2]:
            v = names.get(atom)
            if v is None:
                v = self._resolve(atom, f, m)
                if v is None:
                    return
            values.append(v)
        if shape.zero_offsets:
            f, values = self._drop_zero_offsets(shape, values)
        if self.volatile:
            f = form(f.spelling, f.shape, f.guard, True)
        n = shape.n_results
        if shape.plain:
            results, operands = tuple(values[:n]), tuple(values[n:])
        else:
            laid = self._lay_out(f, values, pred, m)
            if laid is None:
                return
            results, operands = laid
        for r in results:
            if r.__class__ is not int:
                self.source.error(
                    f"'{spelling}' writes its operand '{getattr(r, 'name', r)}', "
                    "which is no register", m.start(3)
                )  # fmt: skip
                return
        if SINK in operands:
            self.source.error("'_' can only stand for a result", m.start(4))
            return
        block = self.current or self._begin_block(None)
        block.items.append((f, results, operands, None, self.loc, self._line_at(m.start(3))))

    def _lay_out(
        self, f: Form, values: list[Any], pred: str | None, m: re.Match[str]
    ) -> tuple[tuple[int, ...], tuple[Any, ...]] | None:
        """Results and operands of a form with a guard, tied operands, or carry."""
        n = f.n_results - f.carry_out
        results: list[Any] = [None] * n
        sources = []
        for slot, v in zip(f.slots, values, strict=True):
            if slot >= 0:
                results[slot] = v
            else:
                sources.append(v)
        guard_ties = f.guard_index
        for r, k in f.ties:  # tied sources come first, fallbacks after the guard
            if guard_ties < 0 or k < guard_ties:
                sources.append(results[r])
        if f.carry_out or f.carry_in:
            if self.carry < 0:
                self.carry = self.new_register(None, CC)
            if f.carry_in:
                sources.append(self.carry)
            if f.carry_out:
                results.append(self.carry)
        if f.guard is not None:
            p = self._guard(pred, m)
            if p is None:
                return None
            sources.append(p)
            sources.extend(
                r if r != SINK else undef(f.result_types[k]) for k, r in enumerate(results)
            )
        return tuple(results), tuple(sources)

    def _guard(self, pred: str | None, m: re.Match[str]) -> Any:
        v = self.names.get(pred)
        if v is None:
            v = self._resolve(pred or "", None, m)
        if v is not None and (v.__class__ is not int or self.raw.reg_types[v].name != "pred"):
            self.source.error(f"the guard '{pred}' is no predicate register", m.start(2))
            return None
        return v

    def _drop_zero_offsets(self, shape: Shape, values: list[Any]) -> tuple[Form, list[Any]]:
        """`[a+0]` is `[a]`: one spelling for one meaning."""
        zero = [k for k in shape.zero_offsets if values[k] is _ZERO]
        if not zero:
            return shape.form, values
        f = shape.form
        pieces = f.shape.split("%s")
        keep = []
        text = pieces[0]
        for k, v in enumerate(values):
            if k in zero:
                text = text[:-1] + pieces[k + 1]  # without the '+'
            else:
                text += "%s" + pieces[k + 1]
                keep.append(v)
        return form(f.spelling, text, f.guard, f.volatile), keep

    def _new_shape(
        self, m: re.Match[str], parts: list[str], guard: str | None
    ) -> Shape | None:
        """The memo entry for an opcode and punctuation seen first, or None after an error."""
        spelling, text = m[3], m[4]
        raw = "%s".join(parts[::2])
        found = form(spelling, "", guard)
        if found.op.name == "call" or found.is_call:
            shape = Shape(found, ())
            _shapes[spelling, raw, guard] = shape
            return shape
        punctuation = "".join(raw.split())
        if "(" in punctuation or not _PUNCTUATION.match(punctuation):
            return self._odd_operands(m, guard)
        canonical = punctuation.replace("%s%s", "%s+%s").replace(",", ", ")
        if found.terminator:
            f = form(spelling, "%s" if found.name == "brx.idx" else "", guard)
        else:
            f = form(spelling, canonical, guard)
            problem = _operand_problem(f, canonical)
            if problem:
                self.source.error(problem, m.start(3))
                return None
        if f.op is UNKNOWN:
            self.source.warn_once(
                spelling, f"unknown instruction '{spelling}': taken to read and write "
                "all registers it names", m.start(3)
            )  # fmt: skip
        zero = []
        if "+" in canonical:
            slot = -1
            for k, c in enumerate(canonical):
                if c == "%":
                    slot += 1
                    if canonical[k - 1] == "+":
                        zero.append(slot)
        shape = Shape(f, tuple(zero))
        if len(_shapes) > _MAX_SHAPES:
            _shapes.clear()
        _shapes[spelling, raw, guard] = shape
        return shape

    def _odd_operands(self, m: re.Match[str], guard: str | None) -> None:
        """Constant expressions in operands are folded and the statement read again."""
        text = m[4]
        while (at := text.find("(")) >= 0:
            depth, end = 0, at
            for end in range(at, len(text)):
                depth += (text[end] == "(") - (text[end] == ")")
                if depth == 0:
                    break
            value = constant_expression(text[at : end + 1]) if depth == 0 else None
            if value is None:
                break
            text = f"{text[:at]}{value}{text[end + 1 :]}"
        text = ",".join(_fold_piece(p) for p in text.split(","))
        if "[" not in text or _INDEXED.search(text):
            text = _SYMBOL_OFFSET.sub(self._symbol_offset, text)
        if text != m[4]:
            self._reread(m, text)
            return
        self.source.error(f"cannot read the operands of '{m[3]}'", m.start(4))

    def _symbol_offset(self, m: re.Match[str]) -> str:
        """`symbol+4` or `symbol[1]` outside of an address: a name for the address meant."""
        symbol = self.names.get(m[1]) or self.module.symbol(m[1], self.function)
        if not isinstance(symbol, Symbol):
            return m[0]
        if m[3] is not None:
            element = symbol.element_type.bits // 8 if isinstance(symbol, Variable) else 1
            offset = int(m[3]) * element
        else:
            offset = int(m[2].replace(" ", ""))
        name = f"$address_{len(self.names)}"
        self.names[name] = SymbolOffset(symbol, offset) if offset else symbol
        return name

    def _reread(self, m: re.Match[str], operands: str) -> None:
        """Read a statement again with other operand text; errors keep the old place."""
        self._instruction(_Restated(m, operands))  # type: ignore[arg-type]

    def _expand_vectors(self, m: re.Match[str], parts: list[str]) -> bool:
        """A vector register as an operand stands for the tuple of its elements."""
        changed = False
        for k in range(1, len(parts), 2):
            n = self.vectors.get(parts[k])
            if n:
                parts[k] = "{" + ",".join(f"{parts[k]}.{c}" for c in "xyzw"[:n]) + "}"
                changed = True
        if changed:
            self._reread(m, "".join(parts))
        return changed

    # ---------------------------------------------------------- atoms

    def _resolve(self, atom: str, f: Form | None, m: re.Match[str]) -> Any:
        """The register number or value of an atom not met before; None after an error."""
        first = atom[0]
        if first.isdigit() or first == "-" or atom == "WARP_SZ":
            c = literal(atom)
            if c is None:
                self.source.error(f"'{atom}' is no literal", self._where(atom, m))
                return None
            if c.type is F64 and atom[:2] not in ("0d", "0D"):
                if f is not None and f.type is F32:
                    return to_f32(c)  # a decimal fraction takes the instruction's type
                return c
            self.names[atom] = c
            return c
        number = self._register(atom)
        if number is not None:
            return number
        special = special_register(atom) if first == "%" else None
        if special is not None:
            if special.volatile:
                self.volatile = True
            else:
                self.names[atom] = special
            return special
        symbol = self.module.symbol(atom, self.function)
        if symbol is not None:
            self.names[atom] = symbol
            return symbol
        kind = "register" if first == "%" else "identifier"
        self.source.error(f"undeclared {kind} '{atom}'", self._where(atom, m))
        return None

    def _register(self, atom: str) -> int | None:
        """The number of a register declared as `%r<100>`, or None."""
        k = len(atom.rstrip("0123456789"))
        while k < len(atom):  # `%r1<10>` may be declared beside `%r<100>`
            entry = self.prefixes.get(atom[:k])
            digits = atom[k:]
            if entry is not None and (digits[0] != "0" or digits == "0") and len(digits) < 10:
                count, type, numbers = entry
                index = int(digits)
                if index < count:
                    number = self.new_register(atom, type)
                    numbers[index] = number
                    self.names[atom] = number
                    return number
            k += 1
        return None

    def _where(self, atom: str, m: re.Match[str]) -> int:
        """Offset of an atom within its statement."""
        for part in ATOM.finditer(m[4]):
            if part[0] == atom:
                return m.start(4) + part.start()
        return m.start(2) if m[2] == atom else m.start(3)

    # -------------------------------------------- branches, calls, others

    def _special(
        self, m: re.Match[str], f: Form, parts: list[str], guard: str | None
    ) -> None:
        name = f.name
        line = self._line_at(m.start(3))
        p: tuple[Any, ...] = ()
        if guard is not None:
            g = self._guard(m[2], m)
            if g is None:
                return
            p = (g,)
        if f.is_call:
            self._call(m, f, p, line)
        elif f.op is UNKNOWN:
            self._unknown(m, f, parts, p, line)
        elif name == "bra":
            atoms = parts[1::2]
            if len(atoms) != 1:
                self.source.error("expected one label to branch to", m.start(4))
                return
            target = (atoms[0], self.scope, m.start(4))
            self._end_block((f, p, self.loc, line), [target], guard is not None)
        elif name == "brx.idx":
            self._indexed_branch(m, f, parts, p, line)
        else:  # ret, exit
            self._end_block((f, p, self.loc, line), [], guard is not None)

    def _indexed_branch(
        self, m: re.Match[str], f: Form, parts: list[str], p: tuple[Any, ...], line: int
    ) -> None:
        atoms = parts[1::2]
        table = self.tables.get(atoms[1]) if len(atoms) == 2 else None
        if table is None:
            self.source.error("expected an index and the label of a .branchtargets", m.start(4))
            return
        index = self.names.get(atoms[0])
        if index is None:
            index = self._resolve(atoms[0], f, m)
        if index is None:
            return
        targets = [(t, table[1], m.start(4)) for t in table[0]]
        self._end_block((f, (index, *p), self.loc, line), targets, bool(p))

    def _unknown(
        self, m: re.Match[str], f: Form, parts: list[str], p: tuple[Any, ...], line: int
    ) -> None:
        values = []
        for atom in parts[1::2]:
            v = self.names.get(atom)
            if v is None:
                v = self._resolve(atom, f, m)
                if v is None:
                    return
            values.append(v)
        registers = list(dict.fromkeys(v for v in values if v.__class__ is int and v >= 0))
        n = len(values)
        ties = [(k, values.index(r)) for k, r in enumerate(registers)]
        operands = tuple(
            v if v.__class__ is not int or v >= 0 else undef(SCALARS["b32"]) for v in values
        )
        if p:
            ties += [(k, n + 1 + k) for k in range(len(registers))]
            operands += (*p, *registers)
        aux = Loose(n, n if p else -1, tuple(ties))
        block = self._block()
        block.items.append((f, tuple(registers), operands, aux, self.loc, line))

    def _call(self, m: re.Match[str], f: Form, p: tuple[Any, ...], line: int) -> None:
        """`call (results), target, (arguments), prototype`, all but the target optional."""
        groups = re.findall(r"\(([^()]*)\)|([^\s,()]+)", m[4])
        fields = [(g, None) if not name else (None, name) for g, name in groups]
        results: list[Any] = []
        if fields and fields[0][1] is None:
            results = self._list(fields.pop(0)[0] or "", f, m)
        if not fields or fields[0][1] is None:
            self.source.error("expected a function to call", m.start(4))
            return
        target = self._atom(fields.pop(0)[1] or "", f, m)
        arguments: list[Any] = []
        if fields and fields[0][1] is None:
            arguments = self._list(fields.pop(0)[0] or "", f, m)
        prototype = fields.pop(0)[1] if fields else None
        if target is None or None in results or None in arguments:
            return
        if prototype is not None and prototype not in self.function.prototypes:
            self.source.error(f"undeclared prototype '{prototype}'", m.start(4))
            return
        indirect = target.__class__ is int
        in_registers = [r for r in results if r.__class__ is int]
        info = CallInfo(
            callee=None if indirect else target,
            return_params=tuple(r for r in results if r.__class__ is not int),
            prototype=prototype,
        )
        operands = ((target,) if indirect else ()) + tuple(arguments)
        info.n_sources = len(operands)
        if p:
            info.guard_index = len(operands)
            n = len(operands) + 1
            info.ties = tuple((k, n + k) for k in range(len(in_registers)))
            operands += (*p, *in_registers)
        block = self._block()
        call = form(f.spelling, "", f.guard)
        block.items.append((call, tuple(in_registers), operands, info, self.loc, line))

    def _atom(self, atom: str, f: Form, m: re.Match[str]) -> Any:
        v = self.names.get(atom)
        return v if v is not None else self._resolve(atom, f, m)

    def _list(self, text: str, f: Form, m: re.Match[str]) -> list[Any]:
        return [self._atom(a.strip(), f, m) for a in text.split(",") if a.strip()]

    # ------------------------------------------------------------- end

    def _finish(self) -> None:
        """Resolve labels to blocks; a body that runs off its end returns."""
        blocks = self.raw.blocks
        last = blocks[-1]
        if last.term is None or last.falls_through:
            if last.term is not None:
                last = self._begin_block(None)
            last.term = (_RET_FORM, (), None, self.line)
            last.falls_through = False
        for k, block in enumerate(blocks):
            resolved = []
            for name, scope, offset in block.targets:
                target = _find_label(name, scope)
                if target is None:
                    self.source.error(f"undefined label '{name}'", offset)
                else:
                    resolved.append(target)
            if block.falls_through:
                resolved.append(blocks[k + 1])
            block.targets = resolved


class _Restated:
    """A match whose operand text (group 4) was rewritten."""

    __slots__ = ("m", "text")

    def __init__(self, m: Any, text: str) -> None:
        self.m, self.text = m, text

    def __getitem__(self, k: int) -> Any:
        return self.text if k == 4 else self.m[k]

    def start(self, k: int) -> int:
        return int(self.m.start(k))


def _targets(code: str, start: int, end: int) -> set[str]:
    """The labels that branches of the text name."""
    out: set[str] = set()
    for single, table in _TARGETS.findall(code, start, end):
        if single:
            out.add(single)
        else:
            out.update(t.strip() for t in table.split(","))
    return out


def _find_label(name: str, scope: _Scope | None) -> RawBlock | None:
    while scope is not None:
        block = scope.labels.get(name)
        if block is not None:
            return block
        scope = scope.outer
    return None


def _operand_problem(f: Form, shape: str) -> str | None:
    """What is wrong with the number of operands, or None."""
    if f.op is UNKNOWN or f.is_call:
        return None
    required = sum(not (o.optional or o.variadic) for o in f.op.operands)
    given = len(_top_level(shape))
    if given < required:
        return f"'{f.name}' needs {required} operands, {given} given"
    return None


def _top_level(shape: str) -> list[str]:
    depth, count = 0, 1 if shape else 0
    for c in shape:
        if c in "{[":
            depth += 1
        elif c in "}]":
            depth -= 1
        elif c == "," and depth == 0:
            count += 1
    return [""] * count


def _fold_piece(piece: str) -> str:
    """A constant expression without parentheses (`1+2`, `~7`) as its number."""
    text = piece.strip()
    m = re.match(r"(.*\[\s*(?:%?[A-Za-z_$][\w$.]*\s*\+)?)([^\]]+)(\].*)$", text)
    if m is not None:
        value = constant_expression(m[2])
        return f"{m[1]}{value}{m[3]}" if value is not None and m[2].strip() != str(value) else piece
    value = constant_expression(text)
    return str(value) if value is not None and text != str(value) else piece


_shapes: dict[tuple[str, str, str | None], Shape] = {}
_MAX_SHAPES = 1 << 16
_ZERO = constant(IMM, 0)
_LABEL_FORM = form(DEBUG_LABEL.name)
_PRAGMA_FORM = form(PRAGMA.name)
_RET_FORM = form("ret")
_VARIABLE_SPACES = frozenset(
    ".local .shared .param .const .global .tex .visible .extern .weak .common .sampler .surf".split()
)
