"""Phase 21: products of induction variables become sums."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import nvir
from benchmarks import limits
from nvir.ir.clone import clone_module
from nvir.ir.loops import natural_loops
from nvir.passes.driver import Driver, Settings
from nvir.passes.loop import strength_reduce
from nvir.passes.phases import ORI_ORDER, phase
from tests.differential import random_case
from tests.equivalence import same_behaviour
from tests.passes.conftest import body

EXAMPLES = Path(__file__).parents[2] / "examples" / "ptx"
HEAD = """
    ld.param.u64 %rd1, [a];
    ld.param.u32 %r50, [n];
    mov.u32 %r51, %tid.x;
    mul.wide.u32 %rd20, %r51, 256;
    add.s64 %rd1, %rd1, %rd20;
    and.b32 %r52, %r50, 7;
    cvt.u64.u32 %rd22, %r50;
    mov.u64 %rd23, 0;
"""


def reduced(
    work: str, pipeline: str = "strength-reduce", policy: str = "observed", bound: str = "9",
    start: str = "0", step: str = "1", compare: str = "lt.s32", **knobs: Any,
) -> tuple[Any, list[Any]]:
    """(kernel, remarks) of a loop that counts %r1 and stores %rd5 at the end, checked in the
    interpreter."""
    module = nvir.read_ptx(body(f"""{HEAD}
        mov.u32 %r1, {start};
        mov.u64 %rd5, 0;
        mov.u64 %rd6, 3;
    L:
        {work}
        add.s64 %rd6, %rd6, 1;
        add.s32 %r1, %r1, {step};
        setp.{compare} %p1, %r1, {bound};
        @%p1 bra L;
        st.global.u64 [%rd1+128], %rd5;
        ret;
    """))
    before = clone_module(module)
    driver = Driver(Settings(verify_each=True, check=True))
    ctx = driver.run(module, f"loop-simplify,{pipeline}", knobs=knobs, policy=policy)
    assert same_behaviour(before, module, "k")
    assert same_behaviour(before, nvir.read_ptx(nvir.print_ptx(module)), "k")
    text = str(module)
    driver.run(module, pipeline, policy=policy)
    assert str(module) == text
    return module["k"], [r for r in ctx.remarks if r.pass_name == "strength-reduce"]


def in_loop(f: Any) -> list[str]:
    f.analyze_cfg()
    return [i.form.name for x in natural_loops(f) for b in x.blocks for i in b]


def names(remarks: list[Any]) -> list[str]:
    return [r.name for r in remarks]


WIDE = "mul.lo.s64 %rd7, %rd6, %rd22; add.s64 %rd5, %rd5, %rd7;"


def test_a_product_of_64_bits() -> None:
    """The multiplier is a register: the step is worked out before the loop."""
    f, remarks = reduced(WIDE, "strength-reduce,dce")
    assert names(remarks) == ["StrengthReduced"]
    assert remarks[0].args["step"] == "a value from before the loop"
    assert "mul" not in in_loop(f)


def test_a_literal_factor_gives_a_literal_step() -> None:
    work = "mul.lo.s64 %rd7, %rd6, 24; add.s64 %rd5, %rd5, %rd7;"
    f, remarks = reduced(work, "strength-reduce,dce")
    assert remarks[0].args["step"] == "24"
    assert "mul" not in in_loop(f)


def test_what_the_machine_does_in_one_operation_stays() -> None:
    """A 32-bit product is one IMAD, and so is the addition. The notes' weights say otherwise."""
    work = """mul.lo.s32 %r7, %r1, %r50; add.s32 %r8, %r7, %r51; cvt.u64.u32 %rd7, %r8;
              xor.b64 %rd5, %rd5, %rd7;"""
    f, remarks = reduced(work)
    assert names(remarks) == ["NarrowValueMayWrap", "ReductionNotPaying"]
    f, remarks = reduced(work, "strength-reduce,dce", policy="documented")
    assert names(remarks) == ["NarrowValueMayWrap", "StrengthReduced"]
    assert "mul" not in in_loop(f)


def test_an_address() -> None:
    work = "mul.wide.s32 %rd7, %r1, 4; add.s64 %rd8, %rd1, %rd7; st.global.u32 [%rd8], %r51;"
    f, remarks = reduced(work, policy="documented", pipeline="strength-reduce,dce")
    assert [(r.name, r.args.get("step")) for r in remarks] == [("StrengthReduced", "4")]
    assert in_loop(f).count("mul") == 0
    _, remarks = reduced(work)
    assert names(remarks) == ["ReductionNotPaying"]


