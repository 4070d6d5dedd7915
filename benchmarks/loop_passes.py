"""Speed of the loop passes, one after the other, on files of 10^3 to 10^5 instructions.

    python benchmarks/loop_passes.py [--sizes 1000,10000,100000] [--per-function 500]
                                     [--policy observed] [--profile] [--json out.json]
    python benchmarks/loop_passes.py FILE.ptx ...    the same of real kernels, all together
    python benchmarks/loop_passes.py --folder DIR [--policy documented]
                                     the whole pipeline `loops` on every PTX file of a folder

The file holds kernels of loops as compilers write them: counted and not, tested at the head and at
the end, one in another, with conditional bodies, invariant values and loads; most are marked not
to be unrolled, so that the file does not become another one. A rate is instructions of the file as
read, by the CPU seconds of a pass with the annotations that are renewed after it; `all` is that of
the whole chain. Unrolling makes a file larger: later passes and the chain see more than was
read: the last rows give the size after, and the chain's rate by the mean of both sizes. The goal
is 60,000 a second for the chain at 10,000 instructions; the run ends with status 1 where it is
missed. Times should grow as the file does.

With a folder the driver runs all phases, pipelining among them, on one file after the other, each
read anew and run once. Printed is the distribution of the files' rates, whose geometric mean
is to be 20,000 a second, the slowest files, of which none may take 5 s, and what each pass takes of
a file on average: a small file counts as much as a large one.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import pstats
import random
import statistics
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import nvir
from nvir.ir.bulk import bulk
from nvir.passes.context import Context
from nvir.passes.driver import Driver, Settings
from nvir.passes.knobs import Knobs
from nvir.passes.pipeline import parse_pipeline

CHAIN = (
    "loop-simplify", "loop-rotate", "licm<id=0>", "loop-unroll", "licm<id=1>", "loop-fuse",
    "licm<id=2>", "licm<id=3>",
)
GOAL = 60_000
FOLDER_GOAL = 20_000  # of the whole pipeline, as a geometric mean over files
LONGEST = 5.0  # seconds for a file
HEADER = """.version 8.6
.target sm_80
.address_size 64
"""
KERNEL = """.visible .entry k{k}(.param .u64 a, .param .u64 b, .param .u32 n)
{{
.reg .pred %p<9>; .reg .b32 %r<99>; .reg .f32 %f<99>; .reg .b64 %rd<99>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    cvt.rn.f32.u32 %f1, %r2;
{body}
    ret;
}}
"""


def work(rng: random.Random, n: int) -> list[str]:
    """The body of a loop that counts %r5: an address, loads, arithmetic, a store."""
    out = [
        "mul.wide.s32 %rd5, %r5, 4;", "add.s64 %rd6, %rd1, %rd5;", "ld.global.f32 %f2, [%rd6];",
        "mul.f32 %f3, %f1, %f1;",  # invariant
        "add.s32 %r6, %r2, %r1;", "shl.b32 %r7, %r6, 2;",
    ]
    for k in range(max(n - 9, 1)):
        a, b = rng.randint(2, 10 + k), rng.randint(2, 10 + k)
        out.append(rng.choice([
            f"fma.rn.f32 %f{10 + k}, %f{min(a, 3)}, %f{min(b, 3)}, %f{10 + k};",
            f"add.s32 %r{10 + k}, %r{min(a, 7)}, %r{min(b, 7)};",
            f"xor.b32 %r{10 + k}, %r{10 + k}, %r5;",
        ]))
    return [*out, "add.s64 %rd7, %rd2, %rd5;", "st.global.f32 [%rd7], %f3;"]


def loop(rng: random.Random, k: str, depth: int = 1) -> list[str]:
    """A loop with label k."""
    body = work(rng, rng.choice((10, 14, 20, 35)))
    if rng.random() < 0.25:
        body += ["setp.gt.f32 %p2, %f2, %f1;", f"@%p2 bra S{k};", "st.global.u32 [%rd7+64], %r6;",
                 f"S{k}:"]
    if depth == 1 and rng.random() < 0.3:
        body += loop(rng, f"{k}i", 2)
    counter, bound = f"%r{40 + depth}", rng.choice([*["%r1"] * 8, "4"])
    body = [line.replace("%r5", counter) for line in body]
    if rng.random() < 0.3:
        return [
            f"mov.u32 {counter}, 0;", f"H{k}:", '.pragma "nounroll";',
            f"setp.ge.s32 %p3, {counter}, {bound};", f"@%p3 bra E{k};", *body,
            f"add.s32 {counter}, {counter}, 1;", f"bra H{k};", f"E{k}:",
        ]
    kept = ['.pragma "nounroll";'] if rng.random() < 0.7 else []
    return [
        f"mov.u32 {counter}, 0;", f"L{k}:", *kept, *body, f"add.s32 {counter}, {counter}, 1;",
        f"setp.lt.s32 %p3, {counter}, {bound};", f"@%p3 bra L{k};",
    ]


def file_of(size: int, per_function: int, seed: int = 1) -> str:
    rng = random.Random(seed)
    kernels: list[str] = []
    total = 0
    while total < size:
        lines: list[str] = []
        while len(lines) < min(per_function, size - total):
            lines += loop(rng, str(len(lines)))
        kernels.append(KERNEL.format(k=len(kernels), body="\n".join(lines)))
        total += len(lines) + 6
    return HEADER + "".join(kernels)


def count(module: Any) -> int:
    return sum(1 for f in module.functions for _ in f.instructions())


def run(module: Any, policy: Any) -> dict[str, float]:
    """CPU seconds of each pass and of the annotations that are renewed after it, as the driver
    does it; `all` of the chain, `collected` with the collection that may follow it."""
    begin = time.process_time()
    with bulk():
        times = run_chain(module, policy)
        times["all"] = time.process_time() - begin
    gc.collect(0)
    return {**times, "collected": time.process_time() - begin}


def run_chain(module: Any, policy: Any) -> dict[str, float]:
    ctx = Context(module, Knobs({}, policy))
    times = {}
    for name in CHAIN:
        (step,) = parse_pipeline(name)
        ctx.pass_, ctx.options = step.pass_, step.options
        start = time.process_time()
        for f in module.functions:
            ctx.function = f
            snapshot, blocks = f._rpo, list(f.blocks)
            changed = step.pass_.run(f, ctx)
            moved = f._rpo is snapshot and f.blocks != blocks
            if f.cfg_state != "fresh" or (changed and moved):
                f.analyze_cfg()
        times[name] = time.process_time() - start
    return times


def measure(text: str, args: argparse.Namespace) -> dict[str, Any]:
    best: dict[str, float] = {}
    for _ in range(args.repeat):
        module = nvir.read_ptx(text)
        n = count(module)
        gc.collect()
        times = run(module, args.policy)
        for step, t in times.items():
            best[step] = min(t, best.get(step, t))
        after = count(module)
    return {"instructions": n, "after": after, "seconds": best}


def total(rows: list[dict[str, Any]]) -> dict[str, Any]:
    seconds = {step: sum(r["seconds"][step] for r in rows) for step in rows[0]["seconds"]}
    return {
        "instructions": sum(r["instructions"] for r in rows),
        "after": sum(r["after"] for r in rows), "seconds": seconds,
    }


def whole(path: Path, policy: Any) -> dict[str, Any]:
    """CPU seconds of the whole pipeline on a file, and wall seconds of each pass."""
    module = nvir.read_ptx(path)
    driver = Driver(Settings())
    gc.collect()
    begin = time.process_time()
    driver.run(module, "loops", policy=policy)
    seconds = time.process_time() - begin
    passes: Counter[str] = Counter()
    for t in driver.timings:
        passes[t.pass_name] += t.seconds
    return {"file": path.name, "instructions": count(nvir.read_ptx(path)), "seconds": seconds,
            "passes": passes}


def folder(root: Path, policy: Any, json_path: str | None) -> int:
    rows = []
    for path in sorted(root.rglob("*.ptx")):
        try:
            rows.append(whole(path, policy))
        except nvir.NvirError as e:
            print(f"{path.name}: {e}")
    rates = sorted(r["instructions"] / r["seconds"] for r in rows)
    mean = statistics.geometric_mean(rates)
    print(f"pipeline loops, policy {policy}, {len(rows)} files, "
          f"{sum(r['instructions'] for r in rows):,} instructions")
    print(f"instructions a second: geometric mean {mean:,.0f}; quantiles "
          + ", ".join(f"{q:.0%} {rates[int(q * (len(rates) - 1))]:,.0f}"
                      for q in (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)))
    share: Counter[str] = Counter()
    for r in rows:
        everything = sum(r["passes"].values()) or 1.0
        for name, seconds in r["passes"].items():
            share[name] += seconds / everything / len(rows)
    print("share of a file: " + ", ".join(f"{n} {s:.0%}" for n, s in share.most_common(8)))
    slowest = sorted(rows, key=lambda r: -r["seconds"])
    for r in slowest[:5]:
        print(f"{r['seconds']:>8.2f} s {r['instructions']:>8,}  {r['file']}")
    if json_path:
        Path(json_path).write_text(json.dumps(rows, indent=1))
    return int(mean < FOLDER_GOAL or slowest[0]["seconds"] > LONGEST)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--folder", type=Path, help="PTX files for the whole pipeline")
    parser.add_argument("--sizes", default="1000,10000,100000")
    parser.add_argument("--per-function", type=int, default=500)
    parser.add_argument("--policy", choices=("observed", "documented"), default="observed")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--profile", action="store_true", help="where the time goes")
    parser.add_argument("--json")
    args = parser.parse_args()
    sizes = [int(s) for s in args.sizes.split(",")]
    args.repeat, repeat = 1, args.repeat
    measure(file_of(500, 500), args)  # tables and profiles are read once for a process
    args.repeat = repeat
    if args.folder:
        return folder(args.folder, args.policy, args.json)
    if args.profile:
        profiler = cProfile.Profile()
        profiler.runcall(measure, file_of(sizes[0], args.per_function), args)
        pstats.Stats(profiler).sort_stats("tottime").print_stats(35)
        return 0
    if args.files:
        rows = [total([measure(path.read_text(), args) for path in args.files])]
    else:
        rows = [measure(file_of(size, args.per_function), args) for size in sizes]
    what = f"{len(args.files)} files" if args.files else f"functions of about {args.per_function}"
    print(f"policy {args.policy}, {what}; instructions a second")
    print(f"{'pass':<15}" + "".join(f"{r['instructions']:>12,}" for r in rows))
    for step in (*CHAIN, "collected", "all"):
        rates = [r["instructions"] / max(r["seconds"][step], 1e-9) for r in rows]
        print(f"{step:<15}" + "".join(f"{rate:>12,.0f}" for rate in rates))
    seen = [(r["instructions"] + r["after"]) / 2 / r["seconds"]["all"] for r in rows]
    print(f"{'all, by mean':<15}" + "".join(f"{rate:>12,.0f}" for rate in seen))
    print(f"{'after':<15}" + "".join(f"{r['after']:>12,}" for r in rows))
    if args.json:
        with open(args.json, "w") as f:
            json.dump(rows, f, indent=1)
    return int(any(rate < GOAL for rate in seen))


if __name__ == "__main__":
    sys.exit(main())
