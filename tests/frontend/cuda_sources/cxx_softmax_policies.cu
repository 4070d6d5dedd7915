#include <stdint.h>
template <typename T, int N> struct __align__(sizeof(T) * N) Pack { T v[N]; };
template <typename T> struct Sum { __device__ __forceinline__ T operator()(const T& a, const T& b) const { return a + b; } };
template <template <typename> class Op, typename T, int W> __inline__ __device__ T warpAllReduce(T val) {
  for (int mask = W / 2; mask > 0; mask /= 2) val = Op<T>()(val, __shfl_xor_sync(0xffffffff, val, mask));
  return val;
}
template <typename LOAD, typename STORE, int pack, int cols_per_thread> __global__ void softmax(LOAD load, STORE store, const int64_t rows, const int64_t cols) {
  float buf[cols_per_thread];
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  const int lane = threadIdx.x;
  if (row >= rows) return;
  float m = -1e30f;
#pragma unroll
  for (int p = 0; p < cols_per_thread / pack; ++p) {
    const int col = (p * 32 + lane) * pack;
    if (col < cols) { load.template load<pack>(buf + p * pack, row, col);
#pragma unroll
      for (int i = 0; i < pack; ++i) m = max(m, buf[p * pack + i]); }
    else {
#pragma unroll
      for (int i = 0; i < pack; ++i) buf[p * pack + i] = -1e30f; }
  }
  float s = 0;
  const float wm = -warpAllReduce<Sum, float, 32>(-m);
#pragma unroll
  for (int i = 0; i < cols_per_thread; ++i) { buf[i] = __expf(buf[i] - wm); s += buf[i]; }
  float ws = warpAllReduce<Sum, float, 32>(s);
#pragma unroll
  for (int p = 0; p < cols_per_thread / pack; ++p) { const int col = (p * 32 + lane) * pack; if (col < cols) store.template store<pack>(buf + p * pack, row, col, ws); }
}
template <typename SRC> struct DirectLoad { DirectLoad(const SRC* s, int64_t r) : src(s), row_size(r) {} 
  template <int N> __device__ void load(float* dst, int64_t row, int64_t col) const { Pack<SRC, N> pk; const int64_t off = (row * row_size + col) / N; pk = *(reinterpret_cast<const Pack<SRC, N>*>(src) + off); for (int i = 0; i < N; ++i) dst[i] = static_cast<float>(pk.v[i]); }
  const SRC* src; int64_t row_size; };
template <typename DST> struct DirectStore { DirectStore(DST* d, int64_t r) : dst(d), row_size(r) {} 
  template <int N> __device__ void store(const float* src, int64_t row, int64_t col, float scale) { Pack<DST, N> pk; const int64_t off = (row * row_size + col) / N; for (int i = 0; i < N; ++i) pk.v[i] = static_cast<DST>(src[i] / scale); *(reinterpret_cast<Pack<DST, N>*>(dst) + off) = pk; }
  DST* dst; int64_t row_size; };
__global__ void uses_new_stuff(float *p, size_t n) {
  __shared__ union { float f[32]; int i[32]; } u;
  __shared__ volatile float vs[64]; extern __shared__ char dyn[]; float *fd = reinterpret_cast<float *>(dyn + 16);
  u.f[threadIdx.x] = p[threadIdx.x]; vs[threadIdx.x] = u.i[threadIdx.x]; __syncthreads(); fd[threadIdx.x] = vs[31 - threadIdx.x];
  if (threadIdx.x < 16) { vs[threadIdx.x] += vs[threadIdx.x + 16]; vs[threadIdx.x] += vs[threadIdx.x + 8]; }
  float *ptrs[2] = {p, fd}; float (*tile)[8] = (float (*)[8])u.f; p[0] = tile[1][2] + ptrs[1][0]; p[1] += *(float*)&u.i[3];
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) p[i] = i % 2 ? p[i] : -p[i];
  unsigned char bytes[4] = {1, 2, 3}; p[2] = bytes[1] | (bytes[2] << 8); int64_t big = (int64_t)n * -3; p[3] = (float)big; p[4] = (n > 3) + !n;
  __threadfence(); if (threadIdx.x == 0) { unsigned t = atomicInc((unsigned*)p, gridDim.x); p[5] = t == gridDim.x - 1; } clock_t c0 = clock(); p[6] = clock() - c0; long long c1 = clock64(); p[7] = c1;
}
int main() { DirectLoad<float> l(nullptr, 3); DirectStore<float> s(nullptr, 3); softmax<decltype(l), decltype(s), 2, 8><<<1, 32>>>(l, s, 3, 100); uses_new_stuff<<<1,2>>>(0,0); }
