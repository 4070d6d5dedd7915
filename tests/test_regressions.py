"""What the campaigns found once (benchmarks/fuzz.py): each text is answered now."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz_inputs import fault
from tests.fuzz_jobs import JOBS

FOLDER = Path(__file__).parent / "regressions"
FOUND = sorted(p for p in FOLDER.glob("*/*") if p.is_file())


@pytest.mark.parametrize("path", FOUND, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_text_that_once_broke_nvir_is_answered(path: Path) -> None:
    """The folder is the kind of input, the name begins with the way that was gone."""
    text = path.read_bytes().decode("utf-8", "surrogatepass")
    assert fault(JOBS[path.parent.name], text, path.name.partition("-")[0]) is None


def test_there_are_some() -> None:
    assert {p.parent.name for p in FOUND} >= {"ptx"}
