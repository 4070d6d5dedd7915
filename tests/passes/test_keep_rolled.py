"""Loops whose copies ptxas would run too often or too seldom are marked; others are not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import nvir
from nvir import toolchain
from nvir.compiler import compile_cuda
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs
from nvir.passes.loop.unroll.unroll_decision import decide

EXAMPLES = Path(__file__).parents[2] / "examples"
KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p, .param .u{bits} s, .param .u{bits} n)
{{
.reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<9>; .reg .b{bits} %i, %n, %o;
ld.param.u64 %rd1, [p]; ld.param.u{bits} %i, [s]; ld.param.u{bits} %n, [n];
mov.f32 %f1, 0f00000000;
{start}
L: {pragma}
cvt.u32.u{bits} %r1, %i; and.b32 %r2, %r1, 1023; mul.wide.u32 %rd2, %r2, 4;
add.s64 %rd3, %rd1, %rd2; ld.global.f32 %f2, [%rd3]; add.f32 %f1, %f1, %f2;
add.s{bits} %i, %i, {step};
setp.{test} %p1, %i, %n;
@%p1 bra L;
st.global.f32 [%rd1], %f1; ret;
}}
"""
THIRD, THIRD64 = (1 << 31) // 3, (1 << 63) // 3  # the largest steps of which three do not overflow
BETWEEN = "mov.b32 %i, {}; mov.b32 %n, {};"
WRONG = [  # comparison, step, constants before the loop; what is said
    ("ne.s32", -1640531527, "", "3 steps of -1640531527 overflow 32 bits"),
    ("ne.u32", THIRD + 1, "", f"3 steps of {THIRD + 1} overflow 32 bits"),
    ("ne.s64", -THIRD64 - 1, "", f"3 steps of {-THIRD64 - 1} overflow 64 bits"),
    ("lt.s32", 1 << 25, "", "64 steps of 33554432 overflow 32 bits"),
    ("gt.u64", -(1 << 57), "", f"64 steps of {-(1 << 57)} overflow 64 bits"),
    ("lt.s32", -4, "", "a test .lt of a variable that falls"),
    ("le.u32", -1, "", "a test .le of a variable that falls"),
    ("lt.u32", 500000000, BETWEEN.format(0, 4000000000),
     "ptxas counts 1 rounds where there are 8"),
    ("lt.u32", 1, BETWEEN.format(-3, 5), "ptxas counts 8 rounds where there are 1"),
    ("gt.u32", -8, BETWEEN.format(5, 10), "ptxas counts 1 rounds where there are 536870912"),
]
RIGHT = [
    ("ne.s32", -1, ""),
    ("ne.u32", THIRD, ""),
    ("ne.s64", -THIRD64, ""),
    ("ne.s64", 0x9e3779b9, ""),
    ("lt.s32", (1 << 25) - 1, ""),
    ("gt.s32", -4, ""),
    ("gt.s32", 1 << 30, ""),  # ptxas makes no copies
    ("lt.s32", 4, BETWEEN.format(0, 64)),
    ("lt.s32", 500000000, BETWEEN.format(-2000000000, 2000000000)),
    ("lt.u32", 4000000, BETWEEN.format(0, 4000000000)),  # likewise
    ("ne.s32", 1640531527, BETWEEN.format(0, 1640531527 * 3 % (1 << 32))),  # likewise
    ("lt.s32", 5, BETWEEN.format(10, 5)),  # likewise
    ("lt.s32", 6, BETWEEN.format(10, 5)),  # one round is right
]


def text(test: str, step: int, start: str = "", pragma: str = "") -> str:
    return KERNEL.format(bits=test[-2:], test=test, step=step, start=start, pragma=pragma)


def marked(module: nvir.Module) -> list[str]:
    return [b.name for f in module.functions for b in f.blocks if "nounroll" in b.pragmas]


