"""The builder of `ori`: placing, values, conveniences, guards, calls, errors, whole kernels."""

from __future__ import annotations

import importlib.util
import struct
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nvir
from nvir import toolchain
from nvir.ir.builder import Builder, float_constant
from nvir.ir.errors import NvirError
from nvir.ir.function import Function
from nvir.ir.instruction import Instruction, Location
from nvir.ir.module import Module
from nvir.ir.opcodes.form import form
from nvir.ir.types import B32, F32, F64, PRED, SCALARS
from nvir.ir.values import integer, undef
from nvir.ir.verify import verify

PATH = Path(__file__).resolve().parents[2] / "examples" / "builder_kernels.py"


def start(*params: tuple[str, str], target: str = "sm_80") -> tuple[Module, Function, Builder]:
    m = Module(target)
    f = m.kernel("k", list(params))
    return m, f, Builder(f.block("entry"))


def lines(m: Module) -> list[str]:
    """The body's statements as PTX, one string each, parameters and `ret` left out."""
    text = nvir.print_ptx(m)
    body = text[text.index("{") : text.rindex("}")]
    found = [" ".join(x.split()) for x in body.split("\n")]
    return [x for x in found if x.endswith(";") and x[0] != "." and x != "ret;"]


def finish(m: Module, b: Builder) -> list[str]:
    b.ret()
    verify(m)
    return lines(m)


# ------------------------------------------------------------------- placing


def test_instructions_go_to_the_end_of_the_block():
    _, f, b = start()
    x = b.mov(1, type="u32")
    y = b.add(x, 2, type="s32")
    assert list(f.entry) == [x, y]
    other = f.block("other")
    z = b.at_end(other).add(y, 3, type="s32")
    assert list(other) == [z]


def test_instructions_go_before_another():
    _, f, b = start()
    x = b.mov(1, type="u32")
    y = b.add(x, 2, type="s32")
    b.at(y)
    for _ in range(2):  # once by op, once by the plan that it leaves
        b.sub(x, 1, type="s32")
    assert [i.form.name for i in f.entry] == ["mov", "sub", "sub", "add"]
    with pytest.raises(ValueError, match="in no block"):
        b.at(Instruction(form("ret")))


def test_locations():
    _, _, b = start()
    b.loc = Location(1, 2)
    made = [b.mov(1, type="u32") for _ in range(2)]
    b.loc = None
    made.append(b.mov(1, type="u32"))
    assert [i.loc for i in made] == [Location(1, 2), Location(1, 2), None]


# -------------------------------------------------------------------- values


def test_numbers_take_the_type_of_the_instruction():
    m, _, b = start()
    x = b.add(b.special("tid.x"), 1, type="u32")
    b.add(b.cvt(x, "rn.f32.u32"), 1, type="f32")
    b.add(b.cvt(x, "rn.f64.u32"), 0.5, type="f64")
    b.add(x, True, type="u32")
    assert [x.split(", ")[-1] for x in finish(m, b)] == [
        "%tid.x;", "1;", "%r2;", "0f3F800000;", "%r2;", "0d3FE0000000000000;", "1;",
    ]


def test_what_is_no_operand():
    _, _, b = start()
    with pytest.raises(TypeError, match="a value or a number, not str"):
        b.add("x", 1, type="u32")


@given(st.floats(width=32, allow_nan=False))
def test_float_literals_are_exact(x):
    assert struct.pack("<I", float_constant(x, F32).value) == struct.pack("<f", x)
    assert struct.pack("<Q", float_constant(x, F64).value) == struct.pack("<d", x)


def test_float_literals_round_and_overflow():
    assert float_constant(0.1, F32).value == 0x3DCCCCCD
    assert float_constant(1e300, F32).value == 0x7F800000
    assert float_constant(-1e300, F32).value == 0xFF800000
    assert float_constant(1.0, SCALARS["f16"]).value == 0x3C00
    assert float_constant(1.0, SCALARS["bf16"]).value == 0x3F80
    assert float_constant(1e300, SCALARS["f16"]).value == 0x7C00
    assert float_constant(-1e300, SCALARS["bf16"]).value == 0xFF80
    with pytest.raises(NvirError, match="no float literal of type b32"):
        float_constant(1.0, B32)


def test_bfloat_literals_round_to_nearest_even():
    assert float_constant(1 + 2**-8 + 2**-9, SCALARS["bf16"]).value == 0x3F81  # not cut off
    assert float_constant(1 + 2**-8, SCALARS["bf16"]).value == 0x3F80
    assert float_constant(1 + 3 * 2**-8, SCALARS["bf16"]).value == 0x3F82


