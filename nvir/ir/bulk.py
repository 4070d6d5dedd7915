"""Pausing the garbage collector while very many objects are made.

Building and parsing make objects that all stay alive; each collection on the way
would walk all of them for nothing.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
