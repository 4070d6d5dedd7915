"""What the commands print of many files, written out: a change of the inside is to change none.

    python -m benchmarks.replay /tmp/before                 # on the old tree
    python -m benchmarks.replay /tmp/after                  # on the new one
    diff -r /tmp/before /tmp/after                          # byte for byte

Each file (examples by default; name others, or folders, with --file) goes through every command of
its language: PTX is read and printed, optimised under both policies with its remarks, reported,
explained, scheduled, simulated and printed as nvir's own text; CUDA and trees are compiled, printed
as LLVM text (which is read again and compiled), as nvir's and as PTX; what the cases of the trees
compute is kept. `--quick` takes every ninth file.
"""

from __future__ import annotations

import argparse
import runpy
import sys
import traceback
import zlib
from pathlib import Path

import numpy as np
from click.testing import CliRunner

import nvir
from nvir.cli import main as command

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
LOOPS = "loop-simplify,loop-rotate,licm,strength-reduce,loop-pipeline,loop-unroll,gvn,dce"
SCALAR = "sroa,mem2reg,inst-combine,inline,gvn,simplify-cfg,lower-aggr-copies,dce"
PTX = {
    "print": "opt {f}", "ori": "opt {f} --emit ori", "check": "check {f}",
    "opt": "opt {f} --emit ori --remarks . -p " + LOOPS,
    "documented": "opt {f} --policy documented --remarks . -p " + LOOPS,
    "tiles": "opt {f} --remarks . -p loop-simplify,gemm-pipeline,loop-fuse,gvn,if-convert,dce",
    "report": "report {f} --json --schedule", "lines": "report {f} --lines",
    "page": "report {f} --html", "explain": "explain {f} --json --no-vary",
    "words": "explain {f} --no-vary --policy documented",
    "schedule": "schedule {f} --json --lifetimes", "postra": "schedule {f} --post-ra --spread",
    "simulate": "simulate {f} --json", "cfg": "cfg {f}",
}
SOURCE = {
    "ptx": "compile {f}", "O1": "compile {f} -O 1 --arch sm_90 --emit ori",
    "nvvm": "compile {f} -O 0 --emit nvvm", "tree": "compile {f} --emit tree",
    "ll": "compile {f} --emit ll -O 0 -o {d}/x.ll", "again": "compile {d}/x.ll --emit ori",
    "opt": "opt {d}/x.ll --emit ll --dialect llvm7 -p " + SCALAR,
    "report": "report {f} --json",
}


def run(arguments: str, file: Path, scratch: Path) -> str:
    """What a command prints, with how it ends."""
    words = [w.format(f=file, d=scratch) for w in arguments.split()]
    result = CliRunner().invoke(command, words)
    if result.exception and not isinstance(result.exception, SystemExit):
        traceback.print_exception(result.exception, file=sys.stderr)
        return f"{result.output}\n{result.exception!r}\n"
    text = f"{result.output}\nexit {result.exit_code}\n"
    return text.replace(str(scratch), "").replace(str(EXAMPLES.parent), "")


def computed(file: Path) -> str:
    """The bytes that the case of a tree computes at both levels, as a checksum."""
    program = runpy.run_path(str(file))
    out = []
    for level in ("ori", "nvvm"):
        module = nvir.compiler.compile_tree(program["tree"](), "sm_80", level=level)
        kernel, grid, block, args, *_ = program["case"]()
        args = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        result = nvir.launch(module, kernel, grid, block, args)
        arrays = [zlib.crc32(a.tobytes()) for a in args if isinstance(a, np.ndarray)]
        out.append(f"{level} {arrays} {result.stdout}")
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--file", type=Path, action="append", help="files or folders to take")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    scratch = options.out.with_name(options.out.name + ".scratch")
    scratch.mkdir(parents=True, exist_ok=True)
    given = options.file or [EXAMPLES, EXAMPLES / "ptx", EXAMPLES / "trees"]
    files = [f for p in given for f in (sorted(p.iterdir()) if p.is_dir() else [p])
             if f.suffix in (".ptx", ".cu") or (f.parent.name == "trees" and f.suffix == ".py")]
    for file in files[:: 9 if options.quick else 1]:
        folder = options.out / file.name
        folder.mkdir(parents=True, exist_ok=True)
        for name, arguments in (PTX if file.suffix == ".ptx" else SOURCE).items():
            (folder / name).write_text(run(arguments, file, scratch))
        if file.suffix == ".py":
            (folder / "computed").write_text(computed(file))


if __name__ == "__main__":
    main()
