#include "cuda_min.h"
__global__ void sw(const int* op, const int* a, const int* b, int* out, int n) { int i = gid(); if (i >= n) return; int r; switch (op[i]) { case 0: r = a[i] + b[i]; break; case 1: r = a[i] - b[i]; break; case 2: r = a[i] * b[i]; break; case 3: r = b[i] ? a[i] / b[i] : 0; break; case 4: r = a[i] & b[i]; break; case 5: r = a[i] | b[i]; break; case 17: r = a[i] << (b[i] & 31); break; case 100: r = a[i] >> (b[i] & 31); break; default: r = -1; } out[i] = r; }
__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__global__ void recur(int* out) { out[gid()] = fib(gid() & 7); }
__device__ int collatz(u64 n) { int k = 0; while (n != 1) { n = n & 1 ? 3 * n + 1 : n >> 1; if (++k > 1000) break; } return k; }
__global__ void coll(const u64* in, int* out, int n) { for (int i = gid(); i < n; i += BD * GD) out[i] = collatz(in[i]); }
__global__ void nested(const float* a, float* o, int n, int m) { float s = 0; for (int i = 0; i < n; i++) { for (int j = 0; j < m; j++) { float v = a[i * m + j]; if (v < 0) continue; if (v > 1e6f) goto done; s += v; } } done: o[gid()] = s; }
