"""Recursion over trees, within a bound.

A tree is walked by recursion, as it reads best. How deep a tree may be is bounded, and an
interpreter that would stop earlier is given the room: since CPython 3.11 a call from Python to
Python takes no C stack, so the limit is only a number. What recurses in C, as libclang does,
runs on a large stack; and as such a call cannot be ended from outside, one that takes too much is
left behind on its thread (`bounded`).
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from nvir.ir.errors import NvirError

T = TypeVar("T")

MAX_NESTING = 2500  # levels of expressions and statements in each other
FRAMES_A_LEVEL = 10
STACK = 256 << 20  # bytes: libclang takes up to 6 KiB for a token that nests
MAX_SECONDS = 8  # of the processor, of all bounded calls of a thread: 10,000 kernels take 0.7
MAX_IDLE = 8  # of the clock, in one call that takes nothing of the processor
MAX_MEMORY = 1536 << 20  # bytes that one call may add
_LOOK = 0.1  # seconds between looks at it


@contextmanager
def room(levels: int, frames: int = FRAMES_A_LEVEL) -> Iterator[None]:
    """Inside, recursion through `levels` levels of so many Python frames each is possible."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, levels * frames + 2000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class Endless(NvirError):
    """A call that took more than it may, and goes on behind: its thread ends with the process."""


class _Worker(threading.Thread):
    """A thread; what its processor time was as it began the bounded call that it is in, and what
    those before it took."""

    def __init__(self, target: Callable[[], None]) -> None:
        super().__init__(target=target, daemon=True)
        self.clock: int | None = None  # found by itself: of a thread that has ended none is left
        self.begun: float | None = None
        self.spent = 0.0

    def seconds(self) -> float:
        """Processor time: of the thread where the system tells it, else of all of them."""
        if self.clock is None:
            return time.process_time()
        return time.clock_gettime(self.clock)

    def wait(self) -> None:
        """Until it ends; raises Endless where a bounded call takes too much."""
        idle, last, before = 0, 0.0, _memory()
        while self.is_alive():
            self.join(_LOOK)
            begun = self.begun
            if begun is None:
                idle, before = 0, _memory()
                continue
            try:
                now = self.seconds()
            except OSError:  # it has ended just now
                continue
            idle = idle + 1 if now - last < _LOOK / 100 else 0
            last = now
            if self.spent + now - begun > MAX_SECONDS:
                raise Endless(f"took more than {MAX_SECONDS} s")
            if _memory() - before > MAX_MEMORY:
                raise Endless(f"took more than {MAX_MEMORY >> 20:,} MiB")
            if idle * _LOOK > MAX_IDLE:
                raise Endless(f"waited for more than {MAX_IDLE} s (for a pipe that it reads?)")


def _memory() -> int:
    """The most bytes that this process has held; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if sys.platform == "darwin" else held << 10


def bounded(call: Callable[[], T]) -> T:
    """What a call into C returns, which `on_a_large_stack` leaves behind where it takes more
    processor time, memory or time without any than `MAX_…` say."""
    worker = threading.current_thread()
    if not isinstance(worker, _Worker):
        return call()
    if hasattr(time, "pthread_getcpuclockid"):
        worker.clock = time.pthread_getcpuclockid(threading.get_ident())
    begun = worker.begun = worker.seconds()
    try:
        return call()
    finally:
        worker.begun = None
        worker.spent += worker.seconds() - begun


def on_a_large_stack(work: Callable[[], T]) -> T:
    """What `work` returns or raises, on a thread of its own with `STACK` bytes of stack. Raises
    Endless where a `bounded` call in it takes too much."""
    made: list[T] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            made.append(work())
        except BaseException as e:
            failed.append(e)

    before = threading.stack_size(STACK)
    try:
        worker = _Worker(run)
        worker.start()
    except RuntimeError as why:  # no room for its stack
        raise MemoryError(str(why)) from None
    finally:
        threading.stack_size(before)
    worker.wait()
    for e in failed:
        raise e
    return made[0]