@pytest.mark.parametrize(
    ("bound", "start", "step", "name"),
    [("9", "0", "1", "StrengthReduced"), ("%r52", "0", "1", "StrengthReduced"),
     ("%r52", "0", "2", "NarrowValueMayWrap"), ("%r52", "%r52", "1", "StrengthReduced"),
     ("-2147483646", "2147483640", "1", "NarrowValueMayWrap")],
)
def test_widening_needs_a_proof(bound: str, start: str, step: str, name: str) -> None:
    """Of a step of two a wrap cannot be excluded, nor where the variable begins near the end."""
    work = "mul.wide.s32 %rd7, %r1, 4; xor.b64 %rd5, %rd5, %rd7;"
    shape = {"compare": "lt.s32"} if bound[0] != "-" else {"compare": "ne.s32"}
    _, remarks = reduced(work, policy="documented", bound=bound, start=start, step=step, **shape)
    assert names(remarks) == [name]


def test_narrow_arithmetic_may_wrap() -> None:
    """Without widening nothing has to be proven: sums wrap as products do."""
    work = "mul.lo.s32 %r7, %r1, 1000000007; cvt.u64.u32 %rd7, %r7; xor.b64 %rd5, %rd5, %rd7;"
    _, remarks = reduced(work, policy="documented", bound="2000")
    assert "StrengthReduced" in names(remarks)


def test_negative_factors_are_widened_as_numbers() -> None:
    """-3 is 4294967293 to the narrow product, and -3 to the wide sum."""
    work = """mul.lo.s32 %r7, %r1, 4294967293; mul.wide.s32 %rd7, %r7, 8;
              mul.lo.s64 %rd7, %rd7, 5; xor.b64 %rd5, %rd5, %rd7;"""
    _, remarks = reduced(work)
    assert [(r.name, r.args["step"]) for r in remarks] == [("StrengthReduced", "-120")]


def test_a_difference_counts_down() -> None:
    work = "sub.s64 %rd7, %rd1, %rd6; mul.lo.s64 %rd7, %rd7, 12; xor.b64 %rd5, %rd5, %rd7;"
    _, remarks = reduced(work)
    assert [r.args["step"] for r in remarks] == ["-12"]


def test_values_a_constant_apart_share_a_recurrence() -> None:
    work = """mul.lo.s64 %rd7, %rd6, 24; add.s64 %rd8, %rd7, 5; xor.b64 %rd5, %rd5, %rd7;
              xor.b64 %rd5, %rd5, %rd8;"""
    _, remarks = reduced(work)
    assert sorted(names(remarks)) == ["RecurrenceShared", "StrengthReduced"] or names(remarks) == [
        "ReductionNotPaying", "StrengthReduced"
    ]


@pytest.mark.parametrize(
    "work",
    [
        "mul.lo.s64 %rd7, %rd6, %rd6; add.s64 %rd5, %rd5, %rd7;",  # a square
        "mul.lo.s64 %rd7, %rd6, %rd5; add.s64 %rd5, %rd5, %rd7;",  # of what changes
        "mul.hi.s64 %rd7, %rd6, %rd22; add.s64 %rd5, %rd5, %rd7;",
        "@%p9 mul.lo.s64 %rd7, %rd6, %rd22; @%p9 add.s64 %rd5, %rd5, %rd7;",
        "shl.b64 %rd7, %rd6, %r51; add.s64 %rd5, %rd5, %rd7;",
        "cvt.rn.f32.s32 %f1, %r1; st.global.f32 [%rd1], %f1;",
    ],
)
def test_what_is_not_linear(work: str) -> None:
    _, remarks = reduced("setp.gt.u32 %p9, %r51, 3; mov.u64 %rd7, 0;" + work, policy="documented")
    assert "StrengthReduced" not in names(remarks)


def test_the_pressure_is_held() -> None:
    _, remarks = reduced(WIDE, "strength-reduce<pressure=8>")
    assert names(remarks) == ["ReductionPressure"]
    assert remarks[0].args["registers"] > 6


def test_outer_and_inner_loops() -> None:
    work = """
        mov.u64 %rd9, 0;
    M:
        mad.lo.s64 %rd10, %rd9, %rd22, %rd6;
        mul.lo.s64 %rd11, %rd6, 40;
        xor.b64 %rd5, %rd5, %rd10;
        xor.b64 %rd5, %rd5, %rd11;
        add.s64 %rd9, %rd9, 1;
        setp.lt.s64 %p2, %rd9, 3;
        @%p2 bra M;
    """
    _, remarks = reduced(work)
    assert names(remarks) == ["StrengthReduced"] * 2


