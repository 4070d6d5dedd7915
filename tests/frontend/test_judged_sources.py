"""What an outside judge's kernels found: each defect with the case next to it that was right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nvir
from nvir.ir.errors import ParseError, Unsupported

pytest.importorskip("clang.cindex")


def ran(text: str, n: int, *args: Any, optimise: int = 3, dtype: Any = np.int64) -> Any:
    """What a kernel `k(out, …)` of one thread writes."""
    out = np.zeros(n, dtype)
    nvir.launch(nvir.compile_cuda(text, optimise=optimise), "k", 1, 1, [out, *args])
    return out


@pytest.mark.parametrize("optimise", [0, 3])
def test_private_memory_is_not_volatile_in_ptx(optimise: int) -> None:
    """PTX takes `.volatile` only where another thread can write: not in local memory."""
    source = """extern "C" __global__ void k(long long *out, int v) {
        struct S { int a : 5; long long b[4]; };
        volatile S s; s.a = v; s.b[v & 3] = v; volatile int x = v; x += 2;
        __shared__ volatile int sh; sh = x;
        *(volatile int *)(out + 3) = sh;
        out[0] = s.a; out[1] = s.b[v & 3]; out[2] = x++; }\n"""
    text = nvir.print_ptx(nvir.compile_cuda(source, optimise=optimise))
    assert "volatile.local" not in text
    assert "st.volatile.shared" in text
    assert ("st.volatile.global.u32" if optimise else "st.volatile.u32") in text
    assert ran(source, 4, 19, optimise=optimise)[:3].tolist() == [-13, 19, 21]


def test_variables_stand_behind_those_whose_address_they_hold() -> None:
    source = """
        __device__ const char *const words[] = {"one", "two", "three"};
        struct Node { int v; Node *next; };
        extern __device__ Node tail;
        __device__ Node head = {1, &tail};
        __device__ Node tail = {2, nullptr};
        __device__ int *const *last = nullptr;
        extern "C" __global__ void k(long long *out, int i) {
            out[0] = words[i][1]; out[1] = head.next->v; out[2] = last == nullptr; }\n"""
    text = nvir.print_ptx(nvir.compile_cuda(source))
    assert text.index(" $str[") < text.index("words[")
    assert text.index(" tail[") < text.index(" head[")
    assert ran(source, 3, 2).tolist() == [ord("h"), 2, 1]


@pytest.mark.parametrize(("text", "what"), [
    ("extern __device__ N b; __device__ N a = {1, &b}; __device__ N b = {2, &a};",
     "'a' and 'b', which name each other"),
    ("__device__ N a = {1, &a};", "'a', which names itself"),
])
def test_circular_initial_values_are_told(text: str, what: str) -> None:
    """Neither PTX nor libnvvm has them; nvcc refuses the source, too."""
    source = "struct N { int v; N *next; };\n" + text + \
        '\nextern "C" __global__ void k(long long *o) { o[0] = a.v; }\n'
    with pytest.raises(Unsupported, match=what) as caught:
        nvir.compile_cuda(source, front_end="libclang")
    assert "kernel.cu:2:" in str(caught.value)


def test_a_call_of_what_a_call_gives() -> None:
    source = """
        typedef int (*Op)(int, int);
        __device__ int add(int a, int b) { return a + b; }
        __device__ int sub(int a, int b) { return a - b; }
        __device__ Op pick(int i) { return i & 1 ? add : sub; }
        struct Box { int k; __device__ Op get() const { return pick(k); }
                     __device__ int operator()(int x) const { return x * k; } };
        __device__ Box box(int k) { Box b = {k}; return b; }
        __device__ int twice(int f(int, int), int x) { return f(f(x, 3), 3); }
        extern "C" __global__ void k(long long *out, int i) {
            out[0] = pick(i)(i, 7); out[1] = box(i).get()(i, 8); out[2] = box(i)(9);
            out[3] = (pick)(i + 1)(i, 5); out[4] = twice(i ? sub : add, i); }\n"""
    assert ran(source, 5, 3).tolist() == [10, 11, 27, -2, -3]


def test_a_switch_that_declares() -> None:
    source = """
        __device__ int f(int v) {
            switch (int w = v & 7, z = w + 1; w) { case 1: v += z; break; default: v -= w; }
            switch (int q = v % 3) { case 2: return q; }
            switch (v) { case 100: v = 7; }
            if (int z = v % 5; z > 3) return z;
            return v; }
        extern "C" __global__ void k(long long *out) {
            for (int i = 0; i < 8; i++) out[i] = f(i * 11 + 1); }\n"""

    def f(v: int) -> int:
        w = v & 7
        v = v + w + 1 if w == 1 else v - w
        if v % 3 == 2:
            return 2
        return v % 5 if v % 5 > 3 else v

    assert ran(source, 8).tolist() == [f(i * 11 + 1) for i in range(8)]
    hidden = source.replace("int w = v & 7, z = w + 1; w", "v++; v")
    hidden = hidden.replace("+= z", "+= 1").replace("-= w", "-= 2")
    with pytest.raises(Unsupported, match="before the condition of a switch"):
        nvir.compile_cuda(hidden, front_end="libclang")


def test_a_wrong_initial_value_of_a_device_variable_is_an_error() -> None:
    """Clang leaves the value out: the variable would be zero."""
    wrong = "__device__ int x = nowhere + 1;\n"
    kernel = 'extern "C" __global__ void k(long long *o) { o[0] = 5; }\n'
    with pytest.raises(ParseError, match=r"1:20: error: use of undeclared identifier 'nowhere'"):
        nvir.compile_cuda(wrong + kernel)
    host = nvir.compile_cuda(wrong.replace("__device__ ", "") + kernel)
    assert any("nowhere" in d.message for d in host.diagnostics)


def test_what_the_real_compiler_takes_with_a_warning() -> None:
    """Narrowing in braces; `offsetof` without an include."""
    source = """struct S { char c; double d; };
        __device__ bool flag[2] = {7, 0}; __device__ size_t at = offsetof(S, d);
        extern "C" __global__ void k(long long *out, float f) {
            int z[2] = {f, 1}; out[0] = z[0]; out[1] = flag[0]; out[2] = at; }\n"""
    assert ran(source, 3, np.float32(3.9)).tolist() == [3, 1, 8]


def test_floats_go_to_small_integers_by_way_of_int() -> None:
    """What does not fit wraps, as with the real front end; PTX's own conversion saturates."""
    source = """extern "C" __global__ void k(long long *out, float f, double d) {
        out[0] = (unsigned char)f; out[1] = (short)d; out[2] = (signed char)f;
        out[3] = (unsigned short)d; out[4] = (bool)f; out[5] = (int)d; }\n"""
    assert ran(source, 6, np.float32(300.7), 70000.5).tolist() == [44, 4464, 44, 4464, 1, 70000]


