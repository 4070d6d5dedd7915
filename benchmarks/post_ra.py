"""What registers cost a software pipeline: intervals before and behind allocation.

    python benchmarks/post_ra.py [--pipelined] [--json FILE] [FILE.ptx ...]

For each loop of one block of the examples (or of the files): the interval with unlimited registers,
that on the registers of the allocation, that with values spread over registers of their own, and
what raised it. `--pipelined` adds the kernels that `loop-pipeline` makes of them, which hold
several iterations already. Every schedule is judged, and executed with symbols for values for trip
counts 0 to stages + 3; the last columns compare the predicted cycles of an iteration with the
simulator's for one warp.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nvir
from nvir.ir.errors import NvirError
from nvir.ir.loops import natural_loops
from nvir.sm.loopgraph import loop_graph
from nvir.sm.pipeline import schedule_loop
from nvir.sm.postra import loop_code, schedule
from nvir.sm.postra.check import check, compare
from nvir.sm.postra.stream import kernel_stream
from nvir.sm.profile import profile_for
from nvir.sm.simulate import simulate

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "ptx"


def rows(path: Path, pipelined: bool) -> Iterator[dict[str, Any]]:
    module = nvir.read_ptx(path)
    if pipelined:
        nvir.run_passes(module, "loop-simplify,loop-pipeline,copy-prop,dce")
    profile = profile_for(module.target)
    for function in module.functions:
        if not function.blocks:
            continue
        function.analyze_cfg()
        for loop in natural_loops(function):
            if len(loop.blocks) != 1:
                continue
            if pipelined and "nounroll" not in " ".join(map(str, loop.header.pragmas)):
                continue
            row: dict[str, Any] = {
                "file": path.stem + (" pipelined" if pipelined else ""),
                "loop": loop.header.name,
            }
            try:
                before = schedule_loop(loop_graph(loop, profile), thorough=False)
                row["before"] = before.ii
                for name, spread in (("plain", False), ("spread", True)):
                    code = loop_code(loop, profile, spread=spread)
                    made = schedule(code)
                    faults = check(made)
                    for trips in range(made.stages + 4):
                        faults += compare(made, trips)
                    ran = simulate(kernel_stream(made), warps=1, iterations=32)
                    row[name] = {
                        "ii": made.ii, "stages": made.stages, "true": made.true_ii,
                        "bound": made.bound, "registers": code.registers,
                        "cycles": made.cycles, "simulated": ran.cycles_per_iteration,
                        "faults": len(faults),
                        "moves": sum(o.role == "move" for o in code.operations),
                        "raised": [d.text(code) for d in made.raised_by],
                    }  # fmt: skip
            except NvirError as e:
                row["error"] = str(e)
            yield row


def main() -> None:
    parser = argparse.ArgumentParser(description="Intervals before and behind allocation.")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--pipelined", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    files = given.files or sorted(EXAMPLES.glob("*.ptx"))
    found = [r for f in files for r in rows(f, False)]
    if given.pipelined:
        found += [r for f in files for r in rows(f, True)]
    show(found)
    if given.json:
        given.json.write_text(json.dumps(found, indent=2) + "\n", "utf-8")


def show(found: list[dict[str, Any]]) -> None:
    print(f"{'loop':46} {'before':>6} │ {'II':>5} {'st':>2} {'regs':>4} │ {'II':>5} {'st':>2} "
          f"{'regs':>4} {'cycles':>6} {'simul.':>6}  raised by")  # fmt: skip
    good = [r for r in found if "spread" in r]
    for r in found:
        name = f"{r['file']} {r['loop']}"[:46]
        if "error" in r:
            print(f"{name:46} {r['error'][:80]}")
            continue
        p, s = r["plain"], r["spread"]
        why = s["raised"][0] if s["raised"] else ""
        print(f"{name:46} {r['before']:6} │ {p['ii']:5} {p['stages']:2} {p['registers']:4} │ "
              f"{s['ii']:5} {s['stages']:2} {s['registers']:4} {s['cycles']:6} "
              f"{s['simulated']:6.1f}  {why}")  # fmt: skip
    if not good:
        return
    for name in ("plain", "spread"):
        ratio = statistics.geometric_mean(r[name]["ii"] / r["before"] for r in good)
        kept = sum(r[name]["ii"] <= r["before"] for r in good)
        piped = sum(r[name]["stages"] > 1 for r in good)
        faults = sum(r[name]["faults"] for r in good)
        off = [abs(r[name]["cycles"] / r[name]["simulated"] - 1) for r in good]
        near = sum(x <= 0.05 for x in off)
        print(f"{name}: {len(good)} loops, interval {ratio:.2f} of before (geometric mean), "
              f"{kept} not raised, {piped} overlap; {faults} faults; "
              f"prediction within 5 % of the simulator for {near}, "
              f"median {statistics.median(off):.1%}")  # fmt: skip


if __name__ == "__main__":
    main()
