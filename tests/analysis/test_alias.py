"""Alias answers and loop distances: each with a hit and a near miss, and against enumeration."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nvir
from nvir.analysis.affine import AffineForms
from nvir.analysis.alias import NEVER, Alias, AliasAnalysis, Distance, Passed
from nvir.ir import Function, Instruction

HEAD = """.version 8.0
.target sm_80
.address_size 64
.shared .align 4 .b8 tile[1024];
.shared .align 4 .b8 other[1024];
.extern .shared .align 4 .b8 dyn[];
.extern .shared .align 4 .b8 dyn2[];
.global .align 4 .b8 table[1024];
.const .align 4 .b8 coefficients[64];
"""
REGS = ".reg .b32 %r<99>; .reg .b64 %rd<99>; .reg .pred %p<9>; .reg .f32 %f<99>;\n"
SETUP = "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u32 %r9, [n];\n"


def parse(body: str, kind: str = ".visible .entry") -> tuple[AliasAnalysis, Function]:
    head = f"{HEAD}{kind} k(.param .u64 a, .param .u64 b, .param .u32 n)\n"
    text = f"{head}{{\n{REGS}{SETUP}{body}\nret;\n}}\n"
    f = nvir.read_ptx(text).functions[0]
    f.analyze_cfg()
    return AliasAnalysis(AffineForms(f)), f


def memory(f: Function) -> list[Instruction]:
    """The accesses that are no parameter loads."""
    return [
        i for i in f.instructions()
        if (i.form.reads or i.form.writes) and not i.form.space.startswith("param")
    ]


def ask(body: str, kind: str = ".visible .entry") -> Alias:
    analysis, f = parse(body, kind)
    x, y = memory(f)
    answer = analysis.alias(x, y)
    assert analysis.alias(y, x) is answer
    assert analysis.depend(x, y) == (answer is not Alias.NO and (x.form.writes or y.form.writes))
    return answer


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        ("st.global.u32 [%rd1], 0;", "ld.global.u32 %r1, [%rd1];", Alias.MUST),
        ("st.global.u32 [%rd1], 0;", "ld.global.u32 %r1, [%rd1+4];", Alias.NO),
        ("st.global.v2.u32 [%rd1], {0, 0};", "ld.global.u32 %r1, [%rd1+4];", Alias.PARTIAL),
        ("st.global.u32 [%rd1+4], 0;", "ld.global.u32 %r1, [%rd1+2];", Alias.PARTIAL),
        ("st.global.u32 [%rd1], 0;", "ld.global.u32 %r1, [%rd2];", Alias.MAY),
        ("st.global.u32 [%rd1], 0;", "ld.global.nc.u32 %r1, [%rd1];", Alias.NO),
        ("st.global.u32 [%rd1], 0;", "ld.shared.u32 %r1, [tile];", Alias.NO),
        ("st.u32 [%rd1], 0;", "ld.shared.u32 %r1, [tile];", Alias.NO),  # a kernel's pointer
        ("st.shared.u32 [tile], 0;", "ld.shared.u32 %r1, [other];", Alias.NO),
        ("st.shared.u32 [dyn], 0;", "ld.shared.u32 %r1, [dyn2];", Alias.MAY),
        ("st.shared.u32 [dyn], 0;", "ld.shared.u32 %r1, [tile];", Alias.NO),
        ("st.global.u32 [%rd1], 0;", "ld.global.u32 %r1, [table];", Alias.MAY),
        ("st.global.u32 [%rd1], 0;", "ld.const.u32 %r1, [coefficients];", Alias.NO),
        ("st.global.u32 [table+8], 0;", "ld.global.u32 %r1, [table+8];", Alias.MUST),
    ],
)
def test_two_accesses(first: str, second: str, answer: Alias) -> None:
    assert ask(f"{first}\n{second}") is answer


def test_a_device_function_knows_nothing_of_its_pointers() -> None:
    body = "st.u32 [%rd1], 0; ld.shared.u32 %r1, [tile];"
    assert ask(body, ".visible .func") is Alias.MAY


def test_a_loaded_pointer_has_no_root() -> None:
    """Neither the pointer from memory nor the 64-bit number added to it is taken for the base."""
    assert ask("ld.param.u64 %rd3, [a]; cvta.to.global.u64 %rd1, %rd3;"
               "add.s64 %rd4, %rd1, %rd2; st.u32 [%rd4], 0; ld.shared.u32 %r1, [tile];"
               ) is Alias.MAY


def test_a_wrapped_index_is_still_no_neighbour() -> None:
    body = """
        mul.wide.s32 %rd3, %r9, 4; add.s64 %rd4, %rd1, %rd3;
        add.s32 %r1, %r9, 1; mul.wide.s32 %rd5, %r1, 4; add.s64 %rd6, %rd1, %rd5;
        st.global.u32 [%rd4], 0; ld.global.u32 %r2, [%rd6];
    """
    assert ask(body) is Alias.NO
    assert ask(body.replace("ld.global.u32 %r2", "ld.global.u64 %rd9")
               .replace("[%rd4], 0", "[%rd4+4], 0")) is Alias.MAY


def test_interleaved_accesses_by_the_greatest_common_divisor() -> None:
    """8·i and 8·j + 4 never meet; 8·i and 4·j may."""
    body = """
        mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 8; add.s64 %rd4, %rd1, %rd3;
        mul.wide.u32 %rd5, %r9, {}; add.s64 %rd6, %rd1, %rd5;
        st.global.u32 [%rd4], 0; ld.global.u32 %r2, [%rd6+4];
    """
    assert ask(body.format(8)) is Alias.NO
    assert ask(body.format(4)) is Alias.MAY


def test_calls_and_matrix_loads_may_touch_anything() -> None:
    analysis, f = parse("st.shared.u32 [tile], 0;"
                        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%r9];")
    x, y = memory(f)
    assert analysis.alias(x, y) is Alias.MAY


# -------------------------------------------------------------------- distances


def loop_distance(
    body: str, step: int = 1, at_least: int = 0, first: int = 0, second: int = 1
) -> Distance:
    analysis, f = parse(f"""
        mov.u32 %r1, 0;
    L:  {body}
        add.s32 %r1, %r1, {step};
        setp.lt.s32 %p1, %r1, %r9;
        @%p1 bra L;
    """)
    (loop,) = f.loops()
    code = memory(f)
    return analysis.distance(code[first], code[second], loop, at_least)


def index(offset: int, scale: int = 4, base: str = "%rd1") -> str:
    return f"mul.wide.s32 %rd8, %r1, {scale}; add.s64 %rd9, {base}, %rd8;"


def test_a_recurrence_over_two_iterations() -> None:
    body = index(0) + "st.global.u32 [%rd9+8], 0; ld.global.u32 %r2, [%rd9];"
    assert loop_distance(body) == Distance(2, True)


def test_reading_ahead_of_the_store_meets_it_only_after_wrapping() -> None:
    body = index(0) + "st.global.u32 [%rd9], 0; ld.global.u32 %r2, [%rd9+8];"
    assert loop_distance(body).iterations in (None, 2**62 - 2)
    assert loop_distance(body, first=1, second=0) == Distance(2, True)


def test_the_same_place_each_iteration_and_the_next() -> None:
    body = "st.global.u32 [%rd1], 0; ld.global.u32 %r2, [%rd1];"
    assert loop_distance(body) == Distance(0, True)
    assert loop_distance(body, at_least=1) == Distance(1, True)


def test_a_moving_place_is_not_met_again() -> None:
    body = index(0) + "st.global.u32 [%rd9], 0; ld.global.u32 %r2, [%rd9];"
    assert loop_distance(body) == Distance(0, True)
    later = loop_distance(body, at_least=1)
    assert later.iterations is None or later.iterations > 2**20


def test_other_spaces_never_and_unknown_indices_always() -> None:
    assert loop_distance("st.shared.u32 [tile], 0; ld.global.u32 %r2, [%rd1];") == NEVER
    body = "ld.global.u32 %r3, [%rd2]; mul.wide.s32 %rd8, %r3, 4; add.s64 %rd9, %rd1, %rd8;"
    body += "st.global.u32 [%rd9], 0; ld.global.u32 %r2, [%rd1];"
    assert loop_distance(body, first=1, second=2) == Distance(0)


def test_two_pointers_that_move_together() -> None:
    """Pointers carried around the loop: the distance is that of their starts over the step."""
    analysis, f = parse("""
        add.s64 %rd3, %rd1, 64;
        mov.u64 %rd4, %rd1;
        mov.u32 %r1, 0;
    L:  st.global.u32 [%rd3], 0;
        ld.global.u32 %r2, [%rd4];
        add.s64 %rd3, %rd3, 16;
        add.s64 %rd4, %rd4, 16;
        add.s32 %r1, %r1, 1;
        setp.lt.s32 %p1, %r1, %r9;
        @%p1 bra L;
    """)
    (loop,) = f.loops()
    x, y = memory(f)
    assert analysis.distance(x, y, loop) == Distance(4, True)


@settings(max_examples=120)
@given(st.integers(0, 10**9))
def test_distances_are_what_enumeration_finds(seed: int) -> None:
    """Random strides, offsets and sizes: the first common byte among the first iterations."""
    rng = random.Random(seed)
    scale, step = rng.choice((1, 2, 4, 8, 12)), rng.choice((1, 2, 3))
    x, y = rng.randrange(0, 64), rng.randrange(0, 64)
    bits, other = rng.choice((8, 16, 32, 64)), rng.choice((8, 16, 32, 64))
    least = rng.choice((0, 1))
    body = index(0, scale) + (
        f"st.global.b{bits} [%rd9+{x}], {'%rd2' if bits == 64 else '%r9'};"
        f"ld.global.b{other} {'%rd7' if other == 64 else '%r2'}, [%rd9+{y}];"
    )
    found = loop_distance(body, step, least).iterations
    stride = scale * step
    meets = [
        d for d in range(least, 100)
        if x - other // 8 < y + stride * d < x + bits // 8
    ]
    if meets:
        assert found == meets[0]
    else:
        assert found is None or found >= 100


PLACES = ("[%rd1+{}]", "[%rd2+{}]", "[%rd3+{}]", "[%rd4+{}]", "[table+{}]", "[{}]")
SHARED = ("[tile+{}]", "[other+{}]", "[dyn+{}]", "[%r5+{}]", "[%r6+{}]")


@given(st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_what_has_passed_is_found_as_by_asking_each(rng) -> None:
    lines = ["add.s64 %rd3, %rd1, 36; mul.wide.u32 %rd4, %r9, 4; add.s64 %rd4, %rd4, %rd1;",
             "mov.u32 %r5, tile; add.u32 %r6, %r9, %r5;"]
    for _ in range(30):
        space, places = rng.choice((("global", PLACES), ("shared", SHARED), ("", PLACES[:4])))
        width, values = rng.choice(
            (("u8", "%r1"), ("u32", "%r1"), ("v4.u32", "{%r1, %r2, %r3, %r4}")))
        at = rng.choice(places).format(rng.randrange(0, 96, 16 if width[0] == "v" else 4))
        dot = f".{space}" if space else ""
        store = f"st{dot}.{width} {at}, {values};"
        lines.append(rng.choice((f"ld{dot}.{width} {values}, {at};", store, store, "membar.gl;")))
    alias, f = parse("\n".join(lines))
    passed = Passed(alias)
    for n, i in enumerate(memory(f)):
        true = {m for m in range(n) if alias.depend(passed.instructions[m], i)}
        bits = passed.before(i)
        assert all(bits >> m & 1 for m in true)
        assert passed.meets(i) == bool(true)
        passed.add(i)


def test_of_many_at_other_places_none_is_asked() -> None:
    alias, f = parse("\n".join(f"st.global.u32 [%rd1+{16 * k}], 0;" for k in range(50)))
    passed = Passed(alias)
    for i in memory(f):
        assert passed.before(i) == 0
        passed.add(i)
    assert passed.before(memory(f)[7]) == 1 << 7
