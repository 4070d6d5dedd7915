"""Many jobs over worker processes: results as they come, and a job that fails costs itself alone.

A worker imports nvir once and serves until it is closed. One whose parent is gone, killed say, ends
itself at once; after an interrupt the parent stops its workers in the middle of their jobs.

A job that raises gives its error. A job during which its process dies (out of memory, a crash in a
library) breaks the pool: a new one is made, the jobs that were in flight run again one at a time,
and the one that breaks the pool again is the guilty one. On a Dask cluster the scheduler does that.
"""

from __future__ import annotations

import concurrent.futures as futures
import contextlib
import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

import attrs

from nvir.ir.errors import NvirError

J = TypeVar("J")
DIED = "the worker process died"
CONNECT = 10  # seconds that a cluster's scheduler has to answer


@attrs.frozen
class Done:
    """A job's result, or its error in words."""

    job: Any
    result: Any = None
    error: str | None = None


@attrs.frozen
class _Caught:
    """What a job raised, in words: an exception itself need not survive the way back."""

    error: str


class Workers:
    """`count` processes, started when the first job comes; a context manager.

    `scheduler` is the address of a Dask scheduler ("tcp://host:8786") that has the processes.
    """

    def __init__(self, count: int, scheduler: str | None = None) -> None:
        self.count, self.scheduler = count, scheduler
        self._pool: _Pool | None = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._close(at_once=kind is not None)

    def run(self, work: Callable[[J], Any], jobs: Iterable[J]) -> Iterator[Done]:
        """Run `work` on each job, in any order. `work` and the jobs can be pickled.

        Raises NvirError where the scheduler cannot be reached or Dask is not installed.
        """
        if self.scheduler is not None:
            yield from _on_cluster(work, list(jobs), self.scheduler)
            return
        waiting = iter(jobs)
        while suspects := (yield from self._many(work, waiting)):
            for job in suspects:
                yield from self._many(work, iter([job]), alone=True)

    def _many(
        self, work: Callable[[J], Any], jobs: Iterator[J], alone: bool = False
    ) -> Generator[Done, None, list[J]]:
        """Run jobs until there is none left, or the pool breaks: returns those in flight then. The
        job that breaks it `alone` is at fault."""
        flying: dict[futures.Future[Any], J] = {}
        while True:
            for job in itertools.islice(jobs, max(2 * self.count - len(flying), 0)):
                flying[self._submit(work, job)] = job
            if not flying:
                return []
            ready, _ = futures.wait(flying, return_when=futures.FIRST_COMPLETED)
            for f in ready:
                if not isinstance(f.exception(), BrokenProcessPool):
                    yield _done(flying.pop(f), f)
                    continue
                self._close(at_once=True)
                if not alone:
                    return list(flying.values())
                yield Done(flying.pop(f), error=DIED)

    def _submit(self, work: Callable[[J], Any], job: J) -> futures.Future[Any]:
        if self._pool is None:
            self._pool = _Pool(self.count)
        try:
            with _uninterrupted():
                return self._pool.executor.submit(_guarded, work, job)
        except BrokenProcessPool as e:
            broken: futures.Future[Any] = futures.Future()
            broken.set_exception(e)
            return broken

    def _close(self, at_once: bool) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.close(at_once)


class _Pool:
    """An executor and the processes that it started."""

    def __init__(self, count: int) -> None:
        # Forking a process with threads (a progress bar) is not safe.
        self.others = set(multiprocessing.active_children())
        self.executor = futures.ProcessPoolExecutor(
            count, multiprocessing.get_context("spawn"), initializer=_prepare
        )

    def close(self, at_once: bool) -> None:
        """Stop the processes: when their jobs are done, or `at_once`."""
        for process in multiprocessing.active_children() if at_once else ():
            if process not in self.others:
                process.terminate()
        # One call that waits: after one that does not, a second is nothing, and the executor's
        # thread may still read its pipe while the interpreter closes it.
        self.executor.shutdown(cancel_futures=True)


@contextlib.contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold interrupts back while a process starts: it takes that over, and would else end with a
    traceback where one comes before `_prepare`."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare() -> None:
    """In a worker: an interrupt is the parent's to handle, and no worker outlives its parent."""
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _guarded(work: Callable[[J], Any], job: J) -> Any:
    try:
        return work(job)
    except NvirError as e:
        return _Caught(str(e))
    except Exception as e:
        return _Caught(f"{type(e).__name__}: {e}")


def _done(job: Any, f: futures.Future[Any]) -> Done:
    e = f.exception()
    if e is not None:
        return Done(job, error=f"{type(e).__name__}: {e}")
    result = f.result()
    return Done(job, error=result.error) if isinstance(result, _Caught) else Done(job, result)


def _on_cluster(work: Callable[[Any], Any], jobs: list[Any], scheduler: str) -> Iterator[Done]:
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise NvirError("--scheduler needs Dask: pip install 'nvir[cluster]'") from None
    try:
        client = Client(scheduler, timeout=CONNECT)
    except (OSError, ValueError) as e:
        raise NvirError(f"{scheduler}: {e}") from None
    with client:
        sent = [(client.submit(_guarded, work, job, pure=False), job) for job in jobs]
        job_of = {f.key: (f, job) for f, job in sent}
        for f in as_completed([f for f, _ in job_of.values()]):
            yield _done(job_of[f.key][1], f)
