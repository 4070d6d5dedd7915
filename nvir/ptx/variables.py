"""Declarations of variables with every form of initialiser."""

from __future__ import annotations

import re
from typing import Any

from nvir.ir import SCALARS, Constant, Module, ScalarType, Symbol, SymbolOffset, Type, Value, array
from nvir.ir.symbols import Variable, address_type
from nvir.ptx.literals import PARTS, constant_expression, literal, to_f32, to_f64
from nvir.ptx.rules import declared
from nvir.ptx.source import PtxText
from nvir.ptx.tokens import Tokens, Unreadable

LINKAGE = frozenset((".extern", ".visible", ".weak", ".common"))
SPACES = frozenset((".global", ".const", ".shared", ".local", ".param", ".tex"))
# The order of a declaration's words; those behind the type are of pointers.
_ranks = {
    **dict.fromkeys((x[1:] for x in SPACES), 1), "surf": 1, "align": 1, "attribute": 1,
    **dict.fromkeys(("visible", "extern", "weak", "common"), 0), "managed": 1, "unified": 1,
    "v2": 2, "v4": 2, "v8": 2, **dict.fromkeys((n for n in SCALARS), 3),
}
_ATTRIBUTE = r"(?:\.managed|\.unified\(\d+, \d+\))"
_ATTRIBUTES = re.compile(rf"{_ATTRIBUTE}(?:, {_ATTRIBUTE})*$")
SIZES = 1000  # of an array, and braces in each other in its initial value
MOST_COUNTED = 1 << 17  # variables of a module that declarations such as `x<8>` make at once
_FLAT_LIST = re.compile(r"\s*\{([^{}()\"]*)\}")
_ALONE = re.compile(r"(?:[^;,()]++|\([^()]*+\)|[()])*+")  # up to a ';' or ',' not in parentheses
_MASKED = re.compile(r"(0[xX][fF]+0*)\s*\(\s*([\w$%]+)\s*([-+]\s*\d+)?\s*\)$")
_SYMBOLIC = re.compile(
    r"(?:generic\s*\(\s*([\w$%]+)\s*\)|([A-Za-z_$%][\w$]*))\s*((?:[-+]\s*(?:0[xX][0-9a-fA-F]+|\d+)\s*)*)$"
)


