"""nvir beside xdsl, llvmlite, networkx and LLVM's opt and llc: the same programs in one run.

    python benchmarks/peers.py [--sizes 1000,…] [--repeat 3] [--check] [--json FILE] [--docs DIR]

Each step runs in turns with its peers, so that a machine that slows down slows all of them, and
the least CPU time of the repeats counts (other processes do not). Libraries run as their users
run them: the garbage collector is as each leaves it. Programs: benchmarks/peer_programs.py. What is
not installed is left out with a message. `--check` fails where a ratio at 10^5 operations falls
short of TARGETS. `--docs docs` writes the page of figures and its plots.
"""

from __future__ import annotations

import argparse
import functools
import gc
import importlib.util
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import peer_programs as programs

import nvir
from nvir.ir.bulk import bulk
from nvir.ir.clone import clone_module
from nvir.ir.text.print import print_ir
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs
from nvir.passes.registry import all_passes

LIMITS = {"xdsl": 100_000, "llvmlite": 100_000, "networkx": 100_000, "opt": 100_000, "llc": 100_000}
DOMINATORS_OF_XDSL = 1_000  # sets of blocks for each block: quadratic
TARGETS = {
    ("build", "xdsl"): 12.0, ("clone", "xdsl"): 8.0, ("parse", "xdsl"): 20.0,
    ("dead code", "xdsl"): 15.0, ("CSE", "xdsl"): 12.0, ("print", "xdsl"): 30.0,
    ("dominators", "networkx"): 4.0,
}
BYTES = 500


@attrs.frozen
class Run:
    """One library's way of a step: `run(setup())`, of which `run` is timed.

    `process`: the time is that of the child processes that `run` waits for.
    """

    library: str
    setup: Callable[[], Any]
    run: Callable[[Any], Any]
    process: bool = False


@attrs.frozen
class Figure:
    """Microseconds an operation (for dominators: a block) of a step at size n."""

    step: str
    library: str
    n: int
    us: float


def nothing() -> None:
    """The setup of a step that needs none."""


def nvir_passes(*names: str) -> Callable[[nvir.Module], Any]:
    """Passes alone, as the peers' are: a driver's run adds one clone, its way back."""

    def run(m: nvir.Module) -> None:
        ctx = Context(m, Knobs())
        for name in names:
            row = all_passes()[name]
            for f in m.functions:
                if f.cfg_state != "fresh":
                    f.analyze_cfg()
                ctx.pass_, ctx.options, ctx.function = row, row.options(), f
                with bulk():
                    row.run(f, ctx)

    return run


# ------------------------------------------------------------------- steps


def steps(n: int, peers: frozenset[str], folder: Path) -> Iterator[tuple[str, list[Run]]]:
    """Each step with who does it, nvir first."""
    program = list(programs.steps(n))
    m = programs.nvir_straight(program)
    text = print_ir(m)
    flow = programs.edges(n)
    f = programs.nvir_flow(flow)
    own: dict[str, list[Run]] = {
        "build": [Run("nvir", nothing, lambda _: programs.nvir_straight(program))],
        "build by methods": [Run("nvir", nothing, lambda _: programs.nvir_builder(program))],
        "print": [Run("nvir", nothing, lambda _: print_ir(m))],
        "parse": [Run("nvir", nothing, lambda _: nvir.parse_ir(text))],
        "clone": [Run("nvir", nothing, lambda _: clone_module(m))],
        "verify": [Run("nvir", nothing, lambda _: nvir.verify(m))],
        "dead code": [Run("nvir", lambda: clone_module(m), nvir_passes("dce"))],
        "CSE": [Run("nvir", lambda: clone_module(m), nvir_passes("gvn"))],
        "dominators": [Run("nvir", nothing, lambda _: f.analyze_cfg())],
        "unrolling": [
            Run("nvir", lambda: nvir.read_ptx(programs.ptx_loops(n)),
                nvir_passes("loop-simplify", "loop-unroll"))
        ],
    }
    with_peers = [
        ("xdsl", lambda: xdsl_runs(n, program, flow)),
        ("llvmlite", lambda: llvmlite_runs(program)),
        ("networkx", lambda: networkx_runs(flow)),
    ]
    for name, make in with_peers:
        if name in peers and n <= LIMITS[name]:
            for step, run in make():
                own[step].append(run)
    yield from own.items()
    if {"opt", "llc"} & peers and "llvmlite" in peers and n <= LIMITS["opt"]:
        yield from tool_runs(n, program, peers, folder)


