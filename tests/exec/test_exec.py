"""CUDA programs run against the stand-in libraries.

The quick tests call the driver's API from Python, the others are programs that nvcc builds; both
need a C compiler.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nvir import toolchain
from nvir.exec.build import library
from nvir.exec.facts import attributes, error_text, properties, property_bytes
from nvir.exec.link import link_ptx
from nvir.sm.profile import profile

HERE = Path(__file__).parent / "programs"
ROOT = Path(__file__).resolve().parents[2]
COMPILER = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
needs_compiler = pytest.mark.skipif(
    COMPILER is None or sys.platform != "linux", reason="no C compiler, or no Linux"
)
PROGRAMS = sorted(p.stem for p in HERE.glob("*.cu"))
QUICK = {"vector_add", "error_codes"}

PTX = r"""
.version 8.0
.target sm_80
.address_size 64
.visible .global .u32 total;
.visible .entry k(.param .u64 x, .param .u32 n)
{
    .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<4>;
    ld.param.u64 %d1, [x];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p, %r2, %r1;
    @%p bra END;
    mul.wide.u32 %d2, %r2, 4;
    add.s64 %d3, %d1, %d2;
    st.global.u32 [%d3], %r2;
    red.global.add.u32 [total], %r2;
END:
    ret;
}
"""
DRIVER = r"""
import ctypes, sys
cu = ctypes.CDLL("libcuda.so.1")
def call(name, *args):
    code = getattr(cu, name)(*args)
    if code:
        text = ctypes.c_char_p()
        cu.cuGetErrorName(code, ctypes.byref(text))
        print(name, text.value.decode())
    return code
p, m, f, g, n = (ctypes.c_void_p() for _ in range(5))
call("cuInit", 0)
call("cuCtxCreate_v2", ctypes.byref(p), 0, 0)
assert not call("cuModuleLoadData", ctypes.byref(m), open(sys.argv[1], "rb").read() + b"\0")
assert not call("cuModuleGetFunction", ctypes.byref(f), m, b"k")
call("cuModuleGetFunction", ctypes.byref(g), m, b"nothing")
assert not call("cuMemAlloc_v2", ctypes.byref(p), ctypes.c_size_t(128))
count = ctypes.c_uint(int(sys.argv[2]))
args = (ctypes.c_void_p * 2)(*(ctypes.addressof(a) for a in (p, count)))
call("cuLaunchKernel", f, 1, 1, 1, 64, 1, 1, 0, None, args, None)
call("cuCtxSynchronize")
out = (ctypes.c_uint * 32)()
if not call("cuMemcpyDtoH_v2", out, p, ctypes.c_size_t(128)):
    call("cuModuleGetGlobal_v2", ctypes.byref(g), ctypes.byref(n), m, b"total")
    total = ctypes.c_uint()
    call("cuMemcpyDtoH_v2", ctypes.byref(total), g, n)
    print(sum(out), total.value)
"""


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def nvir_exec(cache: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "nvir", "exec", *map(str, arguments)],
        env=environment, capture_output=True, text=True, timeout=600, check=False, cwd=ROOT,
    )


@pytest.fixture(scope="session")
def driver(cache: Path, tmp_path_factory: pytest.TempPathFactory):
    """Runs the driver's program with so many elements, under options of `nvir exec`."""
    folder = tmp_path_factory.mktemp("driver")
    (folder / "k.ptx").write_text(PTX)
    (folder / "driver.py").write_text(DRIVER)

    def run(count: int, *options: str) -> subprocess.CompletedProcess[str]:
        program = (sys.executable, folder / "driver.py", folder / "k.ptx", count)
        return nvir_exec(cache, *options, "--", *program)

    return run


@needs_compiler
def test_the_driver_api_runs_ptx_and_tells_what_is_missing(driver):
    done = driver(32, "--passes", "copy-prop,dce")
    assert done.stdout == "cuModuleGetFunction CUDA_ERROR_NOT_FOUND\n496 496\n", done.stderr
    assert done.returncode == 0


