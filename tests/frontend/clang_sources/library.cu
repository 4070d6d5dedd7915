// libcu++ and Thrust in device code.
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/std/tuple>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/tuple.h>

#define K extern "C" __global__ void
constexpr int B = 128;

K atomic_sum(const int *in, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_device> total(*out);
    total.fetch_add(in[threadIdx.x], cuda::memory_order_relaxed);
}
K atomic_max(const int *in, int *out) {
    cuda::atomic_ref<int, cuda::thread_scope_block> most(*out);
    int seen = most.load();
    while (seen < in[threadIdx.x] && !most.compare_exchange_weak(seen, in[threadIdx.x])) {}
}
K atomic_shared(const int *in, int *out) {
    __shared__ cuda::atomic<int, cuda::thread_scope_block> odd;
    if (threadIdx.x == 0) odd.store(0);
    __syncthreads();
    if (in[threadIdx.x] & 1) odd.fetch_add(1);
    __syncthreads();
    if (threadIdx.x == 0) *out = odd.load();
}
K barrier(const int *in, int *out) {
    using Barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ Barrier b;
    __shared__ int tile[B];
    if (threadIdx.x == 0) init(&b, B);
    __syncthreads();
    tile[threadIdx.x] = in[threadIdx.x];
    b.arrive_and_wait();
    out[threadIdx.x] = tile[B - 1 - threadIdx.x];
}
K arrays(const int *in, int *out) {
    cuda::std::array<int, 4> v{};
    for (int k = 0; k < 4; ++k) v[k] = in[threadIdx.x * 4 + k];
    cuda::std::tuple<int, int> ends{v.front(), v.back()};
    out[threadIdx.x] = cuda::std::get<0>(ends) + 2 * cuda::std::get<1>(ends) + max(v[1], v[2]);
}
K complex_square(const int *in, int *out) {
    cuda::std::complex<float> z(in[threadIdx.x] % 7, 2.0f);
    out[threadIdx.x] = (int)(z * z).real();
}
K thrust_sort(const int *in, int *out) {
    for (int k = 0; k < 4; ++k) out[threadIdx.x * 4 + k] = in[threadIdx.x * 4 + k];
    thrust::sort(thrust::seq, out + threadIdx.x * 4, out + threadIdx.x * 4 + 4);
}
K thrust_reduce(const int *in, int *out) {
    out[threadIdx.x] = thrust::reduce(thrust::seq, in + threadIdx.x * 4, in + threadIdx.x * 4 + 4, 0, thrust::maximum<int>());
}
K thrust_scan(const int *in, int *out) {
    thrust::inclusive_scan(thrust::seq, in + threadIdx.x * 4, in + threadIdx.x * 4 + 4, out + threadIdx.x * 4);
}
K thrust_iterators(const int *in, int *out) {
    auto squares = thrust::make_transform_iterator(thrust::make_counting_iterator(0), [] __device__(int x) { return x * x; });
    thrust::tuple<int, int> t = thrust::make_tuple(squares[threadIdx.x], in[threadIdx.x]);
    out[threadIdx.x] = thrust::get<0>(t) - thrust::get<1>(t);
}
