"""The text of an open document: changes row by row do what they do to the whole text."""

from __future__ import annotations

import random
import re

import pytest

from nvir.lsp.text import EditedText, column
from tests.effort import effort


def rows(text):
    return re.split("(?<=\n)|(?<=\r)(?!\n)", text)


def offset(text, place):
    found = rows(text)
    if place[0] >= len(found):
        return len(text)
    return sum(map(len, found[: place[0]])) + column(found[place[0]], place[1])


def test_changes_are_those_of_the_whole_text():
    rng = random.Random(3)
    for _ in range(3_000):
        text = "".join(rng.choice("ab\r\n😀é\x0c\u2028") for _ in range(rng.randrange(12)))
        edited = EditedText(text, "ptx", 1)
        for _ in range(3):
            start, end = sorted((rng.randrange(5), rng.randrange(6)) for _ in range(2))
            new = "".join(rng.choice("xy\r\n") for _ in range(rng.randrange(4)))
            a, b = offset(text, start), offset(text, end)
            text = text[:a] + new + text[b:]
            edited.replace(start, end, new)
            assert (edited.text, edited.rows) == (text, rows(text))


@pytest.mark.parametrize(("row", "character", "index"), [
    ("abc\r\n", 2, 2), ("abc\n", 9, 3), ("😀b", 2, 1), ("😀b", 1, 0), ("\ud800b", 1, 1),
    ("", 5, 0)])
def test_characters_are_units_of_utf_16(row, character, index):
    assert column(row, character) == index


def test_a_change_costs_its_own_rows():
    few, many = (EditedText("add\n" * n, "ptx", 1) for n in (100, 10_000))
    assert effort(lambda: few.replace((50, 0), (50, 3), "sub")) == \
        effort(lambda: many.replace((50, 0), (50, 3), "sub"))
