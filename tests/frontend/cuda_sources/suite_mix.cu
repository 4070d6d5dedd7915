// Kernels in the manner of older suites, a line or three each.
#include <cuda_runtime.h>
#include <stdio.h>
// old-style suite code: typedef structs, 2D pointers math, macros w/ side effects, extern shared, constant struct
#define BLOCK 64
#define INDEX(x, y, w) ((y) * (w) + (x))
typedef struct { unsigned int rows, cols; float *elements; } Matrix;
typedef unsigned long long int u64;
enum { N_ITER = 10, TILE = 1 << 4 };
extern "C" { __device__ float ext_helper(float a) { return a * a; } }
static __constant__ Matrix cm;
__device__ inline float getElement(const Matrix A, int row, int col) { return A.elements[row * A.cols + col]; }
__device__ Matrix sub(Matrix A, int r, int c) { Matrix S; S.rows = S.cols = TILE; S.elements = &A.elements[A.cols * TILE * r + TILE * c]; return S; }
__global__ void mm(Matrix A, Matrix B, Matrix C) {
  Matrix Cs = sub(C, blockIdx.y, blockIdx.x); float v = 0; int row = threadIdx.y, col = threadIdx.x;
  for (int m = 0; m < (A.cols / TILE); ++m) { Matrix As = sub(A, blockIdx.y, m), Bs = sub(B, m, blockIdx.x);
    __shared__ float a[TILE][TILE], b[TILE][TILE]; a[row][col] = getElement(As, row, col); b[row][col] = getElement(Bs, row, col); __syncthreads();
    for (int e = 0; e < TILE; ++e) v += a[row][e] * b[e][col]; __syncthreads(); }
  Cs.elements[row * Cs.cols + col] = v; }
__global__ void knn(float *d, int *idx, int w, int k) { unsigned tid = blockIdx.x * blockDim.x + threadIdx.x; if (tid >= w) return;
  for (int l = 1; l < k; l++) { float cur = d[l * w + tid]; int j = l; while (j > 0 && d[(j - 1) * w + tid] > cur) { d[j * w + tid] = d[(j - 1) * w + tid]; idx[j * w + tid] = idx[(j - 1) * w + tid]; --j; } d[j * w + tid] = cur; idx[j * w + tid] = l; } }
template <class T, size_t S> __device__ T reduceBlock(T v) { __shared__ T s[S]; const int t = threadIdx.x; s[t] = v; __syncthreads(); for (unsigned o = S / 2; o; o >>= 1) { if (t < o) s[t] += s[t + o]; __syncthreads(); } return s[0]; }
__global__ void dotk(const double *__restrict a, const double *__restrict b, double *o, size_t n) { double s = 0; for (size_t i = threadIdx.x; i < n; i += BLOCK) s += a[i] * b[i]; s = reduceBlock<double, BLOCK>(s); if (!threadIdx.x) *o = s; }
__global__ void minmax(const int *in, u64 *out, int n) { u64 key = 0; for (int i = threadIdx.x; i < n; i += blockDim.x) { u64 c = ((u64)(unsigned)in[i] << 32) | (unsigned)i; key = key > c ? key : c; } atomicMax(out, key); __shared__ int hist[TILE]; if (threadIdx.x < TILE) hist[threadIdx.x] = 0; __syncthreads(); atomicAdd(&hist[in[threadIdx.x % n] & (TILE - 1)], 1); __syncthreads(); if (threadIdx.x < TILE) out[1 + threadIdx.x] = hist[threadIdx.x]; }
__global__ void gauss(uchar4 *img, const float *__restrict__ g, int w, int h, int r) { int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; if (x >= w || y >= h) return; float4 s = make_float4(0, 0, 0, 0); float ws = 0;
  for (int dy = -r; dy <= r; dy++) for (int dx = -r; dx <= r; dx++) { int xx = min(max(x + dx, 0), w - 1), yy = min(max(y + dy, 0), h - 1); uchar4 p = img[INDEX(xx, yy, w)]; float k = g[(dy + r) * (2 * r + 1) + dx + r] * expf(-(dx * dx + dy * dy) / (2.f * r * r)); s.x += k * p.x; s.y += k * p.y; s.z += k * p.z; ws += k; }
  img[INDEX(x, y, w)] = make_uchar4(s.x / ws, s.y / ws, s.z / ws, 255); }
__global__ void cfd(float *v, const float *f, int nel) { const int i = blockDim.x * blockIdx.x + threadIdx.x; float den = v[i + 0 * nel]; float3 mom; mom.x = v[i + 1 * nel]; mom.y = v[i + 2 * nel]; mom.z = v[i + 3 * nel]; float de = v[i + 4 * nel]; float3 vel; vel.x = mom.x / den; vel.y = mom.y / den; vel.z = mom.z / den; float sp = sqrtf(vel.x * vel.x + vel.y * vel.y + vel.z * vel.z); float pr = (float(1.4f) - float(1.0f)) * (de - float(0.5f) * den * sp * sp); float cs = sqrtf(float(1.4f) * pr / den); v[i] = ext_helper(sp + cs) * f[i % nel] + pow(sp, 2) + cm.rows; }
__global__ void __launch_bounds__(BLOCK, 4) lj(float4 *__restrict__ force, const float4 *__restrict__ pos, const int *__restrict__ nb, int n, float c2, float l1, float l2) { int i = blockIdx.x * blockDim.x + threadIdx.x; float4 p = pos[i]; float3 f = {0.0f, 0.0f, 0.0f}; for (int j = 0; j < n; j++) { float4 q = pos[nb[j * n + i]]; float dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z, r2 = dx * dx + dy * dy + dz * dz; if (r2 < c2) { float r2i = 1.0f / r2, r6 = r2i * r2i * r2i, ff = r2i * r6 * (l1 * r6 - l2); f.x += dx * ff; f.y += dy * ff; f.z += dz * ff; } } force[i] = make_float4(f.x, f.y, f.z, 0.0f); }
int main(int argc, char **argv) { Matrix A; A.elements = (float *)malloc(4); cudaMemcpyToSymbol(cm, &A, sizeof(Matrix)); mm<<<dim3(1, 1), dim3(TILE, TILE)>>>(A, A, A); cudaError_t err = cudaGetLastError(); if (err != cudaSuccess) { fprintf(stderr, "%s\n", cudaGetErrorString(err)); exit(EXIT_FAILURE); } return 0; }
