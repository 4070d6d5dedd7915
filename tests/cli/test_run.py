"""`nvir run`: arguments, dumps, traces, profiles, and errors without a traceback."""

from __future__ import annotations

import io
import json
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from nvir.cli import main

SAXPY = str(Path(__file__).resolve().parents[2] / "examples" / "ptx" / "saxpy.sm_80.ptx")
BASE = ["run", SAXPY, "--kernel", "saxpy", "--grid", "2", "--block", "32,1"]
ARGS = ["--arg", "50", "--arg", "f32:2", "--arg", "range:f32[50]", "--arg", "ones:f32[50]"]


def nvir(*args: str) -> Any:
    return CliRunner().invoke(main, args, prog_name="nvir")


def test_the_result_is_summarised() -> None:
    result = nvir(*BASE, *ARGS)
    assert result.exit_code == 0
    assert "argument 3: float32[50] [1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0, …]" in result.output


def test_what_goes_wrong_names_the_file() -> None:
    result = nvir(*BASE, *ARGS[:-1], "ones:f32[5]")
    assert result.exit_code == 1
    assert f"{SAXPY}:54:2: error: load of 4 bytes out of bounds" in result.output


def test_arrays_are_saved_and_read_again(tmp_path: Path) -> None:
    x, y = tmp_path / "x.npy", tmp_path / "y.npy"
    np.save(x, np.full(50, 3, np.float32))
    args = ["--arg", "50", "--arg", "2.0", "--arg", str(x), "--arg", "zeros:f32[5,10]"]
    assert nvir(*BASE, *args, "--dump", f"3={y}").exit_code == 0
    assert np.load(y).shape == (5, 10)
    assert (np.load(y) == 6).all()


def test_arrays_of_big_endian_numbers_are_read_as_their_values(tmp_path: Path) -> None:
    x = tmp_path / "x.npy"
    np.save(x, np.arange(50, dtype=">f4"))
    args = ("--arg", "50", "--arg", "2.0", "--arg", str(x), "--arg", "zeros:f32[50]")
    assert "argument 3: float32[50] [0.0, 2.0, 4.0," in nvir(*BASE, *args).output