class Declarations(Tokens):
    """Reads variable declarations. `symbols` are the module's names, `own` a function's."""

    def __init__(self, source: PtxText, module: Module) -> None:
        super().__init__(source)
        self.module = module
        self.symbols: dict[str, Any] = {}
        self.own: dict[str, Any] = {}  # names of the function at hand
        self.counted = 0  # variables that were declared with a count

    def variables(self, start: int, local: bool = False) -> tuple[list[Variable], int]:
        """The declarators of one declaration at `start`, and the offset behind its ';'.

        In a body (`local`) an error is reported and the declaration skipped.
        """
        before = self.pos
        self.pos = start
        try:
            found = self._declaration(local)
            end = self.pos
        except Unreadable:
            if not local:
                raise
            found = []
            end = self.code.find(";", self.pos) + 1 or len(self.code)
        self.pos = before if local else end
        return found, end

    def _declaration(self, local: bool) -> list[Variable]:
        start = self.pos
        linkage, space, align, vector, type, attributes = self._qualifiers()
        if not space:
            self.fail("expected a state space", self.token_start)
        found: list[Variable] = []
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
            self.counted += count or 0
            if self.counted > MOST_COUNTED:
                self.fail(f"more than {MOST_COUNTED} variables are declared with counts", start)
            names = [name] if count is None else [f"{name}{k}" for k in range(count)]
            found.extend(
                Variable(
                    n,
                    space,
                    value_type,
                    align=align,
                    init=init,
                    linkage=linkage,
                    vector=vector,
                    attributes=dict(attributes),
                    address_type=self._address(),
                )
                for n in names
            )
            line = self.source.line_of(start)
            for v in found[-len(names):]:
                v.loc = line
            for v in found[-1:]:
                self.source.refuse(declared.variable_problem(v, local, self.module)
                                   or declared.initial_problem(v), start)
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
        stage = 0
        while True:
            token = self.peek()
            if token is None or token[0] != ".":
                break
            self.pos = self._match.end()
            word = token[1:]
            rank = 4 if "ptr" in attributes else _ranks.get(word, 4)
            if rank < stage or rank == stage in (2, 3):
                self.source.refuse(f"'{token}' is out of place: a declaration has its space, "
                                   "alignment, vector and type in this order", self.token_start)
            stage = rank
            if token in LINKAGE:
                linkage = word
            elif token in SPACES and not space:
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
            elif "ptr" in attributes and token in SPACES:
                attributes["ptr"] = token
                if word == "param":
                    self.source.refuse("a pointer is .global, .const, .shared or .local",
                                       self.token_start)
            elif word in ("attribute", "unified", "managed"):
                attributes[word] = self._parenthesised() if self.peek() == "(" else ""
                if word == "attribute" and not _ATTRIBUTES.match(attributes[word]):
                    self.source.refuse(".attribute takes (.managed) or (.unified(NUMBER, NUMBER))",
                                       self.token_start)
            elif word == "surf":
                attributes[word] = ""
            else:
                self.fail(f"unexpected '{token}' in a declaration", self.token_start)
        if type is None:
            at = self.token_start if token is not None else self._skip_space()
            self.fail("expected a type in this declaration", at)
        self.source.refuse(declared.type_problem(type, vector), self.token_start)
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
        dims: list[int] = []
        while self.accept("["):
            close = self.code.find("]", self.pos)
            text = self.code[self.pos : close].strip() if close >= 0 else ""
            at = self.pos
            self.pos = close + 1 if close >= 0 else self.pos
            if close < 0:
                self.fail("expected ']'", at)
            if not text:
                if dims:
                    self.source.refuse("only the first size of an array may be left out", at)
                dims.append(0)
                continue
            if len(dims) == SIZES:
                self.fail(f"an array of more than {SIZES} sizes", at)
            if literal(text) is None:
                self.source.refuse(f"a size is a number, '{text[:40]}' is an expression", at)
            value = constant_expression(text[:200])
            if value is None or not 0 <= value < 1 << 48:
                self.fail(f"'{text[:40]}' is no array size", at)
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
                if parts:
                    self.source.refuse("expected an initial value behind ','", flat.end() - 1)
            # Tables of a hundred thousand bytes are common, and have few different elements.
            made = {p: self._element(p, type, start) for p in dict.fromkeys(parts)}
            return tuple(map(made.__getitem__, parts))
        if self.accept("{"):
            return self._nested(type)
        alone = _ALONE.match(self.code, self.pos)
        assert alone is not None
        stop = alone.end()
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
            self.pos = m.end()
            if m[1] == "{":
                stack.append([])
                if len(stack) > SIZES:
                    self.fail(f"an initial value nested deeper than {SIZES}", m.start(1))
            elif m[1] == "}":
                done = tuple(stack.pop())
                if not stack:
                    return done
                stack[-1].append(done)
            elif m[2] is not None and m[2].strip():
                stack[-1].append(self._element(m[2], type, m.start(2)))

    def _element(self, text: str, type: ScalarType, start: int) -> Value:
        """One initial value: a number, an address, or a byte of an address."""
        start += len(text) - len(text.lstrip())
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
            plus = constant_expression(m[3]) if m[3].strip() else 0
            if m[3].strip().startswith("-"):
                self.source.refuse(f"'{text}': only '+' may stand behind an address", start)
            if m[1] is None and not plus:
                return symbol
            return SymbolOffset(symbol, plus or 0, generic=m[1] is not None)
        value = constant_expression(text)
        if value is None:
            self.fail(f"'{text[:60]}' is no constant of up to {PARTS} parts", start)
        return self._fit(literal(str(value)) or literal("0"), type)

    def _fit(self, c: Constant | None, type: ScalarType) -> Constant:
        assert c is not None
        if type.name == "f32" and c.type.name == "f64":
            return to_f32(c)
        if type.name == "f64" and c.type.name == "f32":
            return to_f64(c)
        return c

    def _symbol(self, name: str, start: int) -> Symbol:
        s: Symbol | None = self.own.get(name) or self.symbols.get(name)
        if s is None:
            self.fail(f"undeclared identifier '{name}'", start)
        return s
