"""ptxas as judge: it folds operations on constants, so its machine code holds their results.

Each case is a kernel that moves constants into registers, computes, and stores. Where ptxas folded
the operation, the stored register is set by a move of a constant, which must be what the meaning
gives. What ptxas does not fold (f16, f64 and directed arithmetic, say) is not judged here. sin and
cos are left out: ptxas folds them exactly, but the code it emits cuts the argument to f32 turns.
"""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from nvir.interp.meaning import bind
from nvir.toolchain import SassInstruction, available, disassemble, ptxas

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(not available("ptxas", "nvdisasm"), reason="needs ptxas and nvdisasm"),
]

Case = tuple[
    str, tuple[tuple[int, int], ...], int
]  # opcode, (bits, width) of sources, result width
REGISTER = {16: "%h", 32: "%r", 64: "%d"}
DTYPE = {16: np.uint16, 32: np.uint32, 64: np.uint64}


def kernel(number: int, case: Case) -> str:
    opcode, sources, out = case
    lines = [
        f".visible .entry k{number}(.param .u64 p) {{",
        ".reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b64 %a;",
        "ld.param.u64 %a, [p]; cvta.to.global.u64 %a, %a;",
    ]
    names = [f"{REGISTER[w]}{i}" for i, (_, w) in enumerate(sources)]
    for name, (bits, w) in zip(names, sources, strict=True):
        lines.append(f"mov.b{w} {name}, {bits:#x};")
    result = f"{REGISTER[out]}8"
    lines.append(f"{opcode} {result}, {', '.join(names)};")
    lines.append(f"st.global.b{out} [%a], {result}; ret; }}")
    return "\n".join(lines)


def half(text: str) -> int | None:
    """The bits of an f16 immediate of HFMA2, by which ptxas also writes 32-bit constants."""
    return None if "NAN" in text else int(np.float16(text.replace("INF", "inf")).view(np.uint16))


def stored(code: list[SassInstruction], width: int) -> int | None:
    """The constant that a kernel stores, or None where it computes it."""
    known: dict[str, int | None] = {"RZ": 0}
    for i in code:
        ops = i.operands
        if i.name in ("STG", "ST"):
            low = known.get(ops[-1])
            if low is None or width <= 32 or ops[-1] == "RZ":
                return None if low is None else low & ((1 << width) - 1)
            high = known.get(f"R{int(ops[-1][1:]) + 1}")
            return None if high is None else low | high << 32
        value: int | None = None
        if i.name in ("MOV", "UMOV") or i.opcode == "IMAD.MOV.U32":
            if re.fullmatch(r"-?0x[0-9a-f]+|-?\d+", ops[-1]):
                value = int(ops[-1], 0) & 0xFFFFFFFF
        elif i.name == "HFMA2" and ops[1:3] == ("-RZ", "RZ"):
            parts = [half(t) for t in ops[3:5]]
            value = None if None in parts else parts[0] << 16 | parts[1]
        elif i.name == "CS2R" and ops[-1] == "SRZ":
            value = 0
            known[f"R{int(ops[0][1:]) + 1}"] = 0
        if ops and not i.guard:
            known[ops[0]] = value
        elif ops:
            known[ops[0]] = None
    return None


def judge(cases: list[Case], arch: str = "sm_90") -> int:
    """Compare all folded cases; returns how many were folded."""
    head = f".version 9.0\n.target {arch}\n.address_size 64\n"
    built = ptxas(head + "\n".join(kernel(i, c) for i, c in enumerate(cases)), arch)
    assert built.ok, built.error
    functions = disassemble(built.cubin, live=False)
    folded, wrong = 0, []
    for number, (opcode, sources, out) in enumerate(cases):
        want = stored(functions[f"k{number}"], out)
        if want is None:
            continue
        folded += 1
        with np.errstate(all="ignore"):
            got = bind(opcode)(*(np.array([b], DTYPE[w]) for b, w in sources))
        if int(got[0]) != want:
            wrong.append(f"{opcode} {[hex(b) for b, _ in sources]}: {got[0]:#x}, not {want:#x}")
    assert not wrong, "\n".join(wrong)
    return folded


EDGES = {
    16: (0, 1, 0x7FFF, 0x8000, 0xFFFF),
    32: (0, 1, 31, 32, 33, 64, 255, 256, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF),
    64: (0, 1, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1),
}


def integers(rng: random.Random, width: int) -> tuple[int, int]:
    bits = rng.choice(EDGES[width]) if rng.random() < 0.6 else rng.getrandbits(width)
    return bits, width


SEEDS = [1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))]


