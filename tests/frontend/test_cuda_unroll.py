"""Loops that are written out, and those that are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nvir
from nvir.frontend.cuda.base import arithmetic
from nvir.frontend.tree import statements as s

pytest.importorskip("clang.cindex")
HEAD = 'extern "C" __global__ void k(float *o, const float *x, int n) {\n'


def loops(body: str, unroll: bool = True) -> int:
    """How many loops the tree of a kernel has."""
    from nvir.frontend.cuda import read_cuda

    unit, _ = read_cuda(HEAD + body + "\n}\n", unroll=unroll)
    found, todo = 0, [unit.functions[0].body]
    while todo:
        n = todo.pop()
        found += isinstance(n, s.For | s.While | s.Do)
        for name in ("body", "then", "other", "init"):
            inner = getattr(n, name, None)
            todo += inner if isinstance(inner, tuple) else [inner] if inner is not None else []
    return found


FULL = "#pragma unroll\n"


@pytest.mark.parametrize(("body", "left"), [
    (FULL + "for (int i = 0; i < 4; ++i) o[i] = x[i];", 0),
    (FULL + "for (int i = 16; i > 0; i >>= 1) o[i] = x[i];", 0),
    ("#pragma unroll 8\nfor (int i = 0; i < 8; i += 1) o[i] = x[i];", 0),
    ("#pragma unroll 2\nfor (int i = 0; i < 8; i += 1) o[i] = x[i];", 1),
    ("#pragma unroll 1\nfor (int i = 0; i < 4; ++i) o[i] = x[i];", 1),
    ("for (int i = 0; i < 4; ++i) o[i] = x[i];", 1),
    (FULL + "for (int i = 0; i < n; ++i) o[i] = x[i];", 1),
    (FULL + "for (int i = 0; i < 4; ++i) { if (x[i] > 2) break; o[i] = x[i]; }", 1),
    (FULL + "for (int i = 0; i < 8; ++i) { o[i] = x[i]; if (x[i] > 2) i += 2; }", 1),
    (FULL + "for (int i = 0; i < 4; ++i) { __shared__ float t[4]; t[i] = x[i]; o[i] = t[i]; }", 1),
    (FULL + "for (int i = 0; i < 100000; ++i) o[i] = x[i];", 1),
    ("float a[3]; for (int i = 0; i < 3; ++i) a[i] = x[i]; o[0] = a[2];", 0),
    ("float a[30]; for (int i = 0; i < 30; ++i) a[i] = x[i]; o[0] = a[n];", 1),
    # a `continue` of the loop is a round in a `do`; jumps of inner loops stay there
    (FULL + "for (int i = 0; i < 3; ++i) { if (x[i] > 2) continue; o[i] = x[i]; }", 3),
    (FULL + "for (int i = 0; i < 3; ++i) for (int j = 0; j < n; ++j) if (x[j] > 2) break;", 3),
    (FULL + "for (int i = 0; i < 3; ++i)\n" + FULL + "for (int j = 0; j < 2; ++j) o[i + j] = x[j];",
     0),
])
def test_which_loops_stay(body: str, left: int) -> None:
    assert loops(body) == left
    assert loops(body, unroll=False) >= 1


@pytest.mark.parametrize("optimise", [0, 2, 3])
def test_results_do_not_change(optimise: int) -> None:
    module = nvir.compile_cuda(
        HEAD + "float a[4], s = 0;\n" + FULL + "for (int i = 0; i < 4; ++i) a[i] = x[i] * i;\n"
        + FULL + "for (int i = 3; i >= 0; --i) { float t = a[i]; s = 2 * s + t; }\n"
        "for (int i = 0; i < 4; i += 2) { o[i] = s + a[i]; o[i + 1] = a[i + 1]; }\n}\n",
        optimise=optimise,
    )
    x, o = np.array([5, 6, 7, 8], np.float32), np.zeros(4, np.float32)
    nvir.launch(module, "k", 1, 1, [o, x, 4])
    a = x * np.arange(4)
    total = a[0] + 2 * (a[1] + 2 * (a[2] + 2 * a[3]))
    assert o.tolist() == [total, a[1], total + a[2], a[3]]


def test_arrays_of_unrolled_loops_live_in_registers() -> None:
    text = (
        HEAD + "float a[8];\n" + FULL + "for (int i = 0; i < 8; ++i) a[i] = x[i];\n"
        + FULL + "for (int i = 0; i < 8; ++i) o[i] = a[7 - i];\n}\n"
    )
    assert ".local" not in nvir.print_ptx(nvir.compile_cuda(text))
    assert ".local" in nvir.print_ptx(nvir.compile_cuda(text, optimise=0))


def test_rounds_that_are_continued_early() -> None:
    text = (
        HEAD + "float a[4] = {0, 0, 0, 0};\n" + FULL
        + "for (int i = 0; i < 4; ++i) { a[i] = 1; if (x[i] > n) continue; a[i] = x[i];\n"
        "  for (int j = 0; j < n; ++j) { if (j == i) continue; if (j > i) break; a[i] *= 2; } }\n"
        + FULL + "for (int i = 0; i < 4; ++i) o[i] = a[i];\n}\n"
    )
    module = nvir.compile_cuda(text)
    assert ".local" not in nvir.print_ptx(module)
    x, o = np.array([5, 2, 7, 3], np.float32), np.zeros(4, np.float32)
    nvir.launch(module, "k", 1, 1, [o, x, np.int32(4)])
    assert o.tolist() == [1, 4, 1, 24]


def test_a_loop_that_must_not_be_unrolled_says_so_to_the_assembler() -> None:
    loop = "for (int i = 0; i < 9; ++i) o[i] = x[i] * 2;\n}\n"
    kept = nvir.print_ptx(nvir.compile_cuda(HEAD + "#pragma unroll 1\n" + loop))
    assert kept.count('.pragma "nounroll"') == 1
    assert "nounroll" not in nvir.print_ptx(nvir.compile_cuda(HEAD + loop))


@pytest.mark.parametrize(("text", "value"), [
    ("4", 4), ("(2 + 3) * 4", 20), ("-7 / 2", -3), ("-7 % 2", -1), ("1 << 4", 16), ("-(3)", -3),
    ("256 >> 2 + 1", 32),
])
def test_numbers_in_pragmas_are_counted_as_c_does(text, value):
    assert arithmetic(text) == value


@pytest.mark.parametrize("text", [
    "1 << 9999999999", "9 ** 9", "9 << 63 << 63", "7 / 0", "1 < 2", "", "4u", "print(1)", "a",
    "99999999999999999999999", "(" * 5000 + "1" + ")" * 5000, "1 +", "1.5", "'x'", "True",
])
def test_what_is_no_number_is_none_at_once(text):
    assert arithmetic(text) is None


def test_macros_that_double_do_not_grow_without_bound():
    macros = "#define A0 1\n" + "".join(
        f"#define A{k} A{k - 1} + A{k - 1} + A{k - 1} + A{k - 1} + A{k - 1}\n" for k in range(1, 9)
    )
    from nvir.frontend.cuda import read_cuda

    body = "#pragma unroll A8\nfor (int i = 0; i < n; i++) o[i] = x[i];"
    unit, _ = read_cuda(macros + HEAD + body + "\n}\n")
    assert unit.functions


def factors(source: str) -> list[int]:
    """How often each loop of the PTX multiplies, outermost in the text first."""
    f = nvir.compile_cuda(source).functions[0]
    f.analyze_cfg()
    return [sum(i.form.name in ("mul", "fma") and i.form.spelling.endswith("f32")
                for b in x.blocks for i in b) for x in f.loops()]


def _counted(pragma: str, loop: str) -> str:
    return (
        "extern \"C\" __global__ void k(const float *a, float *o, int n) {\n"
        f"float s = 0;\n{pragma}\n{loop}\no[threadIdx.x] = s; }}\n"
    )


def test_a_factor_below_the_number_of_rounds_is_carried_out() -> None:
    known = "for (int i = 0; i < 64; i++) s += a[i] * 2.0f;"
    assert factors(_counted("#pragma unroll 8", known)) == [8]
    assert factors(_counted("#pragma unroll 1", known)) == [1]
    unknown = "for (int i = 0; i < n; i++) s += a[i] * 2.0f;"
    assert factors(_counted("#pragma unroll 4", unknown))[0] == 4  # and a loop for the rest
    assert factors(_counted("", unknown)) == [1]
    text = nvir.print_ptx(nvir.compile_cuda(_counted("#pragma unroll 4", unknown)))
    assert '.pragma "unroll' not in text
    assert '.pragma "nounroll"' in text


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 64, 67])
def test_an_unrolled_loop_counts_the_same(n: int) -> None:
    loop = "for (int i = 0; i < n; i++) s += a[i] * 2.0f;"
    a = np.arange(128, dtype=np.float32)
    results = []
    for pragma in ("", "#pragma unroll 4", "#pragma unroll 7"):
        out = np.zeros(32, np.float32)
        module = nvir.compile_cuda(_counted(pragma, loop))
        nvir.launch(module, "k", grid=1, block=32, args=[a, out, np.int32(n)])
        results.append(out)
    assert (results[0] == 2 * a[:n].sum()).all()
    assert all((r == results[0]).all() for r in results)


def test_metadata_of_llvm_text_asks_as_a_pragma_does(tmp_path: Path) -> None:
    loop = "for (int i = 0; i < n; i++) s += a[i] * 2.0f;"
    asked = nvir.compile_cuda(_counted("#pragma unroll 4", loop), level="nvvm")
    file = tmp_path / "k.ll"
    file.write_text(nvir.print_ll(asked))
    f = nvir.load(file, level="ori").functions[0]
    f.analyze_cfg()
    assert sum(i.form.name == "fma" for i in f.loops()[0].header) == 4


def test_each_loop_of_a_nest_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What got too large stays a loop: a nest of 14 took a minute as each loop around one tried it
    anew."""
    from nvir.frontend.cuda.statements import StatementReader
    from nvir.frontend.cuda.unroll import written_out

    tried: list[int] = []

    def counted(reader: StatementReader, *given: Any) -> Any:
        tried.append(reader.budget)
        return written_out(reader, *given)

    monkeypatch.setattr("nvir.frontend.cuda.statements.written_out", counted)
    depth = 14
    loops = "for (int i = 0; i < 4; ++i) { acc[i] += a[i];" * depth + "}" * depth
    made = nvir.compile_cuda(f"""__global__ void k(float *a) {{
  float acc[4] = {{}};
  {loops}
  a[0] = acc[0] + acc[3];
}}""")
    assert made.kernels[0].name == "_Z1kPf"
    assert len(tried) < 2 ** (depth - 3)  # the inner ones are short enough to be written out
