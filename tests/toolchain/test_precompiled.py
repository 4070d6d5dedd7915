"""Headers that clang reads once: what is kept, when, and that it never changes a result."""

from __future__ import annotations

import os

import pytest

import nvir
from nvir.toolchain import clang, precompiled
from nvir.toolchain.find import available

needs_clang = pytest.mark.skipif(
    not available("clang++", "CUDA's headers"), reason="no clang or no CUDA headers")


@pytest.mark.parametrize(("text", "kept"), [
    ("int x;\n#include <a>\n", ""),
    ("// #include <a>\n#define A\nint x;\n", ""),
    ("#include <a>\n/* b\n */\n#define B \\\n 3\nint x;\n#include <c>\n",
     "#include <a>\n/* b\n */\n#define B \\\n 3"),
    ("#include <a> // see /* there\n# include <b> /* more\n */\nint x; /* */\n",
     "#include <a> // see /* there\n# include <b> /* more\n */"),
    ("#include <a>\n#if X\n#include <b>\n#endif\n#if Y\nint x;\n#endif\n",
     "#include <a>\n#if X\n#include <b>\n#endif"),
    ("#ifndef G\n#define G\n#include <a>\n#pragma once\nint x;\n#endif\n",
     "#ifndef G\n#define G\n#include <a>"),
    ("#include <z>\n#if A\n#else\n#include <a>\nint x;\n#endif\n", "#include <z>"),
    ("#include <a>", "#include <a>"),
])
def test_what_a_source_begins_with(text, kept):
    end, depth = precompiled.beginning(text)
    assert (text[:end], depth) == (kept, kept.startswith("#ifndef"))


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """Compiles a source with a header; tells the PTX and how many times clang ran for it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("NVIR_PRECOMPILED", raising=False)
    (tmp_path / "near").mkdir()
    source, real, runs = tmp_path / "k.cu", clang._told, []
    monkeypatch.setattr(clang, "_told", lambda *a: runs.append(a) or real(*a))

    def compile(text):
        runs.clear()
        source.write_text(text)
        options = {"include": (str(tmp_path / "near"), str(tmp_path)), "front_end": "clang"}
        return nvir.print_ptx(nvir.compile_cuda(source, **options)), len(runs)
    return compile


TEXT = """// a kernel
#include <nv/target>
#include "value.h"

__global__ void k(int *p) {
  asm volatile("// %0" :: "r"(__LINE__));
  p[0] = VALUE + __COUNTER__;
}
"""


@needs_clang
def test_kept_headers_change_no_result(tmp_path, compiled, monkeypatch):
    header = tmp_path / "value.h"
    header.write_text("#pragma once\n#define VALUE 7\nint counted = __COUNTER__;\n")
    folder = tmp_path / "cache" / "nvir" / "headers"
    plain, _ = compiled(TEXT)
    assert "st.global.u32 \t[%rd2], 8;" in plain
    assert not list(folder.glob("*.pch"))  # once is not enough
    assert compiled(TEXT) == (plain, 1)
    assert len(list(folder.glob("*.pch"))) == 1
    kept, = folder.glob("*.pch")
    other, _ = compiled(TEXT.replace("p[0]", "p[1]"))
    assert "+4], 8;" in other
    header.write_text("#pragma once\n#define VALUE 70\nint counted = __COUNTER__;\n")
    changed, runs = compiled(TEXT)
    assert (runs, "], 71;" in changed) == (2, True)  # the kept file did not serve, and is gone
    assert not list(folder.glob(f"{kept.stem}.pch"))
    monkeypatch.setenv("NVIR_PRECOMPILED", "0")
    assert compiled(TEXT) == (changed, 1)


@needs_clang
def test_a_header_that_hides_another_is_seen(tmp_path, compiled):
    (tmp_path / "value.h").write_text("#define VALUE 1\n")
    for _ in range(3):
        assert "], 1;" in compiled(TEXT)[0]
    (tmp_path / "near" / "value.h").write_text("#define VALUE 2\n")
    # a quoted include is searched in the folder of the source first
    assert "], 1;" in compiled(TEXT)[0]
    assert "], 2;" in compiled(TEXT.replace('"value.h"', "<value.h>"))[0]


@needs_clang
def test_sources_without_headers_share_what_the_command_line_includes(tmp_path, compiled):
    texts = [f"__global__ void k{n}(int *p) {{ *p = {n}; }}\n" for n in range(3)]
    plain = [compiled(text)[0] for text in texts]
    folder = tmp_path / "cache" / "nvir" / "headers"
    assert len(list(folder.glob("*.pch"))) == 1
    assert [compiled(text)[0] for text in texts] == plain


@needs_clang
def test_headers_that_cannot_be_kept_are_not_tried_again(tmp_path, compiled):
    (tmp_path / "value.h").write_text("#define VALUE (\n__global__ void h(int *p) {\n")
    text = TEXT.replace("__global__ void k(int *p) {", "").replace("VALUE", "VALUE 1)")
    plain, _ = compiled(text)
    for _ in range(2):
        assert compiled(text)[0] == plain
    assert len(list((tmp_path / "cache" / "nvir" / "headers").glob("*.failed"))) == 1


@needs_clang
@pytest.mark.parametrize("option", ["-DNVIR_OTHER=1", "-DNULL=0", "-Ihides"])
def test_projects_share_what_does_not_hang_on_their_options(tmp_path, monkeypatch, option):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hides").mkdir()
    (tmp_path / "hides" / "math.h").write_text("")
    command = clang.options("sm_80", clang.find("clang++"))
    (tmp_path / "nvir").mkdir()

    def kept(*project):
        return [a.kept for a in precompiled.attempts(command, project, "int x;\n", "k.cu")]
    assert kept("-DONE") == []
    assert len(kept("-DTWO")) == 1
    assert kept(option) == (kept("-DTWO") if option == "-DNVIR_OTHER=1" else [])


def test_the_oldest_go(tmp_path, monkeypatch):
    monkeypatch.setattr(precompiled, "_ROOM", 25)
    for n in range(4):
        file = tmp_path / f"{n}.pch"
        file.write_bytes(b"x" * 10)
        os.utime(file, (n, n))
    precompiled._tidy(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["2.pch", "3.pch"]


def test_no_room_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(precompiled, "cache_folder", lambda: tmp_path / "file")
    assert not [*precompiled.attempts(["clang++"], [], "", "k.cu")]


def test_options_with_a_value_are_left_out():
    command = ["a", "-include", "x.h", "-D", "N", "-include", "y.h"]
    assert precompiled._without("-include", command) == ["a", "-D", "N"]
