"""Reading attributes: of parameters, results, functions, calls, and the groups `#0`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nvir.ir.types import Type
from nvir.llvm.attributes import (
    NAMES,
    OF_NUMBER,
    OF_TEXT,
    OF_TYPE,
    WORDS,
    call_problem,
    canonical,
    parameter_problem,
    text_problem,
)
from nvir.llvm.grammar import MAX_ALIGN, MAX_SEEN, UNSIZED, Grammar
from nvir.llvm.lexer import END, Stop, unquoted

_MORE = ("#", '"', "(")  # begin further attributes, or the rest of one


class AttributeGroup(str):
    """`#0`, until groups are known."""

    __slots__ = ()


class AttributeReader:
    """Attributes of one file. `groups` are known when the top level has been read."""

    def __init__(self, reader: Grammar) -> None:
        self.groups: dict[str, tuple[Any, ...]] = {}
        self.reader = reader
        self._seen: dict[tuple[str, str, bool], list[tuple[list[str], tuple[Any, ...]]]] = {}
        self._calls: dict[str, tuple[Any, ...]] = {}

    def of_type(
        self, attributes: tuple[Any, ...], t: Type, at: int, result: bool = False
    ) -> None:
        """Hold the attributes of a parameter or result to its type."""
        wrong = parameter_problem(attributes, t, result)
        if wrong:
            raise Stop(wrong, at)

    def of_call(self, attributes: tuple[Any, ...], at: int) -> None:
        """Hold what stands behind a call's arguments to be of calls."""
        wrong = call_problem(attributes)
        if wrong:
            raise Stop(wrong, at)

    def parameter(self, g: Grammar) -> tuple[Any, ...]:
        """Attributes of a parameter, argument or result at `k`; () for none."""
        token = g.t[g.k]
        if token not in NAMES and token[:1] != '"':
            return ()
        return self._known(g, token, self._parameter)

    def _known(
        self, g: Grammar, token: str, read: Callable[[Grammar], tuple[Any, ...]]
    ) -> tuple[Any, ...]:
        """What `read` makes of the tokens at `k`; a run that was read before is known."""
        start, t = g.k, g.t
        seen = self._seen.setdefault((token, t[start + 1], g is self.reader), [])
        for tokens, known in seen:
            end = start + len(tokens)
            if t[start:end] == tokens and t[end] not in NAMES and t[end][:1] not in _MORE:
                g.k = end
                return known
        made = read(g)
        if len(seen) < MAX_SEEN and not g.text.typed:  # there a type comes from what is before
            seen.append((t[start : g.k], made))
        return made

    def _parameter(self, g: Grammar) -> tuple[Any, ...]:
        out: list[Any] = []
        while True:
            token = g.t[g.k]
            if token in NAMES or token[:1] == '"':
                out.extend(self._one(g, token))
            else:
                return tuple(out)

    def function(self, g: Grammar) -> tuple[Any, ...]:
        """Attributes of a function or a call; groups of a call are put in place."""
        token = g.t[g.k]
        if token[:1] == "#":
            known = self._calls.get(token)
            if known is not None and g is not self.reader and g.t[g.k + 1] not in NAMES and (
                g.t[g.k + 1][:1] not in _MORE
            ):
                g.k += 1
                return known
        elif token in NAMES or token[:1] == '"':
            return self._known(g, token, self._function)
        return self._function(g)

    def _function(self, g: Grammar) -> tuple[Any, ...]:
        out: list[Any] = []
        while True:
            token = g.t[g.k]
            if token[:1] == "#" and token[1:].isdigit():
                if g is self.reader:
                    out.append(AttributeGroup(token))
                else:  # a group that is not there is empty, as LLVM has it
                    known = self._calls[token] = self.groups.get(token, ())
                    out.extend(known)
                g.k += 1
            elif token in NAMES or (token[:1] == '"' and len(token) > 1):
                out.extend(self._one(g, token))
            else:
                return tuple(out)

    def resolved(self, attributes: tuple[Any, ...]) -> tuple[Any, ...]:
        """A function's attributes with those of its groups, each once."""
        out: dict[Any, None] = {}
        for a in attributes:
            if isinstance(a, AttributeGroup):
                out.update(dict.fromkeys(self.groups.get(a, ())))
            else:
                out[a] = None
        return tuple(out)

    def group(self) -> None:
        """`attributes #0 = { … }`"""
        g = self.reader
        g.k += 1
        token = g.t[g.k]
        if token[:1] != "#" or not token[1:].isdigit():
            g.fail("a group such as '#0'")
        g.k += 1
        g.expect("=")
        g.expect("{")
        out: list[Any] = []
        while not g.accept("}"):
            word = g.t[g.k]
            if word == END:
                g.fail("'}'")
            out.extend(self._one(g, word))
        if g.t[g.k - 2] == "{":
            raise Stop("the group has no attributes", g.k - 2)
        self.groups[token] = tuple(out)

    def _one(self, g: Grammar, token: str) -> tuple[Any, ...]:
        at = g.k
        g.k += 1
        if token[:1] == '"':
            value = ""
            if g.t[g.k] == "=":
                g.k += 1
                value = g.string()
            return ((unquoted(token), value),)
        follows = g.t[g.k] == "("
        if token in OF_TYPE:
            if not follows and not g.text.typed:
                g.fail("'(' and a type")
            if not follows:  # an LLVM 7 takes the type from the pointer
                return ((token, g.pointee),)
            g.k += 1
            type_at = g.k
            t = g.type()
            if t in UNSIZED:
                raise Stop(f"{token} of {t}, of which there are no values", type_at)
            g.expect(")")
            return ((token, t),)
        if token in OF_NUMBER:
            if g.t[g.k] == "=":
                follows, g.k = False, g.k + 1
            g.k += follows
            n = g.number()
            if follows:
                g.expect(")")
            if token.startswith("dereferenceable") and n == 0:
                raise Stop(f"{token} has a number of bytes", at)
            if "align" in token and (n == 0 or n & (n - 1) or n > MAX_ALIGN):
                raise Stop("an alignment is a power of two", at)
            return ((token, n),)
        if token in OF_TEXT and follows:
            start = g.k
            g.skip_brackets()
            if g.t[g.k - 1] != ")":
                g.fail(f"')' behind what '{token}' says", g.k - 1)
            text = _joined(g.t[start + 1 : g.k - 1])
            wrong = text_problem(token, text)
            if wrong:
                raise Stop(wrong, at)
            return canonical(token, text)
        if token in WORDS:
            return (token,)
        return g.fail("an attribute", at)


def _joined(tokens: list[str]) -> str:
    text = ""
    for token in tokens:
        glued = not text or token in (",", ")") or text[-1] == "("
        text += token if glued else f" {token}"
    return text
