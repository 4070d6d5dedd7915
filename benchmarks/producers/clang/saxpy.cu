#include "cuda_min.h"
__global__ void saxpy(int n, float a, const float* __restrict__ x, float* __restrict__ y) { int i = gid(); if (i < n) y[i] = a * x[i] + y[i]; }
__global__ void grid_stride(int n, float a, const float* x, float* y) { for (int i = gid(); i < n; i += BD * GD) y[i] = a * x[i] + y[i]; }
__global__ __launch_bounds__(256, 2) void saxpy4(int n, float a, const float4* __restrict__ x, float4* __restrict__ y) { int i = gid(); if (i < n) { float4 v = x[i], w = y[i]; w.x += a * v.x; w.y += a * v.y; w.z += a*v.z; w.w += a * v.w; y[i] = w; } }
