"""Broken input of all kinds: whatever nvir is given, it answers or says what is wrong.

    python -m benchmarks.fuzz --input ptx --minutes 10    # ll, ir, cu, json, schedule, profile,
                                                          # pipelines, cli: see fuzz_jobs.py

Mutations   cut out, repeat, swap and move pieces (tokens or lines), put one input's piece into
            another, exchange numbers for those at the ends of ranges, names for other names, insert
            stray characters, nest brackets deep, cut the text off; values of JSON documents.
Verdict     An NvirError (of the command line: status 1 to 3 and no traceback) is an answer. Any
            other exception is a defect, a PassError and a MemoryError with them, as is more than
            `LIMIT` seconds of processor time, or a module that reader and verifier let pass and
            that, printed, is refused.
Failures    are shrunk piece by piece and told once by exception and place, with the seed; with a
            folder for them they are written there. Those that were mended stay in
            tests/regressions as JOB/WAY-NAME.SUFFIX, and a test tries each of them.

All inputs run in this process, under an alarm and a limit of memory.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import re
import resource
import shlex
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from tests.fuzz_jobs import JOBS, WAYS, Job, Texts
from tests.mutations import TOKEN, mutate

__all__ = ["JOBS", "Job", "Texts", "fault", "job", "limited", "made", "shrunk"]

LIMIT = 20.0  # seconds of the processor for one input
MEMORY = 2 << 30  # bytes of address space that an input may take


class TooLong(BaseException):
    """The time for one input is over. No subclass of Exception, so that nothing swallows it."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TooLong after that much time of the processor."""

    def over(signum: int, frame: FrameType | None) -> None:
        raise TooLong(f"more than {seconds:g} s")

    old = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, old)


@contextlib.contextmanager
def bounded() -> Iterator[None]:
    """Within, `MEMORY` more than the process already has is a MemoryError."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])  # a test's worker may hold much
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def made(job: Job, texts: Texts, seed: int) -> tuple[str, str]:
    """The input of a seed and the way to go. Every eighth one is not broken."""
    rng = random.Random(f"input {seed}")
    way = rng.choice(WAYS)
    text = texts.of(job, rng)
    if not job.mutated or rng.random() < 0.125:
        return text, way
    return mutate(rng, text, texts.of(job, rng)), way


def fault(job: Job, text: str, way: str = "print") -> tuple[str, str] | None:
    """(kind and place, message) of what the input brings to light, or None."""
    try:
        with limited(LIMIT), contextlib.redirect_stderr(io.StringIO()):
            job.attempt(text, way)
    except (Exception, TooLong) as e:
        cause = e.__cause__ or e
        frames = traceback.extract_tb(cause.__traceback__)
        inside = [f for f in frames if f"{os.sep}nvir{os.sep}" in f.filename]
        at = (inside or frames)[-1]
        place = "" if isinstance(e, TooLong) else f" at {Path(at.filename).name}:{at.name}"
        return f"{type(cause).__name__}{place}", f"{e}"[:400]
    return None


def shrunk(job: Job, text: str, kind: str, seconds: float, way: str = "print") -> str:
    """The smallest text found in that time with the same kind of fault: halves, quarters … of its
    tokens are left out as long as that stays so."""
    deadline = time.monotonic() + seconds
    pieces = shlex.split(text) if not job.mutated else TOKEN.findall(text)
    join = shlex.join if not job.mutated else "".join
    size = len(pieces) // 2
    while size:
        at = len(pieces) - size
        while at > -size:
            rest = pieces[: max(at, 0)] + pieces[at + size :]
            if time.monotonic() > deadline:
                return join(pieces)
            found = fault(job, join(rest), way)
            if found is not None and found[0] == kind:
                pieces = rest
            at -= size
        size //= 2
    return join(pieces)


def job(
    name: str, seed: int, count: int, seconds: float, corpus: Path | None = None,
    findings: Path | None = None,
) -> tuple[int, Counter[str]]:
    """Try inputs until the time is over: how many were tried, and the defects by kind.

    corpus     a folder of texts to begin with, beside nvir's own
    findings   a folder for what was found, shrunk
    """
    this = JOBS[name]
    texts = Texts(corpus, this.suffix)
    sys.setrecursionlimit(1000)  # as users have it
    end, start = time.monotonic() + seconds, time.process_time()
    tried = 0
    defects: Counter[str] = Counter()
    slowest = (0.0, 0)
    with bounded():
        while tried < count and time.monotonic() < end:
            (text, way), begin = made(this, texts, seed + tried), time.process_time()
            found = fault(this, text, way)
            slowest = max(slowest, (time.process_time() - begin, seed + tried))
            if found is not None:
                defects[found[0]] += 1
                if defects[found[0]] == 1:
                    _tell(name, seed + tried, text, way, found, findings)
            tried += 1
    print(f"{name}: {tried} inputs in {time.process_time() - start:.1f} s of a core, the slowest "
          f"{slowest[0]:.2f} s (seed {slowest[1]}); {sum(defects.values())} failed", flush=True)
    for kind, n in defects.most_common():
        print(f"DEFECT {n:5} x {kind}")
    return tried, defects


def _tell(
    name: str, seed: int, text: str, way: str, found: tuple[str, str], findings: Path | None
) -> None:
    job = JOBS[name]
    small = shrunk(job, text, found[0], 30, way)
    print(f"\n{name}: {found[0]}: {found[1]}\nreproduce: python -m benchmarks.fuzz --input {name} "
          f"--seed {seed} --count 1    (way: {way})\n{small[:3000]!r}", flush=True)
    if findings is not None:
        folder = findings / name
        folder.mkdir(parents=True, exist_ok=True)
        title = re.sub(r"[^a-z0-9]+", "-", found[0].lower()).strip("-")
        (folder / f"{way}-{title}{job.suffix}").write_text(small, "utf-8", "surrogatepass")
