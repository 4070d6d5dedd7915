"""What `nvir tune` takes, on real kernels: how often the winner, how much it gains, at what cost.

    python -m benchmarks.tune --corpus DIR [--half report] [--files 20] [--seed 0] [--model]
    python -m benchmarks.tune … --part 2/4 --json part2.json      every fourth file, to be joined:
    python -m benchmarks.tune --join part1.json part2.json part3.json part4.json

The kernels of examples/ptx, and of so many files of a corpus (index.json, ptx/), chosen by a seed.
A kernel is eligible where a pass made a candidate of one of its loops; it has a winner where one of
these, spilling no more, is 3 % faster at full occupancy and no figure is 3 % worse. Figures are
cycles of the whole kernel by ptxas's code.

A loop is eligible where a candidate other than the kernel as it is was made of it and assembled,
and it takes HOT of the kernel's cycles. Each counts once, however many its kernel has: the cycles
at full occupancy of the code that comes of it, loops in it left out, in the kernel that was chosen,
over those in the kernel as it is.

--model     judges by predicted code too, and ranks: Spearman's correlation, within each kernel, of
            the cycles of all candidates by predicted and by real code; 0 where the prediction has
            them alike, of kernels whose real figures are within TIE of each other none; and over
            all kernels, of the gain or loss of the candidates: all, those that are FAR from their
            kernel, those with pipelined loops
Every module with changed kernels is printed, assembled again, and its changed kernels are run in
the interpreter beside the original, on operands apart and on operands that are one buffer.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import attrs
import numpy as np

import nvir
from nvir import toolchain
from nvir.sm.profile import profile_for
from nvir.tune.search import TIE, WORSE, KernelTuning, tune, tuned
from tests.equivalence import Inputs, behaviour, check_same
from tests.equivalence import run as launch

FAR = 1.05  # real cycles over the kernel's own, or the other way round, that are no small matter
HOT = 0.01  # of a kernel's cycles at full occupancy: what loops of less do is not counted
SIZES, BLOCKS = (0, 16), ((32,), (16, 16), (128,))  # of the launches that are tried
EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "ptx"


def files(given: argparse.Namespace) -> list[Path]:
    found = sorted(EXAMPLES.glob("*.ptx")) if given.examples else []
    if given.corpus is not None:
        index = json.loads((given.corpus / "index.json").read_text())
        half = sorted(v["ptx"] for v in index.values() if v["half"] == given.half)
        random.Random(given.seed).shuffle(half)
        found += [given.corpus / "ptx" / name for name in half[: given.files]]
    part, _, parts = given.part.partition("/")
    return found[int(part) - 1 :: int(parts)]


def row(k: KernelTuning) -> dict[str, Any]:
    base, won = k.candidates[0], k.winner
    loops = [c for c in k.candidates[1:] if c.settings.loops]
    fit = [
        c.cycles.full / base.cycles.full for c in k.candidates[1:]
        if c.spill_bytes <= base.spill_bytes and c.blocks_per_sm
        and c.cycles.full <= base.cycles.full * WORSE
        and c.cycles.one_warp <= base.cycles.one_warp * WORSE
    ]
    return {
        "kernel": k.name, "loops": len(k.loops), "eligible": bool(loops),
        "best": min(fit, default=1.0), "full": won.cycles.full / base.cycles.full,
        "one_warp": won.cycles.one_warp / base.cycles.one_warp,
        "spills": (base.spill_bytes, won.spill_bytes), "settings": str(won.settings),
        "registers": (base.registers, won.registers), "of_loops": list(of_loops(k)),
    }


def of_loops(k: KernelTuning) -> Iterator[tuple[float, float]]:
    """Of each eligible loop the cycles in the chosen kernel, and the fewest in any candidate that
    might have been, over those in the kernel as it is."""
    base, won = k.candidates[0], k.winner
    fit = [c for c in k.candidates if c.spill_bytes <= base.spill_bytes and c.blocks_per_sm
           and c.cycles.full <= base.cycles.full * WORSE
           and c.cycles.one_warp <= base.cycles.one_warp * WORSE]
    for name in {name for c in k.candidates[1:] for name, _ in c.settings.loops}:
        cycles = base.loops.get(name, 0.0)
        if cycles > HOT * base.cycles.full:
            least = min(c.loops.get(name, 0.0) for c in fit)
            yield max(won.loops.get(name, 0.0), 1.0) / cycles, max(least, 1.0) / cycles


class Pair(NamedTuple):
    """(real, predicted) cycles of a candidate over those of its kernel, at full occupancy and of
    one warp; whether one of its loops is pipelined."""

    full: float
    predicted: float
    one_warp: float
    predicted_alone: float
    pipelined: bool


def rank(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's rank correlation; ties share their ranks."""

    def ranks(x: Sequence[float]) -> list[float]:
        order = sorted(x)
        return [order.index(v) + (order.count(v) - 1) / 2 for v in x]

    try:
        return statistics.correlation(ranks(a), ranks(b))
    except statistics.StatisticsError:  # all alike
        return 0.0


