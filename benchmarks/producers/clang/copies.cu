#include "cuda_min.h"
template <int N> struct B { char c[N]; };
#define K(N) __global__ void copy##N(const B<N>* a, B<N>* b) { int i = gid(); b[i] = a[i]; } __global__ void zero##N(B<N>* b) { __builtin_memset(b + gid(), 0, N); }
K(1) K(3) K(4) K(7) K(8) K(16) K(31) K(48) K(64) K(100) K(128)
template <int N> struct __align__(16) A { char c[N]; };
#define KA(N) __global__ void acopy##N(const A<N>* a, A<N>* b) { int i = gid(); b[i] = a[i]; } __global__ void azero##N(A<N>* b) { __builtin_memset(b + gid(), 0x5a, N); }
KA(16) KA(48) KA(96) KA(256) KA(1024)
__global__ void dyn(const char* a, char* b, int n) { __builtin_memcpy(b + gid() * n, a + gid() * n, n); }
__global__ void mov(char* b, int n) { __builtin_memmove(b + 3, b, n); }
__global__ void locals(int* out, int k) { char buf[48]; __builtin_memset(buf, 0, 48); buf[k] = 1; int s = 0; for (int i = 0; i < 48; i++) s += buf[i] * i; out[gid()] = s; }
__global__ void local2(const float* in, float* out, int k) { float t[12]; __builtin_memcpy(t, in + gid() * 12, 48); t[k] *= 2; __builtin_memcpy(out + gid() * 12, t, 48); }
