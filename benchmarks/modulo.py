"""Modulo scheduling against plain iterative modulo scheduling: intervals, registers, time.

    python benchmarks/modulo.py [--solver none|auto|cpsat] [--plot modulo.svg] [--json out.json]

Two sets: the dependence graphs of ../shared/data/ddgs_open.json (skipped with a message
where the file is not there) and random loop bodies that are made here. For each scheduler:

    II/MII         mean over the graphs; 1 is the lower bound of the graph alone
    II/optimum     mean where the optimum is proven, by the data or by nvir
    MaxLive/bound  geometric mean; the bound is Huff's MinAvg and rarely reached
    ms             median and mean time a graph, building the graph not counted

Graphs on which nvir beats or newly proves the best known interval are listed below.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import attrs
from rich.console import Console
from rich.table import Table

from nvir.sm import DependenceGraph, minimum_ii, modulo_schedule
from nvir.sm.schedule.check import require_schedule
from nvir.sm.schedule.ims import iterative_modulo_schedule
from nvir.sm.schedule.lifetimes import max_live_bound, measure, values_of

OPEN = Path(__file__).resolve().parents[2] / "shared" / "data" / "ddgs_open.json"


@attrs.frozen
class Case:
    name: str
    family: str
    graph: DependenceGraph
    best_known: int | None = None
    optimum: int | None = None


@attrs.frozen
class Run:
    """One scheduler on one case."""

    ii: int
    max_live: int
    live_bound: int
    seconds: float


@attrs.frozen
class Row:
    case: Case
    mii: int
    lower_bound: int
    nvir: Run
    ims: Run

    @property
    def optimum(self) -> int | None:
        if self.case.optimum is not None:
            return self.case.optimum
        return self.nvir.ii if self.nvir.ii == self.lower_bound else None


def open_cases() -> Iterator[Case]:
    if not OPEN.exists():
        print(f"skipped the open graphs: {OPEN} is not there", file=sys.stderr)
        return
    for entry in json.loads(OPEN.read_text())["graphs"]:
        graph = DependenceGraph(entry["res"], entry["E"], entry["limits"])
        yield Case(entry["name"], entry["set"], graph, entry["ii_best"], entry["ii_opt"])


def random_cases(count: int, seed: int) -> Iterator[Case]:
    """Bodies of 10 to 120 operations on three kinds of units, with a few recurrences."""
    for i in range(count):
        rng = random.Random(seed * 1_000_003 + i)
        size = rng.randint(10, 120)
        nodes = [rng.choice(("alu", "fma", "lsu", None)) for _ in range(size)]
        edges = [
            (rng.randrange(max(0, v - 8), v), v, rng.choice((1, 4, 4, 5, 23)), 0)
            for v in range(1, size)
            for _ in range(rng.choice((1, 1, 2)))
        ]
        for _ in range(rng.randint(1, 2 + size // 8)):
            a, b = sorted((rng.randrange(size), rng.randrange(size)))
            edges.append((b, a, rng.choice((1, 4)), rng.randint(1, 3)))
        limits = {"alu": rng.randint(1, 2), "fma": rng.randint(1, 2), "lsu": 1}
        yield Case(f"random-{seed}-{i}", "random", DependenceGraph(nodes, edges, limits))


def plain_ims(graph: DependenceGraph) -> tuple[int, list[int]]:
    """Iterative modulo scheduling alone, from MII upwards."""
    ii = minimum_ii(graph).mii
    while (times := iterative_modulo_schedule(graph, ii)) is None:
        ii += 1
    return ii, times


def measured(graph: DependenceGraph, schedule: Callable[[], tuple[int, list[int]]]) -> Run:
    begun = time.perf_counter()
    ii, times = schedule()
    seconds = time.perf_counter() - begun
    require_schedule(graph, ii, times)
    values = values_of(graph)
    bound = max_live_bound(graph, ii, values)
    return Run(ii, measure(values, ii, times).max_live, bound, seconds)


def run_case(case: Case, solver: str, budget_s: float) -> Row:
    lower_bound = 0

    def ours() -> tuple[int, list[int]]:
        nonlocal lower_bound
        found = modulo_schedule(case.graph, solver=solver, budget_s=budget_s)
        lower_bound = found.lower_bound
        return found.ii, list(found.times)

    case.graph.components  # noqa: B018  (shared by both, so that neither pays for it)
    nvir = measured(case.graph, ours)
    ims = measured(case.graph, lambda: plain_ims(case.graph))
    return Row(case, minimum_ii(case.graph).mii, lower_bound, nvir, ims)


def mean(values: Iterable[float]) -> str:
    found = list(values)
    return f"{statistics.fmean(found):.4f}" if found else "-"


def geometric(values: Iterable[float]) -> str:
    found = [math.log(value) for value in values]
    return f"{math.exp(statistics.fmean(found)):.3f}" if found else "-"


def table(rows: list[Row]) -> Table:
    out = Table("set", "scheduler", "II/MII", "II/optimum", "MaxLive/bound", "ms median", "ms mean")
    for column in out.columns[2:]:
        column.justify = "right"
    families = list(dict.fromkeys(row.case.family for row in rows))
    for family in [*families, "all"] if len(families) > 1 else families:
        chosen = [row for row in rows if family in ("all", row.case.family)]
        for name in ("ims", "nvir"):
            runs = [(row, getattr(row, name)) for row in chosen]
            spent = [run.seconds * 1e3 for _, run in runs]
            out.add_row(
                f"{family} ({len(chosen)})" if name == "ims" else "",
                name,
                mean(run.ii / row.mii for row, run in runs),
                mean(run.ii / row.optimum for row, run in runs if row.optimum),
                geometric(run.max_live / run.live_bound for _, run in runs if run.live_bound),
                f"{statistics.median(spent):.3f}",
                f"{statistics.fmean(spent):.3f}",
            )
    return out


def remarks(rows: list[Row]) -> Iterator[str]:
    proven = sum(row.nvir.ii == row.lower_bound for row in rows)
    yield f"optimum proven on {proven} of {len(rows)} graphs"
    for row in rows:
        case, ii = row.case, row.nvir.ii
        if case.best_known is None:
            continue
        if ii < case.best_known:
            yield f"better than the best known: {case.name}: {ii} < {case.best_known}"
        elif ii > case.best_known:
            yield f"WORSE than the best known: {case.name}: {ii} > {case.best_known}"
        elif case.optimum is None and ii == row.lower_bound:
            yield f"newly proven: {case.name}: {ii} is the optimum"


def plot(rows: list[Row], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(13, 4), layout="constrained")
    sizes = [len(row.case.graph) for row in rows]
    for name, marker in (("ims", "x"), ("nvir", ".")):
        runs: list[Run] = [getattr(row, name) for row in rows]
        ratios = [run.ii / row.mii for row, run in zip(rows, runs, strict=True)]
        lives = [run.max_live / max(1, run.live_bound) for run in runs]
        axes[0].scatter(sizes, ratios, marker=marker, label=name)
        axes[1].scatter(sizes, lives, marker=marker, label=name)
        axes[2].scatter(sizes, [run.seconds * 1e3 for run in runs], marker=marker, label=name)
    for axis, title in zip(axes, ("II / MII", "MaxLive / bound", "ms a graph"), strict=True):
        axis.set(title=title, xlabel="operations", xscale="log")
        axis.legend()
    axes[1].set_yscale("log")
    axes[2].set_yscale("log")
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--solver", default="none", choices=("none", "auto", "cpsat"))
    parser.add_argument("--budget", type=float, default=2.0, help="seconds a graph")
    parser.add_argument("--random", type=int, default=200, help="how many random bodies")
    parser.add_argument("--limit", type=int, help="at most so many of the open graphs")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--plot", type=Path, help="write a plot: .svg, .png or .pdf")
    parser.add_argument("--json", type=Path, help="write a row for each graph")
    options = parser.parse_args()
    cases = [
        *itertools.islice(open_cases(), options.limit),
        *random_cases(options.random, options.seed),
    ]
    rows = [run_case(case, options.solver, options.budget) for case in cases]
    if not rows:
        return
    console = Console(width=max(100, Console().width))
    console.print(table(rows))
    for line in remarks(rows):
        console.print(line, highlight=False, soft_wrap=True)
    if options.plot:
        plot(rows, options.plot)
    if options.json:
        records = [
            {"name": row.case.name, "nodes": len(row.case.graph), "mii": row.mii}
            | {"lower_bound": row.lower_bound, "optimum": row.optimum}
            | {"nvir": attrs.asdict(row.nvir), "ims": attrs.asdict(row.ims)}
            for row in rows
        ]
        options.json.write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
