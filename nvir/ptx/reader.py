"""Reading PTX: module-level statements; bodies are body.py's, SSA is ssa.py's.

Every error of a file is found in one run: a statement that cannot be read is
reported at its place and skipped. What nvir does not know (a newer version, a
newer instruction) is a warning in `module.diagnostics`.
"""

from __future__ import annotations

import re
from typing import Any

from nvir.ir.bulk import bulk
from nvir.ir.function import Function
from nvir.ir.module import Module
from nvir.ir.symbols import Param, Variable, address_type
from nvir.ir.types import IMM, SCALARS, ScalarType, Type, array
from nvir.ir.values import Argument, Constant, Symbol, SymbolOffset, Value
from nvir.ptx.body import BodyReader
from nvir.ptx.literals import constant_expression, literal, to_f32, to_f64
from nvir.ptx.source import Source, TooManyErrors, load
from nvir.ptx.ssa import build

KNOWN_VERSION = (9, 0)

_TOKEN = re.compile(
    r"""\s*(?:("[^"\n]*")                                    # string
      | (\.[A-Za-z_][\w]*(?:::\w+)*)                         # directive
      | (%?[A-Za-z_$][\w$]*|_)                               # identifier
      | (0[fFdD][0-9a-fA-F]+|0[xX][0-9a-fA-F]+U?|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?U?|\.\d+)  # number
      | (<<|>>|&&|\|\||[-+*/%~!&|^<>=?:()\[\]{},;@])         # punctuation
    )""",
    re.VERBOSE,
)
_VERSION = re.compile(r"\.version\s+(\d{1,4})\.(\d{1,4})\b(?!\.)")
_LINKAGE = frozenset((".extern", ".visible", ".weak", ".common"))
_SPACES = frozenset((".global", ".const", ".shared", ".local", ".param", ".tex"))
_REFERENCES = frozenset((".texref", ".samplerref", ".surfref"))
_FLAT_LIST = re.compile(r"\s*\{([^{}()\"]*)\}")
_MASKED = re.compile(r"(0[xX][fF]+0*)\s*\(\s*([\w$%]+)\s*([-+]\s*\d+)?\s*\)$")
_SYMBOLIC = re.compile(
    r"(?:generic\s*\(\s*([\w$%]+)\s*\)|([A-Za-z_$%][\w$]*))\s*((?:[-+]\s*(?:0[xX][0-9a-fA-F]+|\d+)\s*)*)$"
)


class Unreadable(Exception):
    """Internal: a statement cannot be read; already reported."""


def read_ptx(x: object) -> Module:
    """Read PTX into a module of level `ori`.

    `x` is a path (an os.PathLike, or a str without a newline) or the text itself
    (a str with a newline, or bytes). Raises ParseError, whose `.errors` lists
    every error of the file; NvirError if the file cannot be opened.
    """
    source = load(x)
    with bulk():
        return ModuleReader(source).read()


