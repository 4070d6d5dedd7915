"""A text of 5,000 lines of whatever kind is checked behind an edit in steps that its lines bound:
what half a second of a core does."""

from __future__ import annotations

import random

import pytest

from nvir.lsp.document import Document
from tests.effort import effort

HEAD = ".version 8.3\n.target sm_90\n.address_size 64\n"
KERNEL = """.visible .entry k(.param .u64 p)
{
.reg .pred %p<64>; .reg .b32 %r<6000>; .reg .f32 %f<6000>; .reg .b64 %d<6000>;
"""
N = 5_000
STEPS = 800  # of Python, a line; most need a quarter


def kernel(lines, before=""):
    return f"{HEAD}{before}{KERNEL}" + "".join(f"{x}\n" for x in lines) + "ret;\n}\n"


def scattered():
    rng = random.Random(1)
    return kernel(f"B{k}: @%p{k % 60} bra B{rng.randrange(N // 2)};\n"
                  f"add.s32 %r{rng.randrange(N)}, %r{rng.randrange(N)}, 1;" for k in range(N // 2))


KINDS = {
    "each register": lambda: kernel(f"add.s32 %r{k + 1}, %r{k}, {k};" for k in range(N)),
    "scattered branches": scattered,
    "calls": lambda: kernel((
        f"{{ .param .b32 a;\nst.param.b32 [a], %r{k};\n.param .b32 b;\ncall (b), f, (a);\n"
        f"ld.param.b32 %r{k}, [b]; }}" for k in range(N // 5)),
        ".func (.param .b32 b) f(.param .b32 a);\n"),
    "tables": lambda: kernel(["T: .branchtargets " + ", ".join(
        f"L{k}" for k in range(N // 2)) + ";", *(
            f"L{k}: add.s32 %r1, %r1, 1;\n@%p1 brx.idx %r1, T;" for k in range(N // 2))]),
    "vectors": lambda: kernel(f"ld.global.v4.f32 {{%f{k}, %f1, %f2, %f3}}, [%d{k}+{k * 16}];"
                              for k in range(N)),
    "ranges of vectors": lambda: kernel(f".reg .v4 .f32 v{k}_<4000>;" for k in range(N)),
    "kernels": lambda: HEAD + "".join(
        f".visible .entry k{k}(.param .u64 p) {{ ret; }}\n" for k in range(N)),
    "wrong modifiers": lambda: kernel(f"add.rn.s32 %r{k}, %r1, {k};" for k in range(N)),
    "undeclared registers": lambda: kernel(f"add.s32 %r{k}, %x{k}, 1;" for k in range(N)),
}
EDITS = {
    "nothing": lambda text: text,
    "a syntax error": lambda text: text.replace("ret;\n}", "oops is no statement;\nret;\n}", 1),
    "no operands": lambda text: text.replace("%r1,", "", 1),
    "other types": lambda text: text.replace(".b32 %r<", ".f64 %r<").replace(".f32 %", ".b16 %"),
    "another target": lambda text: text.replace("sm_90", "sm_50"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_costs_a_bounded_effort_a_line(kind):
    text = KINDS[kind]()
    Document(text, "k.ptx").findings()
    for edit in EDITS.values():
        effort(Document(edit(text), "k.ptx").findings, most=STEPS * N)


@pytest.mark.parametrize(("edit", "most"), [
    (lambda text: text.replace("4999;", "7777;"), 80),
    (lambda text: text.replace('"r"', '"l"'), 1_500),
])
def test_of_a_cuda_source_what_changed_is_what_costs(edit, most):
    text = "".join(f'asm("add.s32 %0, %1, {k};" : "=r"(c) : "r"(a));\n' for k in range(N))
    assert not Document(text, "k.cu").findings()
    effort(Document(edit(text), "k.cu").findings, most=most * N)