@pytest.mark.parametrize(("test", "step", "start", "why"), WRONG)
def test_a_loop_that_ptxas_miscounts_is_marked(test: str, step: int, start: str, why: str) -> None:
    module = nvir.read_ptx(text(test, step, start))
    remarks = nvir.run_passes(module, "keep-rolled")
    assert marked(module) == ["L"]
    assert [r.args["why"] for r in remarks] == [why]


@pytest.mark.parametrize(("test", "step", "start"), RIGHT)
def test_a_loop_that_ptxas_counts_right_is_left_to_it(test: str, step: int, start: str) -> None:
    module = nvir.read_ptx(text(test, step, start))
    assert not list(nvir.run_passes(module, "keep-rolled"))
    assert not marked(module)


def test_a_marked_loop_is_marked_once() -> None:
    module = nvir.read_ptx(text("ne.s32", 1 << 30, pragma='.pragma "nounroll";'))
    assert not list(nvir.run_passes(module, "keep-rolled"))
    assert nvir.print_ptx(module).count("nounroll") == 1


def test_the_decision_says_that_the_copies_are_wrong() -> None:
    """What `report` and `explain` show of PTX that nvir did not make."""
    for step, wrong in ((1 << 30, True), (4, False)):
        module = nvir.read_ptx(text("ne.s32", step))
        function = module.kernels[0]
        function.analyze_cfg()
        (decision,) = decide(function, Context(module, Knobs())).values()
        assert decision.factor == 4
        said = "another number of times: 3 steps of 1073741824 overflow 32 bits"
        assert (said in decision.reason) is wrong


@pytest.mark.parametrize("level", [1, 2, 3])  # at -O0 the variable is in memory
def test_every_level_marks_a_loop_over_hash_steps(level: int) -> None:
    source = """__global__ void probe(const int *a, int *out, unsigned key, unsigned end, int n) {
        int sum = 0;
        for (unsigned h = key; h != end; h += 0x9e3779b9u) sum += a[h & 1023];
        for (int i = 0; i < n; i++) sum += a[i];
        *out = sum; }"""
    assert len(marked(compile_cuda(source, optimise=level))) == 1


def test_what_is_asked_for_goes_before_the_mark() -> None:
    source = """__global__ void probe(const int *a, int *out, unsigned key, unsigned end) {
        int sum = 0;
        #pragma unroll 2
        for (unsigned h = key; h != end; h += 0x9e3779b9u) sum += a[h & 1023];
        *out = sum; }"""
    module = compile_cuda(source)
    assert nvir.print_ptx(module).count("ld.global") >= 3  # two copies and what is left
    assert len(marked(module)) == 2


@pytest.mark.oracle
@pytest.mark.parametrize(("test", "step", "copies"), [
    ("ne.s32", -1640531527, 7), ("lt.s32", -4, 7), ("ne.s32", 4, 7), ("gt.s32", 1 << 30, 1)])
def test_ptxas_copies_what_is_not_marked(test: str, step: int, copies: int) -> None:
    """Four, two and one copy of the body in its code; one of a loop that is marked."""
    module = nvir.read_ptx(text(test, step))
    assert loads(nvir.print_ptx(module)) == copies
    if list(nvir.run_passes(module, "keep-rolled")):
        assert loads(nvir.print_ptx(module)) == 1


@pytest.mark.oracle
def test_the_example_has_one_copy_of_its_hash_loop() -> None:
    """`probe` has a second loop, which is left to ptxas."""
    ptx = nvir.print_ptx(compile_cuda(EXAMPLES / "loop_forms.cu"))
    entry = ptx.index(".entry probe")
    free = ptx[:entry] + ptx[entry:].replace('.pragma "nounroll";', "", 1)
    assert loads(free, "probe") - loads(ptx, "probe") == 6


def loads(ptx: str, kernel: str = "k") -> int:
    """How many global loads ptxas's code of a kernel has."""
    made = toolchain.ptxas(ptx, arch="sm_90")
    assert made.ok, made.error
    code = toolchain.nvdisasm(made.cubin)
    part = code[code.index(f".text.{kernel}"):]
    return len(re.findall(r"\bLDG", part.split("//---", 1)[0]))