def test_parameters_are_loaded_once_at_the_head_in_order():
    m, f, b = start(("n", "u32"), ("p", "ptr.shared.f32"), ("q", "ptr"))
    n, p, q = f.params
    late = f.block("late")
    b.br(late)
    b.at_end(late)
    b.add(q, 1, type="u64")
    b.add(n, 1, type="u32")
    b.load("shared.f32", p)
    b.load("shared.f32", p, 4)
    assert finish(m, b)[:5] == [
        "ld.param.u64 %q, [k_param_2];", "ld.param.u32 %n, [k_param_0];",
        "ld.param.u64 %p, [k_param_1];", "cvta.to.shared.u64 %p, %p;", "add.u64 %rd1, %q, 1;",
    ]


def test_an_erased_parameter_load_is_made_again():
    m, f, b = start(("n", "u32"))
    first = b.value(f.params[0])
    first.erase()
    again = b.value(f.params[0])
    assert again is not first
    assert b.value(f.params[0]) is again
    b.ret()
    verify(m)


# ---------------------------------------------------------------- any opcode


def test_every_row_is_a_method_by_its_mnemonic():
    m, _, b = start()
    x = b.special("tid.x")
    b.and_(x, 7, type="b32")
    b.bar_warp_sync(-1)
    b.not_(x, type="b32")
    b.activemask(type="b32")
    assert finish(m, b)[1:] == [
        "and.b32 %r2, %r1, 7;", "bar.warp.sync -1;", "not.b32 %r3, %r1;", "activemask.b32 %r4;",
    ]


def test_the_type_comes_from_the_first_register():
    m, f, b = start(("n", "s32"))
    x = b.add(f.params[0], 1)
    b.min(3, x)
    b.setp("lt", x, 7)
    assert finish(m, b)[1:] == [
        "add.s32 %r1, %n, 1;", "min.s32 %r2, 3, %r1;", "setp.lt.s32 %p1, %r1, 7;",
    ]


def test_operands_that_tell_no_type():
    _, _, b = start()
    with pytest.raises(NvirError, match="the operands tell no type"):
        b.add(1, 2)


def test_a_mnemonic_that_is_none():
    _, _, b = start()
    with pytest.raises(AttributeError, match=r"no opcode 'adds'; did you mean .*add"):
        b.adds(1, 2)
    with pytest.raises(NvirError, match=r"no opcode is spelled 'frobnicate\.u32'"):
        b.op("frobnicate.u32", 1)
    assert not hasattr(b, "__wrapped__")


def test_vectors_and_pairs():
    m, f, b = start(("p", "ptr.global.f32"))
    x, y = b.load("global.v2.f32", f.params[0], 8)
    b.store("global.v2.f32", f.params[0], [y, x])
    less, not_less = b.op("setp.lt.f32", x, y, pair=True)
    assert (less.type, not_less.type) == (PRED, PRED)
    wide = b.op("mov.b64", [x, y])
    b.op("mov.b64", wide, n=2)
    assert finish(m, b)[2:] == [
        "ld.global.v2.f32 {%f1, %f2}, [%p+8];", "st.global.v2.f32 [%p], {%f2, %f1};",
        "setp.lt.f32 %p1|%p2, %f1, %f2;", "mov.b64 %rd1, {%f1, %f2};",
        "mov.b64 {%r1, %r2}, %rd1;",
    ]


def test_tied_and_carry_operands_are_refused():
    _, _, b = start(target="sm_90a")
    x = b.special("tid.x")
    with pytest.raises(NvirError, match="give tied and carry operands through Instruction"):
        b.op("addc.u32", x, x)
    with pytest.raises(NvirError, match="give tied and carry operands through Instruction"):
        b.op("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", x, x, 1)
    assert len(b.block) == 1


# -------------------------------------------------------------------- guards


def test_guarded_instructions_have_fallbacks():
    m, _, b = start()
    x = b.special("tid.x")
    p = b.setp("lt", x, 16, type="u32")
    with b.guard(p):
        y = b.add(x, 1, type="u32", otherwise=x)
        z = b.add(x, 2, type="u32")
        b.op("st.shared.v2.u32", 0, [y, z])
        with b.guard(p, negated=True):
            w = b.add(x, 3, type="u32", otherwise=7)
    plain = b.add(x, 4, type="u32")
    assert (y.guard, y.fallbacks) == (p, (x,))
    assert z.fallbacks == (undef(z.type),)
    assert (w.form.guard, w.fallbacks) == ("!", (integer(7),))
    assert plain.guard is None
    b.ret()
    verify(m)