class ModuleReader:
    """Reads one module. `symbol`, `variables` and `file_directive` serve body.py."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.code = source.code
        self.pos = 0
        self.module = Module(name=source.file, version=KNOWN_VERSION)
        self.symbols: dict[str, Any] = {}
        self.own: dict[str, Any] = {}  # names of the function at hand
        self.has_debug = ".section" in self.code
        self.seen: set[str] = set()

    def read(self) -> Module:
        try:
            self._statements()
        except TooManyErrors:
            pass
        self._check_header()
        self.source.raise_errors()
        self.module.diagnostics.extend(self.source.warnings)
        return self.module

    def _statements(self) -> None:
        while True:
            token = self.peek()
            if token is None:
                at = self._skip_space()
                if at >= len(self.code):
                    return
                self.source.error("expected a directive", at)
                self._resynchronise(at + 1)
                continue
            start = self.token_start
            try:
                self._statement(token, start)
            except Unreadable:
                self._resynchronise(max(self.pos, start + 1))

    def _check_header(self) -> None:
        if self.source.errors:
            return
        if not self.seen:
            self.source.error("this is no PTX: the text is empty", 0)
        for needed in (".version", ".target"):
            if self.seen and needed not in self.seen:
                self.source.error(f"the module has no '{needed}'", 0)

    def _resynchronise(self, pos: int) -> None:
        """Go on at the next line that starts a module-level directive."""
        m = re.compile(
            r"\n\s*(?=\.(?:visible|extern|weak|common|entry|func|global|const|shared|section|file"
            r"|version|target|address_size|alias)\b)"
        ).search(self.code, pos)
        self.pos = m.end() if m is not None else len(self.code)

    # ---------------------------------------------------------- tokens

    def _skip_space(self) -> int:
        at = self.pos
        while at < len(self.code) and self.code[at].isspace():
            at += 1
        return at

    def peek(self) -> str | None:
        """The next token, or None at the end or before a character that starts none."""
        m = _TOKEN.match(self.code, self.pos)
        if m is None:
            return None
        self._match = m
        self.token_start = m.start(m.lastindex or 0)
        return m[m.lastindex or 0]

    def next(self) -> str:
        token = self.peek()
        if token is None:
            at = self._skip_space()
            end = at >= len(self.code)
            self.fail("the file ends here" if end else "unexpected character", at)
        self.pos = self._match.end()
        return str(token)

    def expect(self, wanted: str) -> None:
        token = self.peek()
        if token != wanted:
            at = self.token_start if token is not None else self._skip_space()
            self.fail(f"expected '{wanted}', found '{token or 'the end of the file'}'", at)
        self.pos = self._match.end()

    def accept(self, wanted: str) -> bool:
        if self.peek() == wanted:
            self.pos = self._match.end()
            return True
        return False

    def fail(self, message: str, offset: int) -> None:
        self.source.error(message, offset)
        raise Unreadable

    def identifier(self, what: str) -> str:
        token = self.next()
        if not (token[0].isalpha() or token[0] in "_$%"):
            self.fail(f"expected {what}, found '{token}'", self.token_start)
        return token

    def number(self, what: str) -> int:
        token = self.next()
        c = literal(token)
        if c is None or c.type is not IMM:
            self.fail(f"expected {what}, found '{token}'", self.token_start)
            raise AssertionError
        return int(c.value)

    # ------------------------------------------------------ statements

    def _statement(self, token: str, start: int) -> None:
        self.seen.add(token)
        if token == ".version":
            self._version(start)
        elif token == ".target":
            self._target()
        elif token == ".address_size":
            self.next()
            size = self.number("32 or 64")
            if size not in (32, 64):
                self.fail(f"the address size is 32 or 64, not {size}", self.token_start)
            self.module.address_size = size
        elif token == ".file":
            self.pos = self.file_directive(start)
        elif token == ".section":
            self._section()
        elif token == ".pragma":
            self.next()
            texts = [self.next().strip('"')]
            while self.accept(","):
                texts.append(self.next().strip('"'))
            self.expect(";")
            self.module.pragmas += tuple(texts)
        elif token == ".alias":
            self._alias()
        elif token == "@":  # @@DWARF lines of old compilers
            end = self.code.find("\n", start)
            self.pos = len(self.code) if end < 0 else end
        elif token == ";":
            self.next()
        elif token in _LINKAGE or token in (".entry", ".func"):
            self._linked(start)
        elif token in _SPACES:
            variables, self.pos = self.variables(start)
            self._add_globals(variables, start)
        else:
            self.fail(f"unexpected '{token[:60]}': expected a directive", start)

    def _version(self, start: int) -> None:
        m = _VERSION.match(self.code, start)
        if m is None:
            self.fail("malformed .version: expected '.version MAJOR.MINOR'", start)
            return
        self.pos = m.end()
        version = (int(m[1]), int(m[2]))
        self.module.version = version
        if version > KNOWN_VERSION:
            self.source.warn_once(
                ".version", f"PTX ISA {m[1]}.{m[2]} is newer than {KNOWN_VERSION[0]}."
                f"{KNOWN_VERSION[1]}, which nvir knows", start
            )  # fmt: skip

    def _target(self) -> None:
        self.next()
        words = [self.identifier("a target such as sm_80")]
        while self.accept(","):
            words.append(self.identifier("a target option"))
        if not re.match(r"sm_\d+[af]?$|compute_\d+[af]?$", words[0]):
            self.fail(f"'{words[0]}' is no target such as sm_80", self.token_start)
        self.module.target = words[0]
        self.module.target_options = tuple(words[1:])

    def file_directive(self, start: int) -> int:
        """`.file 1 "name", …`: recorded; returns the offset of the line's end."""
        end = self.code.find("\n", start)
        end = len(self.code) if end < 0 else end
        m = re.match(r'\.file\s+(\d+)\s+("[^"]*")\s*(.*)', self.code[start:end].rstrip().rstrip(";"))
        if m is None:
            self.source.error("expected '.file NUMBER \"NAME\"'", start)
        else:
            self.module.debug.files.append((int(m[1]), m[2][1:-1], m[3].strip()))
        return end

    def _section(self) -> None:
        start = self.pos
        self.next()
        name = self.next()
        self.expect("{")
        depth, at = 1, self.pos
        close = self.code.find("}", at)
        if close < 0 or depth != 1:
            self.fail("the section is not closed: expected '}'", start)
        lines = [t.strip() for t in self.code[at:close].split("\n")]
        self.module.debug.sections.append((name, [t for t in lines if t]))
        self.pos = close + 1

    def _alias(self) -> None:
        self.next()
        name = self.identifier("a function name")
        self.expect(",")
        target = self.identifier("a function name")
        self.expect(";")
        alias = self.symbols.get(name)
        aliasee = self.symbols.get(target)
        if not isinstance(alias, Function) or not isinstance(aliasee, Function):
            missing = target if isinstance(alias, Function) else name
            self.fail(f"undeclared function '{missing}'", self.token_start)
            return
        alias.aux = {"alias": aliasee}

    def _linked(self, start: int) -> None:
        """A function, or a variable with linkage."""
        save = self.pos
        linkage: list[str] = []
        token = self.peek()
        while token in _LINKAGE:
            linkage.append(self.next()[1:])
            token = self.peek()
        if token in (".entry", ".func"):
            self._function(linkage)
        elif token in _SPACES:
            self.pos = save
            variables, self.pos = self.variables(start)
            self._add_globals(variables, start)
        else:
            self.fail(f"expected a function or a variable, found '{token}'", self.token_start)

    def _add_globals(self, variables: list[Variable], start: int) -> None:
        for v in variables:
            known = self.symbols.get(v.name)
            if known is not None and not (
                isinstance(known, Variable) and "extern" in (known.linkage, v.linkage)
            ):
                self.source.error(f"'{v.name}' is declared twice", start)
                continue
            if known is not None:  # an extern declaration and the definition are one variable
                if v.linkage != "extern":
                    for field in ("align", "attributes", "init", "linkage", "value_type"):
                        setattr(known, field, getattr(v, field))
                continue
            self.symbols[str(v.name)] = v
            self.module.add_global(v)

    def symbol(self, name: str, function: Function) -> Symbol | None:
        """What a name stands for in a body: the function's own names hide the module's."""
        return self.own.get(name) or self.symbols.get(name)

    # ------------------------------------------------------- variables

    def variables(self, start: int, local: bool = False) -> tuple[list[Variable], int]:
        """The declarators of one declaration at `start`, and the offset behind its ';'.

        In a body (`local`) an error is reported and the declaration skipped.
        """
        before = self.pos
        self.pos = start
        try:
            found = self._declaration()
            end = self.pos
        except Unreadable:
            if not local:
                raise
            found = []
            end = self.code.find(";", self.pos) + 1 or len(self.code)
        self.pos = before if local else end
        return found, end

    def _declaration(self) -> list[Variable]:
        linkage, space, align, vector, type, attributes = self._qualifiers()
        if not space:
            self.fail("expected a state space", self.token_start)
        found = []
        while True:
            name = self.identifier("a variable name")
            value_type: Type = type
            count = None
            if self.accept("<"):
                count = self.number("a count")
                self.expect(">")
            dims = self._dimensions()
            for d in reversed(dims):
                value_type = array(value_type, d)
            init: Any = None
            if self.accept("="):
                init = self._initialiser(type, attributes)
                if dims and dims[0] == 0 and isinstance(init, tuple):
                    value_type = array(value_type.element, len(init))  # type: ignore[attr-defined]
            names = [name] if count is None else [f"{name}{k}" for k in range(min(count, 1 << 16))]
            found.extend(
                Variable(
                    n, space, value_type, align=align, init=init, linkage=linkage, vector=vector,
                    attributes=dict(attributes), address_type=self._address(),
                )  # fmt: skip
                for n in names
            )
            if not self.accept(","):
                break
        self.expect(";")
        return found

    def _address(self) -> ScalarType:
        return address_type(self.module.address_size)

    def _qualifiers(self) -> tuple[str, str, int, int, ScalarType, dict[str, str]]:
        """The dotted words before a name: linkage, space, alignment, vector, type, the rest."""
        linkage = space = ""
        align, vector = 0, 1
        type: ScalarType | None = None
        attributes: dict[str, str] = {}
        while True:
            token = self.peek()
            if token is None or token[0] != ".":
                break
            self.pos = self._match.end()
            word = token[1:]
            if token in _LINKAGE:
                linkage = word
            elif token in _SPACES and not space:
                space = "global" if word == "tex" else word
                if word == "tex":
                    attributes["tex"] = ""
            elif word == "align":
                align = self.number("an alignment")
                if align < 1 or align & (align - 1) or align > 1 << 20:
                    self.fail(f"the alignment {align} is no power of two", self.token_start)
                if "ptr" in attributes:
                    attributes["ptr"] = f"{attributes['ptr']} .align {align}".strip()
                    align = 0
            elif word in ("v2", "v4", "v8"):
                vector = int(word[1:])
            elif word in SCALARS and word not in ("imm", "cc"):
                type = SCALARS[word]
            elif word == "ptr":
                attributes["ptr"] = ""
            elif "ptr" in attributes and token in _SPACES:
                attributes["ptr"] = token
            elif word in ("attribute", "unified", "managed"):
                attributes[word] = self._parenthesised() if self.peek() == "(" else ""
            elif word == "surf":
                attributes[word] = ""
            else:
                self.fail(f"unexpected '{token}' in a declaration", self.token_start)
        if type is None:
            at = self.token_start if token is not None else self._skip_space()
            self.fail("expected a type in this declaration", at)
            raise AssertionError
        return linkage, space, align, vector, type, attributes

    def _parenthesised(self) -> str:
        self.expect("(")
        words = []
        depth = 1
        while depth:
            token = self.next()
            depth += (token == "(") - (token == ")")
            if depth:
                words.append(token)
        return "".join(w if w != "," else ", " for w in words)

    def _dimensions(self) -> list[int]:
        dims = []
        while self.accept("["):
            close = self.code.find("]", self.pos)
            text = self.code[self.pos : close].strip() if close >= 0 else ""
            at = self.pos
            self.pos = close + 1 if close >= 0 else self.pos
            if close < 0:
                self.fail("expected ']'", at)
            if not text:
                dims.append(0)
                continue
            value = constant_expression(text[:200])
            if value is None or not 0 <= value < 1 << 48:
                self.fail(f"'{text[:40]}' is no array size", at)
                raise AssertionError
            dims.append(value)
        return dims

    def _initialiser(self, type: ScalarType, attributes: dict[str, str]) -> Any:
        flat = _FLAT_LIST.match(self.code, self.pos)
        if flat is not None:
            text = flat[1]
            if "=" in text:  # a sampler's settings
                attributes["settings"] = " ".join(text.split())
                self.pos = flat.end()
                return None
            start = flat.start(1)
            self.pos = flat.end()
            parts = text.split(",")
            if parts and not parts[-1].strip():
                parts.pop()
            return tuple(self._element(p, type, start) for p in parts)
        if self.accept("{"):
            return self._nested(type)
        end = re.compile(r"[;,](?![^()]*\))").search(self.code, self.pos)
        stop = end.start() if end is not None else len(self.code)
        text, start = self.code[self.pos : stop], self.pos
        self.pos = stop
        return self._element(text, type, start)

    def _nested(self, type: ScalarType) -> tuple[Any, ...]:
        """The rest of `{ {1, 2}, mask(x), … }` behind its first brace; no recursion."""
        stack: list[list[Any]] = [[]]
        pattern = re.compile(r"\s*(?:([{}])|,|((?:[^{},()\"]|\([^()]*\))+))")
        while True:
            m = pattern.match(self.code, self.pos)
            if m is None:
                self.fail("cannot read this initialiser", self._skip_space())
                raise AssertionError
            self.pos = m.end()
            if m[1] == "{":
                stack.append([])
            elif m[1] == "}":
                done = tuple(stack.pop())
                if not stack:
                    return done
                stack[-1].append(done)
            elif m[2] is not None and m[2].strip():
                stack[-1].append(self._element(m[2], type, m.start(2)))

    def _element(self, text: str, type: ScalarType, start: int) -> Value:
        """One initial value: a number, an address, or a byte of an address."""
        text = text.strip()
        c = literal(text)
        if c is not None:
            return self._fit(c, type)
        m = _MASKED.match(text)
        if m is not None:
            offset = int(m[3].replace(" ", "")) if m[3] else 0
            return SymbolOffset(self._symbol(m[2], start), offset, mask=int(m[1], 16))
        m = _SYMBOLIC.match(text)
        if m is not None:
            symbol = self._symbol(m[1] or m[2], start)
            offset = constant_expression(m[3]) if m[3].strip() else 0
            if m[1] is None and not offset:
                return symbol
            return SymbolOffset(symbol, offset or 0, generic=m[1] is not None)
        value = constant_expression(text)
        if value is None:
            self.fail(f"'{text[:60]}' is no constant", start)
            raise AssertionError
        return self._fit(literal(str(value)) or literal("0"), type)

    def _fit(self, c: Constant | None, type: ScalarType) -> Constant:
        assert c is not None
        if type.name == "f32" and c.type.name == "f64":
            return to_f32(c)
        if type.name == "f64" and c.type.name == "f32":
            return to_f64(c)
        return c

    def _symbol(self, name: str, start: int) -> Symbol:
        s = self.own.get(name) or self.symbols.get(name)
        if s is None:
            self.fail(f"undeclared identifier '{name}'", start)
        return s  # type: ignore[return-value]

    # ------------------------------------------------------- functions

    def _function(self, linkage: list[str]) -> None:
        at = self.token_start
        kind = self.next()[1:]
        function = Function("", kind, self.module)
        function.linkage = linkage[-1] if linkage else ""
        function.loc = self.source.line_of(at)
        self.own = {}
        arguments: list[Argument] = []
        self._directives(function)
        if self.peek() == "(":
            function.returns = self._parameters(function, arguments)
        function.name = self.identifier("a function name")
        n_returns = len(arguments)
        if self.peek() == "(":
            function.params = self._parameters(function, arguments)
        self._directives(function)
        function = self._merge(function, at)
        if self.accept(";"):
            return
        if self.peek() != "{":
            found = self.peek() or "the end of the file"
            self.fail(f"expected ';' or a function body, found '{found}'", self._skip_space())
        if function.blocks:
            self.source.error(f"function '{function.name}' is defined twice", at)
            function = Function(function.name or "", kind, self.module)
        body = BodyReader(self.source, self, function)
        incoming: dict[int, Argument] = {}
        for k, a in enumerate(arguments):
            number = body.new_register(a.name, a.type)
            body.names[str(a.name)] = number
            if k >= n_returns:
                incoming[number] = a
        errors = len(self.source.errors)
        self.pos = body.read(self.token_start)
        self.own = {}
        if len(self.source.errors) == errors:
            self._returned_registers(body, function)
            build(body.raw, function, incoming)

    def _returned_registers(self, body: BodyReader, function: Function) -> None:
        """A result that a function returns in a register is an operand of each `ret`."""
        numbers = tuple(
            body.names[str(r.name)] for r in function.returns if isinstance(r, Argument)
        )
        if not numbers:
            return
        for block in body.raw.blocks:
            if block.term is not None and block.term[0].name == "ret":
                f, operands, loc, line = block.term
                block.term = (f, (*operands, *numbers), loc, line)

    def _merge(self, function: Function, at: int) -> Function:
        """One object for the declarations and the definition of a function."""
        name = str(function.name)
        known = self.symbols.get(name)
        if known is None:
            self.symbols[name] = function
            return self.module.add_function(function)
        if not isinstance(known, Function):
            self.fail(f"'{name}' is declared twice", at)
        if known.blocks:
            return known  # type: ignore[no-any-return]
        for field in ("params", "returns", "kind", "loc"):
            setattr(known, field, getattr(function, field))
        known.linkage = function.linkage or known.linkage
        known.directives.update(function.directives)
        known.pragmas += function.pragmas
        if self.peek() == "{":  # bodies stand in the order of their definitions
            for group in (self.module.functions, self.module.order):
                group.remove(known)
                group.append(known)
        return known  # type: ignore[no-any-return]

    def _parameters(self, function: Function, arguments: list[Argument]) -> list[Any]:
        self.expect("(")
        found: list[Any] = []
        while not self.accept(")"):
            in_register = self.accept(".reg")
            _, space, align, vector, type, attributes = self._qualifiers()
            if not in_register and space != "param":
                self.fail("a parameter is '.param' or '.reg'", self.token_start)
            name = self.identifier("a parameter name")
            if in_register:
                argument = Argument(type, name, function, len(found))
                arguments.append(argument)
                found.append(argument)
            else:
                value_type: Type = type
                for d in reversed(self._dimensions()):
                    value_type = array(value_type, d)
                p = Param(
                    name, value_type, len(found), align=align, vector=vector,
                    attributes=attributes, address_type=self._address(),
                )  # fmt: skip
                self.own[name] = p
                found.append(p)
            if not self.accept(","):
                self.expect(")")
                break
        return found

    def _directives(self, function: Function) -> None:
        """Performance directives: `.maxntid 256, 1, 1`, `.noreturn`, `.pragma "…";` …"""
        while True:
            token = self.peek()
            if token is None or token[0] != ".":
                return
            self.pos = self._match.end()
            if token == ".pragma":
                function.pragmas += (self.next().strip('"'),)
                while self.accept(","):
                    function.pragmas += (self.next().strip('"'),)
                self.accept(";")
                continue
            if token == ".attribute":
                function.directives[f"attribute({self._parenthesised()})"] = ()
                continue
            numbers: list[int] = []
            while (token_number := self.peek()) is not None and token_number[0].isdigit():
                numbers.append(self.number("a number"))
                if not self.accept(","):
                    break
            function.directives[token[1:]] = tuple(numbers)
