"""Affine forms against what the code computes, wrapped or not."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nvir
from nvir.analysis.affine import Affine, AffineForms
from nvir.ir import Function, Instruction, Value
from nvir.ir.values import Constant, SpecialRegister

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
REGS = ".reg .b32 %r<99>; .reg .b64 %rd<99>; .reg .pred %p<9>; .reg .f32 %f<9>;\n"


def kernel(body: str, params: str = ".param .u64 a, .param .u32 n, .param .u64 b") -> Function:
    head = f"{HEAD}.shared .align 4 .b8 tile[1024];\n.visible .entry k({params})\n"
    text = f"{head}{{\n{REGS}{body}\nret;\n}}\n"
    f = nvir.read_ptx(text).functions[0]
    f.analyze_cfg()
    return f


def form_of(f: Function, name: str) -> Affine:
    """The form of the value that was last given this register."""
    found = [r for i in f.instructions() for r in i.results if r.name == name]
    return AffineForms(f).of(found[-1])


def test_extending_a_symbol_is_exact_and_extending_a_sum_is_known_modulo() -> None:
    f = kernel("""
        ld.param.u32 %r1, [n];
        mul.wide.s32 %rd1, %r1, 4;
        add.s32 %r2, %r1, 1;
        mul.wide.s32 %rd2, %r2, 4;
    """)
    exact, modulo = form_of(f, "%rd1"), form_of(f, "%rd2")
    assert str(exact) == "4·s32(%r1)"
    assert exact.is_exact
    assert not modulo.is_exact
    assert (modulo.modulus, modulo.constant) == (34, 4)
    assert (modulo - exact).is_constant
    assert (modulo - exact).constant == 4


def test_ranges_show_that_a_sum_cannot_wrap() -> None:
    f = kernel("""
        mov.u32 %r1, %tid.x;
        add.s32 %r2, %r1, 1;
        mul.wide.s32 %rd1, %r2, 4;
        mov.u32 %r3, %clock;
        add.s32 %r4, %r3, 1;
        mul.wide.s32 %rd2, %r4, 4;
    """)
    assert str(form_of(f, "%rd1")) == "4·u32(%tid.x) + 4"
    assert not form_of(f, "%rd2").is_exact


@pytest.mark.parametrize(("type", "by", "range_"), [
    ("u32", "10", (0, 9)), ("u32", "0xffffffff", (0, 0xfffffffe)), ("u32", "0", None),
    ("s32", "10", (-9, 9)), ("s32", "0xffffffff", (0, 0)), ("s32", "-10", (-9, 9)),
])
def test_the_range_of_a_remainder(type: str, by: str, range_: tuple[int, int] | None) -> None:
    f = kernel(f"mov.u32 %r3, %clock; rem.{type} %r1, %r3, {by};")
    (rem,) = [i for i in f.instructions() if i.form.name == "rem"]
    assert AffineForms(f).range_of(rem) == range_


def test_a_counter_below_its_bound_does_not_wrap_and_a_longer_stride_may() -> None:
    def at_step(step: int) -> Affine:
        f = kernel(f"""
            ld.param.u32 %r9, [n];
            mov.u32 %r1, 0;
        L:  add.s32 %r3, %r1, 1;
            mul.wide.s32 %rd1, %r3, 4;
            add.s32 %r1, %r1, {step};
            setp.lt.s32 %p1, %r1, %r9;
            @%p1 bra L;
        """)
        return form_of(f, "%rd1")

    assert at_step(1).is_exact
    assert not at_step(2).is_exact


def test_loads_of_one_parameter_are_one_symbol_and_of_memory_are_not() -> None:
    f = kernel("""
        ld.param.u64 %rd1, [a];
        ld.param.u64 %rd2, [a];
        sub.s64 %rd3, %rd2, %rd1;
        ld.global.u64 %rd4, [%rd1];
        ld.global.u64 %rd5, [%rd1];
        sub.s64 %rd6, %rd5, %rd4;
    """)
    assert form_of(f, "%rd3").is_constant
    assert not form_of(f, "%rd6").is_constant


def test_two_reads_of_a_clock_differ() -> None:
    f = kernel("mov.u32 %r1, %clock; mov.u32 %r2, %clock; sub.s32 %r3, %r2, %r1;")
    assert not form_of(f, "%r3").is_constant


def test_or_adds_only_bits_that_are_free() -> None:
    f = kernel("""
        mov.u32 %r1, %tid.x;
        shl.b32 %r2, %r1, 2;
        or.b32 %r3, %r2, 3;
        or.b32 %r4, %r2, 4;
    """)
    assert form_of(f, "%r3").constant == 3
    assert form_of(f, "%r4").terms[0].symbol.name == "%r4"


def test_variables_and_offsets_are_constants_of_an_address() -> None:
    f = kernel("mov.u64 %rd1, tile; add.s64 %rd2, %rd1, 16;")
    assert str(form_of(f, "%rd2")) == "tile + 16"


def test_guarded_values_and_too_many_symbols_are_symbols() -> None:
    many = "".join(f"ld.global.u32 %r{k}, [%rd1+{4 * k}];" for k in range(1, 12))
    sums = "mov.u32 %r20, %r1;" + "".join(f"add.s32 %r20, %r20, %r{k};" for k in range(2, 12))
    f = kernel(f"ld.param.u64 %rd1, [a]; {many} {sums} setp.eq.s32 %p1, %r1, 0; "
               "mov.u32 %r30, 1; @%p1 add.s32 %r30, %r30, 2; add.s32 %r31, %r30, 1;")
    assert len(form_of(f, "%r20").terms) <= 8
    assert form_of(f, "%r31").terms[0].symbol.name == "%r30"


def test_a_long_chain_needs_no_recursion() -> None:
    f = kernel("mov.u32 %r1, %tid.x;" + "add.s32 %r1, %r1, 1;" * 20000)
    assert form_of(f, "%r1").constant == 20000


# ------------------------------------------------------- against the arithmetic

_OPS = (
    "add", "sub", "mulc", "shl", "wide_s", "wide_u", "cvt_s", "cvt_u", "narrow", "neg", "mad", "or",
)


def random_code(rng: random.Random) -> str:
    lines = ["ld.param.u32 %r1, [n];", "mov.u32 %r2, %tid.x;", "ld.param.u64 %rd1, [a];"]
    r, d = 2, 1
    for _ in range(rng.randint(3, 14)):
        op = rng.choice(_OPS)
        x, y = rng.randint(1, r), rng.randint(1, r)
        p, q = rng.randint(1, d), rng.randint(1, d)
        c = rng.choice((0, 1, -1, 3, 4, 16, 0x7FFFFFFF, -0x80000000, rng.randint(-99, 99)))
        if op in ("add", "sub", "mulc", "shl", "neg", "narrow", "or"):
            r += 1
        else:
            d += 1
        lines.append({
            "add": f"add.s32 %r{r}, %r{x}, {rng.choice((f'%r{y}', c))};",
            "sub": f"sub.s32 %r{r}, %r{x}, %r{y};",
            "mulc": f"mul.lo.s32 %r{r}, %r{x}, {c};",
            "shl": f"shl.b32 %r{r}, %r{x}, {rng.randint(0, 40)};",
            "neg": f"neg.s32 %r{r}, %r{x};",
            "or": f"or.b32 %r{r}, %r{x}, {rng.randint(0, 9)};",
            "narrow": f"cvt.u32.u64 %r{r}, %rd{p};",
            "wide_s": f"mul.wide.s32 %rd{d}, %r{x}, {c};",
            "wide_u": f"mul.wide.u32 %rd{d}, %r{x}, {c & 0xFFFFFFFF};",
            "cvt_s": f"cvt.s64.s32 %rd{d}, %r{x};",
            "cvt_u": f"cvt.u64.u32 %rd{d}, %r{x};",
            "mad": f"mad.lo.s64 %rd{d}, %rd{p}, {c}, %rd{q};",
        }[op])
    return "\n".join(lines)


def signed(v: int, bits: int) -> int:
    v &= (1 << bits) - 1
    return v - (1 << bits) if v >> (bits - 1) else v


def run(f: Function, n: int, a: int, tid: int) -> dict[Value, int]:
    """What each value is, by the definition of its instruction."""
    env: dict[Value, int] = {}

    def read(v: Value) -> int:
        if isinstance(v, Constant):
            return int(v.value)
        return tid if isinstance(v, SpecialRegister) else env[v]

    for i in f.instructions():
        if i.type.bits == 0:
            continue
        env[i] = compute(i, read, n, a) & ((1 << i.type.bits) - 1)
    return env


def compute(i: Instruction, read: object, n: int, a: int) -> int:
    name, s = i.form.name, i.form.spelling
    if name == "ld":
        return n if i.type.bits == 32 else a
    x = [read(v) for v in i.operands]  # type: ignore[operator]
    if name == "shl":
        return x[0] << (x[1] & 0xFFFFFFFF) if x[1] < 64 else 0
    if name == "mul" and "wide" in i.form.mods:
        return signed(x[0], 32) * signed(x[1], 32) if "s32" in s else (
            (x[0] & 0xFFFFFFFF) * (x[1] & 0xFFFFFFFF)
        )
    if name == "cvt":
        return signed(x[0], 32) if s.endswith("s32") else x[0] & (1 << int(s[-2:])) - 1
    return {
        "add": lambda: x[0] + x[1], "sub": lambda: x[0] - x[1], "mul": lambda: x[0] * x[1],
        "mad": lambda: x[0] * x[1] + x[2], "neg": lambda: -x[0], "mov": lambda: x[0],
        "or": lambda: (x[0] & 0xFFFFFFFF) | x[1],
    }[name]()


@settings(max_examples=150)
@given(st.integers(0, 10**9))
def test_forms_hold_modulo_what_they_say(seed: int) -> None:
    """Random integer code on random and extreme inputs: the form gives the value."""
    rng = random.Random(seed)
    f = kernel(random_code(rng))
    forms = AffineForms(f)
    for _ in range(3):
        n = rng.choice((0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, rng.getrandbits(32)))
        tid = rng.choice((0, 1, 31, 1023))
        env = run(f, n, rng.getrandbits(64), tid)
        for value, actual in env.items():
            form = forms.of(value)
            total = form.constant
            for t in form.terms:
                v = tid if isinstance(t.symbol, SpecialRegister) else env[t.symbol]
                bits = t.symbol.type.bits
                total += t.coefficient * (signed(v, bits) if t.signed else v)
            assert (total - actual) % (1 << form.modulus) == 0, (str(value), str(form))
