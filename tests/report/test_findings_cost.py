"""What `nvir check` costs of texts that nobody writes, but an editor may hold: no more than their
lines. Each family is counted at two sizes."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial

import pytest

from nvir.report.findings import find
from tests.effort import effort

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
LAYOUT = 'target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"\n' \
    'target triple = "nvptx64-nvidia-cuda"\n'


def kernel(*lines: str) -> str:
    return f"{HEAD}.visible .entry k(.param .u64 p)\n{{\n.reg .pred %p<9>; .reg .b32 %r<9999>;\n" \
        ".reg .b64 %d<9>;\n" + "\n".join(lines) + "\nret;\n}\n"


def each(n: int, line: Callable[[int], str]) -> list[str]:
    return [line(k) for k in range(n)]


def nest(n: int) -> str:
    return kernel(*each(n, lambda k: f"L{k}: add.u32 %r{k}, %r{k + 1}, %r{n};"),
                  *each(n, lambda k: f"@%p1 bra L{n - 1 - k};"))


def tables(n: int) -> str:
    return kernel(*each(n, lambda k: f"L{k}: T{k}: .branchtargets L{k * 7 % n}, L{k * 3 % n};\n"
                        f"add.u32 %r{k}, %r{k * 5 % n}, 1;\nbrx.idx %r1, T{k};"))


def targets(n: int) -> str:
    """Each call may meet each function."""
    functions = each(n, lambda k: f".func f{k}(.param .b32 a);")
    calls = each(n, lambda k: f"{{ .param .b32 q; call %d1, (q), T{k % 3}; }}")
    rows = [f"T{j}: .calltargets {', '.join(f'f{k}' for k in range(n))};" for j in range(3)]
    return HEAD + "\n".join(functions) + "\n" + kernel(*rows, *calls).removeprefix(HEAD)


def aliases(n: int) -> str:
    """Each is an alias of the next."""
    return LAYOUT + "".join(each(n, lambda k: f"@a{k} = alias i32, ptr @a{k + 1}\n")) \
        + f"@a{n} = global i32 0\n"


def sideways(n: int) -> str:
    """A ring of blocks in both directions, entered at two places."""
    blocks = each(n, lambda k: f"b{k}:\n  br i1 %c, label %b{(k + 1) % n}, label %b{(k - 1) % n}\n")
    return f"{LAYOUT}define void @k(i1 %c) {{\nentry:\n  br i1 %c, label %b0, label %b{n // 2}\n" \
        f"{''.join(blocks)}}}\n"


FAMILIES: dict[str, tuple[str, Callable[[int], str]]] = {
    "nest": ("ptx", nest),
    "tables": ("ptx", tables),
    "targets": ("ptx", targets),
    "files": ("ptx", lambda n: HEAD + "".join(each(n, lambda k: f'.file {k} "{k}.cu"\n'))),
    "registers": ("ptx", lambda n: kernel(*each(n, lambda k: f".reg .b32 x{k}, x{k}_<3>;"))),
    "shared": ("ptx", lambda n: HEAD + "".join(
        each(n, lambda k: f".shared .b32 s{k}[99];\n.visible .entry k{k}() {{ ret; }}\n"))),
    "parameters": ("ptx", lambda n: kernel("ret;").replace(
        ".param .u64 p", ",\n".join(each(n, lambda k: f".param .u8 p{k}")))),
    "parentheses": ("ptx", lambda n: kernel(f"add.u32 %r1, %r2, {'(1)+' * 2 * n}1;")),
    "literals": ("ptx", lambda n: kernel(*each(n, lambda k: f"ld.global.u32 %r1, [%d1+{k}];"))),
    "operands": ("cu", lambda n: "".join(each(n, lambda k: 'asm("" : "=r"(x\n'))),
    "aliases": ("ll", aliases),
    "sideways": ("ll", sideways),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_text_four_times_as_long_costs_four_times_as_much(family):
    language, made = FAMILIES[family]
    texts = [made(n).encode() for n in (100, 400)]
    find(made(99).encode(), f"k.{language}")  # tables that are read once; texts are kept, too
    few, many = (effort(partial(find, x, f"k.{language}")) for x in texts)
    assert many < 5 * few


UNCLOSED = {
    "parenthesis behind asm": 'asm("add.s32 %0, %1, 1;" : "=r"(c\n',
    "raw string": 'asm(R"x(\n',
    "comment": "asm(/*\n",
    "initial value": ".global .u32 g = 1;\n",
}


@pytest.mark.parametrize("what", UNCLOSED)
@pytest.mark.timeout(60)
def test_a_pattern_does_not_go_to_the_end_from_every_line(what):
    """These took more than a minute; a pattern's steps are no lines of Python to count."""
    language = "ptx" if "global" in UNCLOSED[what] else "cu"
    n = 5_000 if "behind" in what else 20_000
    find((HEAD * (language == "ptx") + UNCLOSED[what] * n).encode(), f"k.{language}")


def test_statements_that_an_edit_left_alone_are_not_checked_again():
    rng = random.Random(1)
    lines = [f'asm("add.s32 %0, %1, {rng.randrange(1 << 30)};" : "=r"(c) : "r"(a));\n'
             for _ in range(100)]
    first = effort(partial(find, "".join(lines).encode(), "k.cu"))
    lines[50] = lines[50].replace("add.s32", "add.s33")
    assert effort(lambda: None) < effort(partial(find, "".join(lines).encode(), "k.cu")) < first / 4
    assert len(find("".join(lines).encode(), "k.cu")) == 1
