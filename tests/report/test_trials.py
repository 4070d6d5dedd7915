"""Advice carried out: in the text of PTX and of sources, and by the compilers that are there."""

from __future__ import annotations

import json
from pathlib import Path

import attrs
import pytest
from click.testing import CliRunner
from corpus import EXAMPLES

import nvir
from nvir import toolchain
from nvir.cli import main
from nvir.report import report
from nvir.report.explain import trials
from nvir.report.explain.advice import Advice, relax
from nvir.report.explain.trials import (
    Advised,
    Trials,
    parameter_names,
    with_attribute,
    with_bounds,
    with_pragma,
    with_restrict,
)
from nvir.report.real import RealCode, RealFigures
from nvir.sm import profile

SM80 = profile("sm_80")
PTX = ".visible .entry a(\n.param .u64 p\n)\n.minnctapersm 4\n{ ret; }\n.entry b()\n{ ret; }\n"
LIMIT = Advice("registers", 64, 64, 4, "at most 64 registers; it may spill")


def test_launch_bounds_go_where_nvcc_puts_them() -> None:
    text = with_bounds(PTX, {"a": (128, 8)})
    assert " ".join(text.split()) == (
        ".visible .entry a( .param .u64 p ) .maxntid 128, 1, 1 .minnctapersm 8 { ret; } "
        ".entry b() { ret; }")
    assert with_bounds(PTX, {}) == PTX


def test_a_pragma_takes_the_place_of_one_that_is_there() -> None:
    source = ["#pragma unroll 4", "for (;;) while (x)", "  y();"]
    assert with_pragma(source, 2, "unroll 1") == [
        "", '_Pragma("unroll 1") for (;;) while (x)', "  y();"]
    assert with_pragma(source, 3, "unroll 1") is with_pragma(source, 9, "unroll 1") is None
    assert with_pragma(source, 2, "") == ["", *source[1:]]
    assert with_pragma(source[1:], 1, "") is None


@pytest.mark.parametrize(("head", "names"), [
    ("float *o, const int *__restrict__ a, int n", ["o", "a", "n"]),
    ("float o[], int n = 4", ["o", "n"]),
    ("float *, int n", []),  # a name is missing
])
def test_the_names_of_parameters(head: str, names: list[str]) -> None:
    assert parameter_names([f"__global__ void k({head}) {{"], "k") == names


def test_restrict_for_the_parameters_that_are_meant() -> None:
    source = ["template <int N>", "__global__ void k(float *o, float *a, const float *b,",
              " int n) {"]
    made = with_restrict(source, "_ZN2ns1kILi4EEEvPfS1_PKfi", (2, 3))
    assert made == [source[0], "__global__ void k(float *o,const float *__restrict__ a,"
                    "const float *__restrict__ b,", " int n) {"]
    assert with_restrict(source, "_Z1kPf", (4,)) is with_restrict(source, "_Z1xPf", (1,)) is None


WORDS = {"nothing": "spills nothing", "16": "has 16 bytes spill stores, 0 bytes spill loads"}


