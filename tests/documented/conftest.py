"""Every event that a test of this folder makes has a row of the notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from nvir.ir.text import trace
from nvir.report.explain import decisions
from tests.seeds import marked

Made = trace.TraceEvent


@pytest.fixture(scope="session")
def rows() -> frozenset[str]:
    """The rows that tests name: all of the notes but those of the real binary alone."""
    return frozenset(marked())


@pytest.fixture(autouse=True)
def with_a_row(rows: frozenset[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    without: list[Made] = []

    def made(row: str, *args: Any) -> Made:
        event = Made(row, *args)
        if row not in rows:
            without.append(event)
        return event

    for module in (trace, decisions):
        monkeypatch.setattr(module, "TraceEvent", made)
    yield
    assert not without
