"""Of which kind each fact is that nvir's own text tells of modules, functions and blocks.

A datum may be anything; passes and printers ask for what these facts are. `nvir.ir.nvvm` and the
classes say what they mean.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nvir.ir.function import Function, are_sizes
from nvir.ir.instruction import Location
from nvir.ir.text.datum import BadDatum, Cursor
from nvir.ir.values import Value

_Test = Callable[[Any], bool]
_MOST_NUMBERS = 3  # of a directive: an extent in x, y and z


def _is_text(x: Any) -> bool:
    return isinstance(x, str)


def _are_texts(x: Any) -> bool:
    return isinstance(x, tuple | list) and all(map(_is_text, x))


def _are_texts_by_name(x: Any) -> bool:
    return isinstance(x, dict) and all(_is_text(y) for pair in x.items() for y in pair)


def _are_flags(x: Any) -> bool:
    return isinstance(x, frozenset) and all(map(_is_text, x))


def _are_numbers(x: Any) -> bool:
    return (isinstance(x, tuple) and len(x) <= _MOST_NUMBERS
            and all(n.__class__ is int for n in x) and are_sizes(x))


def _are_directives(x: Any) -> bool:
    return isinstance(x, dict) and all(_is_text(n) and _are_numbers(y) for n, y in x.items())


def _begins_with_text(x: Any) -> bool:
    return isinstance(x, tuple) and bool(x) and _is_text(x[0])


def _are_words(x: Any) -> bool:
    """Attributes: words, and pairs of a word and a value."""
    return isinstance(x, tuple) and all(
        _is_text(w) or (_begins_with_text(w) and len(w) == 2) for w in x)


def _are_loop_properties(x: Any) -> bool:
    return isinstance(x, tuple) and all(map(_begins_with_text, x))


def _is_line(x: Any) -> bool:
    return x is None or (x.__class__ is int and x >= 0)


def _is_node(x: Any, depth: int = 0) -> bool:
    return all(map(_is_node, x)) if isinstance(x, tuple) else x is None or isinstance(
        x, bool | int | str | Value)


def _are_nodes_by_name(x: Any) -> bool:
    return isinstance(x, dict) and all(
        _is_text(name) and isinstance(nodes, tuple) and all(map(_is_node, nodes))
        for name, nodes in x.items())


_KEYS: dict[str, dict[str, tuple[_Test, str]]] = {
    "function": {
        "attributes": (_are_words, "words and (word, value) in parentheses"),
        "returns": (_are_words, "words and (word, value) in parentheses"),
        "variadic": (lambda x: isinstance(x, bool), "true or false"),
        "section": (_is_text, "a text"),
        "alias": (lambda x: isinstance(x, Function), "a function"),
    },
    "block": {"llvm.loop": (_are_loop_properties, "(name, value …) in parentheses")},
    "module": {
        **dict.fromkeys(("datalayout", "triple", "asm"), (_is_text, "a text")),
        "metadata": (_are_nodes_by_name, "{name: (nodes)}"),
    },
}


def _aux(owner: str) -> tuple[_Test, str]:
    """What stands in `aux`: a dict by names, each value of which is of its kind."""
    keys = _KEYS[owner]

    def test(x: Any) -> bool:
        return x is None or (isinstance(x, dict) and all(
            _is_text(name) and (name not in keys or keys[name][0](y)) for name, y in x.items()))

    told = ", ".join(f'"{name}": {text}' for name, (_, text) in keys.items())
    return test, f"{{name: value}}, with {told}"


_STRINGS = _are_texts, "strings in parentheses"
_LINE = _is_line, "the number of a line"
_FLAGS = _are_flags, "a set(…) of strings"
_KINDS: dict[str, dict[str, tuple[_Test, str]]] = {
    "module": {"options": _STRINGS, "pragmas": _STRINGS, "aux": _aux("module")},
    "function": {
        "pragmas": _STRINGS, "flags": _FLAGS, "loc": _LINE, "aux": _aux("function"),
        "directives": (_are_directives, "{name: (numbers of 32 bits)}"),
    },
    "variable": {"loc": _LINE, "attributes": (_are_texts_by_name, "{name: text}")},
    "section": {"lines": _STRINGS},
    "register": {"attributes": (_are_words, "words and (word, value) in parentheses")},
    "block": {
        "pragmas": _STRINGS, "flags": _FLAGS, "aux": _aux("block"),
        "loc": (lambda x: x is None or isinstance(x, Location), "Location(file, line, column, …)"),
    },
}


def read_property(c: Cursor, owner: str, key: str, at: int) -> Any:
    """The value of an owner's property whose name, at column `at`, has been read. Raises BadDatum
    for a name that no such owner has, and for a value of another kind."""
    if key not in _KINDS[owner]:
        raise BadDatum(f"a {owner} has no '{key}'", at)
    start = c.start
    value = c.datum()
    fits, expected = _KINDS[owner][key]
    if not fits(value):
        raise BadDatum(f"expected {expected} behind '{key}'", start)
    return tuple(value) if isinstance(value, list) else value
