#include "cuda_min.h"
__global__ void v1(volatile int* a, int* o) { int i = gid(); a[i] = 1; o[i] = a[i] + a[i]; volatile int k = i; k += 2; o[i] += k; }
__device__ int counter; __device__ const int lut[4] = {5, 6, 7, 8}; __device__ char text[] = "hello"; __device__ double* ptr; static __device__ int stat = 3;
__global__ void g1(int* o, int k) { int i = gid(); o[i] = counter + lut[k & 3] + text[k % 5] + (ptr ? 1 : 0) + stat; if (i == 0) counter = k; stat++; }
__global__ void flow(u8* s, int n, int* o) { int c = 0; for (int i = 0; i < n; i++) { u8 b = s[i]; if (b == ' ') c++; else if (b >= '0' && b <= '9') c += b - '0'; else if (b == 0) break; s[i] = b ^ 0x20; } o[gid()] = c; }
__global__ void traps(int* o, int n) { if (n < 0) __builtin_trap(); if (n == 77) __builtin_unreachable(); o[gid()] = n; }
template <class T> __device__ void sw(T& a, T& b) { T t = a; a = b; b = t; }
__global__ void sort(int* a) { int t[8]; for (int i = 0; i < 8; i++) t[i] = a[gid() * 8 + i]; for (int i = 0; i < 7; i++) for (int j = 0; j < 7 - i; j++) if (t[j] > t[j + 1]) sw(t[j], t[j + 1]); for (int i = 0; i < 8; i++) a[gid() * 8 + i] = t[i]; }
