"""A process that makes what the page asks for, and is ended where that takes too long.

Texts are what people type: whatever one of them makes nvir do, the server goes on. A request that
is over its limit of time, or that nobody waits for any more, costs the process together with the
tools that it runs, and the next one starts another.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import multiprocessing
import os
import signal
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

from nvir.ir.errors import NvirError

KEPT = 8  # versions of a file of which a process remembers what it knows
PATIENCE = 2.0  # seconds that a request may go on that nobody waits for: a new process takes one
Wanted = Callable[[], Awaitable[bool]]


async def always() -> bool:
    """Somebody waits for the answer."""
    return True


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

    async def ask(self, ask: Mapping[str, Any], wanted: Wanted = always) -> str:
        """The answer to a request (`answer`) as JSON, or {"error": why there is none}; none is made
        of what is no longer `wanted`."""
        async with self._lock:
            if not await wanted():
                return _error("the text was edited")
            try:
                return await self._ask(ask, wanted)
            except (EOFError, OSError):
                self.stop()
                return _error("the process that works it out died")

    async def _ask(self, ask: Mapping[str, Any], wanted: Wanted) -> str:
        begun = time.monotonic()
        pipe = await asyncio.to_thread(self._send, ask)
        while not await asyncio.to_thread(pipe.poll, min(self.limit, 0.25)):
            taken = time.monotonic() - begun
            if taken > self.limit:
                self.stop()
                return _error(f"not done within {self.limit:g} s")
            if taken > PATIENCE and not await wanted():
                self.stop()
                return _error("the text was edited")
        made: str = await asyncio.to_thread(pipe.recv)
        return made

    def _send(self, ask: Mapping[str, Any]) -> Connection:
        self.start()
        assert self._pipe is not None
        self._pipe.send(ask)
        return self._pipe

    def stop(self) -> None:
        """End the process, and the tools that it runs, at once."""
        if self._process is not None:
            with contextlib.suppress(OSError, AttributeError):  # before it has its own group
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None


def _error(why: str) -> str:
    return json.dumps({"error": why})


def _serve(pipe: Connection) -> None:
    """In the process: answer until the server is gone."""
    with contextlib.suppress(OSError, AttributeError):
        os.setsid()  # a group of its own, which is ended as one
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server's to handle
    from nvir.explore.data import Version  # noqa: F401  # before the first request comes

    gc.set_threshold(50_000, 20, 20)
    known: OrderedDict[Any, Any] = OrderedDict()
    while True:
        try:
            ask = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            made = json.dumps(answer(ask, known) | ask.get("about", {}), allow_nan=False)
        except NvirError as e:
            made = _error(str(e))
        except Exception as e:  # a defect of nvir: said, and the page goes on
            made = _error(f"{type(e).__name__}: {e}")
        pipe.send(made)


def answer(ask: Mapping[str, Any], known: OrderedDict[Any, Any]) -> dict[str, Any]:
    """What a request asks for: `what` names a method of `Version`, `args` are its arguments, `text`
    `name` and `options` the version, `other` the text that `against` compares it with. What stands
    in `about` goes back with the answer."""
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
