"""CUDA sources by way of a clang program: what it takes, and who reads a source."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import nvir
from nvir import compiler
from nvir.ir.errors import NvirError, ParseError, Unsupported
from nvir.toolchain import clang
from nvir.toolchain.find import available
from nvir.toolchain.process import Finished

pytest.importorskip("clang.cindex")
pytestmark = pytest.mark.skipif(
    not available("clang++", "CUDA's headers"), reason="no clang or no CUDA headers")
GOOD = "__global__ void k(float *p) {\n  p[threadIdx.x] = 2.0f;\n}\n"


def test_virtual_functions_placement_and_new_run():
    """What libclang's tree does not show: its reader refuses, clang compiles."""
    text = """
    #include <new>
    struct Shape {
      int n; __device__ Shape(int n) : n(n) {}
      virtual __device__ int area() { return n; }
    };
    struct Square : Shape { using Shape::Shape; __device__ int area() override { return n * n; } };
    static __global__ void areas(int *p) {
      __align__(16) __shared__ char room[16];
      int *two = new int[2];
      Shape *s = threadIdx.x ? new (room) Square(5) : new Shape(3);
      two[1] = s->area();
      p[threadIdx.x] = two[1];
      delete[] two;
    }
    void run(int *p) { areas<< <1, 2 >> >(p); }
    """
    with pytest.raises(NvirError):
        nvir.compile_cuda(text, front_end="libclang")
    module = nvir.compile_cuda(text)
    out = np.zeros(2, np.int32)
    for thread in (0, 1):  # one thread at a time: both use the room
        assert [f.name for f in module.kernels] == ["_Z5areasPi"]
        nvir.launch(module, "_Z5areasPi", 1, thread + 1, [out])
    np.testing.assert_array_equal(out, [3, 25])


def test_shared_objects_with_constructors_are_not_initialised(tmp_path):
    (tmp_path / "pair.h").write_text("""
    struct Pair { int a; __device__ Pair() : a(1) {} __device__ ~Pair() { a = 0; } };
    template <int N> __device__ int *other() { __shared__ Pair here; return &here.a; }
    """)
    text = """#include <pair.h>
    __global__ void k(int *p) {
      __shared__ alignas(16) Pair rows[4][2],
        one; __shared__ int plain;
      rows[3][1].a = p[0]; one.a = 20; plain = 1;
      *other<1>() = 100 * p[0]; __syncthreads();
      p[0] = rows[3][1].a + one.a + plain + *other<1>();
    }
    """
    out = np.full(1, 7, np.int32)
    module = nvir.compile_cuda(text, front_end="clang", include=[str(tmp_path)])
    nvir.launch(module, "_Z1kPi", 1, 1, [out])
    assert out[0] == 728
    with pytest.raises(ParseError, match=r":2:\d+: error: initialization is not supp"):
        nvir.compile_cuda("__global__ void k(int *p) {\n __shared__ int x = 3; *p = x; }\n",
                          front_end="clang")


def test_reductions_of_a_warp_take_the_mask_first():
    text = """#include <cuda_runtime.h>
    __global__ void k(int *p) {
      int x = p[threadIdx.x];
      int all[9] = {__reduce_min_sync(~0u, x), __reduce_max_sync(~0u, x), __reduce_add_sync(~0u, x),
        (int)__reduce_min_sync(~0u, (unsigned)x), (int)__reduce_max_sync(~0u, (unsigned)x),
        (int)__reduce_add_sync(~0u, (unsigned)x), (int)__reduce_and_sync(~0u, x),
        (int)__reduce_or_sync(~0u, x), (int)__reduce_xor_sync(~0u, x)};
      if (threadIdx.x < 9) p[threadIdx.x] = all[threadIdx.x];
    }
    """
    given = np.arange(-3, 29, dtype=np.int32)
    out = given.copy()
    nvir.launch(nvir.compile_cuda(text, front_end="clang"), "_Z1kPi", 1, 32, [out])
    total = given.sum()
    assert out[:9].tolist() == [-3, 28, total, 0, -1, total, 0, -1,
                                np.bitwise_xor.reduce(given)]


