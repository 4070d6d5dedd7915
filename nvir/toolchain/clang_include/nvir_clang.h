// What nvcc has before a source's first line, and clang's own wrapper of CUDA's headers has not.
#pragma once
#ifdef __CLANG_GPU_APPROX_TRANSCENDENTALS__  // what -use_fast_math means to nvcc, and to clang only in part
#define __nv_powf __nv_fast_powf
#define __nv_expf __nv_fast_expf
#define __nv_exp10f __nv_fast_exp10f
#define __nv_log10f __nv_fast_log10f
#define __nv_tanf __nv_fast_tanf
#define __nv_sqrtf __nvvm_sqrt_approx_ftz_f
#if __CUDA_ARCH__ >= 750
#define __nv_tanhf __nvir_tanhf
static __attribute__((device)) inline float __nvir_tanhf(float x) { float y; asm("tanh.approx.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
#endif
#endif
#include <__clang_cuda_runtime_wrapper.h>
#include <new>
#ifndef __CUDACC_VER_MAJOR__
#define __CUDACC_VER_MAJOR__ (CUDA_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDA_VERSION % 1000 / 10)
#define __CUDACC_VER_BUILD__ 0
#endif
// the host's min and max; those of the device are clang's
#define __NVIR_PICK(R, A, B) \
    static inline __host__ R min(const A a, const B b) { return (R)a < (R)b ? (R)a : (R)b; } \
    static inline __host__ R max(const A a, const B b) { return (R)a < (R)b ? (R)b : (R)a; }
#define __NVIR_PICKS(U, S) __NVIR_PICK(S, S, S) __NVIR_PICK(U, U, U) __NVIR_PICK(U, S, U) __NVIR_PICK(U, U, S)
__NVIR_PICKS(unsigned, int)
__NVIR_PICKS(unsigned long, long)
__NVIR_PICKS(unsigned long long, long long)
__NVIR_PICKS(double, float)
// room for a shared variable whose constructor and destructor do not run
template <class T> union nvir_raw { T value; __device__ nvir_raw() {} __device__ ~nvir_raw() {} };
