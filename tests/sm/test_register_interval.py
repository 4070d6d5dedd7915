"""The interval of a predicted register count: around it, within the kernel's own limit."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from corpus import examples

import nvir
from nvir.assembler.registers import estimate_registers
from nvir.cli import main

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"


@pytest.mark.parametrize("path", examples("*.sm_80.ptx")[::4], ids=lambda p: p.stem)
def test_it_holds_the_prediction_and_stays_below_the_limit(path):
    for f in nvir.read_ptx(path).functions:
        if f.blocks:
            e = estimate_registers(f)
            low, high = e.interval
            assert 4 <= low <= e.registers <= high <= 255


def test_a_limit_of_the_kernel_s_own_bounds_it():
    text = HEAD + (
        ".visible .entry k(.param .u64 a) .maxnreg 16\n{\n.reg .b64 %rd<3>; .reg .b32 %r<3>;\n"
        "ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; st.global.u32 [%rd1], %r1; ret;\n}\n"
    )
    (f,) = nvir.read_ptx(text).functions
    assert estimate_registers(f).interval[1] <= 16


def test_the_report_has_it_and_says_where_the_figure_is_from():
    (path,) = examples("saxpy.sm_80.ptx")
    run = CliRunner().invoke(main, ["report", str(path), "--json", "--model"])
    found = json.loads(run.stdout)["functions"][0]["registers"]
    assert found["source"] == "model"
    low, high = found["interval"]
    assert low <= found["predicted"] <= high
    assert f"({low} to {high})" in CliRunner().invoke(main, ["report", str(path), "--model"]).output
