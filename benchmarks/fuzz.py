"""A campaign against nvir: random kernels through its passes, and broken input of all kinds.

    python -m benchmarks.fuzz --minutes 1               # all inputs share the time
    python -m benchmarks.fuzz --input passes --minutes 10 --totals totals.json
    python -m benchmarks.fuzz --input broken --minutes 60 --totals broken.json --findings FOLDER
    python -m benchmarks.fuzz --input ptx --minutes 10 --corpus FOLDER
    python -m benchmarks.fuzz --seed 4711 --count 1 --chain licm,print

Inputs: `passes`, here; `ptx`, `ll`, `ir`, `cu`, `json`, `schedule`, `profile`, `pipelines`, `cli`,
which tests/fuzz_inputs.py and fuzz_jobs.py describe: in this process, under an alarm and a limit of
memory; `broken` are all of these by turns. `--corpus` gives them texts to begin with, `--findings`
takes what was found, shrunk.

A check is a kernel and a pipeline: random passes with random options, knobs and policy, and round
trips, changed the kernel, and it was launched before and after on the same inputs with the same
result in every byte. Each kernel is read and launched once and goes through `--chains` random
pipelines, each of which is judged after each of its steps: every beginning of a pipeline is one.
A step that left the code as it was, to the letter, or made what was judged before, is not launched
again and no check; such steps are counted apart. tests/differential.py does all this (judge one).
Judge two is ptxas, where there is one: it must take each `--assemble`th check's kernel as generated
and as nvir prints it afterwards, in batches on a thread of its own.

Kernel k has the seed `--seed` + k. A failure is shrunk to a small kernel and printed with the
command that makes it again; each defect (same kind at the same step) once, the others are counted.
The exit status is 1 if there was any. A table at the end tells how often each pass ran and how
often it changed anything.

`--totals FILE` adds the figures to those of earlier runs in FILE (one for `passes`, one for the
others), and goes on at the seeds where they ended: a nightly job that is stopped at any time loses
a minute at most.

Goal: 50 checks a second on one core, all of judge one counted.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import json
import os
import re
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import attrs

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import nvir  # noqa: E402
from nvir import toolchain  # noqa: E402
from nvir.passes.knobs import Knobs  # noqa: E402
from nvir.passes.loop.pipeline import choice as pipeline_choice  # noqa: E402
from tests import fuzz_inputs  # noqa: E402
from tests.differential import (  # noqa: E402
    Case,
    Failure,
    Outcome,
    Shared,
    Verdict,
    Watch,
    random_cases,
    report,
    shrink,
)
from tests.random_pipelines import Recipe  # noqa: E402

_NAMES = re.compile(r"(?<![\w%$.])(k|mix|fact|table)(?=_param|\b)")
_NO_MEMORY = "Memory allocation failure"  # what ptxas says then
_COLLECT = 40  # kernels between collections: modules are full of cycles, and cost more to scan


def merge(texts: list[str]) -> str:
    """One module of kernels k0, k1 ... and what they use, under names of their own."""
    parts = [".version 8.0\n.target sm_80\n.address_size 64"]
    for n, text in enumerate(texts):
        body = re.sub(r"^\.(version|target|address_size)\b.*\n", "", text, flags=re.M)
        parts.append(_NAMES.sub(rf"\g<1>{n}", body))
    return "\n".join(parts)


def refused(cases: list[tuple[Case, str]]) -> list[Failure]:
    """The cases whose kernel ptxas does not take, as generated or as printed.

    A kernel on which ptxas itself crashes or runs out of memory is judged no further: jumps into
    loops around calls bring ptxas 13.0 down now and then, 40,000 instructions of loops in each
    other take more than the 4 GiB that it gets.
    """
    texts = [text for case, printed in cases for text in (case.text, printed)]
    if toolchain.ptxas(merge(texts), opt=0).ok:
        return []
    out = []
    for case, printed in cases:
        for step, text in (("generate", case.text), ("print", printed)):
            result = toolchain.ptxas(text, opt=0)
            if result.ok:
                continue
            if result.returncode >= 0 and result.error != _NO_MEMORY:
                shown = f"\n{text}" if step == "print" else ""
                out.append(Failure(case, step, "ptxas refuses", result.error + shown))
            break
    return out


@attrs.define
class Figures:
    """What a campaign counted. All of it adds up over runs."""

    kernels: int = 0
    verdicts: Counter[Verdict] = attrs.field(factory=Counter)
    assembled: int = 0
    seconds: float = 0.0  # of one core, within judge one
    watch: Watch = attrs.field(factory=Watch)
    defects: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    commits: Counter[str] = attrs.field(factory=Counter)  # checks of each

    @property
    def checked(self) -> int:
        return self.verdicts["checked"] + self.verdicts["failed"]

    def to_json(self) -> dict[str, Any]:
        return {
            "kernels": self.kernels, "verdicts": dict(self.verdicts), "assembled": self.assembled,
            "seconds": round(self.seconds, 1), "runs": dict(self.watch.runs),
            "changed": dict(self.watch.changed), "commits": dict(self.commits),
            "defects": [[step, kind, n] for (step, kind), n in self.defects.items()],
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Figures:
        return cls(
            data["kernels"], Counter(data["verdicts"]), data["assembled"], data["seconds"],
            Watch(Counter(data["runs"]), Counter(data["changed"])),
            Counter({(step, kind): n for step, kind, n in data["defects"]}),
            Counter(data["commits"]),
        )

    def __str__(self) -> str:
        v = self.verdicts
        lines = [
            f"{self.checked} checks of {self.kernels} kernels in {self.seconds:.1f} s of a core: "
            f"{self.checked / max(self.seconds, 1e-9):.1f} a second (goal 50); beside them "
            f"{v['unchanged']} steps that changed nothing, {v['repeated']} that led to what was "
            f"judged already, {v['empty']} kernels without a result; "
            f"{self.assembled} through ptxas",
            f"{'pass':32} {'runs':>8} {'changed':>8}",
        ]
        for name, n in sorted(self.watch.runs.items()):
            lines.append(f"{name:32} {n:8} {self.watch.changed[name]:8}")
        for (step, kind), count in self.defects.most_common():
            lines.append(f"DEFECT {count:5} x {kind} at '{step}'")
        return "\n".join(lines)


@attrs.define
class Campaign:
    """Runs cases; tells each defect once, shrunk. `told` are those of this run."""

    batch: int = 32
    shrink_seconds: float = 30.0
    assemble_each: int = 4
    figures: Figures = attrs.field(factory=Figures)
    commit: str = ""
    assembler: ThreadPoolExecutor | None = None
    told: set[tuple[str, str]] = attrs.field(factory=set)
    _waiting: list[tuple[Case, str]] = attrs.field(factory=list)
    _running: list[Future[list[Failure]]] = attrs.field(factory=list)

    def kernel(self, cases: list[Case], *, each: bool = True) -> None:
        """Check pipelines of one kernel."""
        self.figures.kernels += 1
        shared, start = None, time.thread_time()
        with contextlib.suppress(nvir.NvirError):  # of which the case tells
            shared = Shared(cases[0])
        for case in cases:
            for outcome in case.run(shared, self.figures.watch, each=each):
                self.figures.seconds += time.thread_time() - start
                self.count(outcome)
                start = time.thread_time()
                if outcome.verdict == "empty":
                    return
        if len(self._waiting) >= self.batch:
            self.assemble()

    def count(self, outcome: Outcome) -> None:
        figures = self.figures
        figures.verdicts[outcome.verdict] += 1
        if outcome.failure is not None:
            self.found(outcome.failure)
        elif outcome.verdict == "checked":
            figures.commits[self.commit] += 1
            if self.assembler and outcome.module and figures.checked % self.assemble_each == 0:
                self._waiting.append((outcome.case, nvir.print_ptx(outcome.module)))

    def assemble(self) -> None:
        """Send what waits; tell what came back."""
        assert self.assembler is not None
        if self._waiting:
            self._running.append(self.assembler.submit(refused, self._waiting))
            self.figures.assembled += len(self._waiting)
            self._waiting = []
        while self._running and (self._running[0].done() or len(self._running) > 4):
            self.collect()

    def collect(self) -> None:
        for failure in self._running.pop(0).result():
            self.found(failure)

    def drain(self) -> None:
        """Wait for all batches."""
        if self.assembler is not None:
            self.assemble()
        while self._running:
            self.collect()

    def found(self, failure: Failure) -> None:
        key = (failure.step, failure.kind)
        self.figures.defects[key] += 1
        if key in self.told:
            return
        self.told.add(key)
        if failure.kind != "ptxas refuses":
            failure = shrink(failure, self.shrink_seconds)
        print(f"\n{report(failure)}", flush=True)


class Totals:
    """The figures of several runs, in a file."""

    def __init__(self, path: Path | None, seed: int) -> None:
        self.path, self.seed, self.figures = path, seed, Figures()
        self.saved = time.monotonic()
        if path is not None and path.exists():
            data = json.loads(path.read_text())
            self.seed, self.figures = data["next"], Figures.from_json(data)

    def save(self, seed: int, *, now: bool = False) -> None:
        """Write them, once a minute or `now`; the file is never half-written."""
        if self.path is None or not (now or time.monotonic() - self.saved > 60):
            return
        self.saved = time.monotonic()
        write_aside(self.path, {"next": seed, **self.figures.to_json()})


def commit() -> str:
    """The revision of the tree, with a mark where files differ from it; "" without git."""
    words = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


@contextlib.contextmanager
def choose_freely() -> Iterator[None]:
    """Let loop-pipeline prefer any depth: its model of the machine takes longer than all else, and
    what is judged is the code that it makes."""

    def cost(self: Any, found: Any, stream: Any, steps: int) -> pipeline_choice.DepthCost:
        drawn = 1.0 + zlib.crc32(f"{len(stream.slots)} {steps}".encode()) % 97
        return pipeline_choice.DepthCost(32, 0, 4, drawn)

    prices: Any = pipeline_choice.Prices
    modelled = prices._cost, prices._registers, prices.least
    prices._cost, prices._registers, prices.least = cost, lambda *_: (32, 0), lambda *_: 0.0
    try:
        yield
    finally:
        prices._cost, prices._registers, prices.least = modelled


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Whoever makes much that is soon garbage collects it himself."""
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def passes(args: argparse.Namespace, seconds: float) -> bool:
    """The job `passes`; whether it found nothing."""
    recipe = None
    if args.chain:
        knobs = tuple(Knobs.parse(args.knob, args.policy).overrides().items())
        recipe = Recipe(tuple(filter(None, args.chain.split(","))), knobs, args.policy)
    totals = Totals(args.totals, args.seed)
    campaign = Campaign(args.batch, args.shrink, args.assemble, totals.figures, commit())
    end = time.process_time() + seconds
    seed = totals.seed - 1
    with choose_freely(), without_collector(), ThreadPoolExecutor(1) as pool:
        if toolchain.available("ptxas") and args.assemble:
            campaign.assembler = pool
        for seed in seeds(totals.seed, args, campaign, end):
            count = 1 if recipe else args.chains
            campaign.kernel(random_cases(seed, count, args.size, recipe), each=recipe is None)
            if seed % _COLLECT == 0:
                gc.collect()
            totals.save(seed + 1)
        campaign.drain()
        totals.save(seed + 1, now=True)
    print(totals.figures, flush=True)
    return not campaign.told


