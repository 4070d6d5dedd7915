"""What legalising, printing and reading keep: results on the interpreter, by nvir's own selection.

A construct runs three ways: as it was read, after `legalize` for each dialect, and after that text
was printed and read again. All store what they computed to global memory, which must agree.
"""

from __future__ import annotations

import numpy as np
import pytest

import nvir

# Lines that compute %d (i32) of %n (i32), %f (float) and %p (two words of memory).
CASES = {
    "fneg": "%g = fneg float %f\n%d = bitcast float %g to i32",
    "freeze": "%g = freeze i32 %n\n%d = mul i32 %g, %g",
    "freeze i8": "%a = trunc i32 %n to i8\n%g = freeze i8 %a\n%d = sext i8 %g to i32",
    "nand": "%d = atomicrmw nand ptr addrspace(1) %p, i32 %n seq_cst",
    "uinc": "%d = atomicrmw uinc_wrap ptr addrspace(1) %p, i32 %n seq_cst",
    "udec": "%d = atomicrmw udec_wrap ptr addrspace(1) %p, i32 %n seq_cst",
    "uinc wide": "%w = zext i32 %n to i64\n"
                 "%g = atomicrmw uinc_wrap ptr addrspace(1) %p, i64 %w seq_cst\n"
                 "%d = trunc i64 %g to i32",
    "udec wide": "%w = zext i32 %n to i64\n"
                 "%g = atomicrmw udec_wrap ptr addrspace(1) %p, i64 %w seq_cst\n"
                 "%d = trunc i64 %g to i32",
    "sub if": "%d = atomicrmw usub_cond ptr addrspace(1) %p, i32 %n seq_cst",
    "sub to 0": "%d = atomicrmw usub_sat ptr addrspace(1) %p, i32 %n seq_cst",
    "sub if narrow": "%a = trunc i32 %n to i8\n"
                     "%g = atomicrmw usub_cond ptr addrspace(1) %p, i8 %a monotonic\n"
                     "%d = sext i8 %g to i32",
    "xchg pointer": "%g = atomicrmw xchg ptr addrspace(1) %p, ptr addrspace(1) null seq_cst\n"
                    "%w = ptrtoint ptr addrspace(1) %g to i64\n%d = trunc i64 %w to i32",
    "fmin": "%g = atomicrmw fmin ptr addrspace(1) %p, float %f seq_cst\n"
            "%d = bitcast float %g to i32",
    "fsub": "%g = atomicrmw fsub ptr addrspace(1) %p, float %f seq_cst\n"
            "%d = bitcast float %g to i32",
    "fadd": "%g = atomicrmw fadd ptr addrspace(1) %p, float %f seq_cst\n"
            "%d = bitcast float %g to i32",
    "fmax": "%g = atomicrmw fmax ptr addrspace(1) %p, float %f seq_cst\n"
            "%d = bitcast float %g to i32",
    "xchg": "%g = atomicrmw xchg ptr addrspace(1) %p, float %f seq_cst\n"
            "%d = bitcast float %g to i32",
    "bfloat": "%a = fptrunc float %f to bfloat\n%b = fadd bfloat %a, 0xR3F81\n"
              "%m = fmul bfloat %b, %a\n%h = bitcast bfloat %m to i16\n%d = sext i16 %h to i32",
    "bfloat fneg": "%a = fptrunc float %f to bfloat\n%b = fneg bfloat %a\n"
                   "%c = fcmp olt bfloat %b, 0xR0000\n%e = fpext bfloat %b to float\n"
                   "%h = bitcast float %e to i32\n%s = zext i1 %c to i32\n%d = add i32 %h, %s",
    "atomic load": "%d = load atomic i32, ptr addrspace(1) %p acquire, align 4",
    "umin": "%d = call i32 @llvm.umin.i32(i32 %n, i32 1000)",
    "smax": "%d = call i32 @llvm.smax.i32(i32 %n, i32 -5)",
    "abs": "%d = call i32 @llvm.abs.i32(i32 %n, i1 false)",
    "fabs": "%g = call float @llvm.fabs.f32(float %f)\n%d = bitcast float %g to i32",
    "uadd.sat": "%d = call i32 @llvm.uadd.sat.i32(i32 %n, i32 7)",
    "usub.sat": "%d = call i32 @llvm.usub.sat.i32(i32 %n, i32 7)",
    "pointer phi": "%e = getelementptr i32, ptr addrspace(1) %p, i64 1\n%c = icmp sgt i32 %n, 3\n"
                   "br i1 %c, label %x, label %y\nx:\nbr label %y\ny:\n"
                   "%q = phi ptr addrspace(1) [ %e, %entry ], [ %p, %x ]\n"
                   "%d = load i32, ptr addrspace(1) %q, align 4",
}
# Each class of a float, of three floats: signalling NaNs are among them.
CASES["is.fpclass"] = (
    "%x0 = bitcast i32 %n to float\n%i = or i32 %n, 2139095040\n%x1 = bitcast i32 %i to float\n"
    "%g = fdiv float %f, 1.0\n%x2 = fneg float %g\n%d0 = add i32 %n, 0\n" + "".join(
        f"%c{k} = call i1 @llvm.is.fpclass.f32(float %x{k % 3}, i32 {1 << k // 3})\n"
        f"%z{k} = zext i1 %c{k} to i32\n%t{k} = mul i32 %d{k}, 3\n"
        f"%d{k + 1} = add i32 %t{k}, %z{k}\n" for k in range(30)
    ) + "%d = add i32 %d30, 0")
