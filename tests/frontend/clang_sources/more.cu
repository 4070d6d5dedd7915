// CUB, libcu++, Thrust and cooperative groups in device code: a second set.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_radix_rank.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/semaphore>
#include <cuda/latch>
#include <cuda/std/bit>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/utility>
#include <cuda/std/variant>
#include <cuda/std/functional>
#include <cuda/std/expected>
#include <cuda/std/limits>
#include <cuda/functional>
#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/functional.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/iterator/permutation_iterator.h>
#include <thrust/pair.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>
#include <thrust/inner_product.h>
#include <thrust/complex.h>
#include <new>

#define K extern "C" __global__ void
constexpr int B = 128;
namespace cg = cooperative_groups;

K radix_sort_keys_bits(const int *in, int *out) {  // by eight bits, striped
    using Sort = cub::BlockRadixSort<unsigned, B, 4>;
    __shared__ typename Sort::TempStorage room;
    unsigned v[4];
    for (int k = 0; k < 4; ++k) v[k] = in[threadIdx.x * 4 + k];
    Sort(room).SortDescendingBlockedToStriped(v, 2, 8);
    for (int k = 0; k < 4; ++k) out[k * B + threadIdx.x] = v[k];
}
K radix_sort_doubles(const int *in, int *out) {
    using Sort = cub::BlockRadixSort<double, B, 2, short>;
    __shared__ typename Sort::TempStorage room;
    double v[2]; short p[2];
    for (int k = 0; k < 2; ++k) { p[k] = threadIdx.x * 2 + k; v[k] = (in[p[k]] - 500) * 0.37; }
    Sort(room).Sort(v, p);
    for (int k = 0; k < 2; ++k) out[threadIdx.x * 2 + k] = in[p[k]];
}
struct Affine { int a, b; };
struct Compose {
    __device__ Affine operator()(Affine f, Affine g) const { return {f.a * g.a, g.a * f.b + g.b}; }
};
K scan_affine(const int *in, int *out) {
    using Scan = cub::BlockScan<Affine, B, cub::BLOCK_SCAN_RAKING>;
    __shared__ typename Scan::TempStorage room;
    Affine f{in[threadIdx.x] % 3 + 1, in[threadIdx.x] % 5}, total;
    Scan(room).InclusiveScan(f, f, Compose(), total);
    out[threadIdx.x] = f.a * 2 + f.b;
    if (threadIdx.x == B - 1) out[B] = total.b;
}
struct Running {
    int seen;
    __device__ int operator()(int all) { int old = seen; seen += all; return old; }
};
K scan_prefix(const int *in, int *out) {
    using Scan = cub::BlockScan<int, B>;
    __shared__ typename Scan::TempStorage room;
    Running running{7};
    for (int k = 0; k < 4; ++k) {
        int x = in[k * B + threadIdx.x], y;
        Scan(room).ExclusiveSum(x, y, running);
        __syncthreads();
        out[k * B + threadIdx.x] = y;
    }
}
struct Best { int value, where; float weight; };
struct Better {
    __device__ Best operator()(const Best &a, const Best &b) const {
        return a.value > b.value || (a.value == b.value && a.where < b.where) ? a : b;
    }
};
K warp_reduce_structs(const int *in, int *out) {
    using Reduce = cub::WarpReduce<Best>;
    __shared__ typename Reduce::TempStorage room[B / 32];
    int w = threadIdx.x / 32;
    Best b{in[threadIdx.x], (int)threadIdx.x, in[threadIdx.x] * 0.5f};
    b = Reduce(room[w]).Reduce(b, Better());
    if (threadIdx.x % 32 == 0) { out[w * 2] = b.where; out[w * 2 + 1] = (int)(b.weight * 2); }
}
K warp_reduce_segments(const int *in, int *out) {
    using Reduce = cub::WarpReduce<int>;
    __shared__ typename Reduce::TempStorage room[B / 32];
    int head = threadIdx.x % 8 == 0 || in[threadIdx.x] < 100;
    int sum = Reduce(room[threadIdx.x / 32]).HeadSegmentedSum(in[threadIdx.x], head);
    out[threadIdx.x] = head ? sum : -1;
}
K exchange_scatter(const int *in, int *out) {
    using Exchange = cub::BlockExchange<int, B, 4, true>;
    __shared__ typename Exchange::TempStorage room;
    int v[4], rank[4];
    for (int k = 0; k < 4; ++k) { v[k] = in[threadIdx.x * 4 + k]; rank[k] = (threadIdx.x * 4 + k) * 5 % 512; }
    Exchange(room).ScatterToStriped(v, v, rank);
    for (int k = 0; k < 4; ++k) out[k * B + threadIdx.x] = v[k];
}
K warp_exchange(const int *in, int *out) {
    using Exchange = cub::WarpExchange<int, 4>;
    __shared__ typename Exchange::TempStorage room[B / 32];
    int v[4];
    for (int k = 0; k < 4; ++k) v[k] = in[threadIdx.x * 4 + k];
    Exchange(room[threadIdx.x / 32]).BlockedToStriped(v, v);
    for (int k = 0; k < 4; ++k) out[threadIdx.x * 4 + k] = v[k];
}
struct Apart { __device__ bool operator()(int a, int b) const { return a / 100 != b / 100; } };
K discontinuity_tails(const int *in, int *out) {
    using Ends = cub::BlockDiscontinuity<int, B>;
    __shared__ typename Ends::TempStorage room;
    int v[2] = {in[threadIdx.x * 2], in[threadIdx.x * 2 + 1]}, heads[2], tails[2];
    Ends(room).FlagHeadsAndTails(heads, tails, -1, v, Apart());
    for (int k = 0; k < 2; ++k) out[threadIdx.x * 2 + k] = heads[k] * 2 + tails[k];
}
K adjacent_right(const int *in, int *out) {
    using Adjacent = cub::BlockAdjacentDifference<int, B>;
    __shared__ typename Adjacent::TempStorage room;
    int v[2] = {in[threadIdx.x * 2], in[threadIdx.x * 2 + 1]}, d[2];
    Adjacent(room).SubtractRight(v, d, cuda::std::minus<>{}, 3);
    for (int k = 0; k < 2; ++k) out[threadIdx.x * 2 + k] = d[k];
}
K run_lengths(const int *in, int *out) {  // item i is there in[i] % 3 + 1 times
    using Decode = cub::BlockRunLengthDecode<int, B, 1, 3>;
    __shared__ typename Decode::TempStorage room;
    int v[1] = {in[threadIdx.x]}, n[1] = {in[threadIdx.x] % 3 + 1};
    unsigned total = 0;
    Decode decode(room, v, n, total);
    int made[3];
    decode.RunLengthDecode(made, 0u);
    for (int k = 0; k < 3; ++k)
        if (threadIdx.x * 3 + k < total) out[threadIdx.x * 3 + k] = made[k];
}
K atomic_ref_floats(const int *in, int *out) {
    __shared__ float total; __shared__ unsigned long long most;
    if (threadIdx.x == 0) { total = 0; most = 0; }
    __syncthreads();
    cuda::atomic_ref<float, cuda::thread_scope_block>(total).fetch_add(in[threadIdx.x] * 0.5f, cuda::std::memory_order_relaxed);
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_block> top(most);
    top.fetch_max(((unsigned long long)in[threadIdx.x] << 32) | threadIdx.x);
    cuda::atomic_ref<int, cuda::thread_scope_device> bits(out[3]);
    bits.fetch_or(in[threadIdx.x] & 0x155);
    cuda::atomic_ref<int>(out[4]).fetch_sub(2);
    __syncthreads();
    if (threadIdx.x == 0) { out[0] = (int)(total * 2); out[1] = most >> 32; out[2] = (int)most; }
}
K barrier_two_phases(const int *in, int *out) {
    using Barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ Barrier full, empty;
    __shared__ int tile[64];
    if (threadIdx.x == 0) { init(&full, B); init(&empty, B); }
    __syncthreads();
    for (int round = 0; round < 4; ++round) {
        if (threadIdx.x < 64) {  // writes, the others read
            tile[threadIdx.x] = in[round * 64 + threadIdx.x];
            (void)full.arrive();
        } else {
            full.arrive_and_wait();
            out[round * 64 + threadIdx.x - 64] = tile[127 - threadIdx.x];
        }
        empty.arrive_and_wait();
    }
}
K pipeline_of_two(const int *in, int *out) {
    constexpr auto scope = cuda::thread_scope_block;
    __shared__ cuda::pipeline_shared_state<scope, 2> state;
    __shared__ int tile[2][B];
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    for (int k = 0; k < 5; ++k) {
        if (k < 4) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, tile[k & 1], in + k * B, cuda::aligned_size_t<16>(sizeof(int) * B), pipe);
            pipe.producer_commit();
        }
        if (k > 0) {
            pipe.consumer_wait();
            out[(k - 1) * B + threadIdx.x] = tile[(k - 1) & 1][B - 1 - threadIdx.x] + 1;
            pipe.consumer_release();
        }
    }
}
K pipeline_thread(const int *in, int *out) {
    __shared__ int tile[4][B];
    auto pipe = cuda::make_pipeline();
    for (int k = 0; k < 4; ++k) {
        pipe.producer_acquire();
        cuda::memcpy_async(&tile[k][threadIdx.x], in + k * B + threadIdx.x, sizeof(int), pipe);
        pipe.producer_commit();
    }
    cuda::pipeline_consumer_wait_prior<0>(pipe);
    for (int k = 0; k < 4; ++k) out[k * B + threadIdx.x] = 2 * tile[k][threadIdx.x];
}
K latch_and_semaphore(const int *in, int *out) {
    using Latch = cuda::latch<cuda::thread_scope_block>;
    __shared__ __align__(8) char room[sizeof(Latch)];
    __shared__ int total;
    Latch &done = *reinterpret_cast<Latch *>(room);
    if (threadIdx.x == 0) { new (room) Latch(B / 32); total = 0; }
    __syncthreads();
    if (threadIdx.x % 32 == 0) { atomicAdd(&total, in[threadIdx.x]); done.count_down(); }
    done.wait();
    if (threadIdx.x < 32) out[threadIdx.x] = total + threadIdx.x;
}
__device__ cuda::std::optional<int> halved(int x) {
    if (x & 1) return cuda::std::nullopt;
    return x / 2;
}
K optionals_spans(const int *in, int *out) {
    cuda::std::span<const int> all(in, 512);
    auto mine = all.subspan(threadIdx.x * 4, 4);
    int sum = 0;
    for (int x : mine) sum += halved(x).value_or(-x);
    auto [low, high] = cuda::std::minmax({mine.front(), mine.back()});
    out[threadIdx.x] = sum + (halved(low) ? 1000 : 0) + high % 7;
}
K variants(const int *in, int *out) {
    cuda::std::variant<int, float, cuda::std::pair<int, int>> v;
    int x = in[threadIdx.x];
    if (x % 3 == 0) v = x;
    else if (x % 3 == 1) v = x * 0.5f;
    else v = cuda::std::make_pair(x, x + 1);
    struct Look {
        __device__ int operator()(int a) const { return a; }
        __device__ int operator()(float f) const { return (int)(f * 4); }
        __device__ int operator()(cuda::std::pair<int, int> p) const { return p.first * p.second; }
    };
    out[threadIdx.x] = cuda::std::visit(Look(), v) + cuda::std::popcount((unsigned)x) + (int)v.index() * 10000;
}
K tuples(const int *in, int *out) {
    auto t = cuda::std::make_tuple(in[threadIdx.x], 2.5, (short)threadIdx.x);
    auto u = cuda::std::tuple_cat(t, cuda::std::tuple<long long>(1ll << 33));
    int made = cuda::std::apply([](int a, double b, short c, long long d) { return (int)(a * b) + c + (int)(d >> 30); }, u);
    out[threadIdx.x] = made + (int)cuda::std::tuple_size<decltype(u)>::value;
}
K thrust_sort_by_key(const int *in, int *out) {
    int keys[8], rows[8];
    for (int k = 0; k < 8; ++k) { keys[k] = in[(threadIdx.x * 4 + k) % 512]; rows[k] = k; }
    thrust::stable_sort_by_key(thrust::seq, keys, keys + 8, rows, thrust::greater<int>());
    int code = 0;
    for (int k = 0; k < 8; ++k) code = code * 8 + rows[k];
    out[threadIdx.x] = code;
}
struct Odd { __device__ bool operator()(int x) const { return x & 1; } };
K thrust_select(const int *in, int *out) {
    int v[4], *mine = out + threadIdx.x * 4;
    for (int k = 0; k < 4; ++k) { v[k] = in[threadIdx.x * 4 + k]; mine[k] = -1; }
    int *end = thrust::remove_if(thrust::device, v, v + 4, Odd());
    for (int *p = v; p < end; ++p) mine[p - v] = *p;
}
K thrust_search(const int *in, int *out) {
    int v[16];
    for (int k = 0; k < 16; ++k) v[k] = in[(threadIdx.x + 31 * k) % 512] / 10;
    thrust::sort(thrust::seq, v, v + 16);
    int *end = thrust::unique(thrust::seq, v, v + 16);
    int *at = thrust::lower_bound(thrust::seq, v, end, 50);
    int *top = thrust::max_element(thrust::seq, v, end);
    out[threadIdx.x] = (int)(end - v) * 10000 + (int)(at - v) * 100 + *top;
}
K thrust_products(const int *in, int *out) {
    const int *mine = in + threadIdx.x * 4;
    int squares = thrust::transform_reduce(thrust::seq, mine, mine + 4, [](int x) { return x * x % 101; }, 0, thrust::plus<int>());
    int dot = thrust::inner_product(thrust::seq, mine, mine + 4, in, 1);
    auto both = thrust::make_zip_iterator(thrust::make_tuple(mine, in));
    auto [a, b] = thrust::make_pair(thrust::get<0>(both[1]), thrust::get<1>(both[2]));
    thrust::complex<float> z(in[threadIdx.x] % 5, 3);
    out[threadIdx.x] = squares + dot + a - b + (int)thrust::norm(z);
}
K tile_reduce_scan(const int *in, int *out) {
    auto tile = cg::tiled_partition<16>(cg::this_thread_block());
    int x = in[threadIdx.x];
    int most = cg::reduce(tile, x, cg::greater<int>());
    int before = cg::exclusive_scan(tile, x, cg::plus<int>());
    int upto = cg::inclusive_scan(tile, x % 8, cg::bit_xor<int>());
    out[threadIdx.x] = most * 3 + before + upto + tile.meta_group_rank();
}
K coalesced_reduce(const int *in, int *out) {
    int x = in[threadIdx.x];
    out[threadIdx.x] = -1;
    if (x % 3) {
        auto some = cg::coalesced_threads();
        int total = cg::reduce(some, x, cg::plus<int>());
        auto same = cg::labeled_partition(some, x % 3);
        out[threadIdx.x] = total * 40 + (int)same.size() - (int)same.thread_rank();
    }
}
