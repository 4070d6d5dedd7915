"""The scalar passes leave the real assembler no worse off."""

from __future__ import annotations

from pathlib import Path

import pytest

import nvir
from nvir.toolchain import code_sections, ptxas

EXAMPLES = Path(__file__).parents[2] / "examples" / "ptx"


def figures(text: str) -> tuple[int, int]:
    """Registers of all kernels, and bytes of code."""
    done = ptxas(text, arch=None)
    assert done.ok, done.error
    assert done.cubin is not None
    registers = sum(k.registers or 0 for k in done.kernels.values())
    return registers, sum(map(len, code_sections(done.cubin).values()))


def compare(files: list[Path]) -> tuple[float, float]:
    """(registers, code size) after `copy-prop,gvn,dce`, as ratios to the originals."""
    totals = [0, 0, 0, 0]
    for path in files:
        text = path.read_text()
        module = nvir.read_ptx(text)
        nvir.run_passes(module, "copy-prop,gvn,dce")
        for k, n in enumerate((*figures(text), *figures(nvir.print_ptx(module)))):
            totals[k] += n
    return totals[2] / totals[0], totals[3] / totals[1]


@pytest.mark.oracle
def test_registers_and_size_stay():
    """Over every third example; single kernels go either way by some instructions."""
    registers, size = compare(sorted(EXAMPLES.glob("*.ptx"))[::3])
    assert registers <= 1.01
    assert size <= 1.02


@pytest.mark.oracle
@pytest.mark.slow
def test_registers_and_size_stay_over_all_examples():
    registers, size = compare(sorted(EXAMPLES.glob("*.ptx")))
    assert registers <= 1.01
    assert size <= 1.02