def together(real: KernelTuning, model: KernelTuning) -> list[Pair]:
    """What both judged, over the kernel's own."""
    theirs = {c.settings: c.cycles for c in model.candidates}
    first, predicted = real.candidates[0].cycles, model.candidates[0].cycles
    return [
        Pair(c.cycles.full / first.full, theirs[c.settings].full / predicted.full,
             c.cycles.one_warp / first.one_warp,
             theirs[c.settings].one_warp / predicted.one_warp,
             any(s.depth for _, s in c.settings.loops))
        for c in real.candidates[1:] if c.settings in theirs
    ]


def in_order(pairs: Sequence[Pair]) -> list[float]:
    """Of each two candidates whose real cycles differ by more than WORSE: 1 where the prediction
    puts them in the same order, 0.5 where it has both alike."""
    out = []
    for n, (x, y, *_) in enumerate(pairs):
        for z, w, *_ in pairs[:n]:
            if max(x, z) > WORSE * min(x, z):
                out.append(0.5 if y == w else float((x > z) == (y > w)))
    return out


def same(path: Path, module: nvir.Module, kernel: str) -> str:
    """How a changed kernel compares with the original in the interpreter."""
    original = nvir.read_ptx(path)
    first = (behaviour(original, kernel, 1, grid=(1,), block=block, size=size)
             for size, block in product(SIZES, BLOCKS))
    launches = [b.given for b in first if not b.error and b.given is not None]
    for given in launches:
        one = next((a for a in given.args if isinstance(a, np.ndarray)), None)
        shared = attrs.evolve(given, args=tuple(
            one if isinstance(a, np.ndarray) else a for a in given.args))
        for inputs in (given, shared):
            differs = difference(original, module, kernel, inputs)
            if differs:  # lanes that race have no order to keep
                alone = difference(original, module, kernel, attrs.evolve(inputs, block=(1,)))
                return f"DIFFERS ({'not ' * (not alone)}with one thread): {differs}"
    return "equal" if launches else against_reference(path, module)


def against_reference(path: Path, module: nvir.Module) -> str:
    """How a changed module of an example does in the tests of that example."""
    from tests.interp import test_examples, test_examples_variants

    cases = test_examples_variants.cases_of(path.name.split(".")[0])
    with mock.patch.object(test_examples, "module", return_value=module):
        try:
            for function, case in cases:
                function(rng=np.random.default_rng(7), **case)
        except (AssertionError, nvir.NvirError) as e:
            return f"DIFFERS from its reference: {str(e)[:100]}"
    return "equal" if cases else "not run"


def difference(original: nvir.Module, module: nvir.Module, kernel: str, inputs: Inputs) -> str:
    """How results differ, "" where they are equal or the original cannot be run."""
    first = launch(original, kernel, inputs, max_steps=500_000)
    if first.error:
        return ""
    try:
        check_same(first, launch(module, kernel, inputs, max_steps=4_000_000))
    except AssertionError as e:
        return str(e)
    return ""


def emitted(path: Path, module: nvir.Module, found: Any, profile: Any) -> Iterator[str]:
    """What becomes of the printed winners: registers as judged, results as before."""
    names = tuned(module, found, profile)
    if not names:
        return
    text = nvir.print_ptx(module)
    made = toolchain.ptxas(text, found.arch)
    if not made.ok:
        yield f"REFUSED: {made.error}"
        return
    again = nvir.read_ptx(text)
    for k in found.kernels:
        if k.name in names:
            registers = made.kernels[k.name].registers
            if registers != k.winner.registers:
                yield f"registers {registers} where {k.winner.registers} were judged"
            yield same(path, again, k.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--half", default="report")
    parser.add_argument("--files", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", action="store_true")
    parser.add_argument("--no-examples", dest="examples", action="store_false")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="every Nth file, from the Kth")
    parser.add_argument("--json", type=Path, help="write what was found, for --join")
    parser.add_argument("--join", type=Path, nargs="+", help="sum up what parts found")
    given = parser.parse_args()
    found = [json.loads(path.read_text()) for path in given.join] if given.join else [walk(given)]
    summary(*([x for part in found for x in part[k]] for k in range(5)))


def walk(given: argparse.Namespace) -> tuple[list[Any], ...]:
    """Rows of kernels, rank correlations, what became of the emitted ones, CPU times, and gains."""
    rows, ranks, outcomes, times, gains = [], [], [], [], []
    for path in files(given):
        module = nvir.read_ptx(path)
        profile = profile_for(module.target)
        start = time.process_time()
        try:
            found = tune(module, profile, module.target)
        except nvir.NvirError as e:
            print(f"{path.name}: {e}")
            continue
        loops = sum(len(k.loops) for k in found.kernels)
        times.append((time.process_time() - start, loops))
        example = path.parent == EXAMPLES
        rows += [row(k) | {"file": path.name, "example": example} for k in found.kernels]
        if given.model:
            model = tune(module, profile, module.target, judge="model")
            for a, b in zip(found.kernels, model.kernels, strict=True):
                pairs = together(a, b)
                here = [x.full for x in pairs]
                if len(pairs) > 3 and max(here) > min(here) * TIE:
                    ranks.append((rank(here, [x.predicted for x in pairs]), in_order(pairs)))
                gains += pairs
        with contextlib.suppress(nvir.NvirError):
            outcomes += [(path.name, o) for o in emitted(path, module, found, profile)]
        print(f"{path.name[-60:]:60} {loops:3} loops, {times[-1][0]:.1f} s", flush=True)
        if given.json is not None:
            given.json.write_text(json.dumps((rows, ranks, outcomes, times, gains)))
    return rows, ranks, outcomes, times, gains


def mean(x: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, x))) if x else math.nan


