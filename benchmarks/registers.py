"""Predicted registers against `ptxas -v` on a corpus of real kernels, each kernel counted once.

    python benchmarks/registers.py CORPUS [--half report|choose] [--files N] [--code CACHE]

CORPUS is a folder with `ptx/*.ptx`, `index.json` ({source: {"ptx", "half"}}) and `registers.json`
({file: {kernel: {"sm_80": n, "sm_90": n}}}). The constants of nvir/assembler/regalloc/tables.py and
the rows of nvir/assembler/interval.py were chosen on the half "choose" alone.

With --code each file is assembled and disassembled, and kept in CACHE: then also whether spills are
predicted where there are any, MaxLive against nvdisasm's, and whether the predicted peak is on a
line of the PTX with the most live registers or one fewer.
"""

from __future__ import annotations

import argparse
import json
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs

import nvir
from nvir.assembler.regalloc.targets import block_threads
from nvir.assembler.registers import RegisterEstimate, estimate_registers
from nvir.ir import Function, Module
from nvir.ir.loops import natural_loops
from nvir.report.facts import copies, unrolling
from nvir.sm import profile
from nvir.sm.occupancy import occupancy, static_shared_memory
from nvir.toolchain import disassemble, ptxas

ARCHES = ("sm_80", "sm_90")
THREADS = 256  # a block, of kernels that do not say


@attrs.frozen
class Kernel:
    """A kernel's figures. What needs the machine code is None without it."""

    predicted: int
    real: int
    held: bool  # within the interval
    unrolled: bool
    same_blocks: bool  # blocks per SM
    slow: bool  # has a slow path or a call
    spills: bool | None = None  # said right
    live: int | None = None  # MaxLive predicted less nvdisasm's
    peak: bool | None = None


def machine_code(path: Path, arch: str, cache: Path) -> Any:
    """(figures by kernel, instructions by kernel) of a file, from the cache if it is there."""
    kept = cache / f"{path.name}.{arch}.pkl"
    if not kept.is_file():
        cache.mkdir(parents=True, exist_ok=True)
        made = ptxas(path, arch, 3, ("-lineinfo",))
        assert made.cubin is not None, made.error
        kept.write_bytes(pickle.dumps((made.kernels, disassemble(made.cubin, lines="ptx"))))
    return pickle.loads(kept.read_bytes())


def measure(f: Function, module: Module, arch: str, real: int, code: Any) -> Kernel:
    """The figures of one kernel on one machine."""
    machine = profile(arch)
    factors = copies(natural_loops(f), unrolling(f, module, arch, "observed"))
    e = estimate_registers(f, profile=machine, factors=factors)
    threads, shared = block_threads(f) or THREADS, static_shared_memory(f)
    mine, theirs = (
        occupancy(machine, n, threads, static_smem=shared).blocks_per_sm
        for n in (e.registers, real)
    )
    assert e.prediction is not None
    low, high = e.interval
    slow = any(op.ends for order in e.prediction.orders for op in order)
    plain = Kernel(
        e.registers, real, low <= real <= high, bool(factors), mine == theirs, slow,
    )
    return plain if code is None else _with_code(plain, e, *code, str(f.name))


def _with_code(k: Kernel, e: RegisterEstimate, infos: Any, code: Any, name: str) -> Kernel:
    spilled = bool(infos[name].spill_stores or infos[name].spill_loads)
    live = [(i.live.get("GPR", 0), i.line[1] if i.line else 0) for i in code[name]]
    most = max((n for n, _ in live), default=0)
    lines = {line for n, line in live if n >= most - 1}
    return attrs.evolve(
        k, spills=bool(e.spill_bytes) == spilled, live=e.max_live + 1 - most,
        peak=e.peak is not None and e.peak.line in lines,
    )


def kernels(
    corpus: Path, half: str, files: int | None, cache: Path | None
) -> dict[str, list[Kernel]]:
    """The kernels of a half by architecture."""
    index = json.loads((corpus / "index.json").read_text())
    real = json.loads((corpus / "registers.json").read_text())
    names = sorted({Path(x["ptx"]).name for x in index.values() if x["half"] == half})
    found: dict[str, list[Kernel]] = {arch: [] for arch in ARCHES}
    for name in names[:files]:
        path = corpus / "ptx" / name
        module = nvir.read_ptx(path)
        for arch in ARCHES:
            code = machine_code(path, arch, cache) if cache else None
            for f in module.functions:
                n = real.get(name, {}).get(str(f.name), {}).get(arch)
                if f.blocks and n is not None:
                    f.analyze_cfg()
                    found[arch].append(measure(f, module, arch, n, code))
    return found


def share(found: Sequence[Kernel], holds: Callable[[Kernel], Any]) -> str:
    return f"{sum(bool(holds(k)) for k in found) / max(1, len(found)):4.0%}"


def show(title: str, found: Sequence[Kernel]) -> None:
    within = "  ".join(
        f"±{n} {share(found, lambda k, n=n: abs(k.predicted - k.real) <= n)}" for n in (1, 2, 4)
    )
    mean = sum(k.predicted - k.real for k in found) / max(1, len(found))
    text = f"{title:<20}{len(found):5} kernels  {within}  mean {mean:+.1f}  interval "
    text += f"{share(found, lambda k: k.held)}  blocks/SM {share(found, lambda k: k.same_blocks)}"
    if found and found[0].live is not None:
        text += f"  MaxLive ±2 {share(found, lambda k: abs(k.live or 0) <= 2)}"
        text += f"  peak {share(found, lambda k: k.peak)}"
        text += f"  spills {share(found, lambda k: k.spills)}"
    print(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--half", default="report", choices=("report", "choose"))
    parser.add_argument("--files", type=int, default=None, metavar="N")
    parser.add_argument("--code", type=Path, default=None, metavar="CACHE")
    given = parser.parse_args()
    for arch, found in kernels(given.corpus, given.half, given.files, given.code).items():
        show(arch, found)
        show(f"{arch}, unrolled", [k for k in found if k.unrolled])
        show(f"{arch}, above 32", [k for k in found if max(k.predicted, k.real) > 32])
        show(f"{arch}, slow paths", [k for k in found if k.slow])


if __name__ == "__main__":
    main()
