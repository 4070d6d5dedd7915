"""What is told of sources that are wrong, and the command line."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import nvir
from nvir.cli import main
from nvir.frontend.cuda import read_cuda
from nvir.ir.errors import NvirError, ParseError, Unsupported

pytest.importorskip("clang.cindex")
GOOD = "__global__ void k(float *p) {\n  p[threadIdx.x] = 2.0f;\n}\n"


def run(*args: str, given: str | None = None) -> Any:
    """nvir's own reader: what it tells, whether a clang program is there or not."""
    command = ["compile", "--front-end", "libclang", *args]
    return CliRunner().invoke(main, command, input=given)


def told(tmp_path: Path, text: str, *args: str) -> str:
    """What the command prints of a wrong source; it exits with 1 and leaves no file."""
    source, out = tmp_path / "bad.cu", tmp_path / "out.ptx"
    source.write_text(text)
    result = run(str(source), "-o", str(out), *args)
    assert result.exit_code == 1, result.output
    assert not out.exists()
    assert "Traceback" not in result.output
    return str(result.output)


def test_syntax_errors_have_place_line_and_caret(tmp_path: Path) -> None:
    text = told(tmp_path, "__global__ void k(float *p) {\n  p[0] = q + 1;\n  int x = ;\n}\n")
    assert "bad.cu:2:10: error: use of undeclared identifier 'q'" in text
    assert "  p[0] = q + 1;\n" in text
    assert "bad.cu:3:11: error: expected expression" in text
    lines = text.splitlines()
    at = next(k for k, line in enumerate(lines) if "q + 1" in line)
    assert lines[at].index("q") == lines[at + 1].index("^")


@pytest.mark.parametrize(("text", "said"), [
    ("", "the file is empty"),
    ("int main() { return 0; }\n", "there is no __global__ function with a body"),
    ("template<class T> __global__ void k(T *p) { p[0] = 1; }\n",
     "the kernel template 'k' is never instantiated"),
    ("__global__ void k(int *p) { int *q = new int[3]; p[0] = q[0]; }\n",
     "bad.cu:1:38: error: unsupported: C++ new"),
    ("struct V { virtual __device__ int f() { return 1; } };\n"
     "__global__ void k(int *p) { V v; p[0] = v.f(); }\n",
     "unsupported: the virtual function 'f'"),
    ("__global__ void k(int *p) { p[0] = gone(1); }\n", "use of undeclared identifier 'gone'"),
    ("__global__ int k(int *p) { return 1; }\n", "must have void return type"),
    ("int h(int);\n__global__ void k(int *p) { p[0] = h(1); }\n", "no matching function"),
    ("__global__ void k(int *p) { p[0] = 1 }\n", "expected ';'"),
    ("__global__ void k(int *p) { p[0] = 1; \n", "expected '}'"),
    ("__global__ void k(int *p) { p[0] = " + "(" * 3000 + "1" + ")" * 3000 + "; }\n",
     "bracket nesting level"),
])
def test_wrong_sources(tmp_path: Path, text: str, said: str) -> None:
    assert said in told(tmp_path, text)


def test_binary_data_is_an_error(tmp_path: Path) -> None:
    source = tmp_path / "bin.cu"
    source.write_bytes(b"\x00\xff\xfe binary __global__")
    result = run(str(source))
    assert result.exit_code == 1
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_a_missing_file() -> None:
    result = run("missing.cu")
    assert result.exit_code == 1
    assert "missing.cu: No such file" in result.output