def test_virtual_functions_are_told() -> None:
    source = """struct V { __device__ virtual int f() { return 1; } int q; };
        extern "C" __global__ void k(long long *out) { V v; out[0] = v.f(); }\n"""
    with pytest.raises(Unsupported, match="virtual function"):
        nvir.compile_cuda(source, front_end="libclang")


WIDE = """typedef __int128 i128; typedef unsigned __int128 u128;
    extern "C" __global__ void k(long long *out, long long hi, long long lo, double d) {
        i128 s = (i128)((u128)hi << 64 | (unsigned long long)lo); u128 u = (u128)s;
        out[0] = __double_as_longlong((double)s); out[1] = __double_as_longlong((double)u);
        out[2] = __float_as_int((float)s); out[3] = __float_as_int((float)u);
        i128 a = (i128)d; u128 b = (u128)(d < 0 ? -d : d);
        out[4] = a >> 64; out[5] = a; out[6] = b >> 64; out[7] = b; }
    """


def test_128_bits_to_floats_and_back() -> None:
    """Rounded once, ties to even, up to the ends; from a float cut off."""
    module = nvir.compile_cuda(WIDE)
    tie = (1 << 100) + (1 << 47)  # half way for a double
    cases = [0, 1, -1, 5, tie - 1, tie, tie + 1, tie + (1 << 48), (1 << 127) - 1, -(1 << 127),
             (1 << 76) + (1 << 52) + 1, -(1 << 64), (1 << 64) - 1]
    for n in cases:
        d = n / 3
        out = np.zeros(8, np.int64)
        unsigned = n % (1 << 128)
        low = np.uint64(unsigned & (1 << 64) - 1).astype(np.int64)
        nvir.launch(module, "k", 1, 1, [out, np.uint64(unsigned >> 64).astype(np.int64), low, d])
        doubles = [np.float64(n), np.float64(unsigned)]
        assert out[:2].view(np.float64).tolist() == doubles
        assert out[2:4].tolist() == [_float_bits(n), _float_bits(unsigned)]
        got = [int(out[k]) << 64 | int(out[k + 1]) & (1 << 64) - 1 for k in (4, 6)]
        assert got == [int(d), abs(int(d))], n


