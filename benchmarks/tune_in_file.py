"""Whether `nvir tune` takes of kernels in one file what it takes of each alone, and at what cost.

    python -m benchmarks.tune_in_file FILE.ptx…            each a file of many kernels
    python -m benchmarks.tune_in_file --join FOLDER        the PTX of a folder, joined by target

Joined are modules whose functions and variables have other names than those before. A kernel has a
winner where the one that is taken alone is 3 % faster at full occupancy; in the file it is taken
where what is chosen there is within 3 % of it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import nvir
from benchmarks.tune import mean
from nvir.sm.profile import profile_for
from nvir.tune.search import WORSE, Tuning, tune


def joined(paths: Sequence[Path]) -> list[nvir.Module]:
    """One module for each target."""
    found: dict[str, tuple[nvir.Module, set[str]]] = {}
    for path in paths:
        module = nvir.read_ptx(path)
        names = {str(x.name) for x in (*module.functions, *module.globals)}
        into, seen = found.setdefault(module.target, (module, set()))
        if into is not module and not names & seen:
            into.functions += module.functions
            into.globals += module.globals
            into.order += module.order
        if into is module or not names & seen:
            seen |= names
    return [m for m, _ in found.values()]


def compare(name: str, module: nvir.Module) -> None:
    profile = profile_for(module.target)
    start = time.process_time()
    together = tune(module, profile, module.target)
    seconds = time.process_time() - start
    gains = {}
    for k in together.kernels:
        alone = tune(module, profile, module.target, kernels=[k.name])
        gains[k.name] = gain(alone, k.name), gain(together, k.name)
    winners = {k: x for k, x in gains.items() if x[0] * WORSE < 1}
    lost = {k: x for k, x in winners.items() if x[1] > x[0] * WORSE}
    print(f"{name} ({module.target}): {len(gains)} kernels, {len(winners)} with a winner alone, "
          f"{len(winners) - len(lost)} taken; geometric mean "
          f"{mean([x for x, _ in gains.values()]):.3f} alone, "
          f"{mean([x for _, x in gains.values()]):.3f} in the file, {seconds:.1f} s CPU, "
          f"{sum(k.left_out for k in together.kernels)} settings not tried")
    for lost_one, (by_itself, here) in lost.items():
        print(f"  {by_itself:.2f} alone, {here:.2f} in the file: {lost_one}")


def gain(tuning: Tuning, kernel: str) -> float:
    """Cycles at full occupancy of what was taken, over the kernel's own."""
    k = next(k for k in tuning.kernels if k.name == kernel)
    return k.winner.cycles.full / k.candidates[0].cycles.full


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", type=Path, nargs="*")
    parser.add_argument("--join", type=Path)
    given = parser.parse_args()
    for path in given.files:
        compare(path.name, nvir.read_ptx(path))
    for module in joined(sorted(given.join.glob("*.ptx"))) if given.join else ():
        compare(str(given.join), module)


if __name__ == "__main__":
    main()