# inputs of each job among 400: what takes a millisecond more often than what takes a hundred
SHARES = {"ptx": 125, "ir": 80, "ll": 64, "json": 42, "schedule": 38, "profile": 38, "pipelines": 8,
          "cli": 4, "cu": 1}


def inputs(args: argparse.Namespace, shares: dict[str, int], seconds: float) -> bool:
    """The jobs with broken input, by turns; whether none of them failed."""
    path, fine, revision = args.totals, True, commit()
    known = json.loads(path.read_text()) if path is not None and path.exists() else {}
    tallies = {name: fuzz_inputs.Tally(**known.get(name, {"next": args.seed})) for name in shares}
    texts = {name: fuzz_inputs.Texts(args.corpus, name) for name in shares}
    end = time.process_time() + seconds
    first = {name: tally.inputs for name, tally in tallies.items()}
    done: set[str] = set()
    while len(done) < len(shares) and time.process_time() < end:
        for name, share in shares.items():
            gc.collect()
            tally = tallies[name]
            left = args.count - (tally.inputs - first[name])
            fine &= fuzz_inputs.job(name, tally, min(left, share), end - time.process_time(),
                                    texts[name], args.findings, revision)
            if left <= share:
                done.add(name)
        if path is not None:
            write_aside(path, {**known, **{n: attrs.asdict(t) for n, t in tallies.items()}})
    for name, tally in tallies.items():
        print(tally.line(name), flush=True)
    return fine


