#include "cuda_min.h"
#define T 16
#define TY __nvvm_read_ptx_sreg_tid_y()
#define BY __nvvm_read_ptx_sreg_ctaid_y()
__global__ void matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) { __shared__ float sa[T][T], sb[T][T + 1]; int r = BY * T + TY, q = BX * T + TX; float s = 0; for (int k = 0; k < n; k += T) { sa[TY][TX] = a[r * n + k + TX]; sb[TY][TX] = b[(k + TY) * n + q]; SYNC(); for (int j = 0; j < T; j++) s += sa[TY][j] * sb[j][TX]; SYNC(); } c[r * n + q] = s; }
__global__ void transpose(const float* a, float* b, int n) { __shared__ float t[T][T + 1]; t[TY][TX] = a[(BY * T + TY) * n + BX * T + TX]; SYNC(); b[(BX * T + TY) * n + BY * T + TX] = t[TX][TY]; }
__global__ void reduce(const float* a, float* out, int n) { __shared__ float s[256]; float v = 0; for (int i = gid(); i < n; i += BD * GD) v += a[i]; s[TX] = v; SYNC(); for (int k = 128; k; k >>= 1) { if (TX < k) s[TX] += s[TX + k]; SYNC(); } if (TX == 0) out[BX] = s[0]; }
extern __shared__ float dynamic[];
__global__ void dynk(const float* a, float* o, int n) { dynamic[TX] = a[gid()]; SYNC(); o[gid()] = dynamic[(TX + 1) % n]; }
__constant__ float coef[5] = {1, 2, 3, 2, 1};
__global__ void conv(const float* __restrict__ a, float* o, int n) { int i = gid(); float s = 0; for (int k = -2; k <= 2; k++) { int j = i + k; if (j >= 0 && j < n) s += coef[k + 2] * a[j]; } o[i] = s; }
__global__ void warp(const int* a, int* o) { int v = a[gid()]; for (int k = 16; k; k >>= 1) v += __nvvm_shfl_sync_down_i32(-1, v, k, 31); int m = __nvvm_vote_ballot_sync(-1, v > 3); o[gid()] = v + m + __nvvm_vote_any_sync(-1, v & 1); }
