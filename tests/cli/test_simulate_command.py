"""`nvir simulate`: the table, the JSON, the trace file, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nvir.cli import main

PTX = Path(__file__).parents[2] / "examples" / "ptx"
SAXPY = str(PTX / "saxpy.sm_80.ptx")


def nvir(*args: str) -> Result:
    return CliRunner().invoke(main, ["simulate", *args])


def test_the_table_has_a_row_for_each_number_of_warps() -> None:
    result = nvir(SAXPY, "--warps", "1", "--warps", "3")
    assert result.exit_code == 0
    rows = [line.split()[0] for line in result.output.splitlines()[3:]]
    assert rows == ["1", "3"]


def test_json_and_trace(tmp_path: Path) -> None:
    trace = tmp_path / "t.json"
    result = nvir(SAXPY, "--json", "--memory", "dram", "--warps", "2", "--trace", str(trace))
    document = json.loads(result.output)
    assert document["schema"] == "nvir.simulation/1"
    (run,) = document["runs"]
    assert run["main_stall"] == "long_scoreboard"
    assert run["cycles_per_iteration"] > 290  # a load from DRAM stands in the body
    assert json.loads(trace.read_text())["traceEvents"]


def test_a_pipelined_loop_waits_less() -> None:
    def cycles(order: str) -> float:
        result = nvir(SAXPY, "--json", "--order", order, "--warps", "1")
        return float(json.loads(result.output)["runs"][0]["cycles_per_iteration"])

    assert cycles("pipelined") < cycles("list") <= cycles("source")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((SAXPY, "--warps", "0"), "--warps"),
        ((SAXPY, "--memory", "l9"), "--memory"),
        ((SAXPY, "--loop", "nowhere"), "no loop 'nowhere'"),
        (("no such file",), "no such file"),
    ],
)
def test_nonsense_is_told(options: tuple[str, ...], message: str) -> None:
    result = nvir(*options)
    assert result.exit_code in (1, 2)
    assert message in result.output
    assert "Traceback" not in result.output
