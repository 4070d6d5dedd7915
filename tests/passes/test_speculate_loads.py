"""speculate-loads: a load from one of several addresses becomes one of several loaded values."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import nvir
from nvir.compiler import compile_cuda
from tests.rewrites import rewrites, same_program

DIAMOND = """
        define float @f(i1 %c, float %x, ptr %q) {
        entry:
          %v = alloca float
          store float %x, ptr %v
          br i1 %c, label %a, label %b
        a:
          br label %join
        b:
          br label %join
        join:
          %p = phi ptr [ %v, %a ], [ %q, %b ]
          HERE
          %r = LOAD
          ret float %r
        }"""


def diamond(here: str = "", load: str = "load float, ptr %p") -> str:
    return DIAMOND.replace("HERE", here).replace("LOAD", load)


def test_a_phi():
    rewrites("speculate-loads,sroa,mem2reg", diamond(), """
        define float @f(i1 %c, float %x, ptr %q) {
        entry:
          br i1 %c, label %a, label %b
        a:
          br label %join
        b:
          %w = load float, ptr %q
          br label %join
        join:
          %r = phi float [ %x, %a ], [ %w, %b ]
          ret float %r
        }""")


def test_a_select_of_variables():
    rewrites("speculate-loads,sroa,mem2reg", """
        define float @f(i1 %c, float %x, float %y) {
          %v = alloca float
          %w = alloca float
          store float %x, ptr %v
          store float %y, ptr %w
          %p = select i1 %c, ptr %v, ptr %w
          %r = load float, ptr %p
          ret float %r
        }""", """
        define float @f(i1 %c, float %x, float %y) {
          %r = select i1 %c, float %x, float %y
          ret float %r
        }""")


def test_members_of_what_is_chosen_among_choices():
    rewrites("speculate-loads,sroa,mem2reg", """
        define i32 @f(i1 %c, i1 %d, i32 %x, i32 %y, i32 %z) {
          %u = alloca { i32, i32 }
          %v = alloca { i32, i32 }
          %w = alloca { i32, i32 }
          %um = getelementptr i8, ptr %u, i64 4
          %vm = getelementptr i8, ptr %v, i64 4
          %wm = getelementptr i8, ptr %w, i64 4
          store i32 %x, ptr %um
          store i32 %y, ptr %vm
          store i32 %z, ptr %wm
          %p = select i1 %c, ptr %u, ptr %v
          %q = select i1 %d, ptr %p, ptr %w
          %m = getelementptr { i32, i32 }, ptr %q, i64 0, i32 1
          %r = load i32, ptr %m
          ret i32 %r
        }""", """
        define i32 @f(i1 %c, i1 %d, i32 %x, i32 %y, i32 %z) {
          %a = select i1 %c, i32 %x, i32 %y
          %r = select i1 %d, i32 %a, i32 %z
          ret i32 %r
        }""")


def test_an_address_that_was_loaded_from_in_front():
    rewrites("speculate-loads,sroa,mem2reg", """
        define float @f(float %x, ptr %q) {
          %v = alloca float
          store float %x, ptr %v
          %y = load float, ptr %q
          %c = fcmp olt float %x, %y
          %p = select i1 %c, ptr %q, ptr %v
          %r = load float, ptr %p
          ret float %r
        }""", """
        define float @f(float %x, ptr %q) {
          %y = load float, ptr %q
          %c = fcmp olt float %x, %y
          %w = load float, ptr %q
          %r = select i1 %c, float %w, float %x
          ret float %r
        }""")


@pytest.mark.parametrize("text", [
    diamond(load="load volatile float, ptr %p"),
    diamond(here="store float 2.0, ptr %q"),
    diamond(here="store ptr %p, ptr %q"),
    # On the way where %c holds nothing was loaded from %q before.
    """
        define float @f(i1 %c, float %x, ptr %q) {
          %v = alloca float
          store float %x, ptr %v
          %p = select i1 %c, ptr %v, ptr %q
          %r = load float, ptr %p
          ret float %r
        }""",
    # More bytes than the variable has.
    """
        define i64 @f(i1 %c, i32 %x) {
          %v = alloca i32
          %w = alloca i64
          store i32 %x, ptr %v
          %p = select i1 %c, ptr %v, ptr %w
          %r = load i64, ptr %p
          ret i64 %r
        }""",
], ids=["volatile", "write", "escape", "unknown", "size"])
def test_what_stays(text):
    rewrites("speculate-loads", text, text)


def test_no_variable_no_change():
    text = diamond().replace("[ %v, %a ]", "[ %q, %a ]")
    rewrites("speculate-loads", text, text)


CUDA = """
template <class T> __device__ const T& larger(const T& a, const T& b) { return a < b ? b : a; }
struct S { const float* p; float w; float pad[6]; };
__global__ void k(float* o, S s, int n, const float* kept) {
    float sum = 0;
    for (int i = 0; i < n; ++i) {
        float x = o[i], y = x * 2 - 1;
        sum += larger(larger(x, y), s.w);
    }
    const float& r = s.p ? s.p[threadIdx.x] : s.w;
    o[threadIdx.x] = r * sum;
}
"""


def test_references_of_cuda_need_no_memory():
    (kernel,) = [f for f in compile_cuda(CUDA, "sm_80").functions if f.kind == "entry"]
    assert not kernel.locals


@pytest.mark.parametrize("given", [True, False])
def test_the_values_are_those_of_the_addresses(given):
    x = np.linspace(-4, 4, 32, dtype=np.float32)
    p = nvir.DeviceArray(np.arange(32, dtype=np.float32))
    out = x.copy()
    s = struct.pack("=Q7f4x", p.ptr if given else 0, 1.5, *[0.0] * 6)
    nvir.launch(compile_cuda(CUDA, "sm_80"), "_Z1kPf1SiPKf", 1, 32, [out, s, 3, p])
    total = sum(max(v, v * 2 - 1, 1.5) for v in x[:3])
    want = (p.array if given else np.float32(1.5)) * np.float32(total)
    assert out.tolist() == np.broadcast_to(want, 32).tolist()


@pytest.mark.parametrize("seed", range(4))
def test_random_programs_keep_their_meaning(seed):
    same_program(seed, "sroa,mem2reg,speculate-loads,inst-combine,simplify-cfg,sroa,mem2reg")
