"""By which exit ptxas counts: loops of one body whose control alone differs, as ptxas took them.

Each row was measured: the body of ten instructions assembled for sm_80 with the control as given,
and read back from the machine code. What the rules say of it must be the same.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import nvir
from nvir import toolchain
from nvir.passes.context import Context
from nvir.passes.knobs import Knobs
from nvir.passes.loop.unroll.unroll_decision import decide

BODY = "fma.rz.f32 %f1, %f1, %f2, %f3;\n" + "fma.rn.f32 %f1, %f1, %f2, %f3;\n" * 9
HEAD = """.version 8.0
.target sm_80
.address_size 64
"""
START = """.visible .entry {name}(.param .u64 pa, .param .u32 pn, .param .u32 pm, .param .f32 px,
.param .f32 py) {{
.reg .pred %p<9>; .reg .b32 %i<30>; .reg .b64 %l<30>; .reg .b16 %h<30>; .reg .f32 %f<9>;
ld.param.u64 %l1, [pa]; ld.param.u32 %i1, [pn]; ld.param.u32 %i2, [pm];
ld.param.f32 %f2, [px]; ld.param.f32 %f3, [py]; cvta.to.global.u64 %l1, %l1;
cvt.u64.u32 %l3, %i1; cvt.u16.u32 %h1, %i1;
ld.global.f32 %f1, [%l1]; ld.global.f32 %f4, [%l1+8]; ld.global.f32 %f5, [%l1+16];
mov.u32 %i19, 0;
F: .pragma "nounroll";
add.f32 %f5, %f5, %f3; add.s32 %i19, %i19, 1; setp.lt.s32 %p8, %i19, %i2; @%p8 bra F;
"""
END = """
st.global.f32 [%l1], %f1; st.global.f32 [%l1+8], %f4; st.global.f32 [%l1+16], %f5; ret; }
"""
# A loop that is tested at its top: ptxas rotates it, and with it all of the function.
ROTATED = """mov.u32 %i18, 0; M: setp.ge.s32 %p4, %i18, %i2; @%p4 bra N;
add.f32 %f5, %f5, %f3; add.s32 %i18, %i18, 1; bra M; N:
"""
ZERO = "mov.u32 %i20, 0;"
ADD = "add.s32 %i20, %i20, 1;"
LESS, NOT_LESS = "setp.lt.s32 %p1, %i20, {T};", "setp.ge.s32 %p1, %i20, {T};"
IF = "setp.lt.f32 %p2, %f1, %f2; @%p2 bra J; add.f32 %f4, %f4, %f2; J:"
OTHER, NO_OTHER = "setp.gt.f32 %p2, %f1, %f2;", "setp.leu.f32 %p2, %f1, %f2;"
SHORT = "setp.lt.s16 %p1, %h20, {H}; @%p1 bra L;"
DOWN = "setp.gt.s64 %p1, %l20, 0; @%p1 bra L;"
N, FULL, FOUR = "none", "full", "partial 4"
# Control, and what becomes of it with 8 iterations and with a number known at run time.
CONTROL = [
    (f"{ZERO} L: {BODY} {ADD} {LESS} @%p1 bra L;", FULL, FOUR),
    (f"{ZERO} L: {BODY} {ADD} {LESS} @%p1 bra.uni L;", N, N),
    # the branch that leaves, and nothing on the way back
    (f"{ZERO} L: {BODY} {ADD} {NOT_LESS} @%p1 bra X; bra L; X:", N, N),
    (f"{ZERO} L: {BODY} {ADD} {NOT_LESS} @%p1 bra X; mov.f32 %f6, %f1; bra L; X:", N, N),
    (f"{ZERO} L: {BODY} {ADD} {NOT_LESS} @%p1 bra X; add.f32 %f4, %f4, %f1; bra L; X:", FULL, FOUR),
    (f"{ZERO} L: {BODY} {IF} {ADD} {NOT_LESS} @%p1 bra X; bra L; X:", FULL, FOUR),
    (f"{ZERO} L: {BODY} {ADD} {NOT_LESS} @%p1 bra X; bra L; X: {ROTATED}", FULL, FOUR),
    # a test for less of a variable that falls; of one that grows the other way there are no copies
    (f"{ZERO} L: {BODY} add.s32 %i20, %i20, -1; {LESS} @%p1 bra L;", N, FOUR),
    (f"{ZERO} L: {BODY} {ADD} setp.gt.s32 %p1, %i20, {{T}}; @%p1 bra L;", N, N),
    (f"{ZERO} L: {BODY} {ADD} {NOT_LESS} @!%p1 bra L; {ROTATED}", N, N),
    # step and test apart
    (f"{ZERO} L: {BODY} {IF} {ADD} {LESS} @%p1 bra L;", FULL, FOUR),
    (f"{ZERO} L: {BODY} {ADD} {IF} {LESS} @%p1 bra L;", N, N),
    (f"{ZERO} L: {BODY} {ADD} {LESS} {IF} @%p1 bra L;", FULL, FOUR),
    (f"{ZERO} L: {NOT_LESS} @%p1 bra X; {BODY} {ADD} {IF} bra L; X:", N, N),
    (f"{ZERO} L: {NOT_LESS} @%p1 bra X; {BODY} {IF} {ADD} bra L; X:", FULL, FOUR),
    (f"{ZERO} L: {BODY} {ADD} {ADD} {LESS} @%p1 bra L;", N, N),
    # two conditions
    (f"{ZERO} L: {BODY} {ADD} {LESS} {OTHER} and.pred %p3, %p1, %p2; @%p3 bra L;", FULL, N),
    (f"{ZERO} L: {BODY} {ADD} {LESS} {OTHER} and.pred %p3, %p2, %p1; @%p3 bra L;", FULL, N),
    (f"{ZERO} L: {BODY} {ADD} {LESS} {OTHER} or.pred %p3, %p1, %p2; @%p3 bra L;", N, N),
    (f"{ZERO} L: {NOT_LESS} {NO_OTHER} or.pred %p3, %p1, %p2; @%p3 bra X; {BODY} {ADD} bra L; X:",
     N, N),
    (f"{ZERO} L: {BODY} {ADD} {LESS} setp.ge.s32 %p2, %i20, 5; @%p2 bra X; @%p1 bra L; X:", FULL,
     N),
    # widths and directions
    (f"mov.u16 %h20, 0; L: {BODY} add.s16 %h20, %h20, 1; " + SHORT, N, N),
    (f"mov.u64 %l20, {{W}}; L: {BODY} add.s64 %l20, %l20, -1; {DOWN}", FULL, FOUR),
    (f"mov.u64 %l20, {{W}}; L: {BODY} sub.u64 %l20, %l20, 1; {DOWN}", FULL, N),
]
# Start, step, comparison, bound, and what becomes of it.
COUNTS = [
    (0, 1, "lt.s32", 0, N),  # it runs once, but by its test it would not
    (0, 1, "lt.s32", 1, FULL),
    (0, 3, "ne.s32", 96, FULL), (0, 3, "ne.s32", 97, N), (0, -1, "ne.s32", 97, N),
    (97, -100, "gt.u32", 7, FULL),  # past zero: ptxas does not ask
    (-5, 12, "lt.u32", 97, FULL), (-5, -1, "lt.u32", 97, N),
    (0, 1, "lt.s32", 1 << 27, "partial 32"), (0, 1, "lt.s32", 1 << 28, N),
    (0, 2, "lt.s32", 1 << 28, "partial 32"), (0, 2, "lt.s32", 1 << 29, N),
]


def kernel(text: str, name: str = "k") -> str:
    return START.format(name=name) + text + END


def counted(row: tuple[int, int, str, int, str]) -> str:
    start, step, compare, bound, _ = row
    return (
        f"mov.b32 %i20, {start}; L: {BODY} add.s32 %i20, %i20, {step}; "
        f"setp.{compare} %p1, %i20, {bound}; @%p1 bra L;"
    )


def filled(text: str, known: bool) -> str:
    places = {"T": "8", "H": "8", "W": "8"} if known else {"T": "%i1", "H": "%h1", "W": "%l3"}
    for key, value in places.items():
        text = text.replace("{" + key + "}", value)
    return text


def said(text: str) -> str:
    module = nvir.read_ptx(HEAD + kernel(text))
    function = module["k"]
    function.analyze_cfg()
    made = {str(h.name): d for h, d in decide(function, Context(module, Knobs())).items()}["L"]
    return made.action if made.factor in (None, 1) else f"{made.action} {made.factor}"


ALL = [(filled(t, known), k if known else u) for t, k, u in CONTROL for known in (True, False)]
ALL += [(counted(row), row[4]) for row in COUNTS]


@pytest.mark.seed("UNR-07")
@pytest.mark.parametrize(("text", "outcome"), ALL)
def test_control_as_ptxas_takes_it(text: str, outcome: str) -> None:
    assert said(text) == outcome


@pytest.mark.oracle
def test_the_rows_are_those_of_ptxas() -> None:
    sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
    from unroll_agreement import factor_of_marks

    text = HEAD + "".join(kernel(t, f"k{n}") for n, (t, _) in enumerate(ALL))
    made = toolchain.ptxas(text, "sm_80")
    assert made.cubin is not None, made.error
    code = toolchain.disassemble(made.cubin, live=False)
    wrong = []
    for n, (t, outcome) in enumerate(ALL):
        action, factor = factor_of_marks(code[f"k{n}"], "rz", ())
        seen = action if factor < 2 else f"{action} {factor}"
        if seen != outcome:
            wrong.append((seen, outcome, t.replace(BODY, "")))
    assert not wrong
