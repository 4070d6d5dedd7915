"""A campaign against nvir's passes, printers and readers: random kernels, judged twice.

    python benchmarks/fuzz.py --seconds 60 --seed 0     # until the time is over
    python benchmarks/fuzz.py --seed 4711 --count 1     # one case again
    python benchmarks/fuzz.py --chain copy-prop,gvn,dce # always the same steps

Judge one is the interpreter: tests/differential.py runs each kernel before and after a random
chain of passes and round trips. Judge two is ptxas, where there is one: it must take every kernel
as generated and as nvir prints it after the chain, in batches of `--batch` on a thread of its own.
Case k has the seed `--seed` + k. A failure is shrunk to a small kernel and printed with its seed;
each defect (same kind at the same step) once, the others are counted. The exit status is 1 if
there was any.

Goal: 50 kernel checks a second on one core. A check is everything that judge one does.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import attrs

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import nvir  # noqa: E402
from nvir import toolchain  # noqa: E402
from tests.differential import Case, Failure, random_case, report, shrink  # noqa: E402

_NAMES = re.compile(r"(?<![\w%$.])(k|mix|fact|table)(?=_param|\b)")


def merge(texts: list[str]) -> str:
    """One module of kernels k0, k1 ... and what they use, under names of their own."""
    parts = [".version 8.0\n.target sm_80\n.address_size 64"]
    for n, text in enumerate(texts):
        body = re.sub(r"^\.(version|target|address_size)\b.*\n", "", text, flags=re.M)
        parts.append(_NAMES.sub(rf"\g<1>{n}", body))
    return "\n".join(parts)


def refused(cases: list[tuple[Case, str]]) -> list[Failure]:
    """The cases whose kernel ptxas does not take, as generated or as printed.

    A kernel on which ptxas itself crashes is judged no further: jumps into loops around calls
    bring ptxas 13.0 down now and then.
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
            if result.returncode >= 0:
                shown = f"\n{text}" if step == "print" else ""
                out.append(Failure(case, step, "ptxas refuses", result.error + shown))
            break
    return out


@attrs.define
class Campaign:
    """Counts and findings."""

    batch: int
    shrink_seconds: float
    checked: int = 0
    empty: int = 0
    assembled: int = 0
    seconds: float = 0.0  # of one core, within judge one
    defects: Counter[tuple[str, str]] = attrs.field(factory=Counter)
    _waiting: list[tuple[Case, str]] = attrs.field(factory=list)
    _running: list[Future[list[Failure]]] = attrs.field(factory=list)

    def check(self, case: Case, assembler: ThreadPoolExecutor | None) -> None:
        start = time.thread_time()
        failure, module = case.run()
        self.seconds += time.thread_time() - start
        self.checked += 1
        if failure is not None:
            self.found(failure)
        elif module is None:
            self.empty += 1
        elif assembler is not None:
            self._waiting.append((case, nvir.print_ptx(module)))
            if len(self._waiting) >= self.batch:
                self.assemble(assembler)

    def assemble(self, assembler: ThreadPoolExecutor) -> None:
        """Send what waits; tell what came back."""
        if self._waiting:
            self._running.append(assembler.submit(refused, self._waiting))
            self.assembled += len(self._waiting)
            self._waiting = []
        while self._running and (self._running[0].done() or len(self._running) > 4):
            for failure in self._running.pop(0).result():
                self.found(failure)

    def drain(self, assembler: ThreadPoolExecutor) -> None:
        """Wait for all batches."""
        self.assemble(assembler)
        for running in self._running:
            for failure in running.result():
                self.found(failure)

    def found(self, failure: Failure) -> None:
        key = (failure.step, failure.kind)
        self.defects[key] += 1
        if self.defects[key] > 1:
            return
        if failure.kind != "ptxas refuses":
            failure = shrink(failure, self.shrink_seconds)
        print(f"\n{report(failure)}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="stop after this time")
    parser.add_argument("--count", type=int, default=1 << 60, help="stop after so many kernels")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first case")
    parser.add_argument("--size", type=int, default=0, help="statements a kernel (default mixed)")
    parser.add_argument("--chain", default="", help="steps, comma separated (default random)")
    parser.add_argument("--batch", type=int, default=32, help="kernels a run of ptxas")
    parser.add_argument("--no-ptxas", action="store_true", help="leave judge two out")
    parser.add_argument("--shrink", type=float, default=30.0, help="seconds to shrink a failure")
    args = parser.parse_args()
    chain = tuple(filter(None, args.chain.split(",")))
    campaign = Campaign(args.batch, args.shrink)
    start = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        use = None if args.no_ptxas or not toolchain.available("ptxas") else pool
        for k in range(args.count):
            if time.monotonic() - start > args.seconds:
                break
            campaign.check(random_case(args.seed + k, args.size, chain), use)
        if use is not None:
            campaign.drain(use)
    print(
        f"{campaign.checked} kernel checks in {campaign.seconds:.1f} s of a core: "
        f"{campaign.checked / max(campaign.seconds, 1e-9):.1f} a second (goal 50); "
        f"{campaign.empty} without a result to compare; {campaign.assembled} through ptxas"
    )
    for (step, kind), count in campaign.defects.most_common():
        print(f"  {count:5} x {kind} at '{step}'")
    return 1 if campaign.defects else 0


if __name__ == "__main__":
    sys.exit(main())
