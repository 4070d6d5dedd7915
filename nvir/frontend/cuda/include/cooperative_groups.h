#pragma once
#include "nvir_cuda.h"
namespace cooperative_groups {
namespace __nvir {
__device__ inline unsigned rank_in_block() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
__device__ inline unsigned lane() { return rank_in_block() & 31u; }
}
struct thread_block {
    __device__ void sync() const { __syncthreads(); }
    __device__ static unsigned thread_rank() { return __nvir::rank_in_block(); }
    __device__ static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    __device__ static unsigned num_threads() { return size(); }
    __device__ static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    __device__ static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    __device__ static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
};
__device__ inline thread_block this_thread_block() { return thread_block(); }
// a barrier of all blocks of a cooperative launch: a counter whose sign flips at each round
__device__ unsigned __nvir_grid_count = 0;
struct grid_group {
    __device__ void sync() const {
        __threadfence();
        __syncthreads();
        if (__nvir::rank_in_block() == 0) {
            unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
            unsigned mine = blockIdx.x + blockIdx.y + blockIdx.z == 0 ? 0x80000000u - (blocks - 1) : 1u;
            unsigned before = atomicAdd(&__nvir_grid_count, mine);
            while (((*(volatile unsigned *)&__nvir_grid_count ^ before) & 0x80000000u) == 0) { }
            __threadfence();
        }
        __syncthreads();
    }
    __device__ bool is_valid() const { return true; }
    __device__ unsigned long long size() const { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z * thread_block::size(); }
    __device__ unsigned long long num_threads() const { return size(); }
    __device__ unsigned long long thread_rank() const { return ((unsigned long long)(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * thread_block::size() + __nvir::rank_in_block(); }
    __device__ dim3 group_dim() const { return dim3(gridDim.x, gridDim.y, gridDim.z); }
};
__device__ inline grid_group this_grid() { return grid_group(); }
template <unsigned N, class P = void> struct thread_block_tile {
    __device__ thread_block_tile() {}
    template <class Q> __device__ thread_block_tile(const thread_block_tile<N, Q> &) {}
    __device__ static unsigned mask() { return N == 32 ? 0xffffffffu : ((1u << (N & 31)) - 1u) << (__nvir::lane() & ~(N - 1)); }
    __device__ void sync() const { __syncwarp(mask()); }
    __device__ static unsigned thread_rank() { return __nvir::lane() & (N - 1); }
    __device__ static constexpr unsigned size() { return N; }
    __device__ static constexpr unsigned num_threads() { return N; }
    __device__ static unsigned meta_group_rank() { return __nvir::rank_in_block() / N; }
    __device__ static unsigned meta_group_size() { return (thread_block::size() + N - 1) / N; }
    template <class T> __device__ T shfl(T v, int from) const { return __shfl_sync(mask(), v, from, N); }
    template <class T> __device__ T shfl_down(T v, unsigned n) const { return __shfl_down_sync(mask(), v, n, N); }
    template <class T> __device__ T shfl_up(T v, unsigned n) const { return __shfl_up_sync(mask(), v, n, N); }
    template <class T> __device__ T shfl_xor(T v, unsigned n) const { return __shfl_xor_sync(mask(), v, n, N); }
    __device__ int any(int p) const { return __any_sync(mask(), p); }
    __device__ int all(int p) const { return __all_sync(mask(), p); }
    __device__ unsigned ballot(int p) const { return (__ballot_sync(mask(), p) & mask()) >> (__nvir::lane() & ~(N - 1)); }
    template <class T> __device__ unsigned match_any(T v) const { return __match_any_sync(mask(), v); }
};
template <unsigned N, class G> __device__ inline thread_block_tile<N, G> tiled_partition(const G &) { return thread_block_tile<N, G>(); }
struct coalesced_group {
    unsigned lanes;
    __device__ void sync() const { __syncwarp(lanes); }
    __device__ unsigned size() const { return __popc(lanes); }
    __device__ unsigned num_threads() const { return __popc(lanes); }
    __device__ unsigned thread_rank() const { return __popc(lanes & ((1u << __nvir::lane()) - 1u)); }
    __device__ int any(int p) const { return __any_sync(lanes, p); }
    __device__ int all(int p) const { return __all_sync(lanes, p); }
    __device__ unsigned ballot(int p) const { return __ballot_sync(lanes, p); }
    template <class T> __device__ T shfl(T v, unsigned rank) const { unsigned m = lanes; for (unsigned k = 0; k < rank; ++k) m &= m - 1; return __shfl_sync(lanes, v, __ffs(m) - 1); }
};
__device__ inline coalesced_group coalesced_threads() { coalesced_group g; g.lanes = __activemask(); return g; }
template <class G> __device__ inline void sync(const G &g) { g.sync(); }
template <class G> __device__ inline unsigned thread_rank(const G &g) { return g.thread_rank(); }
template <class T> struct plus { __device__ T operator()(T a, T b) const { return a + b; } };
template <class T> struct less { __device__ T operator()(T a, T b) const { return a < b ? a : b; } };
template <class T> struct greater { __device__ T operator()(T a, T b) const { return a > b ? a : b; } };
template <class T> struct bit_and { __device__ T operator()(T a, T b) const { return a & b; } };
template <class T> struct bit_or { __device__ T operator()(T a, T b) const { return a | b; } };
template <class T> struct bit_xor { __device__ T operator()(T a, T b) const { return a ^ b; } };
template <unsigned N, class P, class T, class F> __device__ inline T reduce(const thread_block_tile<N, P> &g, T v, F f) {
#pragma unroll
    for (unsigned n = N / 2; n > 0; n /= 2) v = f(v, g.shfl_xor(v, n));
    return v;
}
template <unsigned N, class P, class T, class F> __device__ inline T inclusive_scan(const thread_block_tile<N, P> &g, T v, F f) {
#pragma unroll
    for (unsigned n = 1; n < N; n *= 2) { T other = g.shfl_up(v, n); if (g.thread_rank() >= n) v = f(other, v); }
    return v;
}
}