def over_kernels(which: str, pairs: Sequence[Pair]) -> None:
    """The rank correlation of candidates of all kernels together."""
    full = rank([x.full for x in pairs], [x.predicted for x in pairs])
    alone = rank([x.one_warp for x in pairs], [x.predicted_alone for x in pairs])
    print(f"  over all kernels, {len(pairs)} candidates {which}: {full:.2f}, one warp {alone:.2f}")


def summary(
    rows: list[dict[str, Any]], ranks: list[tuple[float, list[float]]],
    outcomes: list[tuple[str, str]], times: list[tuple[float, int]],
    gains: list[Any],
) -> None:
    eligible = [r for r in rows if r["eligible"]]
    winners = [r for r in eligible if r["best"] < 1 / WORSE]
    taken = [r for r in winners if r["full"] <= r["best"] * WORSE]
    worse = [r for r in rows if max(r["full"], r["one_warp"]) > WORSE]
    print(f"{len(rows)} kernels, {len(eligible)} eligible; {len(winners)} have a winner, taken "
          f"(within 3 %) in {len(taken)}; {len(worse)} over {WORSE} of the original")
    for name, some in (("eligible", eligible), ("with a winner", winners)):
        print(f"  {name}: geometric mean at full occupancy {mean([r['full'] for r in some]):.3f}, "
              f"one warp {mean([r['one_warp'] for r in some]):.3f}")
    for where, of in (("", (True, False)), (" of examples", (True,)), (" of the corpus", (False,))):
        loops = [x for r in rows if r["example"] in of for x in r["of_loops"]]
        won = [x for x in loops if x[1] < 1 / WORSE]
        print(f"{len(loops)} eligible loops{where}: geometric mean at full occupancy "
              f"{mean([x for x, _ in loops]):.4f}; {len(won)} with a winner: "
              f"{mean([x for x, _ in won]):.3f}")
    if ranks:
        each = [r for r, _ in ranks]
        two = [x for _, some in ranks for x in some]
        print(f"rank correlation of predicted with real cycles, {len(each)} kernels: mean "
              f"{statistics.fmean(each):.2f}, median {statistics.median(each):.2f}; of {len(two)} "
              f"pairs over {WORSE} apart {statistics.fmean(two or [0]):.1%} in the same order")
        every = [Pair(*x) for x in gains]
        over_kernels("all", every)
        over_kernels(f"over {FAR} from their kernel at full occupancy",
                     [x for x in every if not 1 / FAR < x.full < FAR])
        over_kernels(f"over {FAR} from their kernel as one warp",
                     [x for x in every if not 1 / FAR < x.one_warp < FAR])
        over_kernels("with pipelined loops", [x for x in every if x.pipelined])
    kinds: dict[str, int] = {}
    for name, o in outcomes:
        kinds[o if o in ("equal", "not run") else "other"] = 1 + kinds.get(
            o if o in ("equal", "not run") else "other", 0)
        if o not in ("equal", "not run"):
            print(f"  {name}: {o}")
    print(f"emitted kernels in the interpreter: {kinds}")
    count = sum(n for _, n in times)
    print(f"CPU beside the tools: {sum(t for t, _ in times) / max(count, 1):.2f} s a loop, most of "
          f"a file {max((t for t, _ in times), default=0):.1f} s")
    for r in sorted(winners, key=lambda r: r["full"])[:10]:
        print(f"  {r['full']:.2f} {r['one_warp']:.2f} {r['file'][:40]} {r['kernel'][:30]}: "
              f"{r['settings'][:80]}")


if __name__ == "__main__":
    main()
