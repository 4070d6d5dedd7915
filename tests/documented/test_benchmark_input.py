"""The comparison with ptxas on input that it cannot take: one line that says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.documented_vs_observed import Judged, tables

ROOT = Path(__file__).resolve().parents[2]
GOOD = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n"


def benchmark(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.documented_vs_observed", *words], cwd=ROOT,
        capture_output=True, text=True, check=False,
    )


@pytest.mark.oracle
@pytest.mark.parametrize(("words", "said"), [
    (("--files", "/no/such/folder"), "error: no such file or folder: /no/such/folder"),
    ((), "error: no PTX files in no --files"),
    (("--arch", "sm_99999", "--files", "{}"), "error: ptxas has no architecture 'sm_99999'"),
])
def test_wrong_arguments_are_one_line(words, said, tmp_path):
    (tmp_path / "good.ptx").write_text(GOOD)
    made = benchmark(*(w.format(tmp_path) for w in words))
    assert made.returncode == 1
    assert made.stderr.startswith(said)
    assert len(made.stderr.splitlines()) == 1


@pytest.mark.oracle
def test_what_ptxas_does_not_take_is_named(tmp_path):
    (tmp_path / "bad.ptx").write_text("garbage\n")
    made = benchmark("--arch", "sm_80", "--files", str(tmp_path))
    assert f"{tmp_path}/bad.ptx: left out for sm_80: " in made.stderr
    assert made.returncode == 0


@pytest.mark.oracle
def test_a_loop_whose_load_left_it_is_not_taken_for_gone(tmp_path):
    """ptxas hoists the load and unrolls the rest by four: the load's line says nothing of that."""
    (tmp_path / "k.ptx").write_text(""".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n) {
.reg .pred %p<3>; .reg .b32 %r<30>; .reg .b64 %rd<9>;
ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; cvta.to.global.u64 %rd2, %rd1;
mov.u32 %r2, 0; mov.u32 %r3, 0;
L:
ld.global.u32 %r20, [%rd2+64];
add.u32 %r3, %r3, %r20;
add.u32 %r3, %r3, %r2;
add.s32 %r2, %r2, 1;
setp.lt.s32 %p1, %r2, %r1;
@%p1 bra L;
st.global.u32 [%rd2], %r3; ret; }
""")
    made = benchmark("--arch", "sm_80", "--misses", "--files", str(tmp_path))
    assert made.returncode == 0, made.stderr
    assert "ptxas full" not in made.stdout
    assert "| P: partial unrolling | 1 | none | – |" in made.stdout


def judged(name: str, step: str, noted: str, ptxas: str | None) -> Judged:
    return Judged(name, "unrolling", step, noted, ptxas)


def test_what_ptxas_refutes_is_counted_with_a_loop_that_shows_it():
    """By what each said; what is not clear, and what is the same, is no difference."""
    same = [judged(f"s{n}", "M", "none", "none") for n in range(299)]
    found = {"sm_80": [*same, judged("longer", "P", "partial 4", "none"),
                       judged("odd", "M", "none", "full")],
             "sm_90": [*same, judged("short", "P", "partial 4", "none"),
                       judged("far", "P", "partial 4", "none"), judged("x", "M", "none", None)]}
    out = "\n".join(tables(found))
    head, rows = out.rsplit("\n\n", 1)[1].split("\n", 1)
    assert head == ("| where they differ | settled by | noted | ptxas | sm_80 | sm_90 "
                    "| for example |")
    assert rows.split("\n")[1:] == [
        "| unrolling | P | partial 4 | none | 1 | 2 | `far` |",
        "| unrolling | M | none | full | 1 | 0 | `odd` |"]
    assert "| M | 300 | 299 of 300 | 99 % | 299 of 299 | 100 % |" in out


def test_there_is_no_table_of_differences_where_there_are_none():
    assert "where they differ" not in "\n".join(tables({"sm_80": [judged("a", "M", "none", "none"),
                                                                  judged("b", "M", "none", None)]}))
