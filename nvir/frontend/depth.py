"""Recursion over trees, within a bound.

A tree is walked by recursion, as it reads best. How deep a tree may be is bounded, and an
interpreter that would stop earlier is given the room: since CPython 3.11 a call from Python to
Python takes no C stack, so the limit is only a number. What recurses in C, as libclang does,
runs on a large stack.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")

MAX_NESTING = 2500  # levels of expressions and statements in each other
FRAMES_A_LEVEL = 10
STACK = 256 << 20  # bytes: libclang takes up to 6 KiB for a token that nests


@contextmanager
def room(levels: int, frames: int = FRAMES_A_LEVEL) -> Iterator[None]:
    """Inside, recursion through `levels` levels of so many Python frames each is possible."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, levels * frames + 2000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def on_a_large_stack(work: Callable[[], T]) -> T:
    """What `work` returns or raises, on a thread of its own with `STACK` bytes of stack."""
    made: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            made.append(work())
        except BaseException as e:
            failed.append(e)

    before = threading.stack_size(STACK)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    for e in failed:
        raise e
    return made[0]
