"""Pausing the garbage collector while very many objects are made.

Building and parsing make objects that all stay alive; each collection on the way
would walk all of them for nothing.
"""

from __future__ import annotations

import gc

LEAST = 500_000
FEW = 5_000  # new objects that the collector may as well walk
_frozen = False  # whether `freeze` was called
_new = 0  # objects that no collection has walked yet
_limit = LEAST  # so many of them make a full collection due


class bulk:  # used as a statement's word
    """Pause the collector inside the block and put it back as it was. May nest."""

    __slots__ = ("was_on",)

    def __enter__(self) -> None:
        self.was_on = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if self.was_on:
            _settle()  # before anything is made, which would have the new objects walked
            gc.enable()


def freeze() -> None:
    """Let the collector never walk what there is; for a process that soon ends."""
    global _frozen
    gc.freeze()
    _frozen = True


def _settle() -> None:
    """Take what was made for long-lived: freezing and unfreezing moves it behind the young objects
    that the next collection walks. A quarter of all objects makes a full collection due, as
    CPython has it, for what is dropped hangs together in circles."""
    global _new, _limit
    made = gc.get_count()[0]
    if _frozen or made < FEW or gc.get_freeze_count():  # which walks them all: the user's choice
        return
    _new += made
    if _new < _limit:
        gc.freeze()
        gc.unfreeze()
        return
    gc.collect()
    _new, _limit = 0, max(LEAST, len(gc.get_objects()) // 4)