@pytest.mark.parametrize("seed", SEEDS)
def test_integers_and_bits(seed):
    rng = random.Random(seed)
    forms: list[tuple[str, tuple[int, ...], int]] = []
    for w in (16, 32, 64):
        for t in (f"u{w}", f"s{w}"):
            arithmetic = ("add", "sub", "mul.lo", "mul.hi", "div", "rem", "min", "max")
            forms += [(f"{op}.{t}", (w, w), w) for op in arithmetic]
            forms += [(f"mad.lo.{t}", (w, w, w), w), (f"shr.{t}", (w, 32), w)]
            if w < 64:
                forms.append((f"mul.wide.{t}", (w, w), 2 * w))
            if w > 16:
                forms += [(f"bfind.{t}", (w,), 32), (f"bfind.shiftamt.{t}", (w,), 32)]
                forms += [(f"bfe.{t}", (w, 32, 32), w)] * 3
        forms += [(f"shl.b{w}", (w, 32), w), (f"abs.s{w}", (w,), w), (f"cnot.b{w}", (w,), w)]
        if w > 16:
            forms += [(f"popc.b{w}", (w,), 32), (f"clz.b{w}", (w,), 32), (f"brev.b{w}", (w,), w)]
            forms += [(f"bfi.b{w}", (w, w, 32, 32), w)] * 3
    for part in ("lo", "hi"):
        for t in ("u32", "s32"):
            forms += [(f"mul24.{part}.{t}", (32, 32), 32), (f"mad24.{part}.{t}", (32,) * 3, 32)]
    for mode in ("clamp", "wrap"):
        forms += [(f"shf.{d}.{mode}.b32", (32,) * 3, 32) for d in "lr"]
        forms += [(f"szext.{mode}.{s}32", (32, 32), 32) for s in "us"]
    forms += [(f"{op}.sat.s32", (32, 32), 32) for op in ("add", "sub")]
    for a, wa in (("s16", 16), ("u32", 32), ("s32", 32), ("s64", 64), ("u64", 64)):
        for b, wb in (("u16", 16), ("s32", 32), ("u64", 64)):
            if a != b:
                forms.append((f"cvt.{b}.{a}", (wa,), wb))
    cases = [(op, tuple(integers(rng, w) for w in ws), out) for op, ws, out in forms]
    assert judge(cases) > len(cases) // 2


FLOAT_EDGES = (0, 0x80000000, 1, 0x007FFFFF, 0x00800000, 0x3F800000, 0x7F7FFFFF, 0x7F800000)


def floats(rng: random.Random, width: int = 32) -> tuple[int, int]:
    """No NaNs: ptxas leaves operations on them to the machine."""
    pick = rng.random()
    if width == 64:
        return int(np.float64(rng.gauss(0, 1) * 10.0 ** rng.randrange(-6, 7)).view(np.uint64)), 64
    if pick < 0.2:
        return rng.choice(FLOAT_EDGES), 32
    if pick < 0.8:
        return int(np.float32(rng.gauss(0, 1) * 10.0 ** rng.randrange(-4, 5)).view(np.uint32)), 32
    bits = rng.getrandbits(32)
    return (bits if bits & 0x7F800000 != 0x7F800000 else 0x3F000000), 32


@pytest.mark.parametrize("seed", SEEDS)
def test_floats_and_approximations(seed):
    """Every approximation that ptxas folds, it folds to the correctly rounded sequence."""
    rng = random.Random(-seed)
    forms: list[tuple[str, int, int, int]] = []  # opcode, sources, source width, result width
    for op in ("add", "sub", "mul", "add.ftz", "mul.ftz", "add.sat", "mul.sat", "min", "max",
               "min.ftz", "max.ftz", "div.approx", "div.full", "div.approx.ftz"):
        forms.append((f"{op}.f32", 2, 32, 32))
    for op in ("rcp", "sqrt", "rsqrt", "lg2", "ex2"):
        forms += [(f"{op}.approx.f32", 1, 32, 32), (f"{op}.approx.ftz.f32", 1, 32, 32)] * 2
    forms += [(f"{op}.f64", 2, 64, 64) for op in ("min", "max")]
    forms += [(f"set.{c}.u32.f32", 2, 32, 32)
              for c in ("eq", "ne", "lt", "geu", "ltu", "num", "nan")]
    for mode in ("rni", "rzi", "rmi", "rpi"):
        forms += [(f"cvt.{mode}.{t}.f32", 1, 32, int(t[1:])) for t in ("s32", "u32", "s64", "u16")]
        forms += [(f"cvt.{mode}.{t}.f64", 1, 64, int(t[1:])) for t in ("s32", "u64")]
        forms += [(f"cvt.{mode}.f32.f32", 1, 32, 32), (f"cvt.{mode}.f64.f64", 1, 64, 64)]
    forms += [("cvt.rn.f16.f32", 1, 32, 16), ("cvt.rn.bf16.f32", 1, 32, 16),
              ("cvt.rn.f16x2.f32", 2, 32, 32), ("cvt.rna.tf32.f32", 1, 32, 32),
              ("cvt.rn.f32.f64", 1, 64, 32), ("cvt.rn.f16.f64", 1, 64, 16),
              ("cvt.f64.f32", 1, 32, 64)]
    cases = [(op, tuple(floats(rng, w) for _ in range(n)), out) for op, n, w, out in forms * 2]
    assert judge(cases) > len(cases) // 2
