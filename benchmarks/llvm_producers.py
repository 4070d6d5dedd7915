"""LLVM text of real producers through nvir, held against LLVM's and NVIDIA's own compilers.

    python benchmarks/llvm_producers.py FOLDER [--only accept,round,code,runs,speed] [--json F]

FOLDER holds a folder for each producer (`clang`, `numba`, `triton`, …) of `.ll` files;
benchmarks/producers makes such. Beside NAME.ll may lie NAME.ptx, what the producer itself made of
it (Numba's and Triton's pipelines fuse products and sums whatever the text says, so nvir is told
to), and NAME.json, how its kernels are launched: `{"kernel": [argument, …]}`, where an argument is
`["buffer", dtype, count]` or `[dtype, value]`. Without the first, llc makes the PTX; without the
second, pointers get a buffer of small numbers and numbers are 8.

    accept   of the files whose reference ptxas takes: those whose -O3 PTX it takes too
    round    printed again: taken by `opt` (llvm20) and libnvvm (both dialects), the same PTX after
    code     registers and SASS instructions by the reference's, geometric means over the kernels
    runs     kernels that leave every buffer as the reference's PTX does, on the interpreter
    speed    reading by llvmlite's time, of the file as it is where LLVM takes it, else as nvir
             prints it; instructions a second of -O3; CPU time both. All files were compiled once
             before, so nothing is imported here (the start of a process is another benchmark's
             matter), and what reading left is collected before the passes run

What a missing tool would tell is left out, with a line that says so.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import pathlib
import re
import shutil
import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

import nvir
from nvir import toolchain
from nvir.passes.presets import preset

PARTS = ("accept", "round", "code", "runs", "speed")
LLC = ("llc-19", "llc")
OPT = ("opt-19", "opt")
SPACE = 1 << 14  # bytes of a buffer whose type is not told


@attrs.define
class File:
    """One file: its text, nvir's PTX and the reference's, and why either is missing."""

    path: pathlib.Path
    text: str
    arch: str
    ptx: str | None = None
    failure: str = ""
    reference: str | None = None
    fuses: bool = False
    spec: dict[str, Any] = attrs.field(factory=dict)


def run(*command: str, text: str | None = None) -> tuple[int, str, str]:
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def load(path: pathlib.Path) -> File:
    text = path.read_text()
    found = re.findall(r'"target-cpu"="(sm_\d+a?)"', text)
    arch = found[0] if found else "sm_90a" if ".sm90" in path.name else "sm_80"
    if int(re.sub(r"\D", "", arch)) < 75:
        arch = "sm_80"  # ptxas takes no older ones
    f = File(path, text, arch)
    own, spec = path.with_suffix(".ptx"), path.with_suffix(".json")
    if own.exists():
        f.reference = own.read_text()
    else:
        f.reference = by_llc(f)
    if f.reference is not None and toolchain.ptxas(f.reference, arch).cubin is None:
        f.reference = None
    if spec.exists():
        f.spec = json.loads(spec.read_text())
    f.fuses = own.exists()
    try:
        f.ptx = compiled(f, text)
        made = toolchain.ptxas(f.ptx, arch)
        if made.cubin is None:
            f.ptx, f.failure = None, f"ptxas: {made.error}"
    except nvir.NvirError as e:
        f.failure = str(e)
    return f


def by_llc(f: File) -> str | None:
    for tool in LLC:
        if shutil.which(tool) is None:
            continue
        code, out, _ = run(tool, "-march=nvptx64", f"-mcpu={f.arch}", "-mattr=+ptx71", "-O3",
                           str(f.path), "-o", "-")
        if code == 0:
            return out
    return None


def compiled(f: File, text: str) -> str:
    module = nvir.read_ll(text)
    module.target = f.arch
    nvir.run_passes(module, pipeline(f))
    return nvir.print_ptx(module)


def pipeline(f: File) -> str:
    how = "select<fp-contract=fast>" if f.fuses else "select"
    return preset(3).replace(",select,", f",{how},")


# ---------------------------------------------------------------------- round


def round_trip(f: File) -> dict[str, bool]:
    """What takes the file when nvir has printed it, by tool and dialect."""
    out: dict[str, bool] = {}
    for dialect, arch in (("llvm20", "sm_100"), ("llvm7", max("sm_80", f.arch[:5]))):
        try:
            module = nvir.read_ll(f.text)
            plain = nvir.print_ll(module, "llvm20") if dialect == "llvm20" else ""
            nvir.run_passes(module, f"legalize<dialect={dialect}>")
            text = nvir.print_ll(module, dialect)
        except nvir.NvirError as e:
            out[f"libnvvm {dialect}"] = False
            print(f"  {f.path.parent.name}/{f.path.name}: {dialect}: {str(e)[:200]}")
            continue
        if plain:
            tool = next((t for t in OPT if shutil.which(t)), None)
            if tool:
                code, _, err = run(tool, "-passes=verify", "-S", "-o", "/dev/null", "-", text=plain)
                out["opt llvm20"] = code == 0
                if code:
                    print(f"  {f.path.parent.name}/{f.path.name}: opt: {err[:300]}")
            if f.ptx is not None:
                out["same code"] = compiled(f, plain) == f.ptx
        verdict = toolchain.libnvvm.verify(text, arch)
        out[f"libnvvm {dialect}"] = verdict.ok
        if not verdict.ok:
            print(f"  {f.path.parent.name}/{f.path.name}: {dialect}: {verdict.log.strip()[:300]}")
    return out


# ----------------------------------------------------------------------- code


def measure(ptx: str, arch: str) -> dict[str, tuple[int, int]]:
    """Registers and SASS instructions of each kernel."""
    result = toolchain.ptxas(ptx, arch)
    assert result.cubin is not None
    bodies = toolchain.disassemble(result.cubin, live=False)
    return {
        name: (info.registers or 0,
               sum(i.opcode.partition(".")[0] != "NOP" for i in bodies.get(name, ())))
        for name, info in result.kernels.items() if info.kind == "entry"
    }


def mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


# ----------------------------------------------------------------------- runs


def arguments(kernel: Any, spec: list[Any] | None, seed: int) -> list[Any]:
    """What a kernel is launched with: fresh arrays of the same numbers each time."""
    rng = np.random.default_rng(seed)
    if spec is not None:
        return [buffer(rng, x[1], x[2]) if x[0] == "buffer" else
                None if x[0] == "null" else np.dtype(x[0]).type(x[1]) for x in spec]
    out: list[Any] = []
    for p in kernel.params:
        kind, size = p.element_type.name, int(np.prod(p.dimensions or (1,)))
        if p.dimensions:
            out.append(bytes(size))
        elif kind.endswith("64") and not kind.startswith("f"):
            out.append(rng.integers(0, 4, SPACE, dtype=np.uint8))
        elif kind.startswith("f"):
            out.append(np.float32(2.0) if kind == "f32" else np.float64(2.0))
        else:
            out.append(np.dtype(f"u{int(kind[1:]) // 8}").type(8))
    return out


def buffer(rng: Any, kind: str, count: int) -> Any:
    t = np.dtype(kind)
    values = rng.random(count) * 4 if t.kind == "f" else rng.integers(0, 8, count)
    return values.astype(t)


def same_results(f: File, kernel: str) -> bool | None:
    """Whether both leave the same; None where the reference cannot be launched so."""
    states = []
    for ptx in (f.reference, f.ptx):
        assert ptx is not None
        module = nvir.read_ptx(ptx)
        entry = next(k for k in module.functions if k.name == kernel)
        given = arguments(entry, f.spec.get(kernel), 7)
        block = entry.directives.get("reqntid") or (32,)
        try:
            nvir.launch(module, kernel, 1, tuple(block), given, 8192, max_steps=10**6)
        except nvir.NvirError as e:
            if not states:
                return None
            print(f"  {f.path.name} {kernel}: {str(e)[:200]}")
            return False
        states.append(given)
    return all(same(a, b) for a, b in zip(*states, strict=True))


def same(a: Any, b: Any) -> bool:
    if not isinstance(a, np.ndarray):
        return True
    if a.dtype.kind == "f":
        return bool(np.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True))
    return a.tobytes() == b.tobytes()


# ---------------------------------------------------------------------- speed


def speed(files: list[File]) -> tuple[float, float, int]:
    """CPU seconds that reading takes, by llvmlite's; instructions a second of -O3."""
    import llvmlite.binding as llvm

    ours = theirs = passes = 0.0
    count = 0
    for f in files:
        try:
            module = nvir.read_ll(f.text)
        except nvir.NvirError:
            continue
        text = f.text
        try:
            llvm.parse_assembly(text)
        except RuntimeError:  # an older dialect's
            text = nvir.print_ll(module, "llvm20")
        ours += best(nvir.read_ll, lambda text=text: text)
        theirs += best(llvm.parse_assembly, lambda text=text: text)
        if f.ptx is None:
            continue
        count += sum(1 for g in module.functions for _ in g.instructions())
        passes += best(lambda m, f=f: nvir.run_passes(m, pipeline(f)),
                       lambda f=f: nvir.read_ll(f.text))
    return ours / theirs, count / passes, count