def _float_bits(n: int) -> int:
    """An integer as a float, rounded once: the nearest of three neighbours."""
    with np.errstate(over="ignore"):
        near = np.float32(float(n))
        ends = np.float32(-np.inf), np.float32(np.inf)
        beside = [near, *(np.nextafter(near, end) for end in ends)]

    def key(f: np.float32) -> tuple[int, int]:
        size = int(f) if np.isfinite(f) else (1 << 128) * (1 if f > 0 else -1)
        return abs(size - n), int(f.view(np.int32)) & 1

    return int(min(beside, key=key).view(np.int32))


@pytest.mark.parametrize(("body", "message"), [
    ('int a; asm("mov.u32 %0, 1;" : "=l"(a)); o[0] = a;', "asm operand type size(4)"),
    ('int a; asm("mov.u32 %0, %1;" : "=r"(a) : "n"(v)); o[0] = a;', "'n' is no constant"),
])
def test_errors_of_ir_generation_show_the_line(body: str, message: str) -> None:
    source = f'extern "C" __global__ void k(int *o, int v) {{ {body} }}\n'
    with pytest.raises(nvir.NvirError) as caught:
        nvir.compile_cuda(source, front_end="libclang")
    head, line, caret = str(caught.value).split("\n")
    assert message in head
    assert line.strip() == source.strip()
    assert source.strip()[caret.index("^") - 4] in "av"


def test_a_goto_without_a_label_is_an_error() -> None:
    source = 'extern "C" __global__ void k(int *o) { goto nowhere; }\n'
    with pytest.raises(ParseError, match="use of undeclared label 'nowhere'"):
        nvir.compile_cuda(source)


def test_clangs_own_functions_of_bits() -> None:
    source = """extern "C" __global__ void k(long long *out, unsigned a, unsigned long long b) {
        out[0] = __builtin_popcount(a) + __builtin_popcountll(b) * 100; out[1] = __builtin_clz(a);
        out[2] = __builtin_ctzll(b); out[3] = __builtin_ffs(a); out[4] = __builtin_parity(a);
        out[5] = (long long)__builtin_fabs(-2.5 * a); }\n"""
    a, b = 0x00F01230, 0x8000_0000_0100_0000
    got = ran(source, 6, np.uint32(a), np.uint64(b))
    assert got.tolist() == [a.bit_count() + 200, 8, 24, 5, a.bit_count() & 1, int(2.5 * a)]
    with pytest.raises(Unsupported, match="the function '__builtin_alloca'") as caught:
        nvir.compile_cuda(
            '__global__ void k(char *o, int n) { char *p = (char *)alloca(n); o[0] = p[1]; }\n',
            front_end="libclang",
        )
    assert "kernel.cu:1:55" in str(caught.value)


def test_reductions_of_a_warp_know_their_architecture() -> None:
    source = '__global__ void k(int *o) { o[0] = __reduce_max_sync(~0u, o[threadIdx.x]); }\n'
    assert "redux.sync.max.s32" in nvir.print_ptx(nvir.compile_cuda(source, "sm_80"))
    with pytest.raises(nvir.NvirError, match="requires sm_80 or higher, not sm_75"):
        nvir.compile_cuda(source, "sm_75")


