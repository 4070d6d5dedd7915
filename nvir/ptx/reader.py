"""Reading PTX: module-level statements; bodies are body.py's, SSA is ssa.py's.

Every error of a file is found in one run: a statement that cannot be read is
reported at its place and skipped. What nvir does not know (a newer version, a
newer instruction) is a warning in `module.diagnostics`.
"""

from __future__ import annotations

import contextlib
import re
from typing import Any

from nvir.ir import Function, Instruction, Module, Param, Type, Variable, array, bulk
from nvir.ir.values import Argument, Symbol
from nvir.ptx.body import BodyReader
from nvir.ptx.source import BEGIN_ASM, END_ASM, PtxText, TooManyErrors, load
from nvir.ptx.ssa import build
from nvir.ptx.tokens import Unreadable
from nvir.ptx.variables import LINKAGE, SPACES, Declarations

KNOWN_VERSION = (9, 0)
_VERSION = re.compile(r"\.version\s+(\d{1,4})\.(\d{1,4})\b(?!\.)")


def read_ptx(x: object) -> Module:
    """Read PTX into a module of level `ori`.

    `x` is a path (an os.PathLike, or a str without a newline) or the text itself
    (a str with a newline, or bytes). Raises ParseError, whose `.errors` lists
    every error of the file; NvirError if the file cannot be opened.
    """
    source = load(x)
    with bulk():
        return ModuleReader(source).read()


class ModuleReader(Declarations):
    """Reads one module. `symbol`, `variables` and `file_directive` serve body.py."""

    def __init__(self, source: PtxText) -> None:
        super().__init__(source, Module(name=source.file, version=KNOWN_VERSION))
        self.has_debug = ".section" in self.code
        self.seen: set[str] = set()

    def read(self) -> Module:
        with contextlib.suppress(TooManyErrors):
            self._statements()
        self._check_header()
        self.source.raise_errors()
        self.module.diagnostics.extend(self.source.warnings)
        _mark_assembly(self.module, self.source)
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
        elif token in LINKAGE or token in (".entry", ".func"):
            self._linked(start)
        elif token in SPACES:
            variables, self.pos = self.variables(start)
            self._add_globals(variables, start)
        else:
            self.fail(f"unexpected '{token[:60]}': expected a directive", start)

    def _version(self, start: int) -> None:
        m = _VERSION.match(self.code, start)
        if m is None:
            self.fail("malformed .version: expected '.version MAJOR.MINOR'", start)
        self.pos = m.end()
        version = (int(m[1]), int(m[2]))
        self.module.version = version
        if version > KNOWN_VERSION:
            self.source.warn_once(
                ".version", f"PTX ISA {m[1]}.{m[2]} is newer than {KNOWN_VERSION[0]}."
                f"{KNOWN_VERSION[1]}, which nvir knows", start
            )

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
        m = re.match(
            r'\.file\s+(\d+)\s+("[^"]*")\s*(.*)', self.code[start:end].rstrip().rstrip(";")
        )
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
        alias.aux = {"alias": aliasee}

    def _linked(self, start: int) -> None:
        """A function, or a variable with linkage."""
        save = self.pos
        linkage: list[str] = []
        token = self.peek()
        while token in LINKAGE:
            linkage.append(self.next()[1:])
            token = self.peek()
        if token in (".entry", ".func"):
            self._function(linkage)
        elif token in SPACES:
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

    def _function(self, linkage: list[str]) -> None:
        at = self.token_start
        kind = self.next()[1:]
        function = Function("", kind, self.module)
        function.linkage = linkage[-1] if linkage else ""
        function.loc = self.source.line_of(at)
        self.own = {}
        self.vectors: dict[str, int] = {}  # parameters in vector registers, and their elements
        self.elements: dict[str, str] = {}
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
        body.vectors.update(self.vectors)
        incoming: dict[int, Argument] = {}
        for k, a in enumerate(arguments):
            number = body.new_register(a.name, a.type)
            body.names[self.elements.get(str(a.name), str(a.name))] = number
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
            body.names[self.elements.get(str(r.name), str(r.name))]
            for r in function.returns
            if isinstance(r, Argument)
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
            return known
        for field in ("params", "returns", "kind", "loc"):
            setattr(known, field, getattr(function, field))
        known.linkage = function.linkage or known.linkage
        known.directives.update(function.directives)
        known.pragmas += function.pragmas
        if self.peek() == "{":  # bodies stand in the order of their definitions
            for group in (self.module.functions, self.module.order):
                group.remove(known)
                group.append(known)
        return known

    def _parameters(self, function: Function, arguments: list[Argument]) -> list[Any]:
        self.expect("(")
        found: list[Any] = []
        more = not self.accept(")")
        while more:
            in_register = self.accept(".reg")
            _, space, align, vector, type, attributes = self._qualifiers()
            if not in_register and space != "param":
                self.fail("a parameter is '.param' or '.reg'", self.token_start)
            name = self.identifier("a parameter name")
            if in_register:
                for part in self._elements(name, vector):
                    argument = Argument(type, part, function, len(found))
                    arguments.append(argument)
                    found.append(argument)
            else:
                value_type: Type = type
                for d in reversed(self._dimensions()):
                    value_type = array(value_type, d)
                p = Param(
                    name, value_type, len(found), align=align, vector=vector,
                    attributes=attributes, address_type=self._address(),
                )
                self.own[name] = p
                found.append(p)
            more = self.accept(",")
            if not more:
                self.expect(")")
        return found

    def _elements(self, name: str, vector: int) -> list[str]:
        """The registers of a parameter in registers: itself, or those of a vector's elements."""
        if vector == 1:
            return [name]
        self.vectors[name] = vector
        self.elements.update({f"{name}_{c}": f"{name}.{c}" for c in "xyzw"[:vector]})
        return [f"{name}_{c}" for c in "xyzw"[:vector]]

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


def _mark_assembly(module: Module, source: PtxText) -> None:
    """Mark "asm" what stands between the comments of inline assembly, its first and last
    instructions "asm begin" and "asm end"; the printer puts the comments around them again."""
    text = source.text
    if BEGIN_ASM not in text:
        return
    region_of: dict[int, int] = {}
    at = text.find(BEGIN_ASM)
    while at >= 0:
        end = text.find(END_ASM, at)
        if end < 0:
            break
        first, last = source.line_of(at), source.line_of(end)
        region_of.update(dict.fromkeys(range(first + 1, last), first))
        at = text.find(BEGIN_ASM, end)
    for f in module.functions:
        before: tuple[int, Instruction] | None = None
        for i in f.instructions():
            region = region_of.get(i.line or 0) if not i.form.is_phi else None
            if before is not None and region != before[0]:
                f.marks[before[1]].add("asm end")
                before = None
            if region is not None:
                marks = f.marks.setdefault(i, set())
                marks.add("asm")
                if before is None:
                    marks.add("asm begin")
                before = region, i
        if before is not None:
            f.marks[before[1]].add("asm end")