@pytest.mark.parametrize(("spills", "said"), [(0, "nothing"), (16, "16"), (400, None)])
def test_a_limit_is_given_with_what_it_spills(
    spills: int, said: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = RealCode("ptxas", {"saxpy": RealFigures(64, spills, 0)})
    monkeypatch.setattr(trials, "real_code", lambda text, arch, only: made)
    module = nvir.read_ptx(EXAMPLES / "saxpy.sm_80.ptx")
    asked = Advised("saxpy", 256, 0, RealFigures(72, 0, 0), [LIMIT])
    found = Trials(module, "sm_80", SM80).kept([asked])["saxpy"]
    assert [a.text for a in found] == ([] if said is None else [
        f"at most 64 registers; ptxas {WORDS[said]} for it"])


def test_bounds_that_make_a_kernel_spill_are_widened() -> None:
    module = nvir.read_ptx(EXAMPLES / "saxpy.sm_80.ptx")
    f = module["saxpy"]
    real = RealFigures(32, 600, 80)
    assert not list(relax(SM80, real, f, 1024, 0))  # nothing asks for so few registers
    f.directives["minnctapersm"] = (2,)
    (a,) = relax(SM80, real, f, 1024, 0)
    assert (a.value, a.registers) == (1, 64)
    assert a.text.startswith("`__launch_bounds__(1024, 1)` instead of `__launch_bounds__(1024, 2)`")
    assert not list(relax(SM80, attrs.evolve(real, spill_stores=0, spill_loads=0), f, 1024, 0))


@pytest.mark.oracle
def test_what_stores_hold_up_is_promised_and_tried(tmp_path: Path) -> None:
    if not toolchain.available("nvcc", "ptxas", "nvdisasm"):
        pytest.skip("nvcc is not there")
    file = tmp_path / "k.cu"
    file.write_text("""extern "C" __global__ void k(float *o, float *a, float *b, int n) {
  for (int i = 0; i < n; ++i)
    o[i * 256 + threadIdx.x] = a[i] * b[0];
}
""")
    done = CliRunner().invoke(main, ["report", str(file), "--via", "nvcc"])
    told = " ".join(done.output.split())
    assert "`const … *__restrict__` for param_1 and param_2: stores no longer hold up" in told
    assert "by ld.global.nc; by nvcc and ptxas:" in told
    done = CliRunner().invoke(main, ["tune", str(file), "--backend", "nvcc", "--json"])
    assert '"tried": ' in done.output, done.output
    assert not report(nvir.read_ptx(EXAMPLES / "saxpy.sm_80.ptx")).functions[0].advice


def test_an_attribute_takes_the_place_of_launch_bounds() -> None:
    source = ["template <int N>", "__global__ void __launch_bounds__(128, (N > 1) ? 2 : 1)",
              "k(float *o, int n) {"]
    made = with_attribute(source, "_Z1kILi4EEvPfi", "__maxnreg__(32)")
    assert made is not None
    assert " ".join(" ".join(made).split()) == (
        "template <int N> __global__ __maxnreg__(32) void k(float *o, int n) {")
    assert with_attribute(source, "_Z1xPf", "__maxnreg__(32)") is None
    made = with_restrict(source, "_Z1kILi4EEvPfi")
    assert made is not None
    assert made[-1] == "k(float *__restrict__ o, int n) {"


@pytest.mark.oracle
def test_what_tune_says_to_write_is_what_nvcc_gains_by(tmp_path: Path) -> None:
    if not toolchain.available("nvcc", "ptxas", "nvdisasm"):
        pytest.skip("nvcc is not there")
    file = tmp_path / "k.cu"
    file.write_text("""extern "C" __global__ void k(float *o, float *a, int n, int m) {
  for (int i = 0; i < n; i++)
    o[threadIdx.x] += a[i * m + threadIdx.x];
}
""")
    done = CliRunner().invoke(main, ["tune", str(file), "--backend", "nvcc", "--json"])
    (k,) = json.loads(done.output)["kernels"]
    assert k["chosen"]
    assert k["tried"]["cycles"]["full"] < k["candidates"][0]["cycles"]["full"]
    assert any("__restrict__" in text or "#pragma unroll" in text for text in k["advice"])
    done = CliRunner().invoke(main, ["tune", str(file), "--backend", "nvcc"])
    assert f"{k['tried']['registers']} registers" in done.output


@pytest.mark.oracle
def test_restrict_is_tried_where_no_test_in_front_of_a_loop_could_tell(tmp_path: Path) -> None:
    """The last iteration and the addresses are loaded in the loop."""
    if not toolchain.available("nvcc", "ptxas", "nvdisasm"):
        pytest.skip("nvcc is not there")
    file = tmp_path / "k.cu"
    file.write_text("""extern "C" __global__ void k(float *y, const int *from, const int *at,
                             const float *a, const float *x, int n) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= n) return;
  y[r] = 0;
  for (int j = from[r]; j < from[r + 1]; j++)
    y[r] += a[j] * x[at[j]];
}
""")
    done = CliRunner().invoke(main, ["tune", str(file), "--backend", "nvcc", "--json"])
    (k,) = json.loads(done.output)["kernels"]
    assert k["advice"][0] == "__restrict__ on y, from, at, a and x (where they never overlap)"
    assert k["tried"]["cycles"]["full"] < 0.5 * k["candidates"][0]["cycles"]["full"]
    assert not any(s["apart"] for c in k["candidates"] for s in c["settings"]["loops"].values())


@pytest.mark.oracle
def test_the_source_of_ptx_is_tried_where_nvcc_makes_the_same_of_it(tmp_path: Path) -> None:
    if not toolchain.available("nvcc", "ptxas", "nvdisasm"):
        pytest.skip("nvcc is not there")
    source, file, other = (tmp_path / name for name in ("k.cu", "k.ptx", "other.cu"))
    source.write_text("""extern "C" __global__ void k(float *y, float *a, float *x, int n) {
  for (int j = 0; j < n; ++j)
    y[threadIdx.x] += a[j * 64 + threadIdx.x] * x[j];
}
""")
    other.write_text(source.read_text().replace("+=", "-="))
    file.write_text(toolchain.nvcc_ptx(source, "sm_80").ptx or "")
    done = CliRunner().invoke(main, ["tune", str(file)])
    assert "__restrict__ on y, a and x" in done.output
    assert "nvcc then makes of it" in done.output
    done = CliRunner().invoke(main, ["tune", str(file), "--source", str(other)])
    assert done.exit_code == 1
    assert "nvcc makes other code of it" in " ".join(done.output.split())
    source.unlink()
    done = CliRunner().invoke(main, ["tune", str(file)])
    assert "nvcc then makes about" in done.output
    assert "__restrict__ on param_0, param_1 and param_2" in done.output