def _lanes(x: int, bits: int, signed: bool) -> list[int]:
    lanes = [x >> k & (1 << bits) - 1 for k in range(0, 32, bits)]
    return [v - (1 << bits) if signed and v >> bits - 1 else v for v in lanes]


def _word(lanes: list[int], bits: int) -> int:
    return sum((v & (1 << bits) - 1) << bits * k for k, v in enumerate(lanes))


def test_numbers_side_by_side() -> None:
    names = ["__vabsss2(a)", "__vnegss4(a)", "__vhaddu4(a, b)", "__vmaxs2(a, b)", "__vsubus4(a, b)",
             "__viaddmax_s16x2(a, b, c)", "__vimin3_u16x2(a, b, c)", "__vimax_s16x2_relu(a, b)",
             "__vibmax_u16x2(a, b, &p, &q)"]
    body = "\n".join(f"out[{k}] = {name};" for k, name in enumerate(names))
    source = f"""extern "C" __global__ void k(long long *out, unsigned a, unsigned b, unsigned c) {{
        bool p, q; {body} out[{len(names)}] = p * 2 + q; }}\n"""
    rng = np.random.default_rng(1)
    module = nvir.compile_cuda(source)
    for a, b, c in [(0x80008001, 0x80807FFF, 5), *rng.integers(0, 1 << 32, (4, 3)).tolist()]:
        out = np.zeros(10, np.int64)
        nvir.launch(module, "k", 1, 1, [out, np.uint32(a), np.uint32(b), np.uint32(c)])
        s2, s4 = [_lanes(v, 16, True) for v in (a, b, c)], [_lanes(v, 8, True) for v in (a, b, c)]
        u2, u4 = [_lanes(v, 16, False) for v in (a, b, c)], [_lanes(v, 8, False) for v in (a, b, c)]
        wrapped = [_lanes(_word([x + y], 16), 16, True)[0] for x, y in zip(*s2[:2], strict=True)]
        assert out.tolist() == [
            _word([min(abs(x), 32767) for x in s2[0]], 16),
            _word([min(-x, 127) for x in s4[0]], 8),
            _word([(x + y) >> 1 for x, y in zip(*u4[:2], strict=True)], 8),
            _word([max(x, y) for x, y in zip(*s2[:2], strict=True)], 16),
            _word([max(x - y, 0) for x, y in zip(*u4[:2], strict=True)], 8),
            _word([max(x, y) for x, y in zip(wrapped, s2[2], strict=True)], 16),
            _word([min(t) for t in zip(*u2, strict=True)], 16),
            _word([max(x, y, 0) for x, y in zip(*s2[:2], strict=True)], 16),
            _word([max(x, y) for x, y in zip(*u2[:2], strict=True)], 16),
            2 * (u2[0][1] >= u2[1][1]) + (u2[0][0] >= u2[1][0]),
        ]


def test_conversions_of_halves_round_as_told() -> None:
    source = """#include <cuda_fp16.h>
        extern "C" __global__ void k(long long *out, int n, float f) {
            half h = __float2half(f); half nan = __ushort_as_half(0x7e00);
            out[0] = __half_as_ushort(__int2half_rz(n));
            out[1] = __half_as_ushort(__int2half_ru(n));
            out[2] = __half2int_rd(h); out[3] = __half2int_ru(h); out[4] = __half2uchar_rz(h);
            out[5] = __hltu(h, nan) * 2 + __hlt(h, nan); out[6] = __hisinf(h);
            out[7] = __half_as_ushort(__hmax_nan(h, nan)); out[8] = __ll2double_rz((1LL << 60) - 1)
                == (double)((1LL << 60) - 128); }\n"""
    got = ran(source, 9, np.int32(2049), np.float32(2.5))
    below, above = (int(np.float16(v).view(np.uint16)) for v in (2048, 2050))
    assert got.tolist() == [below, above, 2, 3, 2, 2, 0, 0x7FFF, 1]


