"""Bulk work: the collector pauses, and what is dropped in circles is still collected."""

from __future__ import annotations

import gc
import importlib
import weakref

import pytest

from nvir import read_ll
from nvir.ir.bulk import bulk
from nvir.llvm import lexer

bulk_module = importlib.import_module("nvir.ir.bulk")  # the package has the function by this name


@pytest.fixture(autouse=True)
def _nothing_frozen(monkeypatch):
    """The command line freezes what it has loaded; another test of this process may have run it."""
    gc.unfreeze()
    monkeypatch.setattr(bulk_module, "_frozen", False)


class Ring:
    def __init__(self) -> None:
        self.me = self


def test_the_collector_pauses_and_goes_on():
    assert gc.isenabled()
    with bulk():
        assert not gc.isenabled()
        with bulk():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_dropped_circles_are_collected_when_enough_is_new(monkeypatch):
    monkeypatch.setattr(bulk_module, "FEW", 0)
    monkeypatch.setattr(bulk_module, "LEAST", 500)
    monkeypatch.setattr(bulk_module, "_limit", 500)
    monkeypatch.setattr(bulk_module, "_new", 0)
    gc.collect()  # what earlier tests made does not count
    alive = []
    for _ in range(20):
        with bulk():
            rings = [Ring() for _ in range(100)]
        alive.append(weakref.ref(rings[0]))
        del rings
    assert alive[0]() is None


def test_what_was_made_is_not_walked_at_the_end(monkeypatch):
    monkeypatch.setattr(bulk_module, "FEW", 0)
    monkeypatch.setattr(bulk_module, "_new", 0)
    gc.collect()
    walks: list[str] = []
    note = lambda phase, _: walks.append(phase)  # noqa: E731
    gc.callbacks.append(note)
    try:
        with bulk():
            rings = [Ring() for _ in range(5000)]
    finally:
        gc.callbacks.remove(note)
    assert len(rings) == 5000
    assert not walks


def test_nothing_of_a_reader_waits_for_the_collector():
    gc.collect()
    with bulk():
        module = read_ll("define void @f() {\n  ret void\n}\n")
        left = [x for x in gc.get_objects() if isinstance(x, lexer.Text)]
    assert module.functions
    assert not left


def test_what_the_user_froze_stays_frozen(monkeypatch):
    monkeypatch.setattr(bulk_module, "FEW", 0)
    gc.freeze()
    try:
        with bulk():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()


def test_what_is_frozen_is_not_counted_for_little_work(monkeypatch):
    """Counting walks all that is frozen: a command that froze its module would do so each time."""
    monkeypatch.setattr(bulk_module.gc, "get_freeze_count", lambda: 1 / 0)
    gc.collect(0)
    with bulk():
        pass
    monkeypatch.setattr(bulk_module, "FEW", 0)
    monkeypatch.setattr(bulk_module, "_frozen", True)
    with bulk():
        rings = [Ring() for _ in range(1000)]
    assert rings
