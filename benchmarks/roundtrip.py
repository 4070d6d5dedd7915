"""Registers and code size of what nvir prints, against the text that it read.

    python benchmarks/roundtrip.py [--shuffle] [--passes P] [--all] [--limit N]
                                   [--max-size BYTES] [FILE …]

Each file is read, printed and assembled by ptxas beside the original. Printed are the
geometric means over all kernels of registers and SASS instructions, printed over original,
every kernel above 1.05 (`--all`: every one that differs), and every file that ptxas takes
only in one form.

`--shuffle` first renames every register and shuffles the blocks (the entry stays first);
`--passes copy-prop,gvn,dce` first runs these passes. Files default to examples/ptx and the
collection that tests/corpus.py describes.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import corpus

from nvir.ir import Module
from nvir.ptx.printer import print_ptx
from nvir.ptx.reader import read_ptx
from nvir.toolchain import PtxasResult, code_sections, ptxas

_NOP = 0x918  # the low twelve bits of the padding behind a kernel's code


@attrs.frozen
class Figures:
    """Of one kernel or function: registers (None where ptxas tells none) and SASS instructions."""

    registers: int | None
    instructions: int


def figures(result: PtxasResult) -> dict[str, Figures]:
    """Registers and code size of each piece of code in a cubin."""
    infos = {**result.functions, **result.kernels}
    found = {}
    for name, code in code_sections(result.cubin or b"").items():
        words = [int.from_bytes(code[k : k + 2], "little") & 0xFFF for k in range(0, len(code), 16)]
        while words and words[-1] == _NOP:
            words.pop()
        info = infos.get(name)
        found[name] = Figures(info.registers if info is not None else None, len(words))
    return found


def shuffle(module: Module, seed: int = 0) -> None:
    """Rename every register and put the blocks in random order, entry first."""
    rng = random.Random(seed)
    for f in module.functions:
        if not f.blocks:
            continue
        for k, i in enumerate(f.instructions()):
            for j, v in enumerate(i.results):
                if v.name != "_":
                    v.name = f"%z{(k * 7919) % 1000003}_{j}x"
        rest = f.blocks[1:]
        rng.shuffle(rest)
        f.blocks[1:] = rest


def printed(text: str, *, shuffled: bool = False, passes: str = "") -> str:
    """The text as nvir prints it back, after renaming and shuffling or passes if wanted."""
    module = read_ptx(text)
    if shuffled:
        shuffle(module)
    if passes:
        from nvir import run_passes

        run_passes(module, passes)
    return print_ptx(module)


@attrs.define
class Comparison:
    """One file: a problem, or the figures of each kernel before and after."""

    name: str
    problem: str = ""
    pairs: dict[str, tuple[Figures, Figures]] = attrs.Factory(dict)


def compare(
    path: Path, arch: str | None, *, shuffled: bool = False, passes: str = ""
) -> Comparison:
    """Assemble a file and its round trip; what differs in kind is the problem."""
    out = Comparison(path.name)
    original = path.read_text(errors="replace")
    try:
        again = printed(original, shuffled=shuffled, passes=passes)
    except Exception as e:  # a benchmark reports whatever goes wrong and goes on
        out.problem = f"{type(e).__name__}: {str(e).splitlines()[0]}"
        return out
    before = ptxas(original, arch)
    after = ptxas(again, arch)
    if before.ok and not after.ok:
        out.problem = f"refused: {after.error}"
    elif before.ok:
        old, new = figures(before), figures(after)
        if old.keys() != new.keys():
            out.problem = f"other functions: {', '.join(sorted(old.keys() ^ new.keys()))[:200]}"
        out.pairs = {name: (old[name], new[name]) for name in old.keys() & new.keys()}
    return out


def _geomean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0


def _inputs(options: argparse.Namespace) -> list[tuple[Path, str | None]]:
    if options.files:
        known = {e.path.name: e.arch for e in corpus.corpus()}
        return [(Path(f), known.get(Path(f).name)) for f in options.files]
    found: list[tuple[Path, str | None]] = [(p, None) for p in corpus.examples()]
    found += [(e.path, e.arch) for e in corpus.corpus() if e.size <= options.max_size]
    if options.limit:
        random.Random(1).shuffle(found)
    return found[: options.limit or None]


def main() -> int:
    parser = argparse.ArgumentParser(description="nvir's PTX against what it read, through ptxas")
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--passes", default="")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--max-size", type=int, default=400_000)
    options = parser.parse_args()

    def job(item: tuple[Path, str | None]) -> Comparison:
        return compare(*item, shuffled=options.shuffle, passes=options.passes)

    registers: list[float] = []
    sizes: list[float] = []
    same = problems = 0
    with ThreadPoolExecutor(2) as pool:
        for c in pool.map(job, _inputs(options)):
            if c.problem:
                problems += 1
                print(f"PROBLEM {c.name}: {c.problem}")
            for name, (old, new) in c.pairs.items():
                same += old == new
                size = new.instructions / max(old.instructions, 1)
                sizes.append(size)
                ratio = 1.0
                if old.registers and new.registers:
                    ratio = new.registers / old.registers
                    registers.append(ratio)
                if max(size, ratio) > 1.05 or (options.all and old != new):
                    print(f"differs: {c.name} {name[:60]}: registers {old.registers} -> "
                          f"{new.registers}, instructions {old.instructions} -> "
                          f"{new.instructions}")
    print(
        f"{len(sizes)} functions, {same} the same in both figures, {problems} files with problems\n"
        f"registers x{_geomean(registers):.5f}, instructions x{_geomean(sizes):.5f} "
        "(geometric means, printed over original)"
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
