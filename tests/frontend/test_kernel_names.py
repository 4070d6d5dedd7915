"""Kernels are called as nvcc calls them."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import nvir
from nvir.cli import main
from nvir.frontend.cuda.kernel_names import nvcc_name
from nvir.frontend.cuda.reader import Reader
from nvir.ir.errors import ParseError
from nvir.toolchain.find import available

# clang's name and nvcc's: both compilers were asked.
PAIRS = [
    ("_ZL4fillPfi", "_Z4fillPfi"),
    ("_ZL4fillIDhEvPT_i", "_Z4fillI6__halfEvPT_i"),
    ("_ZL6kernelIDF16bEvPKT_PS0_i5uint3", "_Z6kernelI13__nv_bfloat16EvPKT_PS1_i5uint3"),
    ("_Z9transposeIDhEvPT_PKS0_S3_S3_iii", "_Z9transposeI6__halfEvPT_PKS1_S4_S4_iii"),
    ("_ZL4ropeILb1ELb0EDhEvPKT1_PS0_iPKif4dims", "_Z4ropeILb1ELb0E6__halfEvPKT1_PS1_iPKif4dims"),
    ("_ZN2ns2inL1kEPDhS1_", "_ZN2ns2in1kEP6__halfS2_"),
    ("_Z1kDhDh", "_Z1k6__halfS_"),
    ("_Z1kILDn0EEvPi", "_Z1kILDnEEvPi"),
    # a template parameter of a member of a class template is another than the kernel's
    ("_Z6launchIZN4EachIiE2goIfEEvOT_PiEUliE_EviS3_",
     "_Z6launchIZN4EachIiE2goIfEEvOT_PiEUliE_EviT_"),
]


@pytest.mark.parametrize(("clang", "nvcc"), PAIRS)
def test_names(clang, nvcc):
    assert nvcc_name(clang) == nvcc


@pytest.mark.parametrize("name", [
    "k", "_Z1kPf", "_Z2kkIDTplfp_fp_EDhEvT_", "_ZN3cub6detail1kINS_4PlusEPdjS3_Li3EEEvT0_PT1_",
    "_Z6launchIZ2goIRiEvOT_PiEUliE_EviS2_", "_Z6launchIZ3runPiEUliE_EviT_",
    "_Z1kI1AILi3EE1BJfiEEvNT_4typeE", "_Z1kSt4pairIfSt6vectorIfSaIfEEE", "_Z",
])
def test_others_stay(name):
    """Names without static and halves, those that are not read, and no names at all."""
    assert nvcc_name(name) == name


@pytest.mark.parametrize("count", [1, 2, 11, 38, 80])
def test_far_references(count):
    """References count in base 36, and a class more moves all behind it."""
    structs = "".join(f"P3c{k:02}" for k in range(count))
    last = nvcc_name(f"_Z1kDh{structs}S_")
    assert last.startswith("_Z1k6__halfP3c00")
    assert last.endswith("S0_")


def test_kernels_of_a_source():
    module = nvir.compile_cuda(
        "#include <cuda_fp16.h>\n"
        "template <class T> static __global__ void fill(T *p, T x) { p[threadIdx.x] = x; }\n"
        "static __global__ void one(int *p) { *p = 1; }\n"
        "void run(__half *p, int *q) { fill<__half><<<1, 1>>>(p, 1); one<<<1, 1>>>(q); }\n"
    )
    names = {f.name for f in module.functions if f.is_kernel}
    assert names == {"_Z4fillI6__halfEvPT_S1_", "_Z3onePi"}


HIDDEN = """
struct Add { __device__ float operator()(float a, float b) const { return a + b; } };
namespace lib {
template <class F, unsigned N> __global__ void map(float *p) { p[N] = F()(p[0], p[1]); }
template <class F> void each(float *p) { map<F, 32><<<1, 32>>>(p); }
}
#define INSTANCE(F) template void lib::each<F>(float *);
INSTANCE(Add)
template <class T> struct Runner { void go(T *p); };
template <class T> __global__ void set(T *p) { *p = 1; }
template <class T> void Runner<T>::go(T *p) { set<<<1, 1>>>(p); }
template struct Runner<double>;
template <int N> __global__ void put(int *p) { *p = N; }
template <int N> void launcher(int *p) { put<N><<<1, 1>>>(p); }
static void (*table[])(int *) = {launcher<1>, &launcher<2>, put<7>};
void host() { auto f = [](auto x) { set<<<1, 1>>>(&x); }; f(1.0f); f('c'); }
"""


def test_every_instance_that_host_code_asks_for_is_a_kernel():
    """Through macros, namespaces, members of class templates, tables and generic lambdas."""
    names = {f.name for f in nvir.compile_cuda(HIDDEN).functions if f.is_kernel}
    assert names == {
        "_ZN3lib3mapI3AddLj32EEEvPf", "_Z3setIdEvPT_", "_Z3setIfEvPT_", "_Z3setIcEvPT_",
        "_Z3putILi1EEvPi", "_Z3putILi2EEvPi", "_Z3putILi7EEvPi",
    }


def test_an_instance_that_cannot_be_read_is_an_error(monkeypatch):
    """Nothing is lost in silence: here reading finds one instance less than clang saw."""
    real = Reader.kernels
    monkeypatch.setattr(Reader, "kernels", lambda self: real(self)[:-1])
    with pytest.raises(ParseError, match=r"no kernel 'put<\d>' could be made"):
        nvir.compile_cuda(HIDDEN, front_end="libclang")


def test_a_kernel_that_clang_does_not_understand_is_an_error():
    with pytest.raises(ParseError) as told:
        nvir.compile_cuda("__global__ void a(int *p) { *p = 1; }\n__global__ b(int *p) { }\n")
    assert told.value.errors[0].line == 2


def test_host_code_that_names_a_kernel_template_and_is_wrong_is_an_error():
    """Its instance is lost, wherever in the statement the error stands."""
    with pytest.raises(ParseError, match="undeclared identifier 'count'"):
        nvir.compile_cuda("template <int N> __global__ void put(int *p) { *p = N; }\n"
                          "__global__ void k(int *p) { *p = 0; }\n"
                          "void run(int *p) {\n  put<3><<<1,\n    count>>>(p);\n}\n")
    module = nvir.compile_cuda("__global__ void k(int *p) { *p = 0; }\n"
                               "void run(int *p) { k<<<1, 1>>>(p); p += missing; }\n")
    assert [f.name for f in module.functions] == ["_Z1kPi"]


@pytest.mark.parametrize("leads", [True, False])
def test_host_templates_that_lead_to_a_kernel_template_and_are_wrong_are_an_error(leads, tmp_path):
    """With a header that is not there, which alone knows the type of what is passed."""
    source = tmp_path / "k.cu"
    source.write_text(
        '#include "tensor.h"\ntemplate <int N> __global__ void put(int *p) { *p = N; }\n'
        "template <int N> void launch(int *p) { put<N><<<1, 1>>>(p); }\n"
        f"template <int N> void op(Tensor *t) {{ {'launch<N>' if leads else 'other'}(t->data); }}\n"
        "void run(Tensor *t) { op<1>(t); }\n"
        "void one(int *p) { launch<3>(p); }\n")
    if leads:
        with pytest.raises(ParseError, match=r"'tensor\.h' file not found"):
            nvir.compile_cuda(source)
    else:
        assert [f.name for f in nvir.compile_cuda(source).functions] == ["_Z3putILi3EEvPi"]


def test_syntax_errors_of_host_headers_are_warnings(tmp_path):
    (tmp_path / "host.h").write_text("std::missing<int x = 3;\n")
    source = tmp_path / "k.cu"
    source.write_text('#include "host.h"\n__global__ void k(int *p) { *p = 1; }\n')
    assert [f.name for f in nvir.compile_cuda(source).functions] == ["_Z1kPi"]


@pytest.mark.parametrize("front_end", ["libclang", "clang"])
def test_a_function_that_emitted_code_calls_has_a_body_or_is_an_error(front_end, tmp_path):
    if front_end == "clang" and not available("clang++", "CUDA's headers"):
        pytest.skip("no clang or no CUDA headers")
    broken = ("template <class T> __device__ T bad(T x) {\n  return x.nothing(); }\n"
              "__global__ void k(int *p) { *p = bad(3); }\n")
    with pytest.raises(ParseError, match=r"b.cu:2:\d+: error: member reference base type 'int'"):
        nvir.compile_cuda(broken, name="b.cu", front_end=front_end)
    for declared in ("extern __device__ int other(int);",
                     "template <class T> __device__ int other(T);"):
        text = declared + "\n__global__ void k(int *p) {\n  *p = other(3);\n}\n"
        with pytest.raises(ParseError, match=r"other\w+ is called and has no body in this") as e:
            nvir.compile_cuda(text, name="c.cu", front_end=front_end)
        first = e.value.errors[0]
        assert (first.file, first.line, first.source) == ("c.cu", 3, "  *p = other(3);")
        made = nvir.compile_cuda(text, front_end=front_end, relocatable=True)
        assert ".extern .func" in nvir.print_ptx(made)
    (tmp_path / "c.cu").write_text(text)
    command = ["compile", "--front-end", front_end, str(tmp_path / "c.cu")]
    for options, code in (([], 1), (["-rdc=true"], 0), (["-dc"], 0), (["-rdc=false"], 1)):
        assert CliRunner().invoke(main, [*command, *options]).exit_code == code
    given = "#include <cstdio>\n#include <cassert>\n__global__ void k(int *p) { int *q = new int; "
    given += "assert(p); printf(\"%d\", *q); free(malloc(4)); delete q; }\n"
    if front_end == "clang":
        assert nvir.compile_cuda(given, front_end=front_end).kernels
