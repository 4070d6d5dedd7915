"""Pausing the garbage collector while very many objects are made.

Building and parsing make objects that all stay alive; each collection on the way
would walk all of them for nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

LEAST = 100_000
_new = 0  # objects that no collection has walked yet
_limit = LEAST  # so many of them make a full collection due


@contextmanager
def bulk() -> Iterator[None]:
    """Pause the collector inside the block and put it back as it was. May nest."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
            _settle()


def _settle() -> None:
    """Take what was made for long-lived: freezing and unfreezing moves it behind the young objects
    that the next collection walks. A quarter of all objects makes a full collection due, as
    CPython has it, for what is dropped hangs together in circles."""
    global _new, _limit
    if gc.get_freeze_count():  # the user's own choice
        return
    _new += gc.get_count()[0]
    if _new < _limit:
        gc.freeze()
        gc.unfreeze()
        return
    gc.collect()
    _new, _limit = 0, max(LEAST, len(gc.get_objects()) // 4)
