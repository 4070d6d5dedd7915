#include "cuda_min.h"
typedef float (*fn)(float, int);
__device__ __noinline__ float f0(float x, int k) { return x + k; }
__device__ __noinline__ float f1(float x, int k) { return x * k; }
__device__ __noinline__ float f2(float x, int k) { return k ? x / k : 0; }
__device__ fn table[3] = {f0, f1, f2};
__global__ void ind(const float* a, const int* w, float* o) { int i = gid(); o[i] = table[w[i] % 3](a[i], i); }
__global__ void pick(const float* a, float* o, int which) { fn f = which ? f0 : f1; o[gid()] = f(a[gid()], 3); }
__global__ void pr(int n) { struct { int a; double b; } args = {gid(), n * 0.5}; vprintf("i=%d x=%f\n", (const char*)&args); }
struct Base { __device__ virtual float eval(float x) const = 0; int tag; };
struct Sq : Base { float k; __device__ Sq(float k) : k(k) {} __device__ float eval(float x) const override { return k * x * x; } };
struct Ln : Base { float m, c; __device__ Ln(float m, float c) : m(m), c(c) {} __device__ float eval(float x) const override { return m * x + c; } };
__device__ __noinline__ float run(const Base& b, float x) { return b.eval(x); }
__global__ void virt(const float* a, float* o) { int i = gid(); Sq s(2); Ln l(3, 1); o[i] = (i & 1) ? run(s, a[i]) : run(l, a[i]); }