def test_matrices_of_tf32_and_double() -> None:
    source = """#include <mma.h>
        using namespace nvcuda;
        extern "C" __global__ void k(float *c, double *z, const float *a, const double *x) {
            wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
            wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> fb;
            wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
            wmma::load_matrix_sync(fa, a, 8); wmma::load_matrix_sync(fb, a, 8);
            for (int i = 0; i < fa.num_elements; i++) fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
            wmma::fill_fragment(fc, 1.f); wmma::mma_sync(fc, fa, fb, fc);
            wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
            wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::col_major> ga;
            wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> gb;
            wmma::fragment<wmma::accumulator, 8, 8, 4, double> gc;
            wmma::load_matrix_sync(ga, x, 8); wmma::load_matrix_sync(gb, x, 8);
            wmma::fill_fragment(gc, 0.0); wmma::mma_sync(gc, ga, gb, gc);
            wmma::store_matrix_sync(z, gc, 8, wmma::mem_row_major); }\n"""
    a = (np.arange(128, dtype=np.float32) % 11 - 5).reshape(16, 8)
    x = np.random.default_rng(2).random((4, 8))
    c, z = np.zeros((16, 16), np.float32), np.zeros((8, 8))
    nvir.launch(nvir.compile_cuda(source), "k", 1, 32, [c, z, a, x])
    assert (c == a @ a.T + 1).all()
    np.testing.assert_allclose(z, x.T @ x, rtol=1e-14)


FOREIGN = """extern "C" __global__ void k(double *o, float *f) {
    int q; o[0] = j0(o[1]) + remquo(o[1], o[3], &q) + q; f[0] = erfinvf(f[1]); }
"""


def test_what_only_libdevice_has() -> None:
    """The back end that links it takes them; nvir's own says what is missing, and where."""
    with pytest.raises(Unsupported, match=r"'j0', which libdevice has.*kernel\.cu:2:19"):
        nvir.compile_cuda(FOREIGN, front_end="libclang")
    own = nvir.compile_cuda(FOREIGN.replace("j0", "erf").replace("remquo(o[1], o[3], &q) + q", "0")
                            .replace("erfinvf", "std::sin"))
    assert own.kernels


@pytest.mark.oracle
def test_libdevice_is_linked_for_them() -> None:
    from nvir.compiler import ptx_by_libnvvm
    from nvir.frontend.cuda import read_cuda

    text = ptx_by_libnvvm(read_cuda(FOREIGN)[0])
    assert "__nv_" not in text
    o, f = np.array([0, 2.5, 0, 0.7]), np.array([0, 0.5], np.float32)
    nvir.launch(nvir.read_ptx(text), "k", 1, 1, [o, f])
    j0, quotient = -0.048383776468198, round(2.5 / 0.7)
    assert o[0] == pytest.approx(j0 + 2.5 - quotient * 0.7 + quotient, rel=1e-12)
    assert f[0] == pytest.approx(0.476936276204, rel=1e-6)


@pytest.mark.parametrize("text", ["", "// only told", "/* a */ // b\\n", " ; ", "{ }"])
def test_assembly_that_is_nothing(text: str) -> None:
    """A barrier for the compiler alone; the operands of one with some are what they were."""
    source = f"""extern "C" __global__ void k(long long *out, int v) {{
        asm volatile("{text}"); asm volatile("{text}" ::: "memory");
        asm volatile("{text}" : "+r"(v)); out[0] = v; }}\n"""
    assert ran(source, 1, 7).tolist() == [7]


def test_what_selection_cannot_do_has_its_place() -> None:
    source = """__global__ void k(int *o) {
        o[0] = 1;
        asm volatile("{ .shared .b32 sh; st.shared.b32 [sh], %0; }" :: "r"(o[0])); }\n"""
    with pytest.raises(Unsupported, match=r"variables or calls .* at .*k.*, kernel\.cu:3:9$"):
        nvir.compile_cuda(source)
    with pytest.raises(Unsupported, match=r"variables or calls .* at \w*k\w*$"):
        nvir.compile_cuda(source, lines=False)


