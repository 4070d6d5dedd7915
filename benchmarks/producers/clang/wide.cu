#include "cuda_min.h"
typedef __int128 i128; typedef unsigned __int128 u128;
__global__ void mul(const u64* a, const u64* b, u64* lo, u64* hi) { int i = gid(); u128 p = (u128)a[i] * b[i]; lo[i] = (u64)p; hi[i] = (u64)(p >> 64); }
__global__ void add(const i128* a, const i128* b, i128* c, int* lt) { int i = gid(); c[i] = a[i] + b[i] - 5; lt[i] = a[i] < b[i]; }
__global__ void sh(const i128* a, i128* c, int k) { int i = gid(); c[i] = (a[i] << k) ^ (a[i] >> (127 - k)); }
__global__ void bitf(const u64* a, u64* o) { int i = gid(); u64 x = a[i]; o[i] = __builtin_popcountll(x) + __builtin_clzll(x | 1) * 100 + __builtin_ctzll(x | (1ull << 63)) * 10000 + __builtin_bswap64(x) + __builtin_bitreverse32((uint)x) + __builtin_rotateleft32((uint)x, 5); }
struct F { unsigned a : 5, b : 11, c : 16; };
__global__ void fields(F* f) { int i = gid(); f[i].b = f[i].a * 3; f[i].c ^= f[i].b; }
__global__ void div(const int* a, const int* b, int* q, int* r, i64 m) { int i = gid(); q[i] = a[i] / 7 + a[i] / b[i] + (int)(a[i] % m); r[i] = a[i] % b[i] + (uint)a[i] % 10u; }
