"""Changes that break texts of any language: fuzz_inputs.py says which.

    broken = mutate(random.Random(7), text, another_text)
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

TOKEN = re.compile(r"[\w.$%]+|\s+|.", re.S)
_NUMBERS = (
    "0", "1", "-1", "2147483647", "4294967296", "18446744073709551616", "1" * 400, "0x", "08",
    "1e999", "0f7fc00000", "0d7ff", "-0", "0b2", "1.5", "nan",
)
_STRAY = ("\0", "\ufeff", "é", "\\", '"', "'", "{", "}", "(", ")", "<", ">", "[", "]", ";", ",",
          "%", "@", "!", "/*", "//", "\r", "\x1b", "\ud800", "|", "...")


def mutate(rng: random.Random, text: str, other: str) -> str:
    """The text with one to four changes; `other` gives pieces."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        text = rng.choice(_MUTATIONS)(rng, text, other)
    return text


def pieces_of(rng: random.Random, text: str) -> list[str]:
    """Tokens, or lines."""
    return text.splitlines(keepends=True) if rng.random() < 0.4 else TOKEN.findall(text)


def _cut(rng: random.Random, text: str, other: str) -> str:
    pieces = pieces_of(rng, text)
    at, n = rng.randrange(len(pieces) + 1), rng.choice((1, 1, 1, 2, 5, 20))
    return "".join(pieces[:at] + pieces[at + n :])


def _repeat(rng: random.Random, text: str, other: str) -> str:
    pieces = pieces_of(rng, text)
    at, n = rng.randrange(len(pieces) + 1), rng.choice((1, 1, 2, 5))
    return "".join(pieces[:at] + pieces[at : at + n] * rng.choice((2, 2, 3, 50)) + pieces[at + n :])


def _swap(rng: random.Random, text: str, other: str) -> str:
    pieces = pieces_of(rng, text)
    if len(pieces) > 1:
        a, b = rng.sample(range(len(pieces)), 2)
        pieces[a], pieces[b] = pieces[b], pieces[a]
    return "".join(pieces)


def _splice(rng: random.Random, text: str, other: str) -> str:
    pieces, more = pieces_of(rng, text), pieces_of(rng, other)
    at, of = rng.randrange(len(pieces) + 1), rng.randrange(len(more) + 1)
    skip = rng.choice((0, 1))
    return "".join(pieces[:at] + more[of : of + rng.choice((1, 1, 2, 6))] + pieces[at + skip :])


def _number(rng: random.Random, text: str, other: str) -> str:
    return _exchange(rng, text, r"(?<![\w.])-?\d[\w.]*", _NUMBERS)


def _name(rng: random.Random, text: str, other: str) -> str:
    return _exchange(rng, text, r"[%@$.]?[A-Za-z_][\w.$]*", re.findall(r"[%@$.]?[\w.$]+", text))


def _exchange(rng: random.Random, text: str, pattern: str, values: Any) -> str:
    found = list(re.finditer(pattern, text))
    if not found or not values:
        return text
    m = rng.choice(found)
    return f"{text[: m.start()]}{rng.choice(values)}{text[m.end() :]}"


def _stray(rng: random.Random, text: str, other: str) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(_STRAY) * rng.choice((1, 1, 1, 3)) + text[at:]


def _nest(rng: random.Random, text: str, other: str) -> str:
    """Brackets in each other, around a piece or never closed."""
    pieces = pieces_of(rng, text)
    at, depth = rng.randrange(len(pieces) + 1), rng.choice((70, 330, 20_000))
    opening = rng.choice(("(", "{", "[", "<", "-", "!", "~", "{ ", "!{"))
    inner = "".join(pieces[at : at + 1])
    closing = {"(": ")", "{": "}", "[": "]", "<": ">"}.get(opening.strip("! "), "")
    closing = closing if rng.random() < 0.6 else ""
    return "".join(pieces[:at]) + opening * depth + inner + closing * depth \
        + "".join(pieces[at + 1 :])


def _truncate(rng: random.Random, text: str, other: str) -> str:
    return text[: rng.randrange(len(text) + 1)]


_MUTATIONS: tuple[Callable[[random.Random, str, str], str], ...] = (
    _cut, _cut, _repeat, _swap, _splice, _splice, _number, _name, _name, _stray, _truncate,
    _cut, _repeat, _swap, _splice, _number, _name, _stray, _name, _nest,
)