CASES["ptrmask"] = (
    "%q = getelementptr i8, ptr addrspace(1) %p, i64 7\n"
    "%r = call ptr addrspace(1) @llvm.ptrmask.p1.i64(ptr addrspace(1) %q, i64 -4)\n"
    "%d = load i32, ptr addrspace(1) %r, align 4")
for _word in ("smax", "smin", "umax", "umin"):
    CASES[f"reduce {_word}"] = (
        "%a = insertelement <3 x i32> <i32 6, i32 -6, i32 0>, i32 %n, i32 2\n"
        f"%d = call i32 @llvm.vector.reduce.{_word}.v3i32(<3 x i32> %a)")
for _bits in (48, 64, 80, 112, 128):
    CASES[f"bswap of {_bits} bits"] = (
        f"%a = sext i32 %n to i{_bits}\n%b = mul i{_bits} %a, {0x0102030405060708090A0B0C}\n"
        f"%s = call i{_bits} @llvm.bswap.i{_bits}(i{_bits} %b)\n%h = lshr i{_bits} %s, 9\n"
        f"%x = xor i{_bits} %s, %h\n%d = trunc i{_bits} %x to i32")
for _word in ("fptosi", "fptoui"):
    CASES[f"{_word}.sat"] = (
        f"%h = fptrunc float %f to half\n%i = call i32 @llvm.{_word}.sat.i32.f16(half %h)\n"
        f"%j = call i8 @llvm.{_word}.sat.i8.f32(float %f)\n%k = sext i8 %j to i32\n"
        "%d = xor i32 %i, %k")
for _bits in (65, 100, 129, 200):
    for _word in ("udiv", "sdiv", "urem", "srem"):
        CASES[f"{_word} of {_bits} bits"] = (
            f"%a = sext i32 %n to i{_bits}\n%b = mul i{_bits} %a, {(1 << _bits - 33) + 12345}\n"
            f"%x = load i32, ptr addrspace(1) %p\n%y = zext i32 %x to i{_bits}\n"
            f"%m = mul i{_bits} %y, -1000000007\n%q = {_word} i{_bits} %b, %m\n"
            f"%h = lshr i{_bits} %q, {_bits - 40}\n%s = xor i{_bits} %q, %h\n"
            f"%d = trunc i{_bits} %s to i32")
    if _bits < 128:
        CASES[f"conversions of {_bits} bits"] = (
            f"%a = sext i32 %n to i{_bits}\n%b = shl i{_bits} %a, {_bits - 33}\n"
            f"%g = sitofp i{_bits} %b to float\n%h = fmul float %g, 0.5\n"
            f"%i = fptosi float %h to i{_bits}\n%s = lshr i{_bits} %i, {_bits - 40}\n"
            f"%d = trunc i{_bits} %s to i32")
