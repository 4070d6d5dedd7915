#include "cuda_min.h"
__global__ void h1(const __fp16* a, const __fp16* b, __fp16* c) { int i = gid(); c[i] = a[i] * b[i] + (__fp16)1.5f; }
__global__ void h2(const __fp16* a, float* c) { int i = gid(); c[i] = (float)a[i] * 2.0f; }
__global__ void h3(const float* a, __fp16* c, int* k) { int i = gid(); c[i] = (__fp16)a[i]; k[i] = (int)(c[i] > (__fp16)0.25f); }
typedef __fp16 hv2 __attribute__((ext_vector_type(2)));
__global__ void h4(const hv2* a, const hv2* b, hv2* c) { int i = gid(); c[i] = a[i] * b[i] + a[i]; }
