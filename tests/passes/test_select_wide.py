"""Integers of more than 64 bits, and vectors whose elements are no whole bytes, against Python."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

import nvir
from nvir.passes.presets import preset

WIDTHS = (65, 80, 127, 128, 129, 192, 200, 256)


def signed(x: int, n: int) -> int:
    x &= (1 << n) - 1
    return x - (1 << n) if x >> (n - 1) else x


def cut(x: int, n: int, sign: str) -> int:
    """The nearest number of n bits."""
    low, high = (-1 << n - 1, (1 << n - 1) - 1) if sign == "s" else (0, (1 << n) - 1)
    return min(max(x, low), high)


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


# (name of the operation or intrinsic, what it is of numbers of n bits without a sign)
OPERATIONS: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda a, b, n: a + b,
    "sub": lambda a, b, n: a - b,
    "mul": lambda a, b, n: a * b,
    "udiv": lambda a, b, n: a // (b | 1),
    "srem": lambda a, b, n: signed(a, n) - quotient(signed(a, n), signed(b | 1, n))
    * signed(b | 1, n),
    "shl": lambda a, b, n: a << b % n,
    "lshr": lambda a, b, n: a >> b % n,
    "ashr": lambda a, b, n: signed(a, n) >> b % n,
    "umin": lambda a, b, n: min(a, b),
    "smax": lambda a, b, n: max(signed(a, n), signed(b, n)),
    "uadd.sat": lambda a, b, n: cut(a + b, n, "u"),
    "ssub.sat": lambda a, b, n: cut(signed(a, n) - signed(b, n), n, "s"),
    "ushl.sat": lambda a, b, n: cut(a << b % n, n, "u"),
    "ctlz": lambda a, b, n: n - a.bit_length(),
    "cttz": lambda a, b, n: (a & -a).bit_length() - 1 if a else n,
    "ctpop": lambda a, b, n: a.bit_count(),
    "bitreverse": lambda a, b, n: int(f"{a:0{n}b}"[::-1], 2),
    "abs": lambda a, b, n: abs(signed(a, n)),
    "fshl": lambda a, b, n: (a << n | b) << b % n >> n,
    "uadd.with.overflow": lambda a, b, n: int(a + b >= 1 << n),
    "usub.with.overflow": lambda a, b, n: int(a < b),
    "sadd.with.overflow": lambda a, b, n: int(
        (v := signed(a, n) + signed(b, n)) != signed(v, n)),
    "smul.with.overflow": lambda a, b, n: int(
        (v := signed(a, n) * signed(b, n)) != signed(v, n)),
    "umul.with.overflow": lambda a, b, n: int(a * b >= 1 << n),
}


def kernel(name: str, n: int) -> str:
    """Applies an operation to two numbers in memory; where it tells of overflow, that."""
    t, intrinsic = f"i{n}", f"@llvm.{name}.i{n}"
    b = f"or {t} %n, 1" if name in ("udiv", "srem") else f"urem {t} %n, {n}" \
        if name in ("shl", "lshr", "ashr", "ushl.sat") else f"or {t} %n, 0"
    operands = [f"{t} %a"]
    if name in ("ctlz", "cttz", "abs"):
        operands.append("i1 false")
    elif name not in ("ctpop", "bitreverse"):
        operands += [f"{t} %b"] * (2 if name == "fshl" else 1)
    types = ", ".join(x.split()[0] for x in operands)
    result, made = t, f"%r = call {t} {intrinsic}({', '.join(operands)})"
    if name in ("add", "sub", "mul", "udiv", "srem", "shl", "lshr", "ashr"):
        made = f"%r = {name} {t} %a, %b"
    elif "overflow" in name:
        result = f"{{{t}, i1}}"
        made = f"""%p = call {result} {intrinsic}({', '.join(operands)})
  %o = extractvalue {result} %p, 1
  %r = zext i1 %o to {t}"""
    return f"""
declare {result} {intrinsic if "call" in made else "@unused"}({types})
define ptx_kernel void @k(ptr %x, ptr %out) {{
  %y = getelementptr i8, ptr %x, i64 32
  %a = load {t}, ptr %x
  %n = load {t}, ptr %y
  %b = {b}
  {made}
  store {t} %r, ptr %out
  ret void
}}"""


def run(module: nvir.Module, *data: bytes) -> bytes:
    source = np.frombuffer(b"".join(data), np.uint8).copy()
    out = np.zeros(64, np.uint8)
    nvir.launch(module, "k", 1, 1, [source, out])
    return out.tobytes()


@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_of_every_width(name: str) -> None:
    rng = random.Random(name)
    for n in WIDTHS:
        module = nvir.read_ll(kernel(name, n))
        nvir.run_passes(module, preset(3), verify=True)
        whole = (1 << n) - 1
        values = [0, 1, whole, whole >> 1, 1 << n - 1, *(rng.getrandbits(n) for _ in range(3)),
                  rng.getrandbits(n // 2)]
        for a, b in zip(values, rng.sample(values, len(values)), strict=True):
            found = run(module, a.to_bytes(32, "little"), b.to_bytes(32, "little"))
            wanted = OPERATIONS[name](a, b, n) & whole
            assert int.from_bytes(found[:32], "little") == wanted, (n, hex(a), hex(b))


FLOATS = [0.0, 1.5, -1.5, 2.0**63 + 2.0**11, -(2.0**100), 2.0**199, -(2.0**199), 1e300,
          float("nan"), float("-inf")]


@pytest.mark.parametrize("n", [65, 128, 200])
def test_numbers_and_floats(n: int) -> None:
    """There saturated and back: what lies between the ends comes back as the nearest double."""
    module = nvir.read_ll(f"""
