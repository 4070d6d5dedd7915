"""The same module prints the same text, wherever its objects lie in memory.

The order of a set of objects follows their addresses, so a walk over one shows as texts that
differ between runs. Blocks of other objects in between move the addresses about.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import nvir

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "ptx"
PIPELINE = "loop-simplify,loop-unroll<factor=3;remainder=pieces>,licm<id=0>"


@pytest.mark.parametrize("pipeline", ["", PIPELINE, "loops"])
@pytest.mark.parametrize("name", ["sgemm.sm_80", "nested_break.sm_80", "switch_heavy.sm_80"])
def test_the_text_does_not_depend_on_addresses(name: str, pipeline: str) -> None:
    rng = random.Random(1)
    source = (EXAMPLES / f"{name}.ptx").read_bytes()
    between: list[list[bytearray]] = []
    texts = set()
    for _ in range(8):
        between.append([bytearray(rng.randrange(1, 200)) for _ in range(rng.randrange(3000))])
        if rng.random() < 0.5:
            between.pop(rng.randrange(len(between)))
        module = nvir.read_ptx(source)
        if pipeline:
            nvir.run_passes(module, pipeline)
        texts.add(nvir.print_ptx(module))
    assert len(texts) == 1
