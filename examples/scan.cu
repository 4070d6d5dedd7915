// Exclusive prefix sum of one block's 2 * blockDim.x integers, work-efficient
// (Blelloch, 1990): a tree of sums up, then down, in dynamic shared memory.
// blockDim.x is a power of two; `sums` (may be null) gets each block's total.

extern __shared__ int scratch[];

extern "C" __global__ void scan(const int *__restrict__ in, int *__restrict__ out, int *sums,
                                int n) {
    const int size = 2 * blockDim.x, t = threadIdx.x;
    const int base = blockIdx.x * size;
    const int lo = base + t, hi = lo + blockDim.x;
    scratch[t] = lo < n ? in[lo] : 0;
    scratch[t + blockDim.x] = hi < n ? in[hi] : 0;

    int offset = 1;
    for (int d = size >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d)
            scratch[offset * (2 * t + 2) - 1] += scratch[offset * (2 * t + 1) - 1];
        offset <<= 1;
    }
    if (t == 0) {
        if (sums)
            sums[blockIdx.x] = scratch[size - 1];
        scratch[size - 1] = 0;
    }
    for (int d = 1; d < size; d <<= 1) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            const int left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1;
            const int sum = scratch[left];
            scratch[left] = scratch[right];
            scratch[right] += sum;
        }
    }
    __syncthreads();
    if (lo < n)
        out[lo] = scratch[t];
    if (hi < n)
        out[hi] = scratch[t + blockDim.x];
}