declare i{n} @llvm.fptosi.sat.i{n}.f64(double)
define ptx_kernel void @k(ptr %x, ptr %out) {{
  %a = load double, ptr %x
  %r = call i{n} @llvm.fptosi.sat.i{n}.f64(double %a)
  %d = sitofp i{n} %r to double
  %p = getelementptr i8, ptr %out, i64 32
  store i{n} %r, ptr %out
  store double %d, ptr %p
  ret void
}}""")
    nvir.run_passes(module, preset(3), verify=True)
    ends = -1 << n - 1, (1 << n - 1) - 1
    for x in FLOATS:
        wanted = 0 if x != x else ends[x > 0] if abs(x) >= 2.0**(n - 1) else int(x)
        found = run(module, np.float64(x).tobytes())
        assert signed(int.from_bytes(found[:32], "little"), n) == wanted
        assert np.frombuffer(found[32:40], np.float64)[0] == float(wanted)


@pytest.mark.parametrize(("t", "bits"), [("<4 x i1>", 4), ("<3 x i3>", 9), ("<2 x i33>", 66),
                                         ("<2 x i65>", 130)])
def test_vectors_of_no_whole_bytes(t: str, bits: int) -> None:
    """As parameter, result, on the stack, in a struct: the bits stay next to each other."""
    module = nvir.read_ll(f"""
define {{i8, {t}}} @f(i8 %b, {t} %v) noinline {{
  %r = insertvalue {{i8, {t}}} undef, i8 %b, 0
  %s = insertvalue {{i8, {t}}} %r, {t} %v, 1
  ret {{i8, {t}}} %s
}}
define ptx_kernel void @k(ptr %x, ptr %out) {{
  %m = alloca {t}
  %v = load {t}, ptr %x
  store volatile {t} %v, ptr %m
  %w = load volatile {t}, ptr %m
  %s = call {{i8, {t}}} @f(i8 7, {t} %w)
  store {{i8, {t}}} %s, ptr %out
  %u = extractvalue {{i8, {t}}} %s, 1
  %p = getelementptr i8, ptr %out, i64 40
  store {t} %u, ptr %p, align 1
  ret void
}}""")
    given = random.Random(t).getrandbits(bits)
    nvir.run_passes(module, preset(3), verify=True)
    found = run(module, given.to_bytes(32, "little"))
    assert found[0] == 7
    assert int.from_bytes(found[40:], "little") == given


def test_initial_bits_lie_next_to_each_other() -> None:
    module = nvir.read_ll("""
@g = addrspace(1) constant [2 x <4 x i1>] [<4 x i1> <i1 1, i1 0, i1 undef, i1 1>, <4 x i1> <i1 0,
  i1 1, i1 1, i1 0>]
@h = addrspace(1) constant <2 x i24> <i24 1, i24 -1>
define ptx_kernel void @k(ptr %x, ptr %out) {
  %a = load i16, ptr addrspace(1) @g
  %b = load i48, ptr addrspace(1) @h
  %p = getelementptr i8, ptr %out, i64 8
  store i16 %a, ptr %out
  store i48 %b, ptr %p
  ret void
}""")
    for pipeline in ("", preset(3)):
        if pipeline:
            nvir.run_passes(module, pipeline)
        found = run(module, b"")
        assert found[:2] == bytes((0b1001, 0b0110))
        assert found[8:14] == b"\1\0\0\xff\xff\xff"


def test_atomic_sum_of_two_halves() -> None:
    module = nvir.read_ll("""
define ptx_kernel void @k(ptr %x, ptr %out) {
  %v = load <2 x half>, ptr %x
  %old = atomicrmw fadd ptr %out, <2 x half> %v monotonic
  %more = atomicrmw fsub ptr %out, <2 x half> <half 1.0, half 0.0> monotonic
  %p = getelementptr i8, ptr %out, i64 8
  store <2 x half> %more, ptr %p
  ret void
}""")
    nvir.run_passes(module, preset(3), verify=True)
    found = np.frombuffer(run(module, np.array([1.5, -2.0], np.float16).tobytes()), np.float16)
    assert [*found[:2], *found[4:6]] == [0.5, -2.0, 1.5, -2.0]


def test_four_halves_are_swapped_and_eight_are_not() -> None:
    text = """
define ptx_kernel void @k(ptr %x) {{
  %old = atomicrmw fadd ptr %x, <{0} x half> zeroinitializer monotonic
  ret void
}}"""
    four = nvir.read_ll(text.format(4))
    nvir.run_passes(four, "select")
    with pytest.raises(nvir.Unsupported, match="atomicrmw fadd of <8 x half>"):
        nvir.run_passes(nvir.read_ll(text.format(8)), "select")