def write_aside(path: Path, data: Any) -> None:
    """Write the file whole or not at all."""
    beside = path.with_name(path.name + ".part")
    beside.write_text(json.dumps(data, indent=1))
    os.replace(beside, path)


def seeds(
    first: int, args: argparse.Namespace, campaign: Campaign, end: float
) -> Iterator[int]:
    """Seeds until the time, the kernels or the checks that were asked for are done."""
    before = campaign.figures.checked
    for seed in itertools.islice(itertools.count(first), args.count):
        if time.process_time() > end or campaign.figures.checked - before >= args.checks:
            return
        if args.first and campaign.told:
            return
        yield seed


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--input", "--job", dest="job", help="default all, with --chain passes",
        choices=("all", "passes", "broken", *fuzz_inputs.JOBS))
    add("--minutes", type=lambda x: 60 * float(x), dest="seconds", default=argparse.SUPPRESS,
        help="stop after this time of the processor")
    add("--seconds", type=float, default=60.0, help="the same in seconds")
    add("--corpus", type=Path, help="folder of texts to begin with")
    add("--findings", type=Path, help="folder for the texts that showed a defect")
    add("--seed", type=int, default=0, help="seed of the first case")
    add("--count", type=int, default=1 << 60, help="stop after so many kernels or inputs a job")
    add("--checks", type=int, default=1 << 60, help="stop after so many checks")
    add("--chains", type=int, default=4, help="random pipelines for each kernel")
    add("--size", type=int, default=0, help="statements a kernel (default mixed)")
    add("--chain", default="", help="steps, comma separated (default random)")
    add("--knob", action="append", default=[], help="NAME=VALUE, with --chain")
    add("--policy", choices=("observed", "documented"), default="observed", help="with --chain")
    add("--totals", type=Path, help="file of figures to add to, and to go on from")
    add("--batch", type=int, default=32, help="kernels a run of ptxas")
    add("--assemble", type=int, default=4, help="ptxas takes every so manieth check; 0: none")
    add("--first", action="store_true", help="passes: stop at the first defect")
    add("--shrink", type=float, default=30.0, help="seconds to shrink a failure")
    args = parser.parse_args(argv)
    job = args.job or ("passes" if args.chain else "all")
    fine = True
    if job in ("all", "passes"):
        fine = passes(args, args.seconds * (0.3 if job == "all" else 1))
    if job != "passes":
        broken = {**SHARES} if job in ("all", "broken") else {job: SHARES[job]}
        with without_collector():
            fine &= inputs(args, broken, args.seconds * (0.7 if job == "all" else 1))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