@needs_compiler
def test_a_fault_is_told_stays_and_is_the_exit_status(driver):
    done = driver(40)
    assert "cuCtxSynchronize CUDA_ERROR_ILLEGAL_ADDRESS" in done.stdout
    assert "cuMemcpyDtoH_v2 CUDA_ERROR_ILLEGAL_ADDRESS" in done.stdout
    assert "out of bounds, byte 128 of device buffer 1 of 128 bytes, kernel k" in done.stderr
    assert "thread (32, 0, 0)" in done.stderr
    assert done.returncode == 1  # the program itself ended with 0


@needs_compiler
def test_a_launch_has_a_limit_of_time(driver):
    done = driver(32, "--max-seconds", "0")
    assert "cuCtxSynchronize CUDA_ERROR_LAUNCH_TIMEOUT" in done.stdout
    assert "more than 0 seconds of processor time; --max-seconds allows more" in done.stderr
    assert done.returncode == 1


@needs_compiler
def test_check_ends_the_program_and_stats_print_a_table(driver):
    done = driver(40, "--check")
    assert (done.returncode, done.stdout.count("ILLEGAL")) == (1, 0)
    done = driver(20, "--stats")
    assert "k, launched 1×" in done.stderr
    assert "PTX line 15" in done.stderr


@needs_compiler
def test_what_is_not_answered_says_its_name(cache: Path):
    text = (
        "import ctypes; c = ctypes.CDLL('libcudart.so.12'); "
        "print(c.cudaIpcGetMemHandle(), c.cudaGetLastError())"
    )
    done = nvir_exec(cache, "--", sys.executable, "-c", text)
    assert done.stdout == "801 801\n"
    assert "cudaIpcGetMemHandle is not supported" in done.stderr


def test_a_program_that_is_not_there_is_a_diagnostic(cache: Path):
    if COMPILER is None:
        pytest.skip("no C compiler")
    done = nvir_exec(cache, "--", "/nowhere/program")
    assert done.returncode == 1
    assert done.stderr.startswith("error: /nowhere/program: No such file")


def test_without_a_compiler_the_message_says_so(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(Exception, match="C compiler"):
        library(tmp_path)


FIRST = """
.version 8.0
.target sm_80
.address_size 64
.extern .func (.param .b32 r) twice (.param .b32 x);
.extern .global .align 4 .u32 table[2];
.global .align 1 .b8 text[3] = {65, 66, 0};
.visible .entry k(.param .u64 out)
{
    .reg .b32 %r<4>; .reg .b64 %d<2>;
    ld.param.u64 %d1, [out];
    ld.global.u32 %r1, [table+4];
    { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), twice, (a);
      ld.param.b32 %r2, [b]; }
    ld.global.u8 %r3, [text];
    add.u32 %r2, %r2, %r3;
    st.global.u32 [%d1], %r2;
    ret;
}
"""
SECOND = """
.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 table[2] = {3, 5};
.global .align 1 .b8 text[3] = {1, 2, 0};
.visible .func (.param .b32 r) twice (.param .b32 x)
{
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [x];
    ld.global.u8 %r2, [text];
    mad.lo.u32 %r1, %r1, 2, %r2;
    st.param.b32 [r], %r1;
    ret;
}
"""


def test_modules_are_linked_and_local_names_kept_apart():
    import numpy as np

    import nvir

    assert link_ptx([FIRST]) == FIRST
    for texts in ([FIRST, SECOND], [SECOND, FIRST]):
        out = np.zeros(1, np.uint32)
        nvir.launch(nvir.read_ptx(link_ptx(texts)), "k", 1, 1, [out])
        assert out[0] == 2 * 5 + 1 + 65
    with pytest.raises(nvir.NvirError):  # nobody defines `twice`
        nvir.launch(nvir.read_ptx(link_ptx([FIRST, FIRST])), "k", 1, 1, [out])


@needs_compiler
def test_a_home_that_cannot_be_written_to_is_no_obstacle(tmp_path: Path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert library().parent == tmp_path / f"nvir-{os.getuid()}"


def test_properties_have_the_layouts_of_both_releases():
    values = properties(profile("sm_90"), 1 << 30)
    assert len(property_bytes(values, 13)) == 756  # sizeof less 63 reserved ints
    assert len(property_bytes(values, 12)) == 780
    numbers = attributes(values)
    assert (numbers[1], numbers[75], numbers[76], numbers[16]) == (1024, 9, 0, 132)
    assert error_text(700).startswith("cudaErrorIllegalAddress an illegal memory access")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("programs")

    def build(name: str, shared: bool) -> Path:
        if not toolchain.available("nvcc") or not shutil.which("g++"):
            pytest.skip("nvcc or g++ not found: no CUDA program can be built")
        out = folder / Path(name).name
        source = HERE / f"{name}.cu"
        nvcc = toolchain.find("nvcc")
        command = [nvcc, "-arch=sm_80", "-lineinfo", source, "-o", out, "-cudadevrt", "none"]
        libraries = nvcc.resolve().parent.parent / "lib"  # the wheels' own, which nvcc overlooks
        if any(libraries.glob("libcudart*")):
            command += ["-L", libraries]
        runtime = next((p.name for p in libraries.glob("libcudart.so*")), "libcudart.so")
        done = subprocess.run(
            [*map(str, command), *(["-cudart", "none", f"-l:{runtime}"] if shared else [])],
            capture_output=True, text=True, check=False,
        )
        if done.returncode:
            pytest.skip(f"nvcc cannot build here: {done.stderr[:300]}")
        return out

    return build


@needs_compiler
@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in PROGRAMS]
)
def test_programs_pass_as_they_are_and_after_passes(name: str, built, cache: Path):
    program = built(name, shared=len(name) % 2 == 0)
    for options in ((), ("--passes", "emission"), ("--passes", "loops", "--policy", "documented")):
        done = nvir_exec(cache, *options, "--", program)
        assert (done.returncode, "PASSED" in done.stdout) == (0, True), done.stderr
        if name in QUICK:
            break