NUMBERS = (0, 3, 7, 100, -1, -(1 << 31), (1 << 31) - 1)
FLOATS = (0.0, -1.5, 3.25, float("inf"))


def text(body: str) -> str:
    declarations = "\n".join(
        f"declare {t} @llvm.{name}({params})" for name, t, params in (
            ("umin.i32", "i32", "i32, i32"), ("smax.i32", "i32", "i32, i32"),
            ("abs.i32", "i32", "i32, i1"), ("fabs.f32", "float", "float"),
            ("uadd.sat.i32", "i32", "i32, i32"), ("usub.sat.i32", "i32", "i32, i32"),
            ("is.fpclass.f32", "i1", "float, i32"),
            ("ptrmask.p1.i64", "ptr addrspace(1)", "ptr addrspace(1), i64"),
            *((f"vector.reduce.{w}.v3i32", "i32", "<3 x i32>")
              for w in ("smax", "smin", "umax", "umin")),
        ) if f"@llvm.{name}(" in body
    )
    return (
        f"{declarations}\ndefine ptx_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %out, "
        f"i32 %n, float %f) {{\nentry:\n{body}\nstore i32 %d, ptr addrspace(1) %out, align 4\n"
        "ret void\n}\n"
    )


def results(module: nvir.Module) -> list[tuple[int, ...]]:
    """What the kernel leaves in memory, for each number and float."""
    nvir.run_passes(module, "select")
    found = []
    for k, n in enumerate(NUMBERS):
        memory = np.array([5, 0x40000000], dtype=np.uint32)
        out = np.zeros(1, dtype=np.uint32)
        f = np.float32(FLOATS[k % len(FLOATS)])
        nvir.launch(module, "k", 1, 1, [memory, out, np.int32(n), f])
        found.append((*memory.tolist(), *out.tolist()))
    return found


@pytest.mark.parametrize("t", ["i65", "i127", "i129", "i300", "<2 x i70>", "<2 x i128>"])
def test_wide_numbers_pass_through_functions(t):
    """libnvvm ends its process at them: they are passed as i128 or several of it."""
    source = (
        f"define internal {t} @f({t} %x, {{i32, {t}}} %y) noinline {{\n"
        f"  %e = extractvalue {{i32, {t}}} %y, 1\n  %s = sub {t} %e, %x\n  ret {t} %s\n}}\n"
        "define ptx_kernel void @k(ptr %p) {\n"
        f"  %x = load {t}, ptr %p, align 1\n  %n = xor {t} %x, splat (X -5)\n"
        f"  %s = insertvalue {{i32, {t}}} undef, {t} %n, 1\n"
        f"  %r = call {t} @f({t} %x, {{i32, {t}}} %s)\n  store {t} %r, ptr %p, align 1\n"
        "  ret void\n}\n")
    source = source.replace("splat (X -5)", "-5" if t[0] == "i" else f"splat ({t[5:-1]} -5)")

    def left(module):
        nvir.run_passes(module, "select")
        memory = np.arange(64, dtype=np.uint8) * 37
        nvir.launch(module, "k", 1, 1, [memory])
        return memory.tolist()

    expected = left(nvir.read_ll(source))
    for dialect in ("llvm7", "llvm20"):
        module = nvir.read_ll(source)
        nvir.run_passes(module, f"legalize<dialect={dialect}>", verify=True)
        assert "i128" in str(module["f"].return_type)
        assert left(module) == expected


@pytest.mark.parametrize("name", CASES)
def test_results_stay(name):
    source = text(CASES[name])
    try:
        expected = results(nvir.read_ll(source))
    except nvir.Unsupported as e:
        pytest.skip(f"the reference does not run: {e}")
    for dialect in ("llvm7", "llvm20"):
        module = nvir.read_ll(source)
        nvir.run_passes(module, f"legalize<dialect={dialect}>", verify=True)
        again = nvir.read_ll(nvir.print_ll(module, dialect))
        try:
            assert results(module) == expected, dialect
            assert results(again) == expected, dialect
        except nvir.Unsupported as e:
            pytest.skip(f"selection does not take it: {e}")
