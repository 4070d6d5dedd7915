// What nvcc has before a source's first line, and clang's own wrapper of CUDA's headers has not.
#pragma once
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