def test_a_guard_ends_with_its_block_even_after_an_error():
    _, _, b = start()
    x = b.special("tid.x")
    p = b.setp("lt", x, 16, type="u32")
    with pytest.raises(NvirError, match="no opcode"), b.guard(p):
        b.op("frobnicate", x)
    assert b.add(x, 1, type="u32").guard is None


def test_too_many_fallbacks():
    _, _, b = start()
    x = b.special("tid.x")
    with (
        b.guard(b.setp("lt", x, 16, type="u32")),
        pytest.raises(NvirError, match="has 1 results, 2 fallbacks given"),
    ):
        b.op("add.u32", x, 1, otherwise=[x, x])


# ------------------------------------------------------------ control and calls


def test_branches_and_phis():
    m, f, b = start(("n", "u32"))
    loop, done = f.block("loop"), f.block("done")
    b.br(loop)
    b.at_end(loop)
    i = b.phi("u32", "%i")
    following = b.add(i, 1, type="u32")
    i.add(b.value(0), f.entry)
    i.add(following, loop)
    b.cond_br(b.setp("lt", following, f.params[0]), loop, done, negated=True)
    b.at_end(done)
    b.exit()
    verify(m)
    assert loop.terminator.form.guard == "!"
    assert loop.terminator.aux == (loop, done)


def test_a_phi_goes_behind_the_other_phis():
    _, f, b = start()
    other = f.block("other")
    b.at_end(other)
    first = b.phi("u32")
    b.mov(1, type="u32")
    second = b.phi(F32)
    assert list(other)[:2] == [first, second]
    assert second.type is F32


def test_calls_pass_and_return_in_param_space():
    m = Module()
    g = m.function("twice", [("x", "u32"), ("h", "b16")], "u32")
    b = Builder(g.block("entry"))
    b.store("param.b32", g.returns[0], b.add(g.params[0], g.params[0]))
    b.ret()
    f = m.kernel("k", [])
    b = Builder(f.block("entry"))
    x = b.special("tid.x")
    h = b.cvt(x, "u16.u32")
    y = b.call(g, [x, h])
    z = b.call(g, [y, h], uniform=False)
    b.store("shared.u32", m.variable("tile", "shared", "u32"), z)
    b.ret()
    verify(m)
    calls = [i for i in f.instructions() if i.form.is_call]
    assert [i.form.spelling for i in calls] == ["call.uni", "call"]
    assert len({v.name for v in f.locals}) == 6
    assert [v.value_type.name for v in f.locals] == ["u32", "b16", "u32"] * 2
    assert [i.aux.callee for i in calls] == [g, g]
    if toolchain.available("ptxas"):
        done = toolchain.ptxas(nvir.print_ptx(m), "sm_80")
        assert done.ok, done.log


def test_a_call_without_result():
    m = Module()
    g = m.function("nothing", [("x", "u64")])
    Builder(g.block("entry")).ret()
    f = m.kernel("k", [("n", "u64")])
    b = Builder(f.block("entry"))
    assert b.call(g, [f.params[0]]) is None
    b.ret()
    verify(m)


def test_a_call_with_the_wrong_number_of_arguments():
    m = Module()
    g = m.function("g", [("x", "u32")])
    b = Builder(m.kernel("k", []).block("entry"))
    with pytest.raises(NvirError, match="g takes 1 arguments, 2 given"):
        b.call(g, [1, 2])
    assert b.function.locals == []


# -------------------------------------------------------------- conveniences


def test_loads_stores_and_comparisons():
    m, f, b = start(("p", "ptr.global.f32"))
    p = f.params[0]
    x = b.load("global.f32", p, offset=4)
    b.store("global.f32", p, x, offset=-4)
    b.setp("lt", x, 0.0)
    b.cvt(x, "rzi.s32.f32")
    assert finish(m, b)[2:] == [
        "ld.global.f32 %f1, [%p+4];", "st.global.f32 [%p+-4], %f1;",
        "setp.lt.f32 %p1, %f1, 0f00000000;", "cvt.rzi.s32.f32 %r1, %f1;",
    ]


