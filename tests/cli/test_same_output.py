"""The same input gives the same output: under any hash seed and with any number of workers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SGEMM = str(EXAMPLES / "sgemm.ptx")


def output(words: list[str], hash_seed: str) -> bytes:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(
        [sys.executable, "-m", "nvir", *words], env=environment, capture_output=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize(
    "words", [["report", SGEMM, "--json"], ["opt", SGEMM, "-p", "loops"]], ids=lambda w: w[0]
)
def test_output_does_not_depend_on_the_hash_seed(words: list[str]) -> None:
    assert output(words, "1") == output(words, "4242")


def test_output_does_not_depend_on_the_number_of_workers(tmp_path: Path) -> None:
    text = Path(SGEMM).read_text("utf-8")
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.ptx").write_text(text)
    words = ["report", str(tmp_path), "--json", "-j"]
    assert output([*words, "1"], "0") == output([*words, "3"], "7")