WRONG = {
    "out_of_bounds": ((), 1, ("out of bounds", "out_of_bounds.cu:5")),
    "deadlock": ((), 1, ("deadlock", "deadlock.cu:5")),
    "failed_assert": ((), 3, ("assertion `x[threadIdx.x] % 2 == 0` failed", "thread (2, 0, 0)")),
    "shared_race": (("--check=race",), 1, ("race", "shared_race.cu:7")),
    "uninitialised": (("--check",), 1, ("never written", "thread (25, 0, 0)")),
}


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("name", WRONG)
def test_wrong_programs_fail_with_the_place(name: str, built, cache: Path):
    options, status, words = WRONG[name]
    done = nvir_exec(cache, *options, "--", built(f"wrong/{name}", shared=True))
    assert done.returncode == status
    for text in words:
        assert text in done.stderr


@needs_compiler
def test_the_day_with_a_gpu_runs_against_the_stand_in(cache: Path, tmp_path: Path):
    from benchmarks.gpu_day import UNWRITTEN

    done = nvir_exec(
        cache, "--", sys.executable, "-m", "benchmarks.gpu_day", "--small", "--out",
        tmp_path / "day",
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "day.json").read_text())
    assert set(found["examples"].values()) == {"same"}
    assert set(found["random"].values()) <= {"same", "nothing to compare", UNWRITTEN}
    assert "same" in found["random"].values()
    assert all("failed" not in row and row["tuned"] > 0 for row in found["loops"])
    assert found["not done"] == []
    measured = profile(str(tmp_path / "day.profile.json"))
    assert measured.capability == 80
    assert "| fma.f32 |" in (tmp_path / "day.md").read_text()


def test_the_day_with_a_gpu_stops_in_time_and_says_so(tmp_path: Path, monkeypatch):
    """With no minutes left, every part is on the page as not done."""
    from benchmarks import gpu_day

    day = gpu_day.GpuDay.__new__(gpu_day.GpuDay)
    day.given = argparse.Namespace(kernels=5, loops=3, small=True)
    day.end, day.found, day.machine = 0.0, {"not done": []}, profile("sm_80")
    day.found["device"] = {"capability": 80, "profile": "sm_80", "clock_khz": 1, "driver": 1}
    for part in (day.examples, day.random, day.latencies, day.loops):
        part()
    assert len(day.found["not done"]) == 4
    assert "random kernels: 5, for the minutes were over" in day.page()
