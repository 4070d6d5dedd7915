#include "cuda_min.h"
typedef float v4 __attribute__((ext_vector_type(4))); typedef int i4v __attribute__((ext_vector_type(4))); typedef short s8 __attribute__((ext_vector_type(8))); typedef float v3 __attribute__((ext_vector_type(3))); typedef u8 b16v __attribute__((ext_vector_type(16))); typedef double d2 __attribute__((ext_vector_type(2)));
__global__ void va(const v4* a, const v4* b, v4* c) { int i = gid(); c[i] = a[i] * b[i] + a[i].yxwz; }
__global__ void vi(const i4v* a, i4v* c, int k) { int i = gid(); i4v t = a[i] << 2; t[k & 3] = 7; c[i] = t > a[i] ? t : -a[i]; }
__global__ void vs(const s8* a, s8* c) { int i = gid(); c[i] = a[i] + a[i].s76543210; }
__global__ void v3k(const v3* a, v3* c) { int i = gid(); c[i] = a[i] * 2.0f; }
__global__ void vb(const b16v* a, b16v* c) { int i = gid(); c[i] = a[i] ^ (b16v)(0x55); }
typedef int i2v __attribute__((ext_vector_type(2)));
__global__ void vd(const d2* a, d2* c) { int i = gid(); c[i] = __builtin_convertvector(__builtin_convertvector(a[i], i2v), d2); }