def test_special_registers_indices_and_addresses():
    m, f, b = start(("p", "ptr.global.f64"))
    tile = m.variable("tile", "shared", "f32", 64)
    i = b.global_id("y")
    b.load("global.f64", b.element(f.params[0], i, 8))
    b.load("shared.f32", b.symbol_address(tile))
    b.special("clock64")
    b.barrier()
    b.barrier(1)
    with pytest.raises(NvirError, match="no special register is named 'nonsense'"):
        b.special("nonsense")
    assert finish(m, b)[2:] == [
        "mov.u32 %r1, %ctaid.y;", "mov.u32 %r2, %ntid.y;", "mov.u32 %r3, %tid.y;",
        "mad.lo.u32 %r4, %r1, %r2, %r3;", "mul.wide.u32 %rd1, %r4, 8;", "add.s64 %rd2, %p, %rd1;",
        "ld.global.f64 %fd1, [%rd2];", "mov.u32 %r5, tile;", "ld.shared.f32 %f1, [%r5];",
        "mov.u64 %rd3, %clock64;", "bar.sync 0;", "bar.sync 1;",
    ]
    assert [i.form.volatile for i in f.instructions() if i.form.spelling == "mov.u64"] == [True]


def test_a_kernels_parameters_are_checked():
    with pytest.raises(NvirError, match="parameter 'x': no type is spelled 'int'"):
        Module().kernel("k", [("x", "int")])


# ------------------------------------------------------------- whole kernels


def kernels() -> ModuleType:
    spec = importlib.util.spec_from_file_location("builder_kernels", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


NAMES = ("saxpy", "sgemm", "reduce", "first_negative")


@pytest.mark.oracle
@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", NAMES)
def test_example_kernels_assemble(name, target):
    m = kernels().KERNELS[name](target)
    verify(m)
    done = toolchain.ptxas(nvir.print_ptx(m), target)
    assert done.ok, done.log
    assert done.kernels[name].spill_stores == 0


@pytest.mark.parametrize("name", NAMES)
def test_example_kernels_come_back_from_ptx(name):
    m = kernels().KERNELS[name]()
    again = nvir.read_ptx(nvir.print_ptx(m))
    verify(again)
    before, after = m[name], again[name]
    assert sum(1 for i in before.instructions() if not i.is_phi) <= sum(
        1 for i in after.instructions() if not i.is_phi
    )


def test_saxpy_runs():
    x, y = np.arange(100, dtype=np.float32), np.ones(100, dtype=np.float32)
    nvir.launch(kernels().saxpy(), "saxpy", 2, 64, [100, np.float32(2), x, y])
    np.testing.assert_array_equal(y, 2 * np.arange(100, dtype=np.float32) + 1)


def test_sgemm_runs():
    n = 32
    rng = np.random.default_rng(1)
    a, b = (rng.integers(-3, 4, (n, n)).astype(np.float32) for _ in range(2))
    c = np.zeros((n, n), dtype=np.float32)
    checks = ("bounds", "race")
    nvir.launch(kernels().sgemm(), "sgemm", (2, 2), (16, 16), [n, a, b, c], check=checks)
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize("n", [0, 1, 1000])
def test_reduce_runs(n):
    x = np.arange(max(n, 1), dtype=np.float32)
    out = np.zeros(1, dtype=np.float32)
    nvir.launch(kernels().reduce(), "reduce", 2, 64, [n, x, out])
    assert out[0] == x[:n].sum()


@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (70, 3), (5, 0)])
def test_first_negative_runs(shape):
    a = np.random.default_rng(2).integers(-2, 8, shape).astype(np.int32)
    out = np.full(shape[0], 99, dtype=np.uint32)
    given = a if a.size else np.zeros(1, np.int32)
    nvir.launch(kernels().first_negative(), "first_negative", 1, 32, [*shape, given, out])
    expected = [next((j for j, x in enumerate(row) if x < 0), shape[1]) for row in a]
    np.testing.assert_array_equal(out, expected)


def test_compute_gives_the_one_result_of_an_instruction():
    b = Builder(Module("sm_80").kernel("k").block("entry"))
    total = b.compute("add.s32", 1, 2)
    assert total.definer.form.spelling == "add.s32"
    with pytest.raises(NvirError, match=r"bar\.sync"):
        b.compute("bar.sync", 0)


def test_ahead_of_places_before_an_instruction_of_a_block():
    b = Builder(Module("sm_80").kernel("k").block("entry"))
    first = b.compute("mov.u32", 1)
    made = Builder.ahead_of(first).compute("mov.u32", 2)
    assert list(b.block) == [made, first]
    first.erase()
    with pytest.raises(ValueError, match="in no block"):
        Builder.ahead_of(first)