def xdsl_runs(
    n: int, program: list[Any], flow: list[tuple[int, ...]]
) -> Iterator[tuple[str, Run]]:
    from xdsl.context import Context
    from xdsl.dialects import arith, builtin, memref
    from xdsl.irdl.dominance import DominanceInfo
    from xdsl.parser import Parser
    from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination
    from xdsl.transforms.dead_code_elimination import dce
    from xdsl.transforms.scf_for_loop_unroll import ScfForLoopUnrollPass

    context = Context()
    for dialect in (builtin.Builtin, arith.Arith, memref.MemRef):
        context.load_dialect(dialect)
    m = programs.xdsl_straight(program)
    text = str(m)
    yield "build", Run("xdsl", nothing, lambda _: programs.xdsl_straight(program))
    yield "print", Run("xdsl", nothing, lambda _: str(m))
    yield "parse", Run("xdsl", nothing, lambda _: Parser(context, text).parse_module())
    yield "clone", Run("xdsl", nothing, lambda _: m.clone())
    yield "verify", Run("xdsl", nothing, lambda _: m.verify())
    yield "dead code", Run("xdsl", m.clone, dce)
    cse = CommonSubexpressionElimination()
    yield "CSE", Run("xdsl", m.clone, lambda c: cse.apply(Context(), c))
    unroll = ScfForLoopUnrollPass()
    yield "unrolling", Run(
        "xdsl", lambda: programs.xdsl_loops(n), lambda c: unroll.apply(Context(), c)
    )
    if n <= DOMINATORS_OF_XDSL:
        region = programs.xdsl_flow(flow)
        yield "dominators", Run("xdsl", nothing, lambda _: DominanceInfo(region))


def llvmlite_runs(program: list[Any]) -> Iterator[tuple[str, Run]]:
    """Building and printing are llvmlite's Python, the rest LLVM in its process."""
    from llvmlite import binding

    binding.initialize_native_target()
    machine = binding.Target.from_default_triple().create_target_machine()
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options())
    m = programs.llvm_straight(program)
    text = str(m)
    parsed = binding.parse_assembly(text)

    def managed(add: str) -> Callable[[Any], Any]:
        manager = binding.create_new_module_pass_manager()
        getattr(manager, add)()
        return lambda c: manager.run(c, builder)

    yield "build by methods", Run("llvmlite", nothing, lambda _: programs.llvm_straight(program))
    # It keeps the text of what it has printed, so each print is of a new module.
    yield "print", Run("llvmlite", lambda: programs.llvm_straight(program), str)
    yield "parse", Run("llvmlite", nothing, lambda _: binding.parse_assembly(text))
    yield "clone", Run("llvmlite", nothing, lambda _: parsed.clone())
    yield "verify", Run("llvmlite", nothing, lambda _: parsed.verify())
    dead = managed("add_dead_code_elimination_pass")
    yield "dead code", Run("llvmlite", parsed.clone, dead)
    yield "CSE", Run("llvmlite", parsed.clone, managed("add_new_gvn_pass"))


def networkx_runs(flow: list[tuple[int, ...]]) -> Iterator[tuple[str, Run]]:
    import networkx

    def dominators(_: None) -> Any:
        graph = networkx.DiGraph()
        graph.add_nodes_from(range(len(flow)))
        graph.add_edges_from((k, t) for k, to in enumerate(flow) for t in to)
        return networkx.immediate_dominators(graph, 0)

    yield "dominators", Run("networkx", nothing, dominators)


def tool_runs(
    n: int, program: list[Any], peers: frozenset[str], folder: Path
) -> Iterator[tuple[str, list[Run]]]:
    """Whole jobs from text to text, as a process of LLVM's own does them."""
    straight, loops = str(programs.llvm_straight(program)), programs.llvm_loops(n)

    def job(name: str, text: str, tool: str, *options: str) -> list[Run]:
        path = folder / f"{name}.ll"
        path.write_text(text)
        program = newest(tool)
        if tool not in peers or program is None:
            return []
        command = [program, *options, str(path), "-o", "/dev/null"]
        quiet = functools.partial(subprocess.run, command, check=True, stderr=subprocess.DEVNULL)
        return [Run(tool, nothing, lambda _: quiet(), process=True)]

    def ours(text: str, pipeline: str, show: Callable[[nvir.Module], str]) -> Run:
        def whole(_: None) -> None:
            m = nvir.read_ll(text)
            nvir.run_passes(m, pipeline)
            show(m)

        return Run("nvir", nothing, whole)

    yield "LLVM text: dead code, CSE", [
        ours(straight, "gvn,dce", nvir.print_ll),
        *job("straight", straight, "opt", "-S", "-passes=early-cse<memssa>,dce"),
    ]
    yield "LLVM text to PTX", [
        ours(straight, "select", nvir.print_ptx),
        *job("straight", straight, "llc", "-march=nvptx64", "-mcpu=sm_80", "-O0"),
    ]
    unrolled = [
        Run("nvir", nothing, lambda _: unroll_ptx(n)),
        *job("loops", loops, "opt", "-S", "-passes=loop-unroll"),
    ]
    yield "text: unrolling", unrolled


