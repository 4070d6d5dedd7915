"""What registers cost a software pipeline: intervals before and behind allocation.

    python benchmarks/post_ra.py [--pipelined] [--json FILE] [FILE.ptx ...]

For each loop of one block of the examples (or of the files): the interval with unlimited registers,
that on the registers of the allocation, that with registers given after the schedule (as many as
cost no occupancy, then as many as the machine has), that of several copies with registers given so
(all for one iteration), and what raised the first.
`--pipelined` adds the kernels that `loop-pipeline` makes of them, which hold several iterations
already. Every schedule is judged, and executed with symbols for values for trip counts 0 to
stages + 3; the last columns compare predicted cycles with the simulator's for one warp.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nvir
from benchmarks.post_ra_stream import kernel_stream
from nvir.assembler.postra import PostRaSchedule, loop_code, schedule
from nvir.assembler.postra.check import check, compare
from nvir.assembler.postra.fold import schedule_then_allocate
from nvir.ir.errors import NvirError
from nvir.ir.loops import natural_loops
from nvir.sm.loopgraph import loop_graph
from nvir.sm.profile import profile_for
from nvir.sm.schedule.loops import schedule_loop
from nvir.sm.simulate import simulate

KINDS = ("plain", "after", "most", "copies")
COPIES = 6  # at most
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
                before = schedule_loop(loop_graph(loop, profile), effort="quick")
                row["before"] = before.ii
                most = profile.limits.max_registers_per_thread
                row["plain"] = measured(schedule(loop_code(loop, profile)), 1)
                row["after"] = measured(schedule_then_allocate(loop, profile), 1)
                row["most"] = measured(schedule_then_allocate(loop, profile, limit=most), 1)
                wanted = math.ceil(row["most"]["ii"] / before.ii)
                copies = min(COPIES, wanted) if row["most"]["counted"] else 1
                made = schedule_then_allocate(loop, profile, copies=copies)
                row["copies"] = measured(made, copies)
            except NvirError as e:
                row["error"] = str(e)
            yield row


def measured(made: PostRaSchedule, copies: int) -> dict[str, Any]:
    """Figures of a body on its registers, an iteration each."""
    code = made.code
    faults = check(made)
    for trips in range(made.stages + 4):
        faults += compare(made, trips)
    ran = simulate(kernel_stream(made), warps=1, iterations=32)
    return {
        "copies": copies, "counted": code.counted, "ii": made.ii / copies, "stages": made.stages,
        "true": made.true_ii / copies, "bound": made.bound / copies,
        "registers": code.registers, "cycles": made.cycles / copies,
        "simulated": ran.cycles_per_iteration / copies, "faults": len(faults),
        "moves": sum(o.role == "move" for o in code.operations),
        "raised": [d.text(code) for d in made.raised_by],
    }


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
    head = f"{'II':>6} {'st':>2} {'regs':>4}"
    print(f"{'loop':42} {'before':>6} │ {head} │ {head} │ {head} │ {head} {'x':>2} {'cycles':>6} "
          f"{'simul.':>6}  raised by")
    good = [r for r in found if "copies" in r]
    for r in found:
        name = f"{r['file']} {r['loop']}"[:42]
        if r not in good:
            print(f"{name:42} {r['error'][:80]}")
            continue
        cells = [f"{x['ii']:6.4g} {x['stages']:2} {x['registers']:4}"
                 for x in (r[k] for k in KINDS)]
        c = r["copies"]
        why = r["plain"]["raised"][0] if r["plain"]["raised"] else ""
        print(f"{name:42} {r['before']:6} │ {' │ '.join(cells)} {c['copies']:2} "
              f"{c['cycles']:6.4g} {c['simulated']:6.4g}  {why}")
    for kind in KINDS if good else ():
        ratio = statistics.geometric_mean(r[kind]["ii"] / r["before"] for r in good)
        kept = sum(r[kind]["ii"] <= r["before"] for r in good)
        piped = sum(r[kind]["stages"] > 1 for r in good)
        faults = sum(r[kind]["faults"] for r in good)
        off = [abs(r[kind]["cycles"] / r[kind]["simulated"] - 1) for r in good]
        near = sum(x <= 0.05 for x in off)
        print(f"{kind}: {len(good)} loops, interval {ratio:.2f} of before (geometric mean), "
              f"{kept} not raised, {piped} overlap; {faults} faults; prediction within 5 % of the "
              f"simulator for {near}, median {statistics.median(off):.1%}")


if __name__ == "__main__":
    main()
