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

import attrs

from tests.fuzz_jobs import JOBS, WAYS, Job, Texts
from tests.mutations import TOKEN, mutate

__all__ = ["JOBS", "Job", "Tally", "Texts", "fault", "job", "limited", "made", "shrunk"]

LIMIT = 20.0  # seconds of the processor for one input
IDLE = 60.0  # seconds of the clock in which nothing is computed: it waits for what never comes
MEMORY = 2 << 30  # bytes of address space that an input may take


class TooLong(BaseException):
    """The time for one input is over. No subclass of Exception, so that nothing swallows it."""


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TooLong after that much time of the processor, or where it stands still."""
    spent = [time.process_time()]

    def over(signum: int, frame: FrameType | None) -> None:
        raise TooLong(f"more than {seconds:g} s")

    def idle(signum: int, frame: FrameType | None) -> None:
        spent.append(time.process_time())
        if spent[-1] - spent[-2] < 1e-3:
            raise TooLong("it waits without an end")

    old = signal.signal(signal.SIGVTALRM, over), signal.signal(signal.SIGALRM, idle)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    signal.setitimer(signal.ITIMER_REAL, IDLE, IDLE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGVTALRM, old[0])
        signal.signal(signal.SIGALRM, old[1])


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
    way = rng.choices(WAYS, (5, 1, 1, 3))[0]
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
    deadline = time.process_time() + seconds
    pieces = shlex.split(text) if not job.mutated else TOKEN.findall(text)
    join = shlex.join if not job.mutated else "".join
    size = len(pieces) // 2
    while size:
        at = len(pieces) - size
        while at > -size:
            rest = pieces[: max(at, 0)] + pieces[at + size :]
            if time.process_time() > deadline:
                return join(pieces)
            found = fault(job, join(rest), way)
            if found is not None and found[0] == kind:
                pieces = rest
            at -= size
        size //= 2
    return join(pieces)


@attrs.define
class Tally:
    """What was tried of one job, over runs: `next` is the seed that follows."""

    next: int = 0
    inputs: int = 0
    seconds: float = 0.0  # of a core
    slowest: tuple[float, int] = attrs.field(default=(0.0, 0), converter=tuple)  # and its seed
    defects: Counter[str] = attrs.field(factory=Counter, converter=Counter)
    commits: Counter[str] = attrs.field(factory=Counter, converter=Counter)  # inputs of each

    def line(self, name: str) -> str:
        told = [f"{name}: {self.inputs} inputs in {self.seconds:.1f} s of a core, the slowest "
                f"{self.slowest[0]:.2f} s (seed {self.slowest[1]}); "
                f"{self.defects.total()} failed"]
        return "\n".join(told + [f"DEFECT {n:5} x {k}" for k, n in self.defects.most_common()])


def job(
    name: str, tally: Tally, count: int, seconds: float, texts: Texts,
    findings: Path | None = None, commit: str = "",
) -> bool:
    """Try inputs from the tally's seed on until so many were tried or the time is over; whether
    none failed. What failed in a way that the tally does not know yet is told, shrunk.

    findings   a folder for what was found
    """
    this = JOBS[name]
    sys.setrecursionlimit(1000)  # as users have it
    end, fine = time.process_time() + seconds, True
    with bounded():
        while count and time.process_time() < end:
            seed, begin = tally.next, time.process_time()
            text, way = made(this, texts, seed)
            found = fault(this, text, way)
            spent = time.process_time() - begin
            tally.seconds += spent
            tally.slowest = max(tally.slowest, (spent, seed))
            tally.next, tally.inputs, count = seed + 1, tally.inputs + 1, count - 1
            tally.commits[commit] += 1
            if found is not None:
                fine = False
                tally.defects[found[0]] += 1
                if tally.defects[found[0]] == 1:
                    _tell(name, seed, text, way, found, findings)
    return fine


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
