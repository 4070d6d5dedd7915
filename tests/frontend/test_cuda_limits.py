"""What clang may take without end is refused before: macros that double, names, `%` in assembly."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from nvir.cli import main
from nvir.frontend.cuda.kernel_names import nvcc_name
from nvir.frontend.cuda.limits import LONGEST_NAME, too_much
from nvir.ir.errors import NvirError


def doubling(levels: int, backwards: bool = False) -> str:
    lines = [f"#define A{k} A{k - 1} A{k - 1}\n" for k in range(1, levels + 1)]
    return "#define A0 ;\n" + "".join(reversed(lines) if backwards else lines)


@pytest.mark.parametrize("backwards", [False, True])
def test_a_macro_that_doubles_is_refused_at_its_use(tmp_path: Path, backwards: bool) -> None:
    (tmp_path / "k.cu").write_text(doubling(29, backwards) + "__global__ void k() { A29 }\n")
    made = CliRunner().invoke(main, ["compile", str(tmp_path / "k.cu")])
    assert made.exit_code == 1
    said = "k.cu:31:23: error: the macro 'A29' stands for more than 1,048,576 tokens"
    assert said in made.output
    assert too_much(doubling(20, backwards) + "void f() { A20 }\n") is None


@pytest.mark.parametrize("text", [
    doubling(29), doubling(29) + "// A29\n", doubling(29) + "char a[] = \"A29\";\n",
    "#define A A A A\n#define B A B A\nA B\n", "#define A B B\n#define B A A\nA B\n",
    "#define F(x) x x\nF(F(1))\n",
])
def test_macros_that_are_not_used_or_name_themselves_are_taken(text: str) -> None:
    assert too_much(text) is None


def test_a_call_of_a_doubling_macro_counts() -> None:
    lines = "".join(f"#define F{k}(x) F{k - 1}(x) F{k - 1}(x)\n" for k in range(1, 25))
    text = f"{lines}int a = F24(1);\n"
    assert too_much(text) == ("the macro 'F24' stands for more than 1,048,576 tokens",
                              text.rindex("F24"))


def test_a_name_has_a_limit() -> None:
    assert too_much("k" * LONGEST_NAME) is None
    found = too_much(" " + "k" * (LONGEST_NAME + 1))
    assert found == ("a name of more than 100,000 characters", 1)


def test_percent_signs_of_one_text_have_a_limit() -> None:
    text = 'asm("' + "mov.u32 %0,1;" * 20_000 + '" : "=r"(x));'
    found = too_much(text)
    assert found is not None
    assert found[1] == 4
    assert too_much(text.replace("%", "x")) is None
    assert too_much(text.replace("1;", '1;"\n"')) is None


def test_names_of_deep_pointers_are_read() -> None:
    deep = "P" * 10_000
    assert nvcc_name(f"_ZL1kI{deep}DhEv{deep}T_") == f"_Z1kI{deep}6__halfEv{deep}T_"
    with pytest.raises(NvirError, match="more than 15,000 levels"):
        nvcc_name(f"_Z1k{'P' * 40_000}i")