def test_missing_includes_and_host_errors_are_warnings(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text('#include "gone.h"\n' + GOOD + "int main() { return gone(); }\n")
    result = run(str(source), "-o", str(tmp_path / "k.ptx"))
    assert result.exit_code == 0, result.output
    assert "k.cu:1:10: warning: 'gone.h' file not found" in result.output
    assert "warning: use of undeclared identifier 'gone'" in result.output
    assert ".entry" in (tmp_path / "k.ptx").read_text()


ENDLESS = "template <int N> struct S { static const int v = S<N + 1>::v; };\n"


def test_an_instance_that_a_kernel_asks_for_must_be_right(tmp_path: Path) -> None:
    said = told(tmp_path, ENDLESS + "__global__ void k(int *p) { p[0] = S<0>::v; }\n")
    assert "bad.cu:1:50: error: recursive template instantiation exceeded" in said
    assert "bad.cu:2:36: note: in instantiation of template class 'S<0>'" in said
    said = told(tmp_path, "template <class T> struct V { typedef typename T::t type; };\n"
                "template <class T> __global__ void k(T *p) { p[0] = typename V<T>::type(3); }\n"
                "void host(int *p) { k<<<1, 1>>>(p); }\n")
    assert "bad.cu:1:48: error: type 'int' cannot be used" in said
    assert "bad.cu:2:62: note: in instantiation of template class 'V<int>'" in said


def test_an_instance_that_the_host_asks_for_may_be_wrong(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(ENDLESS + GOOD + "int main() { return S<0>::v; }\n")
    result = run(str(source))
    assert result.exit_code == 0, result.output
    assert "st.global" in result.output
    assert "k.cu:1:50: warning: recursive template instantiation" in result.output


def test_includes_and_macros_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc" / "mine.h").write_text("#define VALUE (BASE + 2)\n")
    text = "#include <mine.h>\n" + GOOD.replace("2.0f", "VALUE")
    module = nvir.compile_cuda(text, include=[str(tmp_path / "inc")], define=["BASE=40"])
    out = np.zeros(32, np.float32)
    nvir.launch(module, "_Z1kPf", 1, 32, [out])
    assert (out == 42).all()


@pytest.mark.parametrize("emit", ["tree", "nvvm", "ll", "ori", "ptx"])
@pytest.mark.parametrize("level", ["0", "2"])
def test_every_stage_can_be_written(tmp_path: Path, emit: str, level: str) -> None:
    source = tmp_path / "k.cu"
    source.write_text(GOOD)
    result = run(str(source), "--emit", emit, f"-O{level}")
    assert result.exit_code == 0, result.output
    start = {"tree": "{", "nvvm": "module nvvm", "ori": "module ori", "ptx": "//"}.get(emit, "")
    assert result.output.lstrip().startswith(start)
    if emit == "ll":
        assert "define" in result.output


def test_the_trees_json_compiles_to_the_same_code(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(GOOD)
    tree = run(str(source), "--emit", "tree", "-o", str(tmp_path / "k.json"))
    assert tree.exit_code == 0, tree.output
    assert json.loads((tmp_path / "k.json").read_text())["schema"].startswith("nvir.tree")
    direct, again = run(str(source), "--no-lines"), run(str(tmp_path / "k.json"), "--no-lines")
    assert again.exit_code == 0, again.output
    assert direct.output == again.output


def test_a_program_that_makes_a_tree(tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    program.write_text(
        "from nvir.frontend import build as b\n"
        "p, = b.names('p')\n"
        "unit = b.unit(b.kernel('k', 'int *p', b.assign(p[0], 7)))\n"
    )
    result = run(str(program), "--report")
    assert result.exit_code == 0, result.output
    assert ".entry k(" in result.output
    program.write_text("raise RuntimeError('no')\n")
    wrong = run(str(program))
    assert wrong.exit_code == 1
    assert "RuntimeError: no" in wrong.output
    program.write_text("x = 1\n")
    assert "`unit`" in run(str(program)).output
    program.write_text(
        "from nvir.frontend.build import *\n"  # its `unit` is no tree
        "p, = names('p')\n"
        "def tree(): return unit(kernel('k', 'int *p', assign(p[0], 7)))\n"
    )
    assert ".entry k(" in run(str(program)).output
    program.write_text("def unit(): return 1 / 0\n")
    wrong = run(str(program))
    assert wrong.exit_code == 1
    assert "ZeroDivisionError" in wrong.output


def test_keep_writes_every_stage(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(GOOD)
    result = run(str(source), "--keep", str(tmp_path / "stages"))
    assert result.exit_code == 0, result.output
    names = {p.name for p in (tmp_path / "stages").iterdir()}
    assert {"k.tree.json", "k.1.nvvm.nvir", "k.1.nvvm.ll", "k.2.optimised.nvir", "k.3.ori.nvir",
            "k.ptx"} <= names


@pytest.mark.oracle
def test_a_cubin(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text(GOOD)
    result = run(str(source), "--emit", "cubin", "-o", str(tmp_path / "k.cubin"))
    assert result.exit_code == 0, result.output
    assert (tmp_path / "k.cubin").read_bytes().startswith(b"\x7fELF")


def test_source_lines_reach_the_assembler() -> None:
    ptx = nvir.print_ptx(nvir.compile_cuda(GOOD, name="lines.cu"))
    assert '.file\t1 "lines.cu"' in ptx
    assert ".loc\t1 2 " in ptx
    assert ".loc" not in nvir.print_ptx(nvir.compile_cuda(GOOD, lines=False))


def test_other_commands_take_sources(tmp_path: Path) -> None:
    source = tmp_path / "loop.cu"
    source.write_text(
        'extern "C" __global__ void sum(const float *x, float *o, int n) {\n  float s = 0;\n'
        "  for (int i = 0; i < n; ++i)\n    s += x[i];\n  o[0] = s;\n}\n"
    )
    report = CliRunner().invoke(main, ["report", str(source), "--json"])
    assert report.exit_code == 0, report.output
    (function,) = json.loads(report.output)["functions"]
    assert function["name"] == "sum"
    assert len(function["loops"]) == 1
    ran = CliRunner().invoke(main, [
        "run", str(source), "--block", "1", "--arg", "range:f32[5]", "--arg", "zeros:f32[1]",
        "--arg", "5",
    ])
    assert ran.exit_code == 0, ran.output
    assert "[10.0]" in ran.output


def test_standard_input() -> None:
    result = run("-", given=GOOD)
    assert result.exit_code == 0, result.output
    assert ".entry _Z1kPf(" in result.output


def test_errors_of_the_library() -> None:
    with pytest.raises(ParseError, match="undeclared identifier"):
        nvir.compile_cuda("__global__ void k() {\n  nothing();\n}\n")
    with pytest.raises(Unsupported) as e:
        nvir.compile_cuda("__global__ void k(int **p) {\n  p[0] = new int;\n}\n", name="n.cu",
                          front_end="libclang")
    assert str(e.value).startswith("n.cu:2:10: error: unsupported")
    with pytest.raises(NvirError, match="no architecture"):
        nvir.compile_cuda(GOOD, "nothing")
    with pytest.raises(TypeError):
        nvir.compile_cuda(3)


def test_nvirs_own_headers_are_without_errors() -> None:
    from nvir.frontend.cuda.parse import HEADERS, parse

    names = sorted(str(p.relative_to(HEADERS)) for p in HEADERS.rglob("*") if p.is_file())
    text = "".join(f"#include <{n}>\n" for n in names)
    assert [str(d) for d in parse(text, "all.cu", "sm_90").unit.diagnostics] == []
    assert len(names) > 60


def test_without_libclang(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    code = (
        "import sys; sys.modules['clang'] = None\n"
        "import nvir\n"
        "try: nvir.compile_cuda('__global__ void k() {}\\n', front_end='libclang')\n"
        "except nvir.NvirError as e: print(e)\n"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'nvir[cuda-src]'" in made.stdout


@pytest.mark.parametrize(("name", "text", "said"), [
    ("t.json", '{"a": 1,}', "t.json:1:9: error: not JSON"),
    ("t.json", "[" * 100_000, "t.json: error: not JSON that can be read: nested too deeply"),
    ("t.json", '{"a": "\\ud83d"}', "t.json:1:8: error: not JSON: half of a character"),
    ("t.json", '{"a": "\\ud83d\\ude00"}', "error: a tree is an object with"),  # both
    ("t.json", b"\xff\xfe", "t.json: error: not UTF-8 text"),
    ("k.ptx", ".version 8.0\n", "takes CUDA sources (.cu), LLVM text (.ll) and trees"),
    ("k.ll", "define void @f()\n", "k.ll:1:17: error: expected '{'"),
])
def test_what_is_no_source_is_told_at_its_place(tmp_path, monkeypatch, name, text, said):
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    result = CliRunner().invoke(main, ["compile", name])
    assert result.exit_code == 1
    assert said in result.output


@pytest.mark.parametrize(("text", "column"), [
    ("*p = " + "!" * 20000 + "x;", 10037),
    ("*p = " + "(int)" * 20000 + "x;", 50025),
    ("*p = " + "x ? 1 : " * 20000 + "x;", 20034),
    ("if (x) *p = 1;" + " else if (x) *p = 1;" * 20000, 25035),
    ("A<" * 20000 + "int" + "> " * 20000 + "a;", 10035),
    ("A<1, " * 20000 + "int" + "> " * 20000 + "a;", 12535),
    ("s->" + "s->" * 20000 + "s = s;", 10035),
])
def test_what_nests_deeper_than_libclang_can_hold_has_its_place(text: str, column: int) -> None:
    """libclang would overflow its stack, and end the process with it."""
    with pytest.raises(ParseError, match="more than 10,000 tokens in one statement") as caught:
        read_cuda("\n__global__ void k(int *p, int x) {" + text + "}\n")
    assert (caught.value.line, caught.value.column) == (2, column)


@pytest.mark.parametrize("text", [
    "#define A !!!!!!!!!!\n#define B A A A A A A A A A A\n#define C B B B B B B B B B B\n"
    "#define D C C C C C C C C C C\n__global__ void k(int *p) { *p = D D *p; }\n",
])
def test_macros_count_as_what_they_stand_for(text: str) -> None:
    with pytest.raises(ParseError, match="more than 10,000 tokens in one statement"):
        read_cuda(text)


@pytest.mark.parametrize("text", [
    "__global__ void k(int *p) { *p = " + "!" * 9000 + "*p; }\n",
    "__global__ void k(int *p) { *p = " + "*p + " * 2000 + "*p; }\n",
    "__constant__ int t[] = {" + "1, " * 20000 + "};\n__global__ void k(int *p) { *p = t[*p]; }\n",
    "enum E {" + ", ".join(f"a{k}" for k in range(9000)) + "};\n__global__ void k(int *p) {}\n",
    "#define N 1\n" * 6000 + "__global__ void k(int *p) { " + "*p += 1; " * 3000 + "}\n",
])
def test_what_is_long_and_not_deep_is_read(text: str) -> None:
    assert read_cuda(text)[0].functions[0].name == "k"


def test_all_that_is_told_of_one_line_shares_it() -> None:
    """A copy of the line for each of its thousand warnings took gigabytes."""
    warnings = read_cuda('extern "C" ' * 1000 + GOOD)[1]
    assert len(warnings) > 500
    assert len({id(w.source) for w in warnings}) == 1


def test_a_letter_that_holds_the_byte_85_ends_no_line() -> None:
    with pytest.raises(ParseError) as caught:
        read_cuda("// \u0105\u0145\n" + GOOD.replace("2.0f", "two"))
    assert (caught.value.line, caught.value.source) == (3, "  p[threadIdx.x] = two;")


@pytest.mark.parametrize(("text", "said"), [
    ('\n#include "/dev/zero"\n', 'bad.cu:2:10: error: "/dev/zero" is not a regular file'),
    ('#define Z "/dev/zero"\n#include Z // a macro\n', 'bad.cu:1:11: error: "/dev/zero" is not'),
    ('#include "mine.h"\n', 'mine.h:1:12: error: "pipe" is not a regular file'),
    ('#inc\\\nlude "/dev/zero"\n', 'bad.cu:2:6: error: "/dev/zero" is not'),
    ('%:include "/dev/zero"\n', 'bad.cu:1:11: error: "/dev/zero" is not'),
    ('#include_next "/dev/zero"\n', 'bad.cu:1:15: error: "/dev/zero" is not'),
    ('# /*\n*/ import </dev/zero>\n', 'bad.cu:2:11: error: </dev/zero> is not'),
    ('char a[] = "/*";\n#include "pipe" // */\n', 'bad.cu:2:10: error: "pipe" is not'),
    ('#define A "pipe"\n#define B A\n#include B\n', 'bad.cu:1:11: error: "pipe" is not'),
    ('#define S(x) #x\n#include S(/dev/zero)\n', 'bad.cu:2:12: error: /dev/zero is not'),
    ('#pragma GCC dependency "pipe"\n', 'bad.cu:1:24: error: "pipe" is not'),
    ('_Pragma("GCC dependency \\"pipe\\"")\n', 'bad.cu:1:27: error: "pipe" is not'),
])
@pytest.mark.parametrize("option", ["--front-end=clang", "--front-end=auto", "--emit=tree"])
def test_devices_and_pipes_are_not_included(tmp_path: Path, text: str, said: str,
                                            option: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "mine.h").write_text('# include  "pipe"\n')
    assert said in told(tmp_path, text + GOOD, option)


@pytest.mark.parametrize("text", [
    '// #include "/dev/zero"\n', 'char a[] = "#include </dev/zero>";\n', '#define Z "/dev/zero"\n',
    '/*\n%:include "/dev/zero"\n*/\n', '#pragma message("/dev/zero")\n'])
def test_a_device_that_is_only_named_is_none_included(tmp_path: Path, text: str) -> None:
    (tmp_path / "k.cu").write_text(text + GOOD)
    assert run(str(tmp_path / "k.cu")).exit_code == 0


def test_a_wide_bit_field_has_its_place(tmp_path: Path) -> None:
    text = "struct S { unsigned a : %d; };\n__global__ void k(S *p) { p->a = 1; }\n"
    said = "bad.cu:1:21: error: unsupported: bit-field 'a' has 33 bits: a 'unsigned int' has 32"
    assert said in told(tmp_path, text % 33)
    (tmp_path / "k.cu").write_text(text % 32)
    assert run(str(tmp_path / "k.cu")).exit_code == 0
