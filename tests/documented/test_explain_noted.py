"""`nvir explain --policy documented`: the trace, and the three compilers beside each other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from nvir.cli import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SAXPY = str(EXAMPLES / "ptx" / "saxpy.sm_80.ptx")


def explained(*words: str) -> str:
    run = CliRunner().invoke(main, ["explain", SAXPY, "--no-vary", *words])
    assert run.exit_code == 0, run.output
    return run.output


def test_the_trace_is_told_under_the_documented_policy_alone():
    assert "trace of the noted steps" not in explained()
    assert "trace" not in json.loads(explained("--json"))
    rows = [x.split()[0] for x in explained("--policy", "documented").splitlines() if "-" in x[:6]]
    order = [rows.index(r) for r in ("UNR-01", "UNR-10", "UNR-54", "UNR-14", "UNR-28", "UNR-45",
                                     "SWP-20", "LIC-36")]
    assert order == sorted(order)
    events = json.loads(explained("--policy", "documented", "--json"))["trace"]
    (verdict,) = [e for e in events if e["step"] == "verdict"]
    assert verdict["row"] == "UNR-45"
    assert "action partial, factor 4" in verdict["outcome"]  # its stride is a value of run time
    assert verdict["loop"] == "$L__BB0_2"
    assert {e["loop"] for e in events} == {"$L__BB0_2", None}


@pytest.mark.oracle
def test_compare_sets_the_notes_beside_what_was_observed_and_what_ptxas_did():
    rows = {c["what"]: c for c in json.loads(explained("--compare", "--json"))["compared"]}
    assert list(rows) == ["unrolling", "hoisting", "pipelining"]
    assert rows["unrolling"] == {
        "what": "unrolling",
        "noted": "unrolled 4 times, one test in 4 copies, pieces and the loop for the rest",
        "observed": "the assembler does not unroll the loop", "ptxas": "one copy in the loop",
    }
    assert rows["pipelining"]["ptxas"] == "0 of 2 loads stand ahead of the loop too"
    text = explained("--policy", "documented", "--compare")
    assert "as noted, as observed, and as the installed ptxas did" in text
    assert "ptxas     one copy in the loop" in text


@pytest.mark.oracle
def test_copies_are_counted_where_ptxas_unrolls(tmp_path):
    ptx = tmp_path / "k.ptx"
    ptx.write_text(""".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n) {
.reg .pred %p<3>;
.reg .b32 %r<9>;
.reg .f32 %f<9>;
.reg .b64 %rd<9>;
ld.param.u64 %rd1, [a];
ld.param.u64 %rd2, [b];
ld.param.u32 %r1, [n];
mov.f32 %f1, 0f00000000;
mov.u32 %r2, 0;
L:
ld.global.nc.f32 %f2, [%rd1];
add.f32 %f1, %f1, %f2;
add.s64 %rd1, %rd1, 4;
add.s32 %r2, %r2, 1;
setp.lt.s32 %p1, %r2, %r1;
@%p1 bra L;
st.global.f32 [%rd2], %f1;
ret; }
""")
    run = CliRunner().invoke(main, ["explain", str(ptx), "--no-vary", "--compare", "--json"])
    rows = {c["what"]: c["ptxas"] for c in json.loads(run.output)["compared"]}
    assert rows["unrolling"] == "4 copies in the loop"
