"""Initiation intervals and register pressure of every loop in examples/, and of generated ones.

    python benchmarks/intervals.py [FILE ...] [--arch sm_80] [--plot out.svg] [--json out.json]
    python benchmarks/intervals.py --solver --generated 130 --arch sm_80,sm_90

Of each innermost loop of one block: the bounds (RecMII, ResMII) and which binds, the interval that
is found, stages, registers live in the kernel (MaxLive) over a lower bound (that of dependences and
of what is live around an operation; with OR-tools one that knows slots and pipes), milliseconds,
and simulated cycles an iteration of one warp and of eight: as an assembler would order the body,
and with the kernel of the modulo schedule. With `--solver` OR-tools is asked for each interval
below the one found, and for the fewest registers that a schedule can have, as far as it is proven
within the budget.
`--generated` adds random bodies of arithmetic, conversions and loads, some 10 to 40 operations.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import nvir
from nvir.ir.loops import natural_loops
from nvir.sm.loopgraph import loop_graph
from nvir.sm.profile import profile, profile_for
from nvir.sm.schedule.cpsat import available
from nvir.sm.schedule.lifetimes import max_live_bound, values_of
from nvir.sm.schedule.live_bound import least_lives, live_around, registers_needed
from nvir.sm.schedule.loops import schedule_loop
from nvir.sm.simulate import loop_stream, schedule_stream, simulate

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "ptx"
WARPS = 8


def proven(found: Any, made: Any, budget_s: float) -> dict[str, Any]:
    """What the exact solver says of each smaller interval, and its bound on registers."""
    from nvir.sm.schedule.cpsat import fewest_registers
    from nvir.sm.schedule.turns import verdict

    below = range(made.lower_bound, made.ii)  # the others are proven impossible
    verdicts = [verdict(found.graph, ii, budget_s)[0] for ii in below]
    values = values_of(found.graph, found.register_edges, found.sizes)
    least = registers_needed(found.graph, made.ii, values, cuts=True)
    live, _ = fewest_registers(found.graph, made.ii, values, budget_s, made.times, least)
    return {
        "open": any(v is None for v in verdicts) and True not in verdicts,
        "missed": True in verdicts,
        "live_proven": live,
    }


def generated(seed: int) -> nvir.Module:
    """A kernel with a random loop of one block."""
    rng = random.Random(seed)
    body = []
    for _ in range(rng.randrange(5, 22)):
        d, a, b = (f"%f{rng.randrange(1, 8)}" for _ in range(3))
        body.append(rng.choice((
            f"fma.rn.f32 {d}, {a}, {b}, {d};", f"fma.rn.f32 {d}, {a}, {b}, {b};",
            f"add.f32 {d}, {a}, {b};", f"mul.f32 {d}, {a}, {b};",
            f"ex2.approx.ftz.f32 {d}, {a};", f"ld.shared.f32 {d}, [%r2+{4 * rng.randrange(9)}];",
            f"ld.global.nc.f32 {d}, [%rd1+{4 * rng.randrange(9)}];",
            f"cvt.rzi.s32.f32 %r3, {a}; add.s32 %r3, %r3, %r1; cvt.rn.f32.s32 {d}, %r3;",
        )))
    stores = "".join(f"st.global.f32 [%rd1+{4 * k}], %f{k};\n" for k in range(1, 9))
    starts = "".join(f"mov.f32 %f{k}, 0f3F800000;\n" for k in range(1, 9))
    return nvir.read_ptx(f"""\