def test_comments_in_assembly_hide_no_semicolon() -> None:
    source = """extern "C" __global__ void k(long long *out, int v) {
        asm("mov.b32 %0, 3 // three" : "=r"(v)); out[0] = v;
        asm("add.s32 %0, %0, /* ; */ 1;" : "+r"(v)); out[1] = v;
        asm("mov.b32 %0, 3; /* not // a line */ add.s32 %0, %0, 2" : "=r"(v)); out[2] = v; }\n"""
    assert ran(source, 3, 7).tolist() == [3, 4, 5]
    with pytest.raises(nvir.NvirError, match="inline assembly"):
        nvir.compile_cuda(source.replace("mov.b32 %0, 3 // three", "mov.b32 %0 3 // three"))


def test_what_lies_outside_of_a_surface() -> None:
    source = """__global__ void k(float *o, cudaSurfaceObject_t s, cudaTextureObject_t t, int m) {
        float r; surf2Dread(&r, s, 4, 1); o[0] = r + surf1Dread<float>(s, 4, cudaBoundaryModeZero);
        surf2DLayeredwrite(r, s, 4, 1, 2, cudaBoundaryModeClamp);
        o[1] = tex2Dgather<float4>(t, .5f, .5f).x + tex2Dgather<float4>(t, .5f, .5f, 3).y; }\n"""
    text = nvir.print_ptx(nvir.compile_cuda(source))
    for piece in ("suld.b.2d.b32.trap", "suld.b.1d.b32.zero", "sust.b.a2d.b32.clamp",
                  "tld4.r.2d.v4.f32.f32", "tld4.a.2d.v4.f32.f32"):
        assert piece in text, piece
    wrong = source.replace("4, cudaBoundaryModeZero", "4, (cudaSurfaceBoundaryMode)m")
    with pytest.raises(nvir.NvirError, match=r"kernel\.cu:2:.*no constant 0, 1 or 2"):
        nvir.compile_cuda(wrong, front_end="libclang")  # clang's headers may take a variable


CLUSTER = """#include <cooperative_groups.h>
    namespace cg = cooperative_groups;
    __global__ void __cluster_dims__(2, 1, 1) k(int *o) {
        cg::cluster_group c = cg::this_cluster(); __shared__ int s;
        s = c.block_rank(); c.sync(); int *p = c.map_shared_rank(&s, 1);
        o[c.thread_rank()] = *p + c.num_blocks() + c.query_shared_rank(p); c.sync(); }
"""


def test_the_group_of_a_cluster() -> None:
    text = nvir.print_ptx(nvir.compile_cuda(CLUSTER, "sm_90"))
    for piece in ("%cluster_ctarank", "mapa.u64", "getctarank.u64", "barrier.cluster.arrive",
                  "barrier.cluster.wait", ".reqnctapercluster 2"):
        assert piece in text, piece
    with pytest.raises(ParseError, match="no type named 'cluster_group'"):
        nvir.compile_cuda(CLUSTER, "sm_80")


@pytest.mark.oracle
def test_ptxas_takes_the_group_of_a_cluster() -> None:
    from nvir.toolchain.ptxas import ptxas

    result = ptxas(nvir.print_ptx(nvir.compile_cuda(CLUSTER, "sm_90")), "sm_90")
    assert result.ok, result.log


def test_tanh_of_floats_divides_by_approximation() -> None:
    """Within 2 ulp, signs of zeros kept, without the long way of an exact division."""
    source = 'extern "C" __global__ void k(const float *x, float *out)' \
             "{ out[threadIdx.x] = tanhf(x[threadIdx.x]); }\n"
    module = nvir.compile_cuda(source, front_end="libclang")
    assert "div.rn" not in nvir.print_ptx(module)
    x = np.r_[np.linspace(-9, 9, 120), 0.0, -0.0, 0.6, 1e-20, 88, 200, -np.inf, np.nan]
    x = x.astype(np.float32)
    out = np.zeros_like(x)
    nvir.launch(module, "k", 1, len(x), [x, out])
    exact = np.tanh(x.astype(np.float64))
    assert np.nanmax(np.abs(out - exact) / np.spacing(np.abs(exact.astype(np.float32)))) < 2
    assert np.isnan(out[-1])
    np.testing.assert_array_equal(np.signbit(out[:-1]), np.signbit(x[:-1]))
