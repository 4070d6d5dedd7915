#pragma once
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
typedef unsigned int uint; typedef unsigned long long u64; typedef long long i64; typedef unsigned char u8; typedef unsigned short u16;
#define TX __nvvm_read_ptx_sreg_tid_x()
#define BX __nvvm_read_ptx_sreg_ctaid_x()
#define BD __nvvm_read_ptx_sreg_ntid_x()
#define GD __nvvm_read_ptx_sreg_nctaid_x()
#define SYNC() __syncthreads()
__device__ static inline int gid() { return BX * BD + TX; }
extern "C" __device__ int vprintf(const char*, const char*);
struct __align__(8) float2 { float x, y; };
struct __align__(16) float4 { float x, y, z, w; };
struct __align__(16) int4 { int x, y, z, w; };
