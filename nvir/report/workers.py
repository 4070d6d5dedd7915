"""Many jobs over worker processes: results as they come, and a job that fails costs itself alone.

A job that raises gives its error. A job during which its process dies (out of memory, a crash in a
library) breaks the pool: a new one is made, the jobs that were in flight run again one at a time,
and the one that breaks the pool again is the guilty one. On a Dask cluster the scheduler does that.
"""

from __future__ import annotations

import concurrent.futures as futures
import itertools
import multiprocessing
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

import attrs

from nvir.ir.errors import NvirError

J = TypeVar("J")
DIED = "the worker process died"


@attrs.frozen
class Done:
    """A job's result, or its error in words."""

    job: Any
    result: Any = None
    error: str | None = None


def run_all(
    work: Callable[[J], Any], jobs: Iterable[J], workers: int, scheduler: str | None = None
) -> Iterator[Done]:
    """Run `work` on each job, in any order. `work` and the jobs can be pickled.

    `scheduler` is the address of a Dask scheduler ("tcp://host:8786"). Raises NvirError where it
    cannot be reached or Dask is not installed.
    """
    if scheduler is not None:
        yield from _on_cluster(work, list(jobs), scheduler)
        return
    waiting = iter(jobs)
    while True:
        suspects = yield from _pool(work, waiting, workers)
        if not suspects:
            return
        yield from _alone(work, suspects)


@attrs.frozen
class _Caught:
    """What a job raised, in words: an exception itself need not survive the way back."""

    error: str


def _guarded(work: Callable[[J], Any], job: J) -> Any:
    try:
        return work(job)
    except NvirError as e:
        return _Caught(str(e))
    except Exception as e:
        return _Caught(f"{type(e).__name__}: {e}")


def _executor(workers: int) -> futures.ProcessPoolExecutor:
    # Forking a process with threads (a progress bar) is not safe.
    return futures.ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))


def _pool(
    work: Callable[[J], Any], jobs: Iterator[J], workers: int
) -> Generator[Done, None, list[J]]:
    """Run jobs until there is none left, or the pool breaks: returns those in flight then."""
    with _executor(workers) as pool:
        flying: dict[futures.Future[Any], J] = {}
        try:
            while True:
                for job in itertools.islice(jobs, max(2 * workers - len(flying), 0)):
                    flying[_submit(pool, work, job, flying)] = job
                if not flying:
                    return []
                ready, _ = futures.wait(flying, return_when=futures.FIRST_COMPLETED)
                for f in ready:
                    if isinstance(f.exception(), BrokenProcessPool):
                        return list(flying.values())
                    yield _done(flying.pop(f), f)
        finally:
            for f in flying:
                f.cancel()


def _submit(
    pool: futures.ProcessPoolExecutor, work: Callable[[J], Any], job: J,
    flying: dict[futures.Future[Any], J],
) -> futures.Future[Any]:
    try:
        return pool.submit(_guarded, work, job)
    except BrokenProcessPool as e:
        broken: futures.Future[Any] = futures.Future()
        broken.set_exception(e)
        return broken


def _alone(work: Callable[[J], Any], jobs: list[J]) -> Iterator[Done]:
    """Each job with a pool of its own as soon as one broke the last."""
    pool = _executor(1)
    try:
        for job in jobs:
            f = pool.submit(_guarded, work, job)
            futures.wait([f])
            if isinstance(f.exception(), BrokenProcessPool):
                yield Done(job, error=DIED)
                pool.shutdown()
                pool = _executor(1)
            else:
                yield _done(job, f)
    finally:
        pool.shutdown()


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
        client = Client(scheduler, timeout="10s")
    except (OSError, ValueError) as e:
        raise NvirError(f"{scheduler}: {e}") from None
    with client:
        sent = [(client.submit(_guarded, work, job, pure=False), job) for job in jobs]
        job_of = {f.key: (f, job) for f, job in sent}
        for f in as_completed([f for f, _ in job_of.values()]):
            yield _done(job_of[f.key][1], f)
