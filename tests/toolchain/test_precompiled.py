"""Headers that clang reads once: what is kept, when, and that it never changes a result."""

from __future__ import annotations

import os

import pytest

import nvir
from nvir.toolchain import clang
from nvir.toolchain.find import available
from nvir.toolchain.headers import kept as kept_files
from nvir.toolchain.headers import precompiled
from nvir.toolchain.headers.includes import Own

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
    monkeypatch.setenv("NVIR_PRECOMPILED", "0")
    plain, _ = compiled(TEXT)
    assert "st.global.u32 \t[%rd2], 8;" in plain
    assert not folder.exists()
    monkeypatch.delenv("NVIR_PRECOMPILED")
    for kept in (1, 2, 3):  # one more each time: CUDA's, <nv/target>, the source's own
        assert compiled(TEXT) == (plain, 1)
        assert len(list(folder.glob("*.pch"))) == kept
    own = next(p for p in folder.glob("*.pch") if b"value.h" in p.with_suffix(".cu").read_bytes())
    other, _ = compiled(TEXT.replace("p[0]", "p[1]"))
    assert "+4], 8;" in other
    header.write_text("#pragma once\n#define VALUE 70\nint counted = __COUNTER__;\n")
    changed, runs = compiled(TEXT)
    assert (runs, "], 71;" in changed) == (2, True)  # the kept file did not serve, and is gone
    assert not own.exists()


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
    for n in range(2):
        compiled(f"__global__ void k{n}(int *p) {{ *p = {n}; }}\n")
        assert len(list((tmp_path / "cache" / "nvir" / "headers").glob("*.pch"))) == 1


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
        own = Own("int x;\n", "k.cu", project)
        return [a.kept for a in precompiled.attempts(command, project, own)]
    assert len(kept("-DONE")) == 1
    assert (kept(option) == kept("-DTWO")) == (option == "-DNVIR_OTHER=1")


@pytest.fixture(scope="module")
def ahead(tmp_path_factory):
    """Tells the headers that are read ahead of a text, where <nv/target> is kept."""
    command = clang.options("sm_80", clang.find("clang++"))

    def headers(text, *project):
        made = precompiled.attempts(command, project, Own(text, "k.cu", project))
        return {os.path.basename(path) for path in next(made).needs}

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("NVIR_PRECOMPILED", raising=False)
        text = "#include <nv/target>\n"  # a library's are made when they are wished for again
        assert (headers(text), headers(text)) == (set(), {"target"})
        yield headers


@needs_clang
@pytest.mark.parametrize("text", [
    "int x;\n#include <stdio.h>\nint y;\n#include <nv/target>\n",
    "#if CUDART_VERSION >= 11000 && !(defined(ROCM) || 0)\n#include <nv/target>\n#endif\n",
    "#define sm_35(x) x\n#include <nv/target>\n",  # it has no call of that
    "#ifdef MINE\n#include <thrust/none.h>\n#else\n#include <nv/target>\n#endif\n",
    "#include <nv/target>\n#define sm_35\n#ifdef NV_IF_TARGET\n#endif\n",
])
def test_headers_are_read_ahead(ahead, text):
    assert ahead(text) == {"target"}


@needs_clang
@pytest.mark.parametrize("text", [
    "#define sm_35\n#include <nv/target>\n",  # a word of its
    "#ifndef NV_IF_TARGET\nint x;\n#endif\n#include <nv/target>\n",  # a macro of its
    "#ifdef MINE\n#include <nv/target>\n#endif\n",
    "#if f(1)\n#include <nv/target>\n#endif\n",
    "// #include <nv/target>\n/*\n#include <nv/target>\n*/\n",
    "#pragma pack(1)\n#include <nv/target>\n",
])
def test_headers_that_would_mean_something_else_are_not_read_ahead(ahead, text):
    assert ahead(text) == set()


@needs_clang
def test_options_that_a_set_hangs_on(ahead):
    text = "#include <nv/target>\n"
    assert ahead(text, "-DMINE=1") == {"target"}
    folder = precompiled.cache_folder() / "headers"
    kept = len(list(folder.glob("*.set")))
    for _ in range(2):
        ahead(text, "-D_NV_TARGET_CPP11")
    assert len(list(folder.glob("*.set"))) == kept + 1


@needs_clang
@pytest.mark.parametrize("variable", [
    "static __constant__ int v = 3;", "static __device__ int v[2];", "__device__ static int v;"])
def test_static_variables_that_the_host_names_are_there(tmp_path, compiled, variable):
    (tmp_path / "value.h").write_text(
        f"#define VALUE 1\n{variable}\ninline const void *address() {{ return &v; }}\n")
    for _ in range(4):
        assert "_ZL1v" in compiled(TEXT)[0]
    failed = list((tmp_path / "cache" / "nvir" / "headers").glob("*.failed"))
    assert [b"value.h" in p.with_suffix(".cu").read_bytes() for p in failed] == [True]


@needs_clang
def test_a_header_that_was_not_met_is_not_taken_for_read(tmp_path, compiled):
    """`__has_include` is true, and what is not in the text defines A: the guess is wrong."""
    (tmp_path / "real.h").write_text("#define A\n")
    text = ("#include REAL\n#ifndef A\n#include <nv/target>\n#endif\n#define REAL\n"
            "__global__ void k(int *p) {\n#ifdef NV_IF_TARGET\n*p = 1;\n#else\n*p = 2;\n"
            "#endif\n}\n").replace("REAL", "<real.h>", 1)
    text = "#define REAL <real.h>\n" + text.replace("<real.h>", "REAL")
    for expected in (1, 2, 1):  # nothing is kept yet; it did not serve; it is not tried again
        made, runs = compiled(text)
        assert ("], 2;" in made, runs) == (True, expected)


def test_the_oldest_go(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_files, "_ROOM", 25)
    for n in range(4):
        file = tmp_path / f"{n}.pch"
        file.write_bytes(b"x" * 10)
        os.utime(file, (n, n))
    listed, glob = [], type(tmp_path).glob
    monkeypatch.setattr(type(tmp_path), "glob", lambda *a: listed.append(a) or glob(*a))
    kept_files._tidy(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["2.pch", "3.pch"]
    assert len(listed) == 1  # listing the folder for each file took a second behind 5,000 files


def test_no_room_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(precompiled, "cache_folder", lambda: tmp_path / "file")
    assert not [*precompiled.attempts(["clang++"], [], Own("", "k.cu", []))]


def test_options_with_a_value_are_left_out():
    command = ["a", "-include", "x.h", "-D", "N", "-include", "y.h"]
    assert kept_files.without("-include", command) == ["a", "-D", "N"]
