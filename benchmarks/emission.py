"""What the assembler makes of each example before and after a preset: registers, spills, SASS.

    python benchmarks/emission.py [--preset emission] [--kernels] [--only NAME] [--json out.json]

Each file of examples/ptx is assembled by the real ptxas (-O3) as it is, and as nvir prints it after
the preset. Instructions are those of the machine code without padding. The claim for the emission
preset: geometric means of registers and instructions at most 1.00, and no kernel that spills and
did not, or spills more. `--preset` takes any pipeline, which is how the preset was chosen.
"""

from __future__ import annotations

import argparse
import json
import math
import struct
import sys
from pathlib import Path
from typing import Any

import attrs

import nvir
from nvir import toolchain

EXAMPLES = Path(__file__).resolve().parents[1] / "examples" / "ptx"
_NOP = 0x918


@attrs.frozen
class Made:
    """What one kernel costs: `spills` in bytes a thread, stores and loads together."""

    registers: int
    spills: int
    instructions: int


def instructions(code: bytes) -> int:
    words = [w for w, _ in struct.iter_unpack("<QQ", code)]
    return sum(w & 0xFFF != _NOP for w in words)


def assembled(text: str, arch: str) -> dict[str, Made]:
    """The kernels of a module, as ptxas makes them."""
    result = toolchain.ptxas(text, arch=arch)
    if not result.ok:
        raise SystemExit(f"ptxas refuses: {result.error}")
    assert result.cubin is not None
    code = toolchain.code_sections(result.cubin)
    return {
        name: Made(k.registers or 0, k.spill_stores + k.spill_loads, instructions(code[name]))
        for name, k in result.kernels.items() if name in code
    }


def compare(path: Path, pipeline: str) -> list[tuple[str, Made, Made]]:
    module = nvir.read_ptx(path)
    arch = module.target
    before = assembled(path.read_text(), arch)
    if pipeline:
        nvir.run_passes(module, pipeline)
    after = assembled(nvir.print_ptx(module), arch)
    return [(f"{path.stem}:{name}", made, after[name]) for name, made in before.items()]


def geometric(pairs: list[tuple[int, int]]) -> float:
    return math.exp(sum(math.log(b / a) for a, b in pairs) / max(len(pairs), 1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="emission", help="a preset, or any pipeline")
    parser.add_argument("--kernels", action="store_true", help="show kernels that change")
    parser.add_argument("--only", default="", help="examples whose name holds this")
    parser.add_argument("--json")
    args = parser.parse_args()
    if not toolchain.available("ptxas"):
        print("skipped: no ptxas")
        return 0
    rows: list[tuple[str, Made, Made]] = []
    for path in sorted(p for p in EXAMPLES.glob("*.ptx") if args.only in p.name):
        rows += compare(path, args.preset)
    summary = summarise(rows)
    if args.kernels:
        for name, a, b in rows:
            if a != b:
                print(
                    f"{name[:60]:<60} registers {a.registers:>4} {b.registers:>4}"
                    f"   spills {a.spills:>4} {b.spills:>4}"
                    f"   instructions {a.instructions:>6} {b.instructions:>6}"
                )
    print(f"{args.preset}: {len(rows)} kernels")
    for key, value in summary.items():
        print(f"  {key:<22} {value:.4f}" if isinstance(value, float) else f"  {key:<22} {value}")
    if args.json:
        with open(args.json, "w") as f:
            json.dump(summary, f, indent=1)
    return 0


def summarise(rows: list[tuple[str, Made, Made]]) -> dict[str, Any]:
    return {
        "registers": geometric([(a.registers, b.registers) for _, a, b in rows]),
        "instructions": geometric([(a.instructions, b.instructions) for _, a, b in rows]),
        "fewer registers": sum(b.registers < a.registers for _, a, b in rows),
        "more registers": sum(b.registers > a.registers for _, a, b in rows),
        "fewer instructions": sum(b.instructions < a.instructions for _, a, b in rows),
        "more instructions": sum(b.instructions > a.instructions for _, a, b in rows),
        "new spills": sum(b.spills > a.spills for _, a, b in rows),
    }


if __name__ == "__main__":
    sys.exit(main())