def test_its_place_among_the_phases() -> None:
    assert phase(21).passes == ("strength-reduce",)
    assert ORI_ORDER.index(18) < ORI_ORDER.index(21) < ORI_ORDER.index(22)


@pytest.mark.parametrize("seed", range(40))
def test_random_kernels_behave_the_same(seed: int) -> None:
    chain = ("loop-simplify", "strength-reduce<pressure=0>", "dce", "print")
    failure = random_case(seed, 20, chain).failure()
    assert failure is None, failure


def random_work(rng: random.Random) -> str:
    """Chains over %r1, %rd6 and invariants."""
    text, narrow, wide = [], ["%r1", "%r1"], ["%rd6", "%rd6"]
    for k in range(rng.randint(2, 7)):
        x, y = rng.choice(narrow), rng.choice(wide)
        c = rng.choice(["%r50", "%r51", "3", "-5", "4294967295", "1000003", "%r52"])
        d = rng.choice(["%rd22", "%rd1", "3", "-5", "12345678901"])
        text.append(rng.choice([
            f"mul.lo.s32 %r2{k}, {x}, {c};", f"add.s32 %r2{k}, {x}, {c};",
            f"sub.s32 %r2{k}, {c}, {x};", f"shl.b32 %r2{k}, {x}, {rng.randint(0, 33)};",
            f"mad.lo.s32 %r2{k}, {x}, {c}, %r51;", f"mad.lo.s32 %r2{k}, %r51, %r50, {x};",
        ]))
        narrow.append(f"%r2{k}")
        z = rng.choice(narrow)
        sign = rng.choice("us")
        text.append(rng.choice([
            f"mul.wide.{sign}32 %rd1{k}, {z}, {rng.choice(['7', '-3', '%r50'])};",
            f"cvt.{rng.choice('us')}64.{sign}32 %rd1{k}, {z};",
            f"mul.lo.s64 %rd1{k}, {y}, {d};", f"add.s64 %rd1{k}, {y}, {d};",
            f"sub.s64 %rd1{k}, {d}, {y};", f"shl.b64 %rd1{k}, {y}, {rng.randint(0, 40)};",
            f"mad.wide.{sign}32 %rd1{k}, {z}, 9, %rd22;", f"mad.lo.s64 %rd1{k}, {y}, {d}, %rd1;",
        ]))
        wide.append(f"%rd1{k}")
        if rng.random() < 0.7:
            text.append(f"xor.b64 %rd5, %rd5, %rd1{k};")
        if rng.random() < 0.3:
            text.append(f"cvt.u64.u32 %rd23, %r2{k}; add.s64 %rd5, %rd5, %rd23;")
    return " ".join(text)


@pytest.mark.parametrize("seed", range(60))
def test_random_chains_behave_the_same(seed: int) -> None:
    rng = random.Random(seed)
    bound, start, step, compare = rng.choice([
        ("9", "0", "1", "lt.s32"), ("%r52", "0", "1", "lt.s32"), ("9", "-5", "1", "lt.s32"),
        ("%r52", "%r52", "-1", "gt.s32"), ("30", "3", "3", "lt.u32"),
        ("-2147483646", "2147483640", "1", "ne.s32"), ("%r52", "7", "-1", "ge.s32"),
    ])
    reduced(random_work(rng), "strength-reduce<pressure=0>", rng.choice(["documented", "observed"]),
            bound, start, step, compare)


@pytest.mark.parametrize("name", ["conv3d.sm_80", "softmax.sm_80", "stencil.sm_80", "horner.sm_80"])
def test_examples_behave_the_same(name: str) -> None:
    module = nvir.read_ptx(EXAMPLES / f"{name}.ptx")
    before = clone_module(module)
    Driver(Settings(verify_each=True)).run(
        module, "loop-simplify,strength-reduce<pressure=0>,dce", policy="documented"
    )
    for f in module.functions:
        if f.is_kernel:
            assert same_behaviour(before, module, str(f.name))


def test_a_nest_is_asked_for_what_is_made_of_its_variables(monkeypatch):
    """Not all that stands in a loop, which in a nest is the square of its depth."""
    asked = 0
    real = strength_reduce._Reduction._linear

    def counted(self, i):
        nonlocal asked
        asked += 1
        return real(self, i)

    monkeypatch.setattr(strength_reduce._Reduction, "_linear", counted)
    nvir.run_passes(nvir.read_ptx(limits.nest(40)), "loop-simplify,strength-reduce")
    assert 0 < asked < 40 * 4
