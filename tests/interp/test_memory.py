"""Memory: state spaces, widths, errors with their place, atomics, arguments, globals, checks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nvir
from nvir.interp import grid
from nvir.ir.clone import clone_module
from nvir.ir.errors import LaunchError
from tests.interp.machine_helpers import STORE, ptx, run, words

TID = "mov.u32 %r1, %tid.x;"


@pytest.mark.parametrize(
    ("type", "expected"),
    [("u8", 0xF0), ("s8", 0xFFFFFFF0), ("u16", 0x80F0), ("s16", 0xFFFF80F0), ("u32", 0xA1B280F0)],
)
def test_narrow_loads_extend_by_their_type(type: str, expected: int) -> None:
    data, out = np.array([0xA1B280F0], np.uint32), words(1)
    run(f"ld.global.{type} %r0, [%d1]; st.global.u32 [%d0], %r0;", out, data, block=1)
    assert out[0] == expected


def test_narrow_stores_cut() -> None:
    out = np.full(4, 0xEE, np.uint8)
    run("mov.u32 %r1, 0x12345678; st.global.u8 [%d0+1], %r1; st.global.u8 [%d0+3], 511;", out)
    assert out.tolist() == [0xEE, 0x78, 0xEE, 0xFF]


def test_vectors_of_every_width() -> None:
    data, out = np.arange(16, dtype=np.uint32), words(16)
    run("""ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%d1];
        st.global.v4.u32 [%d0], {%r4, %r3, %r2, %r1};
        ld.global.v2.u64 {%d2, %d3}, [%d1+16]; st.global.v2.u64 [%d0+16], {%d3, %d2};
        ld.global.v4.u8 {%r1, %r2, %r3, %r4}, [%d1+4]; st.global.v2.u32 [%d0+32], {%r1, %r2};
        ld.global.v8.b32 {%r10, %r11, %r12, %r13, %r14, _, _, %r17}, [%d1+32];
        st.global.v2.b32 [%d0+40], {%r10, %r17};""",
        out, data, block=1, target="sm_100")
    assert out[:12].tolist() == [3, 2, 1, 0, 6, 7, 4, 5, 1, 0, 8, 15]


def test_b128_registers() -> None:
    data, out = np.arange(8, dtype=np.uint64), words(8, np.uint64)
    run("""{ .reg .b128 %q<3>; ld.global.b128 %q1, [%d1+16]; mov.b128 {%d2, %d3}, %q1;
        add.u64 %d2, %d2, 100; mov.b128 %q2, {%d3, %d2}; st.global.b128 [%d0], %q2;
        atom.global.exch.b128 %q0, [%d0], %q1; st.global.b128 [%d0+16], %q0; }""",
        out, data, block=1)
    assert out[:4].tolist() == [2, 3, 3, 102]


@pytest.mark.parametrize(
    ("access", "message"),
    [
        ("ld.global.u32 %r2, [%d3];", "load of 4 bytes out of bounds, byte 32 of buffer of p0"),
        ("st.global.u32 [%d0+2], %r1;", "misaligned access of 4 bytes"),
        ("ld.u32 %r2, [%d3];", "load of 4 bytes out of bounds"),
        ("atom.global.add.u32 %r2, [%d3], 1;", "out of bounds"),
        ("red.global.add.u32 [%d3], 1;", "out of bounds"),
    ],
)
def test_leaving_a_buffer_is_told_with_its_place(access: str, message: str) -> None:
    """Thread 8 is the first that is out of the eight words."""
    with pytest.raises(LaunchError, match=message) as e:
        run(f"{TID} mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d0, %d2;\n{access}", words(8), block=9)
    assert e.value.kernel == "k"
    assert e.value.line is not None
    assert e.value.address is not None
    assert access.split()[0] in e.value.instruction
    if "misaligned" not in message:
        assert e.value.thread == (8, 0, 0)


def test_far_behind_a_buffer_is_told_of_the_buffer_and_never_of_the_parameters() -> None:
    """Parameters lie behind the buffers, and no pointer leads to them."""
    with pytest.raises(LaunchError, match=r"byte 1000000 of buffer of p0 of 32 bytes,"):
        run("st.global.u32 [%d0+1000000], 1;", words(8))
    with pytest.raises(LaunchError, match=r"byte 999488 of buffer of p1 of 32 bytes,"):
        run("st.global.u32 [%d0+1000000], 1;", words(8), words(8))


def test_the_place_of_a_fault_is_that_of_its_instruction() -> None:
    with pytest.raises(LaunchError) as e:
        run("st.global.u32 [%d0], 1; st.global.u32 [%d0+32], 1; st.global.v2.u32 [%d0], {1, 2};",
            words(8))
    assert e.value.place == ("<text>", 12, 25)


def test_the_null_pointer() -> None:
    with pytest.raises(LaunchError, match="out of bounds") as e:
        run("mov.u64 %d1, 0; ld.global.u32 %r1, [%d1];", words(1))
    assert e.value.address == 0


def test_stores_to_const_and_to_read_only_arrays_are_errors() -> None:
    with pytest.raises(LaunchError, match="read-only memory"):
        run("mov.u64 %d1, c; cvta.const.u64 %d1, %d1; st.u32 [%d1], 1;", words(1),
            before=".const .u32 c = 5;")
    x = words(4)
    x.flags.writeable = False
    with pytest.raises(LaunchError, match="read-only memory"):
        run("st.global.u32 [%d0], 1;", x)


@pytest.mark.parametrize("bad", ["[%r2]", "[%r2+4096]"])
def test_shared_memory_is_bounded(bad: str) -> None:
    with pytest.raises(LaunchError, match="out of bounds in shared memory of 64 bytes"):
        run(f"{TID} mul.lo.u32 %r2, %r1, 4; st.shared.u32 {bad}, %r1;", words(1),
            before=".shared .b8 s[64];", block=17, dynamic_smem=64)


@pytest.mark.parametrize("bad", [
    "st.local.b8 [%d1], 1;", "st.shared.b8 [%d1], 1;", "st.global.b8 [%d2], 1;"])
def test_the_last_address_that_a_sign_leaves_is_out_of_bounds(bad: str) -> None:
    """Behind it numbers of 64 bits begin anew."""
    with pytest.raises(LaunchError, match="store of 1 bytes out of bounds"):
        run(f"{{ .local .b32 l[2]; mov.u64 %d1, 0x7fffffffffffffff; add.s64 %d2, %d0, %d1; {bad} "
            "}", words(1), before=".shared .b8 s[64];", block=3)


def test_generic_addresses_of_all_windows_in_one_access() -> None:
    """A third of the lanes reads global, shared and local memory each."""
    out, data = words(30), np.arange(30, dtype=np.uint32) + 1000
    run(f"""{{ .local .b32 l[2]; .shared .b32 s[30]; {TID} rem.u32 %r2, %r1, 3;
        mul.lo.u32 %r3, %r1, 4; mov.u32 %r4, s; add.u32 %r4, %r4, %r3; add.u32 %r5, %r1, 2000;
        st.shared.u32 [%r4], %r5; add.u32 %r5, %r1, 3000; st.local.u32 [l+4], %r5;
        cvt.u64.u32 %d2, %r4; cvta.shared.u64 %d2, %d2; mov.u64 %d3, l; cvta.local.u64 %d3, %d3;
        add.u64 %d3, %d3, 4; mul.wide.u32 %d4, %r1, 4; add.u64 %d5, %d1, %d4;
        setp.eq.u32 %p0, %r2, 1; selp.b64 %d5, %d2, %d5, %p0; setp.eq.u32 %p1, %r2, 2;
        selp.b64 %d5, %d3, %d5, %p1; ld.u32 %r0, [%d5]; add.u32 %r0, %r0, 1; st.u32 [%d5], %r0;
        ld.u32 %r0, [%d5];
        isspacep.shared %p2, %d5; isspacep.local %p3, %d5; isspacep.global %p4, %d5;
        xor.pred %p5, %p0, %p2; xor.pred %p6, %p1, %p3; or.pred %p5, %p5, %p6;
        @%p5 mov.u32 %r0, 0; {STORE} }}""", out, data, block=30)
    base = [1000, 2000, 3000]
    assert out.tolist() == [base[k % 3] + k + 1 for k in range(30)]


def test_local_memory_is_the_threads_own() -> None:
    out = words(64)
    run(
        f"""{{ .local .align 8 .b8 l[64]; {TID} mov.u64 %d2, l; and.b32 %r2, %r1, 7;
        mul.wide.u32 %d3, %r2, 8; add.u64 %d2, %d2, %d3; st.local.u64 [%d2], %d3;
        st.local.u32 [%d2+4], %r1; ld.local.u32 %r0, [%d2+4]; {STORE} }}""",
        out,
        block=64,
    )
    assert out.tolist() == list(range(64))


def test_alloca_grows_and_is_given_back() -> None:
    out = words(32)
    run(f"""{TID} and.b32 %r2, %r1, 3; mul.wide.u32 %d2, %r2, 16; add.u64 %d2, %d2, 16;
        stacksave.u64 %d5; alloca.u64 %d3, %d2, 16; alloca.u64 %d4, 16, 16;
        st.local.u32 [%d3], %r1; st.local.u32 [%d4], 7; ld.local.u32 %r0, [%d3];
        stackrestore.u64 %d5; alloca.u64 %d6, %d2, 16; setp.ne.u64 %p0, %d6, %d3;
        @%p0 mov.u32 %r0, 0; {STORE}""", out)
    assert out.tolist() == list(range(32))


def test_static_and_dynamic_shared_memory_do_not_overlap() -> None:
    out = words(4)
    run("""{ .shared .align 4 .b8 a[12]; mov.u32 %r1, dyn; st.shared.u32 [a+8], 5;
        st.shared.u32 [dyn], 6; ld.shared.u32 %r2, [a+8]; mov.u32 %r3, %dynamic_smem_size;
        st.global.v4.u32 [%d0], {%r1, %r2, %r3, 0}; }""", out, block=1, dynamic_smem=32,
        before=".extern .shared .align 16 .b8 dyn[];")
    assert out[0] % 16 == 0
    assert out[0] >= 12
    assert out[1:3].tolist() == [5, 32]


# ----------------------------------------------------------------------- initial values


def test_initialisers_with_addresses() -> None:
    before = """.global .u32 a[4] = {2, 3, 5, 7}; .global .align 8 .u64 p[2] = {generic(a)+8, a+4};
        .global .align 8 .u8 bytes[8] = {0xFF(a), 0xFF00(a), 0xFF0000(a), 0xFF000000(a),
        0xFF00000000(a), 0xFF0000000000(a), 0xFF000000000000(a), 0xFF00000000000000(a)};
        .global .f32 f[3] = {1.5, 0f40000000, -3}; .global .u16 m[2][3] = {{1, 2, 3}, {4, 5}};
        .const .f64 d = 2.5;"""
    out = words(8)
    run("""ld.global.u64 %d1, [p]; ld.u32 %r1, [%d1]; ld.global.u64 %d2, [p+8]; ld.u32 %r2, [%d2];
        ld.global.u64 %d3, [bytes]; ld.u32 %r3, [%d3]; ld.global.f32 %f1, [f];
        ld.global.f32 %f2, [f+4];
        add.f32 %f1, %f1, %f2; cvt.rni.u32.f32 %r4, %f1; ld.global.u16 %r5, [m+8];
        ld.global.u16 %r6, [m+10]; ld.const.f64 %e1, [d]; add.f64 %e1, %e1, %e1;
        cvt.rni.u32.f64 %r7, %e1; st.global.v4.u32 [%d0], {%r1, %r2, %r3, %r4};
        st.global.v4.u32 [%d0+16], {%r5, %r6, %r7, 0};""", out, before=before, block=1)
    assert out.tolist() == [5, 3, 2, 4, 5, 0, 5, 0]


def test_globals_go_in_and_come_out() -> None:
    before = ".global .u32 a[2]; .global .s32 b = -5; .global .f32 c[2][2];"
    body = "ld.global.u32 %r1, [a+4]; add.u32 %r1, %r1, 1; st.global.u32 [b], %r1;"
    m = nvir.read_ptx(ptx(body, before, 0))
    given = np.array([4, 41], np.uint32)
    result = nvir.launch(m, "k", 1, 1, [], globals={"a": given})
    assert result.globals["b"] == 42
    assert result.globals["c"].shape == (2, 2)
    assert result.globals["a"].tolist() == [4, 41]
    with pytest.raises(TypeError, match="no variable 'z'"):
        nvir.launch(m, "k", 1, 1, [], globals={"z": given})
    with pytest.raises(LaunchError, match="8 bytes, 4 given"):
        nvir.launch(m, "k", 1, 1, [], globals={"a": given[:1]})


# ----------------------------------------------------------------------------- arguments


def test_scalars_by_the_declared_type() -> None:
    m = nvir.read_ptx("""
        .version 8.0\n.target sm_80\n.address_size 64
        .visible .entry k(.param .u64 o, .param .s32 a, .param .f32 b, .param .f64 c, .param .u8 d,
                          .param .f16 e, .param .align 8 .b8 s[16])
        { .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .f32 %f; .reg .f64 %e; .reg .b16 %h;
          ld.param.u64 %d0, [o]; ld.param.u32 %r0, [a]; st.global.u32 [%d0], %r0;
          ld.param.f32 %f, [b]; st.global.f32 [%d0+4], %f; ld.param.f64 %e, [c];
          st.global.f64 [%d0+8], %e; ld.param.u8 %r1, [d]; st.global.u32 [%d0+16], %r1;
          ld.param.b16 %h, [e]; st.global.b16 [%d0+20], %h; ld.param.u64 %d1, [s+8];
          st.global.u64 [%d0+24], %d1; ret; }""")
    out = np.zeros(32, np.uint8)
    struct = np.array((7, 1 << 40), np.dtype([("x", "u4"), ("y", "u8")], align=True))[()]
    nvir.launch(m, "k", 1, 1, [out, -2, 1.5, 2.5, 200, 0.5, struct])
    assert out[:4].view(np.int32)[0] == -2
    assert out[4:8].view(np.float32)[0] == 1.5
    assert out[8:16].view(np.float64)[0] == 2.5
    assert out[16:20].view(np.uint32)[0] == 200
    assert out[20:22].view(np.float16)[0] == 0.5
    assert out[24:].view(np.uint64)[0] == 1 << 40
    good = [out, np.int32(-2), np.float32(1.5), np.float64(2.5), 200, np.float16(0.5), bytes(16)]
    nvir.launch(m, "k", 1, 1, good)
    for k, bad in ((1, 1 << 33), (2, np.float64(1)), (3, np.float32(1)), (4, 1.5), (6, bytes(8))):
        with pytest.raises(TypeError, match=f"argument {k}"):
            nvir.launch(m, "k", 1, 1, [*good[:k], bad, *good[k + 1 :]])
    with pytest.raises(TypeError, match="no pointer"):
        nvir.launch(m, "k", 1, 1, [out, out, *good[2:]])


def test_the_same_array_twice_is_one_buffer() -> None:
    x = words(2)
    run("st.global.u32 [%d0], 5; ld.global.u32 %r1, [%d1]; st.global.u32 [%d1+4], %r1;", x, x)
    assert x.tolist() == [5, 5]


def test_buffers_are_aligned_and_apart() -> None:
    out = words(2, np.uint64)
    run("st.global.v2.u64 [%d0], {%d0, %d1};", out, np.zeros(3, np.uint8))
    assert out[0] % 256 == out[1] % 256 == 0
    assert abs(int(out[0]) - int(out[1])) > 16


def test_pointers_inside_structs_and_buffers() -> None:
    """A struct argument points to a node, which points to the next one, and to its middle."""
    last, first = nvir.DeviceArray(np.array([30, 40], np.uint64)), words(2, np.uint64)
    first[:] = [20, last.ptr + 8]
    node, out = nvir.DeviceArray(first), words(2, np.uint64)
    struct = np.array([(1, node.ptr)], np.dtype([("x", "u8"), ("p", "u8")]))[0]
    m = nvir.read_ptx("""
        .version 8.0\n.target sm_80\n.address_size 64
        .visible .entry k(.param .u64 o, .param .align 8 .b8 s[16]) { .reg .b64 %d<9>;
        ld.param.u64 %d0, [o]; ld.param.u64 %d1, [s+8]; ld.u64 %d2, [%d1]; ld.u64 %d3, [%d1+8];
        ld.u64 %d4, [%d3]; st.u64 [%d3], 41; st.global.v2.u64 [%d0], {%d2, %d4}; ret; }""")
    nvir.launch(m, "k", 1, 1, [out, struct])
    assert out.tolist() == [20, 40]
    assert last.array.tolist() == [30, 41]
    assert first.tolist() == [20, last.ptr + 8]


def test_addresses_of_32_bits() -> None:
    text = """.version 7.0\n.target sm_70\n.address_size 32
        .extern .shared .b32 s[]; .const .u32 c[2] = {7, 9};
        .visible .entry k(.param .u32 i, .param .u32 o) { .reg .b32 %r<9>; .reg .b64 %d;
        ld.param.u32 %r0, [i]; ld.param.u32 %r1, [o]; ld.global.u64 %d, [%r0];
        st.shared.u64 [s], %d; mov.u32 %r2, s; cvta.shared.u32 %r2, %r2; ld.u64 %d, [%r2];
        st.global.u64 [%r1], %d; ld.const.u32 %r3, [c+4]; st.u32 [%r1+8], %r3; ret; }"""
    i, o = np.array([1 << 40], np.uint64), words(2, np.uint64)
    nvir.launch(nvir.read_ptx(text), "k", 1, 1, [i, o], 64)
    assert o.tolist() == [1 << 40, 9]


def test_the_address_of_a_kernel_parameter() -> None:
    out = words(2)
    m = nvir.read_ptx(""".version 8.0\n.target sm_80\n.address_size 64
        .visible .entry k(.param .u64 o, .param .align 4 .b8 a[8]) { .reg .b64 %d<5>;
        .reg .b32 %r<4>;
        ld.param.u64 %d0, [o]; mov.u64 %d1, a; ld.param.u32 %r1, [%d1+4]; cvta.param.u64 %d2, %d1;
        ld.u32 %r2, [%d2]; st.global.v2.u32 [%d0], {%r1, %r2}; ret; }""")
    nvir.launch(m, "k", 1, 1, [out, np.array([3, 4], np.uint32).tobytes()])
    assert out.tolist() == [4, 3]


# ------------------------------------------------------------------------------- atomics


def reference(op: str, old: int, b: int) -> int:
    signed = lambda x: x - (1 << 32) if x >> 31 else x  # noqa: E731
    values = {
        "add.u32": (old + b) & 0xFFFFFFFF, "and.b32": old & b, "or.b32": old | b,
        "xor.b32": old ^ b,
        "exch.b32": b, "min.u32": min(old, b), "max.u32": max(old, b),
        "min.s32": old if signed(old) <= signed(b) else b,
        "max.s32": old if signed(old) >= signed(b) else b,
        "inc.u32": 0 if old >= b else old + 1, "dec.u32": b if old == 0 or old > b else old - 1,
    }
    return values[op]


@pytest.mark.parametrize(
    "op",
    ["add.u32", "and.b32", "or.b32", "xor.b32", "exch.b32", "min.u32", "max.u32", "min.s32",
     "max.s32", "inc.u32", "dec.u32"],
)
@pytest.mark.parametrize("space", ["global", "shared"])
def test_atomics_act_in_lane_order(op: str, space: str) -> None:
    """64 lanes on 5 words: the old values and the memory are those of a loop over the lanes."""
    rng = np.random.default_rng(3)
    operand, out = rng.integers(0, 1 << 32, 64, np.uint32), words(64)
    memory = rng.integers(0, 1 << 32, 5, np.uint32)
    if op in ("inc.u32", "dec.u32"):
        operand, memory = operand % 9, memory % 9
    expected, olds = memory.tolist(), []
    for lane in range(64):
        olds.append(expected[lane % 5])
        expected[lane % 5] = reference(op, expected[lane % 5], int(operand[lane]))
    run(f"""{{ .shared .b32 s[5]; {TID} rem.u32 %r2, %r1, 5; mul.wide.u32 %d3, %r2, 4;
        add.u64 %d4, %d1, %d3; cvt.u32.u64 %r3, %d3; mov.u32 %r4, s; add.u32 %r4, %r4, %r3;
        ld.global.u32 %r5, [%d4]; st.shared.u32 [%r4], %r5; bar.sync 0;
        mul.wide.u32 %d5, %r1, 4; add.u64 %d5, %d2, %d5; ld.global.u32 %r6, [%d5];
        atom.{space}.{op} %r0, [{'%d4' if space == 'global' else '%r4'}], %r6; bar.sync 0;
        {'' if space == 'global' else 'ld.shared.u32 %r5, [%r4]; st.global.u32 [%d4], %r5;'}
        {STORE} }}""", out, memory, operand, block=64)
    assert out.tolist() == olds
    assert memory.tolist() == expected


def test_compare_and_swap_with_different_operands() -> None:
    """Each lane swaps in its number plus one if it finds its number: all succeed, in lane order."""
    memory, out = words(1), words(40)
    run(f"""{TID} add.u32 %r2, %r1, 1; atom.global.cas.b32 %r0, [%d1], %r1, %r2; {STORE}""",
        out, memory, block=40)
    assert out.tolist() == list(range(40))
    assert memory[0] == 40


def test_float_atomics_add_in_lane_order() -> None:
    memory, out = np.zeros(1, np.float32), np.zeros(40, np.float32)
    run(f"""{TID} cvt.rn.f32.u32 %f1, %r1; div.rn.f32 %f1, 0f3F800000, %f1; setp.eq.u32 %p0, %r1, 0;
        @%p0 mov.f32 %f1, 0f40000000; atom.global.add.f32 %f2, [%d1], %f1; mov.b32 %r0, %f2;
        {STORE}""", out, memory, block=40)
    total, olds = np.float32(0), []
    for lane in range(40):
        olds.append(total)
        total = np.float32(total + np.float32(2 if lane == 0 else 1 / lane))
    assert out.tolist() == olds
    assert memory[0] == total


def test_packed_vector_and_double_atomics() -> None:
    half, pair, double = np.zeros(2, np.float16), np.zeros(2, np.float32), np.zeros(1)
    run(
        """mov.b32 %r1, 0x3C004000; red.global.add.noftz.f16x2 [%d0], %r1;
        red.global.v2.f32.add [%d1], {0f3F800000, 0f40000000};
        red.global.add.f64 [%d2], 0d3FE0000000000000;""",
        half,
        pair,
        double,
        block=5,
    )
    assert half.tolist() == [10, 5]
    assert pair.tolist() == [5, 10]
    assert double[0] == 2.5


def test_stores_to_one_address_leave_the_highest_lane() -> None:
    out = words(1)
    run(f"{TID} st.global.u32 [%d0], %r1;", out, block=45)
    assert out[0] == 44
    run(f"{TID} setp.lt.u32 %p0, %r1, 7; @%p0 st.global.u32 [%d0], %r1;", out, block=45)
    assert out[0] == 6


# -------------------------------------------------------------------------------- checks


def test_uninitialised_shared_and_local_memory() -> None:
    body = (
        "{ .shared .b32 s[4]; .local .b32 l[2]; st.shared.u32 [s], 1; ld.shared.u32 %r1, [s]; %s }"
    )
    fine: dict[str, Any] = {"check": ("uninit",)}
    run(body.replace("%s }", "}"), words(1), **fine)
    for bad in ("ld.shared.u32 %r2, [s+4];", "ld.local.u32 %r2, [l];"):
        run(body.replace("%s }", bad + "}"), words(1))
        with pytest.raises(LaunchError, match="never written"):
            run(body.replace("%s }", bad + "}"), words(1), **fine)


def test_parameters_and_results_of_calls_are_written_where_their_source_is() -> None:
    text = """.version 7.0