def unroll_ptx(n: int) -> None:
    m = nvir.read_ptx(programs.ptx_loops(n))
    nvir.run_passes(m, "loop-simplify,loop-unroll")
    nvir.print_ptx(m)


def newest(tool: str) -> str | None:
    """The newest `tool-N` on the path whose text has opaque pointers, else `tool`."""
    names = (*(f"{tool}-{k}" for k in range(30, 14, -1)), tool)
    return next(filter(None, map(shutil.which, names)), None)


# --------------------------------------------------------------- measuring


def cpu(process: bool) -> float:
    if not process:
        return time.process_time()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def in_turns(runs: list[Run], repeat: int) -> dict[str, float]:
    """The least CPU seconds of each library. What takes little runs several times in each turn."""
    least: dict[str, float] = {}
    for _ in range(repeat):
        for run in runs:
            gc.collect()
            spent = once(run)
            for _ in range(min(5, int(0.1 / max(spent, 1e-6)))):
                spent = min(spent, once(run))
            least[run.library] = min(spent, least.get(run.library, spent))
    return least


def once(run: Run) -> float:
    unit = run.setup()
    start = cpu(run.process)
    made = run.run(unit)
    spent = cpu(run.process) - start
    del made, unit
    return spent


def measure(sizes: list[int], repeat: int, peers: frozenset[str]) -> Iterator[Figure]:
    all_passes()  # imports them, which is no part of any step
    with tempfile.TemporaryDirectory() as folder:
        for n in sizes:
            for step, runs in steps(n, peers, Path(folder)):
                times = in_turns(runs, repeat if n <= 10_000 else max(1, repeat // 2))
                us = {library: seconds / n * 1e6 for library, seconds in times.items()}
                show(step, n, us)
                for library, each in us.items():
                    yield Figure(step, library, n, each)


def show(step: str, n: int, us: dict[str, float]) -> None:
    ours = us["nvir"]
    beside = "".join(
        f"   {library} {each:.2f} ({each / ours:.2f}x)"
        for library, each in us.items() if library != "nvir"
    )
    print(f"{n:>8} {step:26} nvir {ours:8.2f} µs{beside}", flush=True)


def bytes_each(n: int = 20_000) -> float:
    """Memory of one instruction with its uses and its share of everything."""
    program = list(programs.steps(n))
    programs.nvir_straight(program)
    tracemalloc.start()
    m = programs.nvir_straight(program)
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return kept / sum(1 for f in m.functions for _ in f.instructions())


def ratios(figures: list[Figure], n: int) -> dict[tuple[str, str], float]:
    """How many times as long each peer takes, by (step, library)."""
    at = {(f.step, f.library): f.us for f in figures if f.n == n}
    return {k: us / at[k[0], "nvir"] for k, us in at.items() if k[1] != "nvir"}


def shortfalls(figures: list[Figure], size: float) -> list[str]:
    """What does not reach TARGETS, in words."""
    found = ratios(figures, 100_000)
    out = [
        f"{step} is {found[step, library]:.1f} times as fast as {library}, not {least:.0f}"
        for (step, library), least in TARGETS.items()
        if (step, library) in found and found[step, library] < least
    ]
    return out + ([f"{size:.0f} bytes an instruction, not {BYTES}"] if size > BYTES else [])


def available() -> frozenset[str]:
    """The peers that are installed; says which are not."""
    there = {x for x in ("xdsl", "llvmlite", "networkx") if importlib.util.find_spec(x)}
    there |= {tool for tool in ("opt", "llc") if newest(tool)}
    for name in sorted(LIMITS.keys() - there):
        print(f"{name} is not installed: left out")
    return frozenset(there)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sizes", default="1000,10000,100000,1000000")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--docs", type=Path, help="write performance.md and its plots here")
    parser.add_argument("--from-json", type=Path, help="take these figures instead of measuring")
    parser.add_argument("--note", default="", help="what the page says about this measurement")
    given = parser.parse_args()
    if given.from_json:
        data = json.loads(given.from_json.read_text("utf-8"))
        figures, size = [Figure(**f) for f in data["figures"]], data["bytes"]
    else:
        sizes = [int(s) for s in given.sizes.split(",")]
        figures = list(measure(sizes, given.repeat, available()))
        size = bytes_each()
    print(f"{size:.0f} bytes an instruction (at most {BYTES})")
    if given.json:
        data = {"bytes": size, "figures": [attrs.asdict(f) for f in figures]}
        given.json.write_text(json.dumps(data, indent=1), "utf-8")
    if given.docs:
        import peer_page

        peer_page.write(figures, size, given.docs, given.note)
    short = shortfalls(figures, size)
    for line in short:
        print(f"falls short: {line}")
    return 1 if given.check and short else 0


if __name__ == "__main__":
    sys.exit(main())
