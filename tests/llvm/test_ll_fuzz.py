"""Broken LLVM text gives errors of nvir, at a place, and nothing else."""

from __future__ import annotations

import random

import pytest

import nvir
from nvir.llvm.lexer import TOKEN
from tests.llvm.ll_modules import SNIPPETS, module_of, random_module

_BITS = (
    "%x", "@f", "!0", "#0", "i32", "ptr", "float", "(", ")", "{", "}", "[", "]", "<", ">", ",", "=",
    "*", "42", "-1", "1.0", "0x7FF8000000000000", "label", "define", "to", "!", '"', "c\"a\"",
    "addrspace(3)", "undef", "zeroinitializer", "entry:", "\n", "align", "...", "99999999999999999",
    "call", "phi", "switch", "x", "distinct", "declare", "attributes", "nan", "\x00", "é",
)


def texts() -> list[str]:
    out = [module_of(s) for s in SNIPPETS.values()]
    for seed in range(3):
        m = random_module(seed)
        out.append(nvir.print_ll(m, "llvm20"))
        nvir.run_passes(m, "legalize<dialect=llvm7>")
        out.append(nvir.print_ll(m, "llvm7"))
    return out


def mutated(r: random.Random, text: str) -> str:
    """One to three edits: of tokens, lines or characters."""
    for _ in range(r.randrange(1, 4)):
        spans = [m.span() for m in TOKEN.finditer(text)]
        if not spans:
            return text
        a, b = r.choice(spans)
        kind = r.randrange(6)
        if kind == 0:
            text = text[:a] + text[b:]
        elif kind == 1:
            text = text[:a] + r.choice(_BITS) + text[b:]
        elif kind == 2:
            text = text[:a] + r.choice(_BITS) + " " + text[a:]
        elif kind == 3:
            c, d = r.choice(spans)
            text = text[:a] + text[c:d] + text[b:]
        elif kind == 4:
            lines = text.split("\n")
            k = r.randrange(len(lines))
            lines[k : k + 1] = r.choice(([], [lines[k]] * 2, [r.choice(lines)]))
            text = "\n".join(lines)
        else:
            k = r.randrange(len(text))
            text = text[:k] + chr(r.randrange(1, 300)) + text[k + 1 :]
    return text + "\n"


def survives(text: str) -> bool:
    """Whether the text was read; what was read must verify, print and read again."""
    try:
        module = nvir.read_ll(text)
    except (nvir.ParseError, nvir.Unsupported) as e:
        error = e
    else:
        error = None
    if error is not None:
        assert all(d.line for d in getattr(error, "errors", ()))
        return False
    nvir.verify(module)
    try:
        again = nvir.print_ll(module, "llvm20")
    except nvir.Unsupported:
        return True
    assert nvir.print_ll(nvir.read_ll(again), "llvm20") == again
    return True


def campaign(seed: int, count: int) -> None:
    r, sources = random.Random(seed), texts()
    read = 0
    for k in range(count):
        text = mutated(r, r.choice(sources))
        try:
            read += survives(text)
        except nvir.NvirError as e:
            raise AssertionError(f"seed {seed}, case {k}: {e}\n{text}") from e
        except Exception as e:
            raise AssertionError(f"seed {seed}, case {k}: {e!r}\n{text}") from e
    assert 0 < read < count


def test_mutations():
    campaign(1, 400)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_many_mutations(seed):
    campaign(seed, 4000)


@pytest.mark.parametrize("text", [
    "\n", "}\n", "define\n", "define void @f() {\n", "define void @f() {\n}\n", "@\n", "@x =\n",
    "@x = global\n", "!\n", "!0 =\n", "!0 = !{\n", "%\n", "%T = type\n", "%T = type { %T }\n",
    "attributes #0 = {\n", "target\n", "source_filename = 5\n", "declare void\n", "\x00\n",
    "define void @f() { ret void }\n", "@x = global i32 zeroinitializer, align\n",
    "define void @f(i32 %a, i32 %a) {\n ret void\n}\n", "[" * 5000 + "\n",
    "@x = global " + "[1 x " * 5000 + "\n", "@x = global i32 " + "9" * 10000 + "\n",
    "@x = global i32 " + "add (i32 " * 5000 + "\n", "!0 = !{" + "!{" * 5000 + "\n!x = !{!0}\n",
    "%a = type { %b }\n%b = type { %a }\n@x = global %a zeroinitializer\n",
])
def test_odd_texts(text):
    try:
        survives(text)
    except nvir.NvirError as e:
        raise AssertionError(f"{e}") from e
