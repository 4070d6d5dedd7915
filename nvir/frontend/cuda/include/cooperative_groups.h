// Cooperative groups: blocks, tiles of a warp and of several warps, coalesced and partitioned
// groups, the grid; reductions, scans and copies of a group.
#pragma once
#include "nvir_cuda.h"
namespace cooperative_groups {
namespace __nvir {
__device__ inline unsigned rank_in_block() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
__device__ inline unsigned lane() { return rank_in_block() & 31u; }
__device__ inline unsigned nth_lane(unsigned lanes, unsigned n) { for (unsigned k = 0; k < n; ++k) lanes &= lanes - 1; return __ffs(lanes) - 1; }
}
struct thread_block {
    __device__ static void sync() { __syncthreads(); }
    __device__ static unsigned thread_rank() { return __nvir::rank_in_block(); }
    __device__ static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    __device__ static unsigned num_threads() { return size(); }
    __device__ static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    __device__ static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
    __device__ static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
    __device__ static dim3 dim_threads() { return group_dim(); }
};
__device__ inline thread_block this_thread_block() { return thread_block(); }
// room for what tiles of several warps exchange; nvir takes its own where it is needed
template <unsigned N = 1024> struct block_tile_memory { unsigned char room[16]; };
template <unsigned N> __device__ inline thread_block this_thread_block(block_tile_memory<N> &) { return thread_block(); }
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
    __device__ static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
    __device__ static unsigned long long block_rank() { return (unsigned long long)(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x; }
    __device__ static unsigned long long size() { return num_blocks() * thread_block::size(); }
    __device__ static unsigned long long num_threads() { return size(); }
    __device__ static unsigned long long thread_rank() { return block_rank() * thread_block::size() + __nvir::rank_in_block(); }
    __device__ static dim3 group_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
    __device__ static dim3 dim_blocks() { return group_dim(); }
    __device__ static dim3 block_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
};
__device__ inline grid_group this_grid() { return grid_group(); }
// a tile of up to a warp's lanes
template <unsigned N, class P = void, bool wide = (N > 32)> struct thread_block_tile {
    static_assert(N != 0 && (N & (N - 1)) == 0, "the size of a tile is a power of two");
    __device__ thread_block_tile() {}
    template <class Q> __device__ thread_block_tile(const thread_block_tile<N, Q> &) {}
    __device__ static unsigned mask() { return N == 32 ? 0xffffffffu : ((1u << (N & 31)) - 1u) << (__nvir::lane() & ~(N - 1)); }
    __device__ static void sync() { __syncwarp(mask()); }
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
    template <class T> __device__ unsigned match_any(T v) const { return (__match_any_sync(mask(), v) & mask()) >> (__nvir::lane() & ~(N - 1)); }
};
// a tile of several warps, which a barrier of its own holds together
template <unsigned N, class P> struct thread_block_tile<N, P, true> {
    static_assert(N <= 1024 && (N & (N - 1)) == 0, "the size of a tile is a power of two, 1024 at most");
    __device__ thread_block_tile() {}
    template <class Q> __device__ thread_block_tile(const thread_block_tile<N, Q> &) {}
    __device__ static void sync() { asm volatile("barrier.sync %0, %1;" : : "r"(meta_group_rank() + 1), "n"(N) : "memory"); }
    __device__ static unsigned thread_rank() { return __nvir::rank_in_block() & (N - 1); }
    __device__ static constexpr unsigned size() { return N; }
    __device__ static constexpr unsigned num_threads() { return N; }
    __device__ static unsigned meta_group_rank() { return __nvir::rank_in_block() / N; }
    __device__ static unsigned meta_group_size() { return (thread_block::size() + N - 1) / N; }
};
template <unsigned N, class G> __device__ inline thread_block_tile<N, G> tiled_partition(const G &) { return thread_block_tile<N, G>(); }
// any lanes of a warp, in the order of their numbers
struct coalesced_group {
    unsigned lanes;
    __device__ unsigned mask() const { return lanes; }
    __device__ void sync() const { __syncwarp(lanes); }
    __device__ unsigned size() const { return __popc(lanes); }
    __device__ unsigned num_threads() const { return __popc(lanes); }
    __device__ unsigned thread_rank() const { return __popc(lanes & __nvir_lanemask_lt()); }
    __device__ static unsigned meta_group_rank() { return 0; }
    __device__ static unsigned meta_group_size() { return 1; }
    __device__ int any(int p) const { return __any_sync(lanes, p); }
    __device__ int all(int p) const { return __all_sync(lanes, p); }
    __device__ unsigned packed(unsigned of) const { unsigned made = 0, n = 0; for (unsigned m = lanes; m; m &= m - 1) made |= ((of >> (__ffs(m) - 1)) & 1u) << n++; return made; }
    __device__ unsigned ballot(int p) const { return packed(__ballot_sync(lanes, p)); }
    template <class T> __device__ unsigned match_any(T v) const { return packed(__match_any_sync(lanes, v)); }
    template <class T> __device__ T shfl(T v, unsigned rank) const { return __shfl_sync(lanes, v, __nvir::nth_lane(lanes, rank)); }
    template <class T> __device__ T shfl_down(T v, unsigned n) const { unsigned r = thread_rank(); return shfl(v, r + n < size() ? r + n : r); }
    template <class T> __device__ T shfl_up(T v, unsigned n) const { unsigned r = thread_rank(); return shfl(v, r >= n ? r - n : r); }
};
__device__ inline coalesced_group coalesced_threads() { coalesced_group g; g.lanes = __activemask(); return g; }
template <class G> __device__ inline coalesced_group binary_partition(const G &g, bool p) { coalesced_group made; unsigned with = __ballot_sync(g.mask(), p) & g.mask(); made.lanes = p ? with : g.mask() & ~with; return made; }
template <class G, class T> __device__ inline coalesced_group labeled_partition(const G &g, T label) { coalesced_group made; made.lanes = __match_any_sync(g.mask(), label) & g.mask(); return made; }
// a block, or lanes of a warp, whichever the program chooses
struct thread_group {
    unsigned lanes;  // 0: the whole block
    __device__ thread_group(const thread_block &) : lanes(0) {}
    __device__ thread_group(const coalesced_group &g) : lanes(g.lanes) {}
    template <unsigned N, class P> __device__ thread_group(const thread_block_tile<N, P, false> &g) : lanes(g.mask()) {}
    __device__ void sync() const { if (lanes) __syncwarp(lanes); else __syncthreads(); }
    __device__ unsigned size() const { return lanes ? __popc(lanes) : thread_block::size(); }
    __device__ unsigned num_threads() const { return size(); }
    __device__ unsigned thread_rank() const { return lanes ? __popc(lanes & __nvir_lanemask_lt()) : __nvir::rank_in_block(); }
};
__device__ inline thread_group tiled_partition(const thread_group &, unsigned n) {
    coalesced_group made;
    made.lanes = n >= 32 ? 0xffffffffu : ((1u << n) - 1u) << (__nvir::lane() & ~(n - 1));
    return made;
}
template <class G> __device__ inline void sync(const G &g) { g.sync(); }
template <class G> __device__ inline unsigned thread_rank(const G &g) { return g.thread_rank(); }
template <class G> __device__ inline unsigned group_size(const G &g) { return g.size(); }
template <class G, class F, class... A> __device__ inline void invoke_one(const G &g, F f, A... a) { if (g.thread_rank() == 0) f(a...); }
template <class T = void> struct plus { __device__ T operator()(T a, T b) const { return a + b; } };
template <class T = void> struct less { __device__ T operator()(T a, T b) const { return a < b ? a : b; } };
template <class T = void> struct greater { __device__ T operator()(T a, T b) const { return a > b ? a : b; } };
template <class T = void> struct bit_and { __device__ T operator()(T a, T b) const { return a & b; } };
template <class T = void> struct bit_or { __device__ T operator()(T a, T b) const { return a | b; } };
template <class T = void> struct bit_xor { __device__ T operator()(T a, T b) const { return a ^ b; } };
template <> struct plus<void> { template <class T> __device__ T operator()(T a, T b) const { return a + b; } };
template <> struct less<void> { template <class T> __device__ T operator()(T a, T b) const { return a < b ? a : b; } };
template <> struct greater<void> { template <class T> __device__ T operator()(T a, T b) const { return a > b ? a : b; } };

template <unsigned N, class P, class T, class F> __device__ inline T reduce(const thread_block_tile<N, P, false> &g, T v, F f) {
#pragma unroll
    for (unsigned n = N / 2; n > 0; n /= 2) v = f(v, g.shfl_xor(v, n));
    return v;
}
template <class T, class F> __device__ inline T reduce(const coalesced_group &g, T v, F f) {
    unsigned size = g.size(), rank = g.thread_rank();
    for (unsigned n = 1; n < size; n *= 2) {
        T other = g.shfl_down(v, n);
        if (rank + n < size) v = f(v, other);
    }
    return g.shfl(v, 0);
}
template <unsigned N, class P, class T, class F> __device__ inline T reduce(const thread_block_tile<N, P, true> &g, T v, F f) {
    __shared__ T parts[32];
    v = reduce(thread_block_tile<32>(), v, f);
    unsigned warp = __nvir::rank_in_block() / 32;
    g.sync();
    if (__nvir::lane() == 0) parts[warp] = v;
    g.sync();
    v = parts[warp & ~(N / 32 - 1)];
#pragma unroll
    for (unsigned k = 1; k < N / 32; ++k) v = f(v, parts[(warp & ~(N / 32 - 1)) + k]);
    return v;
}
#if __CUDA_ARCH__ >= 800
#define __NVIR_REDUX(t, op, name) \
    template <unsigned N, class P> __device__ inline t reduce(const thread_block_tile<N, P, false> &g, t v, op<t>) { return name(g.mask(), v); } \
    __device__ inline t reduce(const coalesced_group &g, t v, op<t>) { return name(g.lanes, v); }
__NVIR_REDUX(int, plus, __reduce_add_sync) __NVIR_REDUX(int, less, __reduce_min_sync) __NVIR_REDUX(int, greater, __reduce_max_sync)
__NVIR_REDUX(unsigned, plus, __reduce_add_sync) __NVIR_REDUX(unsigned, less, __reduce_min_sync) __NVIR_REDUX(unsigned, greater, __reduce_max_sync)
__NVIR_REDUX(unsigned, bit_and, __reduce_and_sync) __NVIR_REDUX(unsigned, bit_or, __reduce_or_sync) __NVIR_REDUX(unsigned, bit_xor, __reduce_xor_sync)
#undef __NVIR_REDUX
#endif
template <class G, class T, class F> __device__ inline T inclusive_scan(const G &g, T v, F f) {
    unsigned rank = g.thread_rank();
#pragma unroll
    for (unsigned n = 1; n < g.size(); n *= 2) { T other = g.shfl_up(v, n); if (rank >= n) v = f(other, v); }
    return v;
}
template <class G, class T> __device__ inline T inclusive_scan(const G &g, T v) { return inclusive_scan(g, v, plus<T>()); }
template <class G, class T, class F> __device__ inline T exclusive_scan(const G &g, T v, F f) {
    T before = g.shfl_up(inclusive_scan(g, v, f), 1);
    return g.thread_rank() == 0 ? T() : before;
}
template <class G, class T> __device__ inline T exclusive_scan(const G &g, T v) { return exclusive_scan(g, v, plus<T>()); }

// copies of a group: each thread takes its share of the widest words that fit
template <class G> __device__ inline void memcpy_async(const G &g, void *to, const void *from, size_t bytes) {
    if ((((size_t)to | (size_t)from | bytes) & 15) == 0)
        for (size_t k = g.thread_rank(); k < bytes / 16; k += g.size()) ((uint4 *)to)[k] = ((const uint4 *)from)[k];
    else if ((((size_t)to | (size_t)from | bytes) & 3) == 0)
        for (size_t k = g.thread_rank(); k < bytes / 4; k += g.size()) ((unsigned *)to)[k] = ((const unsigned *)from)[k];
    else
        for (size_t k = g.thread_rank(); k < bytes; k += g.size()) ((char *)to)[k] = ((const char *)from)[k];
}
template <class G, class T> __device__ inline void memcpy_async(const G &g, T *to, size_t room, const T *from, size_t count) { memcpy_async(g, to, from, (room < count ? room : count) * sizeof(T)); }
template <class G> __device__ inline void wait(const G &g) { g.sync(); }
template <unsigned n, class G> __device__ inline void wait_prior(const G &g) { g.sync(); }
}