def test_host_code_as_nvcc_has_it():
    """min and max of mixed types on the host, the version of nvcc, OpenMP's header."""
    text = ("#include <omp.h>\n#if __CUDACC_VER_MAJOR__ < 11\n#error\n#endif\n" + GOOD +
            "long n(long a, unsigned long b)\n"
            "{ return min(a, 3L) + max(b, a) + omp_get_max_threads(); }\n")
    assert nvir.compile_cuda(text, front_end="clang").kernels


@pytest.mark.parametrize("lines", [True, False])
def test_operands_of_assembly_have_the_size_of_their_constraint(lines):
    text = """__device__ int one(double y) {
      int x; asm("mov.b32 %0, %1;" : "=r"(x) : "f"(y)); return x; }
    __global__ void k(long *p) {
      p[2] = one(p[1]);
      asm("add.s32 %0, %1, 1;" : "=r"(p[0]) : "l"(3));
      asm("add.s32 %0, %0, 1;" : "+r"(*(int *)p)); asm("mov.b32 %0, 0;" : "=r"(*(float *)p));
    }
    """
    with pytest.raises(ParseError) as e:
        nvir.compile_cuda(text, name="a.cu", front_end="clang", lines=lines)
    said = "asm operand type size({}) does not match type/size implied by constraint '{}'"
    assert [(d.line, d.message) for d in e.value.errors] == [
        (2, said.format(8, "f")), (5, said.format(8, "r")), (5, said.format(4, "l"))]
    assert e.value.errors[0].source.strip().startswith("int x; asm")


def test_errors_are_told_at_their_place():
    with pytest.raises(ParseError) as e:
        nvir.compile_cuda("#include <gone.h>\n" + GOOD.replace("2.0f", "gone"), name="bad.cu")
    assert str(e.value.errors[0]).startswith("bad.cu:1:10: error: 'gone.h' file not found")
    with pytest.raises(ParseError, match=r"bad.cu:2:10: error: use of undeclared identifier 'q'"):
        nvir.compile_cuda("__global__ void k(float *p) {\n  p[0] = q;\n}\n", name="bad.cu")
    with pytest.raises(ParseError, match="there is no __global__ function"):
        nvir.compile_cuda("int x;\n", front_end="clang")


def test_what_clang_refuses_comes_before_limits_of_the_tree():
    """A lambda as a kernel's argument has no size to the tree; the function that lacks is told."""
    text = """template <class F> __global__ void each(float *o, F f) { o[0] = f(o[0]); }
    void host(float *p) { float a = 3; each<<<1, 1>>>(p, [=] __device__ (float x) { return %s; }); }
    """
    made = nvir.compile_cuda(text % "a * x", name="a.cu")
    assert len(list(made.kernels)) == 1
    with pytest.raises(NvirError, match="is incomplete"):
        nvir.compile_cuda(text % "a * x", name="a.cu", front_end="libclang")
    swapped = "#include <utility>\n__global__ void s(float *o) { std::swap(o[0], o[1]); }\n" + text
    with pytest.raises(ParseError, match=r"a.cu:2:\d+: error: no matching function for call to 's"):
        nvir.compile_cuda(swapped % "a * x", name="a.cu")