def best(work: Callable[[Any], Any], given: Callable[[], Any]) -> float:
    """CPU seconds of the quickest of three runs, each on what `given` makes anew."""
    times = []
    for _ in range(3):
        it = given()
        gc.collect()
        start = time.process_time()
        work(it)
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--each", action="store_true", help="the ratios of each kernel")
    options = parser.parse_args()
    parts = options.only.split(",")
    figures: dict[str, dict[str, Any]] = {}
    for tools in (LLC, OPT):
        if not any(map(shutil.which, tools)):
            print(f"none of {', '.join(tools)} is installed: what it would judge is left out")
    for folder in sorted(p for p in options.folder.iterdir() if p.is_dir()):
        files = [load(p) for p in sorted(folder.glob("*.ll"))]
        if files:
            figures[folder.name] = judged(folder.name, files, parts, options.each)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))


def judged(name: str, files: list[File], parts: list[str], each: bool) -> dict[str, Any]:
    out: dict[str, Any] = {}
    good = [f for f in files if f.reference is not None]
    both = [f for f in good if f.ptx is not None]
    for f in files:
        if f.ptx is None:
            said = "" if f.reference else " (nor does the reference)"
            print(f"  {name}/{f.path.name}: {f.failure[:200]}{said}")
    out["accepted"] = (len(both), len(good))
    print(f"{name:8} {len(files)} files; of {len(good)} that the reference takes, {len(both)} go "
          "through")
    if "round" in parts:
        sums: Counter[str] = Counter()
        of: Counter[str] = Counter()
        for f in files:
            for key, ok in round_trip(f).items():
                sums[key] += ok
                of[key] += 1
        out["round"] = {k: (sums[k], of[k]) for k in of}
        print(f"{name:8} printed again: " + ", ".join(f"{k} {sums[k]} of {of[k]}" for k in of))
    if "code" in parts:
        ratios: dict[str, list[float]] = defaultdict(list)
        for f in both:
            ours, theirs = measure(f.ptx or "", f.arch), measure(f.reference or "", f.arch)
            for kernel in ours.keys() & theirs.keys():
                a, b = ours[kernel], theirs[kernel]
                if 0 in b or 0 in a:
                    continue
                ratios["registers"].append(a[0] / b[0])
                ratios["SASS"].append(a[1] / b[1])
                if each:
                    print(f"  {f.path.name:28} {kernel[:40]:40} {a} {b} {a[1] / b[1]:.2f}")
        out["code"] = {k: mean(v) for k, v in ratios.items()}
        print(f"{name:8} of {len(ratios['SASS'])} kernels: "
              + ", ".join(f"{k} {mean(v):.3f}" for k, v in ratios.items()))
    if "runs" in parts:
        verdicts: Counter[bool | None] = Counter()
        for f in both:
            for g in nvir.read_ptx(f.ptx or "").functions:
                if g.is_kernel:
                    verdict = same_results(f, str(g.name))
                    verdicts[verdict] += 1
                    if verdict is False:
                        print(f"  {name}/{f.path.name}: {g.name} differs")
        out["runs"] = {str(k): n for k, n in verdicts.items()}
        launched = verdicts[True] + verdicts[False]
        print(f"{name:8} runs: {verdicts[True]} of {launched} kernels equal, "
              f"{verdicts[None]} that cannot be launched so")
    if "speed" in parts:
        reading, passing, n = speed(files)
        out["speed"] = (reading, passing)
        print(f"{name:8} reading {reading:.1f} times llvmlite's; -O3 {passing:,.0f} instructions a "
              f"second ({n})")
    return out


if __name__ == "__main__":
    main()
