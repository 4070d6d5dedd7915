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
// clang 19 gives its builtins of redux.sync the mask where the value belongs
#define __reduce_add_sync nvir_clang_add
#define __reduce_min_sync nvir_clang_min
#define __reduce_max_sync nvir_clang_max
#define __reduce_and_sync nvir_clang_and
#define __reduce_or_sync nvir_clang_or
#define __reduce_xor_sync nvir_clang_xor
#include <__clang_cuda_runtime_wrapper.h>
#undef __reduce_add_sync
#undef __reduce_min_sync
#undef __reduce_max_sync
#undef __reduce_and_sync
#undef __reduce_or_sync
#undef __reduce_xor_sync
#if __CUDA_ARCH__ >= 800
#define __NVIR_REDUX(NAME, T, BUILTIN) \
    static __device__ inline T __reduce_##NAME##_sync(unsigned mask, T value) { return BUILTIN(value, mask); }
__NVIR_REDUX(add, unsigned, __nvvm_redux_sync_add) __NVIR_REDUX(add, int, __nvvm_redux_sync_add)
__NVIR_REDUX(min, unsigned, __nvvm_redux_sync_umin) __NVIR_REDUX(min, int, __nvvm_redux_sync_min)
__NVIR_REDUX(max, unsigned, __nvvm_redux_sync_umax) __NVIR_REDUX(max, int, __nvvm_redux_sync_max)
__NVIR_REDUX(and, unsigned, __nvvm_redux_sync_and) __NVIR_REDUX(or, unsigned, __nvvm_redux_sync_or)
__NVIR_REDUX(xor, unsigned, __nvvm_redux_sync_xor)
#endif
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
