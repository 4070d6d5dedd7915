// Block and warp primitives of CUB; each kernel reads n = 128 or 512 numbers and writes its own result.
#include <cub/cub.cuh>
#include <cub/block/block_shuffle.cuh>

#define K extern "C" __global__ void
constexpr int B = 128, I = 4;

K block_sum(const int *in, int *out) {
    using R = cub::BlockReduce<int, B>;
    __shared__ typename R::TempStorage t;
    int s = R(t).Sum(in[threadIdx.x]);
    if (threadIdx.x == 0) *out = s;
}
K block_max_ranks(const int *in, int *out) {
    using R = cub::BlockReduce<int, B, cub::BLOCK_REDUCE_RAKING>;
    __shared__ typename R::TempStorage t;
    int s = R(t).Reduce(in[threadIdx.x], [](int a, int b) { return a > b ? a : b; });
    if (threadIdx.x == 0) *out = s;
}
K block_commutative(const int *in, int *out) {
    using R = cub::BlockReduce<int, B, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>;
    __shared__ typename R::TempStorage t;
    int s = R(t).Sum(in[threadIdx.x]);
    if (threadIdx.x == 0) *out = s;
}
K block_sum_items(const int *in, int *out) {
    using R = cub::BlockReduce<int, B>;
    __shared__ typename R::TempStorage t;
    int v[I];
    cub::LoadDirectBlocked(threadIdx.x, in, v);
    int s = R(t).Sum(v);
    if (threadIdx.x == 0) *out = s;
}
K block_sum_partial(const int *in, int *out, int n) {
    using R = cub::BlockReduce<int, B>;
    __shared__ typename R::TempStorage t;
    int s = R(t).Sum(threadIdx.x < n ? in[threadIdx.x] : 0, n);
    if (threadIdx.x == 0) *out = s;
}
K block_exclusive(const int *in, int *out) {
    using S = cub::BlockScan<int, B>;
    __shared__ typename S::TempStorage t;
    int v = in[threadIdx.x], r;
    S(t).ExclusiveSum(v, r);
    out[threadIdx.x] = r;
}
K block_inclusive_items(const int *in, int *out) {
    using S = cub::BlockScan<int, B, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ typename S::TempStorage t;
    int v[I];
    cub::LoadDirectBlocked(threadIdx.x, in, v);
    S(t).InclusiveSum(v, v);
    cub::StoreDirectBlocked(threadIdx.x, out, v);
}
K block_running_max(const int *in, int *out) {
    using S = cub::BlockScan<int, B, cub::BLOCK_SCAN_RAKING>;
    __shared__ typename S::TempStorage t;
    int r;
    S(t).InclusiveScan(in[threadIdx.x], r, [](int a, int b) { return a > b ? a : b; });
    out[threadIdx.x] = r;
}
K block_sort(const int *in, int *out) {
    using S = cub::BlockRadixSort<int, B, I>;
    __shared__ typename S::TempStorage t;
    int v[I];
    cub::LoadDirectBlocked(threadIdx.x, in, v);
    S(t).Sort(v);
    cub::StoreDirectBlocked(threadIdx.x, out, v);
}
K block_sort_pairs_down(const int *in, int *out) {
    using S = cub::BlockRadixSort<int, B, 1, int>;
    __shared__ typename S::TempStorage t;
    int k[1] = {in[threadIdx.x]}, v[1] = {(int)threadIdx.x};
    S(t).SortDescending(k, v);
    out[threadIdx.x] = v[0];
}
K block_merge_sort(const int *in, int *out) {
    using S = cub::BlockMergeSort<int, B, I>;
    __shared__ typename S::TempStorage t;
    int v[I];
    cub::LoadDirectBlocked(threadIdx.x, in, v);
    S(t).Sort(v, [](int a, int b) { return a < b; });
    cub::StoreDirectBlocked(threadIdx.x, out, v);
}
K block_load_store(const int *in, int *out) {
    using L = cub::BlockLoad<int, B, I, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
    using S = cub::BlockStore<int, B, I, cub::BLOCK_STORE_TRANSPOSE>;
    __shared__ union { typename L::TempStorage l; typename S::TempStorage s; } t;
    int v[I];
    L(t.l).Load(in, v);
    for (int k = 0; k < I; ++k) v[k] = v[k] * 10 + k;
    __syncthreads();
    S(t.s).Store(out, v);
}
K block_load_vector(const int *in, int *out, int n) {
    using L = cub::BlockLoad<int, B, I, cub::BLOCK_LOAD_TRANSPOSE>;
    __shared__ typename L::TempStorage t;
    int v[I];
    L(t).Load(in, v, n, -1);
    cub::StoreDirectStriped<B>(threadIdx.x, out, v);
}
K block_exchange(const int *in, int *out) {
    using X = cub::BlockExchange<int, B, I>;
    __shared__ typename X::TempStorage t;
    int v[I];
    cub::LoadDirectBlocked(threadIdx.x, in, v);
    X(t).BlockedToStriped(v, v);
    cub::StoreDirectBlocked(threadIdx.x, out, v);
}
K block_histogram(const int *in, int *out) {
    using H = cub::BlockHistogram<unsigned char, B, I, 16>;
    __shared__ typename H::TempStorage t;
    __shared__ int bins[16];
    unsigned char v[I];
    for (int k = 0; k < I; ++k) v[k] = in[threadIdx.x * I + k] & 15;
    H(t).Histogram(v, bins);
    __syncthreads();
    if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
}
K block_heads(const int *in, int *out) {
    using D = cub::BlockDiscontinuity<int, B>;
    __shared__ typename D::TempStorage t;
    int v[1] = {in[threadIdx.x] >> 8}, heads[1];
    D(t).FlagHeads(heads, v, cuda::std::not_equal_to<>());
    out[threadIdx.x] = heads[0];
}
K block_difference(const int *in, int *out) {
    using D = cub::BlockAdjacentDifference<int, B>;
    __shared__ typename D::TempStorage t;
    int v[1] = {in[threadIdx.x]}, r[1];
    D(t).SubtractLeft(v, r, [](int a, int b) { return a - b; });
    out[threadIdx.x] = r[0];
}
K block_shuffle(const int *in, int *out) {
    using S = cub::BlockShuffle<int, B>;
    __shared__ typename S::TempStorage t;
    int r = 0;
    S(t).Rotate(in[threadIdx.x], r, 3);
    out[threadIdx.x] = r;
}
K warp_sum(const int *in, int *out) {
    using R = cub::WarpReduce<int>;
    __shared__ typename R::TempStorage t[B / 32];
    int s = R(t[threadIdx.x / 32]).Sum(in[threadIdx.x]);
    if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = s;
}
K warp_sum_of_eight(const int *in, int *out) {
    using R = cub::WarpReduce<int, 8>;
    __shared__ typename R::TempStorage t[B / 8];
    int s = R(t[threadIdx.x / 8]).Sum(in[threadIdx.x]);
    if (threadIdx.x % 8 == 0) out[threadIdx.x / 8] = s;
}
K warp_scan(const int *in, int *out) {
    using S = cub::WarpScan<int>;
    __shared__ typename S::TempStorage t[B / 32];
    int r;
    S(t[threadIdx.x / 32]).InclusiveSum(in[threadIdx.x], r);
    out[threadIdx.x] = r;
}
K warp_merge_sort(const int *in, int *out) {
    using S = cub::WarpMergeSort<int, I>;
    __shared__ typename S::TempStorage t[B / 32];
    int v[I];
    cub::LoadDirectBlocked(threadIdx.x, in, v);
    S(t[threadIdx.x / 32]).Sort(v, [](int a, int b) { return a < b; });
    cub::StoreDirectBlocked(threadIdx.x, out, v);
}
