// The part of the CUDA headers that the examples need, so that clang compiles
// them without a toolkit (clang -nocudainc -include clang_cuda.h).

#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __noinline__ __attribute__((noinline))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

#include <__clang_cuda_builtin_vars.h>

struct float3 {
    float x, y, z;
};

struct __attribute__((aligned(16))) float4 {
    float x, y, z, w;
};

__device__ static inline int min(int a, int b) { return a < b ? a : b; }
__device__ static inline int max(int a, int b) { return a > b ? a : b; }
