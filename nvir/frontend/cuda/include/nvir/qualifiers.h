// Qualifiers. Clang's attributes carry what clang has to know; what libclang does not show again
// (numbers of launch bounds and alignments) stands in annotations beside them.
#pragma once
#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
// Clang's warning at each use of a kernel tells the instances of kernel templates (parse.py).
#define __global__ __attribute__((global, deprecated("nvir: a kernel")))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((device, annotate("nvir.managed")))
#define __grid_constant__ __attribute__((annotate("nvir.grid_constant")))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__), annotate("nvir.launch_bounds", __VA_ARGS__)))
#define __maxnreg__(n) __attribute__((annotate("nvir.maxnreg", n)))
#define __cluster_dims__(...) __attribute__((annotate("nvir.cluster_dims", __VA_ARGS__)))
#define __block_size__(...) __attribute__((annotate("nvir.block_size", __VA_ARGS__)))
#define __align__(n) __attribute__((aligned(n), annotate("nvir.align", n)))
#define __forceinline__ inline __attribute__((always_inline, annotate("nvir.inline.always")))
#define preserve_n_data(n) annotate("nvir.preserve_n_data", n)
#define preserve_n_control(n) annotate("nvir.preserve_n_control", n)
#define preserve_n_after(n) annotate("nvir.preserve_n_after", n)
#define __noinline__ __attribute__((noinline, annotate("nvir.inline.never")))
#define __inline__ inline
#ifndef __restrict__
#define __restrict__ __restrict
#endif
#define __builtin_align__(n) __attribute__((aligned(n)))
#define CUDART_CB
#define CUDARTAPI
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 88
#define CUDART_VERSION 13000
#define CUDA_VERSION 13000
#define __NVIR__ 1

// of nvir: a function with a body here, one that the compiler lowers, one that is an intrinsic
#define __NVIR_FN static __host__ __device__ inline __attribute__((always_inline, annotate("nvir.inline.always")))
#define __NVIR_BIG static __host__ __device__ inline
#define __NVIR_NOTED __NVIR_BIG __attribute__((annotate("nvir.noted_builtin")))
#define __NVIR_BUILTIN __host__ __device__
#define __NVIR_INTRINSIC(text) __asm__(text)
#define __NVIR_PURE __attribute__((const))

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int int64_t;
typedef unsigned long int uint64_t;
typedef long int intptr_t;
typedef unsigned long int uintptr_t;
typedef unsigned int uint;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned long ulong;
#ifndef NULL
#define NULL __null
#endif
namespace std { typedef ::size_t size_t; typedef ::ptrdiff_t ptrdiff_t; typedef decltype(nullptr) nullptr_t; }