def test_arrays_are_saved_to_standard_output(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = nvir(*BASE, *ARGS, "--dump", "3=-")
    saved = np.load(io.BytesIO(result.stdout_bytes))
    assert (saved == np.arange(50, dtype=np.float32) * 2 + 1).all()
    assert not [*tmp_path.iterdir()]
    result = nvir(*BASE, *ARGS, "--dump", "3=-", "--json")
    assert (result.exit_code, "--dump - has standard output" in result.output) == (2, True)


@pytest.mark.parametrize("kind", ["link", "pipe", "device"])
def test_arrays_are_saved_to_what_is_there(kind: str, tmp_path: Path) -> None:
    """A link is followed, into a pipe or a device is written; neither becomes a file."""
    place, file = tmp_path / "place", tmp_path / "x.npy"
    if kind == "link":
        place.symlink_to(file)
    elif kind == "pipe":
        os.mkfifo(place)
        pipe = os.open(place, os.O_RDWR)
    else:
        try:
            os.mknod(place, stat.S_IFCHR | 0o600, os.makedev(1, 7))
            place.open("wb").close()
        except OSError:
            pytest.skip("devices can't be made here")
    result = nvir(*BASE, *ARGS, "--dump", str(place))
    if kind == "device":
        assert (result.exit_code, "No space left" in result.output) == (1, True)
        assert place.is_char_device()
        return
    assert result.exit_code == 0
    assert place.is_symlink() if kind == "link" else place.is_fifo()
    data = file.read_bytes() if kind == "link" else os.read(pipe, 1 << 16)
    assert np.lib.format.read_array(io.BytesIO(data)).shape == (50,)


def test_arrays_that_are_none_are_one_error(tmp_path: Path) -> None:
    whole = io.BytesIO()
    np.save(whole, np.zeros(3))
    pipe, cut, huge = tmp_path / "pipe.npy", tmp_path / "cut.npy", tmp_path / "huge.npy"
    os.mkfifo(pipe)
    cut.write_bytes(whole.getvalue()[:40])
    huge.write_bytes(whole.getvalue().replace(b"(3,), }" + b" " * 12, b"(1000000000000,), }"))
    for file, why in ((pipe, "not a regular file"), (cut, "no array"), (huge, "no array")):
        result = nvir(*BASE, "--arg", str(file))
        assert result.exit_code == 1
        assert result.output.startswith(f"error: {file}: {why}")
        assert result.output.count("\n") == 1


def test_a_trace_shows_one_thread() -> None:
    result = nvir(*BASE, *ARGS, "--trace", "33")
    lines = result.output.splitlines()
    assert any("mov.u32 %r8, %tid.x;" in text and "%r8 = 1" in text for text in lines)
    assert any("fma.rn.f32" in text and "= 67.0" in text for text in lines)
    assert sum("st.global.f32" in text for text in lines) == 1


def test_a_profile_counts_instructions() -> None:
    result = nvir(*BASE, *ARGS, "--profile", "--json")
    report = json.loads(result.output)
    assert report["schema"] == "nvir.run/1"
    rows = {r["block"]: r for r in report["profile"]}
    assert rows["entry"]["threads"] == 64
    assert rows["$L__BB0_2"]["threads"] == 50
    assert rows["$L__BB0_2"]["instructions"] == 500
    text = nvir(*BASE, *ARGS, "--profile").output
    assert "100.0%" not in text
    assert "$L__BB0_2" in text


def test_random_arrays_have_a_seed() -> None:
    one, two, other = (
        nvir(*BASE, "--arg", "0", "--arg", "0.0", "--arg", f"random:f32[50]@{seed}", *ARGS[6:])
        for seed in (1, 1, 2)
    )
    assert one.exit_code == 0
    assert one.output == two.output != other.output


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        ((), 2, "has 4 parameters, 0 given"),
        (("--arg", "x"), 2, "argument 'x': expected a number"),
        (("--arg", "zeros:q7[3]"), 2, "'q7' is no type"),
        (("--arg", "i32:2.5"), 2, "is no i32"),
        (("--arg", "none.npy"), 1, "none.npy"),
        ((*ARGS, "--dump", "0=x.npy"), 2, "argument 0 is no array"),
        ((*ARGS, "--grid", "a"), 2, "expected X, X,Y or X,Y,Z"),
        ((*ARGS, "--block", "0"), 1, "cannot launch a block"),
        ((*ARGS, "--kernel", "nothing"), 2, "there are: saxpy, saxpy4"),
        (("--arg", "90", *ARGS[2:]), 1, "load of 4 bytes out of bounds"),
        ((*ARGS, "--max-steps", "3"), 1, "more than 3 steps; --max-steps allows more"),
        ((*ARGS, "--max-seconds", "0"), 1, "processor time; --max-seconds allows more"),
        ((*ARGS, "--max-seconds", "nan"), 2, "'--max-seconds': nan is no number of seconds"),
        ((*ARGS, "--max-seconds", "inf"), 2, "'--max-seconds': inf is no number of seconds"),
        ((*ARGS, "--max-seconds", "-1"), 2, "'--max-seconds': -1.0 is not in the range"),
        ((*ARGS, "--max-bytes", "399"), 2, "takes 200 bytes of 199 that are left; --max-bytes"),
        ((*ARGS, "--max-bytes", "800"), 1, "bytes of memory; max_bytes is 800: --max-bytes"),
        ((*ARGS, "--grid", "1,65536"), 1, "(2147483647, 65535, 65535) is the largest"),
        ((*ARGS, "--grid", "9" * 5000), 2, "expected X, X,Y or X,Y,Z"),
        (("--arg", f"ones:f32[{'9' * 5000}]"), 2, "a number is too large"),
        (("--arg", f"ones:f32[{'1,' * 33}]"), 2, "has 33 extents; 32 are the most"),
        ((*ARGS, "--dump", f"{'9' * 5000}=x/y.npy"), 1, "File name too long"),
        (("--arg", "0", *ARGS[2:], "--grid", "2147483647,65535,65535", "--max-steps", "2000"), 1,
         "than 2000 steps"),
    ],
)
def test_errors_are_told_without_a_traceback(
    args: tuple[str, ...], code: int, message: str
) -> None:
    result = nvir(*BASE, *args)
    assert message in result.output
    assert result.exit_code == code
    assert "Traceback" not in result.output


def test_the_kernel_must_be_named_if_there_are_several() -> None:
    result = nvir("run", SAXPY)
    assert result.exit_code == 2
    assert "saxpy, saxpy4" in result.output


@pytest.mark.parametrize(("kernel", "status"), [("ns::put", 0), ("put", 0), ("putt", 2)])
def test_a_kernel_by_its_name_in_the_source(kernel, status, tmp_path):
    file = tmp_path / "k.ptx"
    head = ".version 8.0\n.target sm_80\n.address_size 64\n"
    file.write_text(head + "".join(f".visible .entry {n}() {{ ret; }}\n"
                                   for n in ("_ZN2ns3putEv", "_Z3getv")))
    run = CliRunner().invoke(main, ["run", str(file), "--kernel", kernel])
    assert run.exit_code == status
    assert status == 0 or "there are: ns::put, get" in run.output