def test_errors_of_headers_come_last_and_say_who_asks(tmp_path):
    (tmp_path / "h.h").write_text("""int missing = gone;
template <class T> __device__ T twice(T x) { return x.no + x.no; }
""")
    text = """#include <h.h>
    __device__ int host_only(); int on_host(int);
    __global__ void k(int *p) {
      p[0] = twice(p[1]);
      p[1] = on_host(2); }
    """
    with pytest.raises(ParseError) as e:
        nvir.compile_cuda(text, name="a.cu", front_end="clang", include=[str(tmp_path)])
    told = [(d.file.rpartition("/")[2], d.line, [(n.file, n.line) for n in d.notes])
            for d in e.value.errors]
    assert told == [("a.cu", 5, [("a.cu", 2)]), ("h.h", 2, [("a.cu", 4)]), ("h.h", 1, [])]
    assert "note: in instantiation of function template" in str(e.value)
    with pytest.raises(ParseError, match="note: candidate function not viable: call to __host__"):
        nvir.compile_cuda(text.partition("\n")[2].replace("twice", ""), front_end="libclang")


def test_who_reads(monkeypatch):
    """nvir's own headers stay the default; what they lack and CUDA brings, clang reads."""
    asked = []
    real = clang.clang_ll
    monkeypatch.setattr(clang, "clang_ll", lambda *a, **k: asked.append(1) or real(*a, **k))
    nvir.compile_cuda("#include <cuda_fp16.h>\n" + GOOD)
    assert not asked
    nvir.compile_cuda("#include <nv/target>\n" + GOOD)
    assert len(asked) == 1
    monkeypatch.setenv("NVIR_CLANG", "no-such-clang")
    assert not available("clang++")
    nvir.compile_cuda("#include <nv/target>\n" + GOOD)
    virtual = ("struct V { virtual __device__ int f() { return 1; } };\n"
               "__global__ void k(int *p) { V v; p[0] = v.f(); }\n")
    with pytest.raises(Unsupported, match="virtual function"):
        nvir.compile_cuda(virtual)
    with pytest.raises(NvirError, match=r"clang.. was not found"):
        nvir.compile_cuda(GOOD, front_end="clang")


def test_fast_math_and_lines():
    text = ("__global__ void k(float *p) {\n"
            "  p[0] = p[1] / p[2] + powf(p[1], p[2]) + tanhf(p[0]) + sqrtf(p[2]);\n}\n")
    exact = nvir.print_ptx(nvir.compile_cuda(text, front_end="clang"))
    fast = nvir.print_ptx(nvir.compile_cuda(text, front_end="clang", fast_math=True, lines=False))
    assert "div.rn.f32" in exact
    assert ".loc" in exact
    for name in ("div.approx.ftz", "sqrt.approx.ftz", "lg2.approx.ftz", "tanh.approx"):
        assert f"{name}.f32" in fast
        assert f"{name}.f32" not in exact
    assert ".loc" not in fast


def test_folders_of_headers(monkeypatch, tmp_path):
    for name in ("include/crt/x.h", "include/cccl/cub/cub.cuh", "include/cuda_runtime.h"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    find = importlib.import_module("nvir.toolchain.find")
    monkeypatch.setattr(find, "_wheel_roots", lambda: [tmp_path])
    monkeypatch.setattr(find, "_toolkit_roots", list)
    monkeypatch.setattr(find, "_USUAL", tmp_path / "none")
    assert find.header_folders() == [tmp_path / "include", tmp_path / "include" / "cccl"]
    (tmp_path / "include/cuda_runtime.h").unlink()
    assert find.header_folders() == []
    assert not compiler._has_clang()


@pytest.mark.parametrize(("code", "said", "why"), [
    (134, "LLVM ERROR: out of memory\n", "out of memory"),
    (254, "clang: error: clang frontend command failed with exit code 139\n", "it crashed"),
    (-9, "", "it crashed"),
])
def test_a_clang_that_dies_is_an_error(monkeypatch, code, said, why):
    monkeypatch.setattr(clang, "run", lambda *_, **__: Finished(code, "", said, 1))
    monkeypatch.setattr(clang, "options", lambda *_: ["clang++"])
    monkeypatch.setattr(clang, "find", lambda _: None)
    with pytest.raises(Unsupported, match=rf"clang ended without an answer \({why}\)"):
        nvir.compile_cuda(GOOD, front_end="clang")
