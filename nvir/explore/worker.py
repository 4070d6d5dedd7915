"""A process that makes what the page asks for, and is ended where that takes too long.

Texts are what people type: whatever one of them makes nvir do, the server goes on. A request that
is over its limit of time costs the process, and the next one starts another.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import multiprocessing
from collections import OrderedDict
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

from nvir.ir.errors import NvirError

KEPT = 8  # versions of a file of which a process remembers what it knows


class Worker:
    """One process and its requests, one at a time. `limit` is the seconds that a request has."""

    def __init__(self, limit: float) -> None:
        self.limit = limit
        self._lock = asyncio.Lock()
        self._process: Any = None
        self._pipe: Connection | None = None

    def start(self) -> None:
        """Start the process, so that the first request need not wait for it."""
        if self._process is not None and self._process.is_alive():
            return
        spawn = multiprocessing.get_context("spawn")  # forking a process with threads is not safe
        self._pipe, theirs = spawn.Pipe()
        self._process = spawn.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    async def ask(
        self, ask: Mapping[str, Any], wanted: Callable[[], bool] = lambda: True
    ) -> dict[str, Any]:
        """The answer to a request (`answer`), or {"error": why there is none}; none is made of what
        is no longer `wanted` when its turn comes."""
        async with self._lock:
            if not wanted():
                return {"error": "the text was edited"}
            return await asyncio.to_thread(self._ask, ask)

    def _ask(self, ask: Mapping[str, Any]) -> dict[str, Any]:
        self.start()
        assert self._pipe is not None
        try:
            self._pipe.send(ask)
            if self._pipe.poll(self.limit):
                made: dict[str, Any] = self._pipe.recv()
                return made
        except (EOFError, OSError):
            self.stop()
            return {"error": "the process that works it out died"}
        self.stop()
        return {"error": f"not done within {self.limit:g} s"}

    def stop(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None


def _serve(pipe: Connection) -> None:
    """In the process: answer until the server is gone."""
    import signal

    from nvir.explore.data import Version  # noqa: F401  # before the first request comes

    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server's to handle
    gc.set_threshold(50_000, 20, 20)
    known: OrderedDict[Any, Any] = OrderedDict()
    while True:
        try:
            ask = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            made = answer(ask, known)
        except NvirError as e:
            made = {"error": str(e)}
        except Exception as e:  # a defect of nvir: said, and the page goes on
            made = {"error": f"{type(e).__name__}: {e}"}
        pipe.send(made)


def answer(ask: Mapping[str, Any], known: OrderedDict[Any, Any]) -> dict[str, Any]:
    """What a request asks for: `what` names a method of `Version`, `args` are its arguments, `text`
    `name` and `options` the version, `other` the text that `against` compares it with."""
    from nvir.explore.data import Version

    def version(text: str, name: str) -> Version:
        key = text, name, ask["options"]
        if key not in known:
            known[key] = Version(text, name, ask["options"])
            while len(known) > KEPT:
                known.popitem(last=False)
        known.move_to_end(key)
        found: Version = known[key]
        return found

    mine = version(ask["text"], ask["name"])
    what, args = ask["what"], ask.get("args", ())
    if what == "against":
        return mine.against(version(*ask["other"]))
    made: dict[str, Any] = getattr(mine, what)(*args)
    return made