#if __CUDA_ARCH__ >= 900
namespace cooperative_groups {
// the blocks of a cluster
struct cluster_group {
    __device__ static unsigned block_rank() { unsigned r; asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
    __device__ static unsigned num_blocks() { unsigned r; asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(r)); return r; }
    __device__ static dim3 block_index() { unsigned x, y, z; asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(x)); asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(y)); asm("mov.u32 %0, %%cluster_ctaid.z;" : "=r"(z)); return dim3(x, y, z); }
    __device__ static dim3 dim_blocks() { unsigned x, y, z; asm("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(x)); asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(y)); asm("mov.u32 %0, %%cluster_nctaid.z;" : "=r"(z)); return dim3(x, y, z); }
    __device__ static unsigned num_threads() { return num_blocks() * blockDim.x * blockDim.y * blockDim.z; }
    __device__ static unsigned size() { return num_threads(); }
    __device__ static unsigned thread_rank() { return block_rank() * (blockDim.x * blockDim.y * blockDim.z) + (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
    __device__ static void barrier_arrive() { __cluster_barrier_arrive(); }
    __device__ static void barrier_wait() { __cluster_barrier_wait(); }
    __device__ static void sync() { __cluster_barrier_arrive(); __cluster_barrier_wait(); }
    template <class T> __device__ static T *map_shared_rank(T *p, int rank) { T *r; asm("mapa.u64 %0, %1, %2;" : "=l"(r) : "l"(p), "r"(rank)); return r; }
    __device__ static unsigned query_shared_rank(const void *p) { unsigned r; asm("getctarank.u64 %0, %1;" : "=r"(r) : "l"(p)); return r; }
};
__device__ inline cluster_group this_cluster() { return cluster_group(); }
}
#endif