.target sm_80
.address_size 64
.func (.param .b32 r) f(.param .b32 a)
{ .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.u32 %r2, %r1, 1; st.param.b32 [r], %r2; ret; }
.visible .entry k(.param .u64 out)
{ .reg .b32 %r<3>; .reg .b64 %d<2>; ld.param.u64 %d1, [out];
{ .param .b32 p; .param .b32 q; st.param.b32 [p], 41; call.uni (q), f, (p); ld.param.b32 %r1, [q]; }
st.global.u32 [%d1], %r1; ret; }
"""
    out = words(1)
    nvir.launch(nvir.read_ptx(text), "k", 1, 1, [out], check=("bounds", "uninit"))
    assert out[0] == 42
    with pytest.raises(LaunchError, match="never written"):
        nvir.launch(nvir.read_ptx(text.replace("st.param.b32 [r], %r2;", "")), "k", 1, 1, [out],
                    check=("bounds", "uninit"))


EXCHANGE = f"""{{ .shared .b32 s[128]; {TID} mul.lo.u32 %r2, %r1, 4; mov.u32 %r3, s;
    add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], %r1; BARRIER xor.b32 %r4, %r2, OTHER;
    mov.u32 %r3, s; add.u32 %r3, %r3, %r4; ld.shared.u32 %r0, [%r3]; }} {STORE}"""


@pytest.mark.parametrize(
    ("barrier", "other", "races"),
    [("bar.sync 0;", 256, False), ("", 256, True), ("", 0, False), ("bar.warp.sync -1;", 4, False),
     ("bar.warp.sync -1;", 256, True), ("", 4, True)],
)
def test_races_in_shared_memory(barrier: str, other: int, races: bool) -> None:
    """Thread t reads what thread t ^ 64 (or t ^ 1, or itself) wrote."""
    body = EXCHANGE.replace("BARRIER", barrier).replace("OTHER", str(other))
    out = words(128)
    if races:
        with pytest.raises(LaunchError, match="race: shared memory is read"):
            run(body, out, block=128, check=("race",))
    else:
        run(body, out, block=128, check=("race",))
        assert (out == (np.arange(128) ^ (other // 4))).all()


def test_races_between_stores_but_not_between_atomics() -> None:
    with pytest.raises(LaunchError, match="race"):
        run(f"{{ .shared .b32 s; {TID} st.shared.u32 [s], %r1; }}", words(1), check=("race",))
    run("{ .shared .b32 s; red.shared.add.u32 [s], 1; }", words(1), block=64, check=("race",))


COPY = f"""{{ .shared .align 16 .b8 s[512]; {TID} mul.lo.u32 %r2, %r1, 16; mov.u32 %r3, s;
    add.u32 %r3, %r3, %r2; cvt.u64.u32 %d2, %r2; add.s64 %d2, %d0, %d2;
    cp.async.ca.shared.global [%r3], [%d2], 16; cp.async.commit_group; BETWEEN
    ld.shared.u32 %r0, [%r3]; xor.b32 %r2, %r2, OTHER; mov.u32 %r3, s; add.u32 %r3, %r3, %r2;
    AFTER ld.shared.u32 %r0, [%r3]; }} {STORE.replace("%d0", "%d1")}"""


@pytest.mark.parametrize(("between", "after", "said"), [
    ("cp.async.wait_group 0;", "bar.sync 0;", ""),
    ("", "bar.sync 0;", "is read while an asynchronous copy to it is under way"),
    ("st.shared.u32 [%r3], 1;", "", "is written while an asynchronous copy to it is under way"),
    ("cp.async.wait_all;", "", "is read that thread .* has written with no barrier between"),
])
def test_bytes_of_a_copy_are_its_threads_own_when_it_waited(
    between: str, after: str, said: str
) -> None:
    """For others a barrier must stand between."""
    body = COPY.replace("BETWEEN", between).replace("AFTER", after).replace("OTHER", "16")
    given, out = np.arange(128, dtype=np.uint32), words(32)
    if said:
        with pytest.raises(LaunchError, match=f"race: shared memory {said}"):
            run(body, given, out, check=("race",))
    else:
        run(body, given, out, check=("race",))
        assert out.tolist() == [4 * (k ^ 1) for k in range(32)]


BULK = """{ .shared .align 16 .b8 s[64]; .shared .align 8 .b64 m; mov.u32 %r2, m; mov.u32 %r3, s;
    mbarrier.init.shared.b64 [%r2], 1; mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 64;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%d0], 64, [%r2];
    WAIT ld.shared.u32 %r0, [s+8]; st.global.u32 [%d1], %r0; }"""
WAIT = "W: mbarrier.try_wait.parity.shared.b64 %p0, [%r2], 0; @!%p0 bra W;"


def test_bytes_of_a_bulk_copy_are_there_when_its_phase_was_seen() -> None:
    given, out = np.arange(16, dtype=np.uint32), words(1)
    run(BULK.replace("WAIT", WAIT), given, out, block=1, check=("race", "uninit"))
    assert out.tolist() == [2]
    with pytest.raises(LaunchError, match="read while an asynchronous copy to it is under way"):
        run(BULK.replace("WAIT", ""), given, out, block=1, check=("race",))


def test_an_atomic_on_bytes_that_nobody_wrote_is_told() -> None:
    body = "{ .shared .b32 s; FIRST red.shared.add.u32 [s], 1; }"
    run(body.replace("FIRST", "st.shared.u32 [s], 0;"), words(1), block=1, check=("uninit",))
    with pytest.raises(LaunchError, match="an atomic operation on bytes that were never written"):
        run(body.replace("FIRST", ""), words(1), block=1, check=("uninit",))


def test_loosely_declared_shared_variables_are_aligned() -> None:
    out = words(2, np.uint64)
    run("""{ .shared .b8 c; .shared .b32 a[4]; st.shared.v2.u64 [a], {5, 6};
        ld.shared.v2.u64 {%d1, %d2}, [a]; st.global.v2.u64 [%d0], {%d1, %d2};
        st.shared.u8 [c], 1; }""", out, block=1)
    assert out.tolist() == [5, 6]


def test_an_access_without_a_space_goes_where_its_symbol_lies() -> None:
    """`ld.b32 r, [v]` of a shared or local variable, as PTX of other compilers has it."""
    out = words(4)
    run("""{ .shared .b32 s; .local .b32 l; .global .b32 g = 5; st.b32 [s], 7; st.b32 [l], 8;
        ld.b32 %r1, [s]; ld.b32 %r2, [l]; ld.b32 %r3, [g];
        mov.v2.b32 {%r1, %r2}, {%r2, %r1}; st.v4.b32 [%d0], {%r1, %r2, %r3, 0}; }""",
        out, block=1)
    assert out.tolist() == [8, 7, 5, 0]


def test_an_address_in_a_narrow_register_is_out_of_bounds() -> None:
    with pytest.raises(LaunchError, match="out of bounds"):
        run("mov.u32 %r1, %tid.x; st.global.u32 [%r1], %r1;", words(1))


def test_memory_that_no_machine_has_is_refused() -> None:
    text = ptx("mov.u64 %d2, g;", ".global .b8 g[1099511627776];", params=1)
    with pytest.raises(LaunchError, match="max_bytes is 2147483648"):
        nvir.launch(nvir.read_ptx(text), "k", 1, 1, [words(1)])


def test_endless_recursion_ends_early() -> None:
    """The bound is one of memory, not only of the stack: these calls take none."""
    text = ptx("call.uni f;", ".func f { call.uni f; ret; }", params=0)
    with pytest.raises(LaunchError, match="stack overflow: 400"):
        nvir.launch(nvir.read_ptx(text), "k", 1, 32, [])


def test_addresses_of_symbols_with_an_offset() -> None:
    """Generic and shared forms of one place differ by where shared memory begins."""
    out = np.zeros(6, np.uint64)
    run("""mov.u64 %d1, s; add.u64 %d2, %d1, 4; cvta.shared.u64 %d3, %d2; cvta.shared.u64 %d4, s+4;
        st.global.u64 [%d0], %d2; st.global.u64 [%d0+8], %d3; st.global.u64 [%d0+16], %d4;
        mov.u64 %d5, s+4; st.global.u64 [%d0+24], %d5; cvta.to.shared.u64 %d6, %d4;
        st.global.u64 [%d0+32], %d6; cvta.global.u64 %d7, g+8; ld.u64 %d8, [%d7];
        st.global.u64 [%d0+40], %d8;""", out, block=1,
        before=".shared .align 16 .b32 s[4]; .global .u64 g[2] = {5, 6};")
    plain, generic, same, short, back, value = out.tolist()
    assert plain == short == back
    assert generic == same != plain
    assert value == 6


def test_places_in_the_shared_memory_of_a_cluster_by_name() -> None:
    out = words(8)
    run("""{ .shared .align 8 .b32 s[2]; mov.u32 %r1, %cluster_ctarank; add.u32 %r2, %r1, 10;
        st.shared.u32 [s+4], %r2; barrier.cluster.arrive; barrier.cluster.wait;
        xor.b32 %r3, %r1, 1; mapa.shared::cluster.u32 %r4, s+4, %r3;
        ld.shared::cluster.u32 %r5, [%r4]; mapa.u64 %d1, s, %r3; ld.u32 %r6, [%d1+4];
        getctarank.shared::cluster.u32 %r7, s; getctarank.u64 %r8, %d1;
        mul.wide.u32 %d2, %r1, 16; add.u64 %d2, %d2, %d0;
        st.global.v4.u32 [%d2], {%r5, %r6, %r7, %r8};
        barrier.cluster.arrive; barrier.cluster.wait; }""", out, grid=2, block=1,
        directives=".reqnctapercluster 2, 1, 1")
    assert out.tolist() == [11, 11, 0, 1, 10, 10, 1, 0]


def test_a_cta_that_the_cluster_lacks() -> None:
    with pytest.raises(LaunchError, match="a shared address of CTA 3 of a cluster of 2"):
        run("""{ .shared .b32 s; mov.u32 %r1, 3; mapa.shared::cluster.u32 %r4, s, %r1;
            ld.shared::cluster.u32 %r5, [%r4]; }""", words(1), grid=2, block=1,
            directives=".reqnctapercluster 2, 1, 1")


def test_a_load_behind_the_parameters_is_out_of_bounds() -> None:
    with pytest.raises(LaunchError, match="out of bounds"):
        run("ld.param.u32 %r1, [p0+4096]; st.global.u32 [%d0], %r1;", words(1))


def test_alloca_under_a_guard_and_too_much_of_it() -> None:
    out = words(32)
    run(f"""mov.u32 %r1, %tid.x; setp.lt.u32 %p0, %r1, 5; mov.u64 %d1, 48; stacksave.u64 %d2;
        @%p0 alloca.u64 %d3, %d1, 16; stacksave.u64 %d4; sub.u64 %d5, %d2, %d4;
        @!%p0 stackrestore.u64 %d2; cvt.u32.u64 %r0, %d5; {STORE}""", out)
    assert out.tolist() == [48] * 5 + [0] * 27
    with pytest.raises(LaunchError, match="stack"):
        run("mov.u64 %d1, 0x40000000; alloca.u64 %d3, %d1, 16;", words(1))


def test_printf_of_texts_in_every_window() -> None:
    """A format in shared memory with a string in local memory, and none at all."""
    before = """.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);"""
    call = """{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %d1;
        st.param.b64 [a], %d2; call (r), vprintf, (f, a); }"""
    body = """{ .shared .align 8 .b8 s[8]; .local .align 8 .b8 l[16]; mov.u64 %d3, 0x0021732541;
        st.shared.u64 [s], %d3; cvta.shared.u64 %d1, s; mov.u32 %r1, 0x7a79;
        st.local.u32 [l+8], %r1; cvta.local.u64 %d2, l; add.u64 %d4, %d2, 8;
        WHAT st.local.u64 [l], %d4;""" + call + "}"
    assert run(body.replace("WHAT", ""), words(1), block=1, before=before).stdout == "Ayz!"
    null = body.replace("WHAT", "mov.u64 %d4, 0;")
    assert run(null, words(1), block=1, before=before).stdout == "A(null)!"
    with pytest.raises(LaunchError, match="load of 1 bytes out of bounds"):
        run(body.replace("WHAT", "add.u64 %d4, %d0, 4;"), words(1), block=1, before=before)


@pytest.mark.parametrize("spec", ["%9999999d", "%99999999999d", "%.9999999d", "%*d"])
def test_a_field_of_printf_is_no_larger_than_all_its_output(spec: str) -> None:
    codes = ", ".join(map(str, spec.encode()))
    before = f""".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .b8 fmt[{len(spec) + 1}] = {{{codes}, 0}};"""
    body = """{ .local .align 8 .b8 l[16]; mov.u64 %d1, fmt; cvta.global.u64 %d1, %d1;
        cvta.local.u64 %d2, l; mov.u32 %r1, WIDTH; st.local.v2.u32 [l], {%r1, %r1};
        .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %d1;
        st.param.b64 [a], %d2; call (r), vprintf, (f, a); }"""
    with pytest.raises(LaunchError, match=r"a field of 9.* characters, where 1048576 are the most"):
        run(body.replace("WIDTH", "99999999"), words(1), block=1, before=before)
    if spec == "%*d":
        printed = run(body.replace("WIDTH", "999"), words(1), block=1, before=before).stdout
        assert printed == "999".rjust(999)


PRINT = """.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .b8 fmt[4] = {97, 98, 99, 0};"""
PRINTS = """{ mov.u64 %d1, fmt; cvta.global.u64 %d1, %d1; mov.u64 %d2, 0; mov.u32 %r1, 0;
    L: { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %d1;
    st.param.b64 [a], %d2; call (r), vprintf, (f, a); }
    add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 4; @%p0 bra L; }"""


@pytest.mark.parametrize(("most", "fits"), [(3 * 4 * 32, True), (3 * 4 * 32 - 1, False)])
def test_all_that_is_printed_has_a_limit(
    most: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid, "MAX_PRINTED", most)
    if fits:
        assert run(PRINTS, words(1), block=32, before=PRINT).stdout == "abc" * 4 * 32
        return
    with pytest.raises(LaunchError, match="the kernel prints more than 383 characters"):
        run(PRINTS, words(1), block=32, before=PRINT)


@pytest.mark.parametrize(("body", "least"), [
    (PRINTS, 4), (PRINTS.replace("call (r), vprintf, (f, a);", ""), 0)])
def test_the_clock_is_looked_at_behind_each_printf(
    body: str, least: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    over = grid.GridLaunch.over
    monkeypatch.setattr(grid.GridLaunch, "over", lambda self: looks.append(1) or over(self))
    run(body, words(1), block=32, before=PRINT)
    assert len(looks) - 1 == least


@pytest.mark.parametrize(("param", "value", "expected"), [
    (".b32", 1.5, 0x3FC00000), (".b64", -2.0, 0xC000000000000000),
    (".u32", np.array(7), 7), (".s16", -2, 0xFFFE),
])
def test_numbers_as_the_bits_of_their_parameter(param: str, value: Any, expected: int) -> None:
    out = np.zeros(1, np.uint64)
    wide = {".b64": ".b64", ".s16": ".u16"}.get(param, ".b32")
    text = f""".version 8.0\n.target sm_80\n.address_size 64
.visible .entry k(.param .u64 o, .param {param} x) {{ .reg .b64 %d, %x; .reg {wide} %v;
 ld.param.u64 %d, [o]; ld.param{wide} %v, [x]; cvt.u64.u{wide[2:]} %x, %v; st.global.u64 [%d], %x;
 ret; }}"""
    if wide == ".b64":
        text = text.replace("cvt.u64.u64", "mov.b64")
    nvir.launch(nvir.read_ptx(text), "k", 1, 1, [out, value])
    assert out.tolist() == [expected]


def test_a_number_is_no_array_of_bytes() -> None:
    text = """.version 8.0\n.target sm_80\n.address_size 64
.visible .entry k(.param .b8 x[4]) { ret; }"""
    with pytest.raises(TypeError, match=r"argument 0 \(x\) is an array of bytes: give bytes"):
        nvir.launch(nvir.read_ptx(text), "k", 1, 1, [5])


def test_initial_values_are_nested_as_deep_as_ptxas_takes_them() -> None:
    out, deep = words(2), 999
    declared = (f".global .u32 g[2]{'[1]' * deep} = "
                f"{{{'{' * deep}5{'}' * deep}, {'{' * deep}7{'}' * deep}}};")
    text = ptx("mov.u64 %d1, g; ld.global.u32 %r1, [%d1+4]; st.global.u32 [%d0], %r1;", declared, 1)
    module = nvir.read_ptx(text)
    again = nvir.read_ptx(nvir.print_ptx(clone_module(module)))
    found = nvir.launch(again, "k", 1, 1, [out])
    assert out[0] == 7
    assert found.globals["g"].tolist() == [5, 7]
    one = "{" * 1001 + "1" + "}" * 1001
    with pytest.raises(nvir.ParseError, match="an initial value nested deeper than 1000"):
        nvir.read_ptx(ptx("", f".global .u32 h[1] = {one};"))