.version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a) {{
.reg .pred %p<2>; .reg .f32 %f<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .b32 s[64];
ld.param.u64 %rd1, [a]; mov.u32 %r1, 0; mov.u32 %r2, s;
{starts}L:\n{chr(10).join(body)}
add.s64 %rd1, %rd1, 64; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 99; @%p1 bra L;
{stores}ret; }}
""")


def rows_of(
    name: str, module: nvir.Module, arch: str | None, budget_s: float, most: int | None,
    met: set[Any],
) -> Iterator[dict[str, Any]]:
    machine = profile(arch) if arch else profile_for(module.target)
    for function in module.functions:
        if not function.blocks:
            continue
        function.analyze_cfg()
        for loop in natural_loops(function):
            if len(loop.blocks) > 1:
                continue
            try:
                start = time.perf_counter()
                found = loop_graph(loop, machine)
                graph = found.graph
                same = machine.name, tuple(graph.edges), tuple(graph.pipes)
                if most is not None and (len(graph) > most or same in met):
                    continue
                met.add(same)
                made = schedule_loop(found)
                seconds = time.perf_counter() - start
            except nvir.NvirError as e:
                print(f"{name} {loop.header.name}: {e}")
                continue
            values = values_of(found.graph, found.register_edges, found.sizes)
            flow = max_live_bound(found.graph, made.ii, values)
            around = live_around(found.graph, made.ii, values)
            cuts = -(-least_lives(found.graph, made.ii, values) // made.ii) if available() else 0
            exact = proven(found, made, budget_s) if budget_s else {}
            body, kernel = loop_stream(loop, machine), schedule_stream(made)
            yield {
                "file": name, "loop": loop.header.name, "arch": machine.name,
                "operations": len(found.operations),
                "rec_mii": made.rec_mii, "res_mii": made.res_mii, "bottleneck": made.bottleneck,
                "ii": made.ii, "stages": made.stages, "max_live": made.max_live,
                "live_flow": flow, "live_cuts": cuts,
                "live_bound": max(flow, cuts, around, exact.get("live_proven", 0)),
                "ms": seconds * 1e3, **exact,
                "cycles": [simulate(body, warps=n).cycles_per_iteration for n in (1, WARPS)],
                "pipelined": [simulate(kernel, warps=n).cycles_per_iteration for n in (1, WARPS)],
            }


def table(rows: list[dict[str, Any]]) -> Table:
    shown = Table(title=f"cycles an iteration: 1 and {WARPS} warps, as ordered → pipelined")
    for name in ("file", "loop", "ops", "RecMII", "ResMII", "binds", "II", "stages",
                 "MaxLive/bound", "ms", "1 warp", f"{WARPS} warps"):
        shown.add_column(name, justify="left" if name in ("file", "loop", "binds") else "right")
    for r in rows:
        shown.add_row(
            r["file"], r["loop"], str(r["operations"]), str(r["rec_mii"]),
            str(r["res_mii"]), str(r["bottleneck"]), str(r["ii"]), str(r["stages"]),
            f"{r['max_live']}/{r['live_bound']}", f"{r['ms']:.1f}",
            *(f"{a:.0f} → {b:.0f}" for a, b in zip(r["cycles"], r["pipelined"], strict=True)),
        )
    return shown


def summary(rows: list[dict[str, Any]]) -> str:
    at_bound = sum(r["ii"] == max(r["rec_mii"], r["res_mii"]) for r in rows)
    flow, best = (_quartiles([r["max_live"] / max(1, r[bound]) for r in rows])
                  for bound in ("live_flow", "live_bound"))
    live = sum(r["max_live"] for r in rows) / max(1, sum(r["live_bound"] for r in rows))
    gains = [
        math.exp(statistics.fmean(math.log(r["cycles"][k] / r["pipelined"][k]) for r in rows))
        for k in (0, 1)
    ]
    settled = [r for r in rows if "missed" in r and not r["open"]]
    missed = sum(r["missed"] for r in settled)
    exact = (
        f"II at the proven optimum in {len(settled) - missed} of {len(settled)} settled loops "
        f"({len(rows) - len(settled)} open); " if settled else ""
    )
    return exact + (
        f"{len(rows)} loops; II = MII in {at_bound}; MaxLive over the bound of its dependences "
        f"{flow}, over the best bound known {best} (median, quartiles), {live:.3f} in sum; "
        f"{statistics.median(r['ms'] for r in rows):.1f} ms a loop (median); predicted gain "
        f"×{gains[0]:.2f} for one warp, ×{gains[1]:.2f} for {WARPS} (geometric means)"
    )


def _quartiles(found: list[float]) -> str:
    low, median, high = statistics.quantiles(found, n=4) if len(found) > 1 else found * 3
    return f"{median:.3f} ({low:.3f} to {high:.3f})"


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(14, 4.5), layout="constrained")
    size = [r["operations"] for r in rows]
    mii = [max(r["rec_mii"], r["res_mii"]) for r in rows]
    axes[0].scatter(mii, [r["ii"] for r in rows], s=14)
    axes[0].plot([1, max(mii)], [1, max(mii)], linewidth=0.8, color="grey")
    axes[0].set(title="initiation interval", xlabel="MII, cycles", ylabel="II, cycles",
                xscale="log", yscale="log")
    axes[1].scatter([r["live_bound"] for r in rows], [r["max_live"] for r in rows], s=14)
    top = max(r["max_live"] for r in rows)
    axes[1].plot([0, top], [0, top], linewidth=0.8, color="grey")
    axes[1].set(title="registers live in the kernel", xlabel="lower bound", ylabel="MaxLive")
    for k, label in ((0, "1 warp"), (1, f"{WARPS} warps")):
        gain = [r["cycles"][k] / r["pipelined"][k] for r in rows]
        axes[2].scatter(size, gain, s=14, label=label)
    axes[2].axhline(1, linewidth=0.8, color="grey")
    axes[2].set(title="predicted gain by pipelining", xlabel="operations", ylabel="times as fast",
                xscale="log")
    axes[2].legend()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="PTX; examples/ptx by default")
    parser.add_argument("--arch", help="a machine profile; each file's target by default")
    parser.add_argument("--solver", action="store_true", help="prove with OR-tools")
    parser.add_argument("--budget", type=float, default=2.0, help="of the solver, an interval")
    parser.add_argument("--most", type=int, help="loops up to so many operations, each once")
    parser.add_argument("--generated", type=int, default=0, help="random loops as well")
    parser.add_argument("--plot", type=Path, help="write a plot: .svg, .png or .pdf")
    parser.add_argument("--json", type=Path, help="write a row for each loop")
    given = parser.parse_args()
    if given.plot and importlib.util.find_spec("matplotlib") is None:
        parser.error("--plot needs matplotlib")  # before a minute of work
    files = given.files or sorted(EXAMPLES.glob("*.ptx"))
    archs = given.arch.split(",") if given.arch else [None]
    budget = given.budget if given.solver else 0.0
    most, met = given.most, set[Any]()
    modules = [(path.stem, nvir.read_ptx(path)) for path in files]
    rows = [row for arch in archs for m in modules for row in rows_of(*m, arch, budget, most, met)]
    for seed in range(given.generated):
        rows += rows_of(
            f"generated {seed}", generated(seed), archs[seed % len(archs)], budget, most, met
        )
    if not rows:
        print("no loops of one block")
        return
    console = Console(width=max(150, Console().width))
    console.print(table(rows))
    console.print(summary(rows), highlight=False, soft_wrap=True)
    if given.plot:
        plot(rows, given.plot)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
