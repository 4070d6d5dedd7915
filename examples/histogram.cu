// 256-bin histogram of bytes: private bins in shared memory, four bytes a load,
// merged into the global bins with atomics. `bins` must be zero at launch.

constexpr int BINS = 256;

extern "C" __global__ void histogram(const unsigned char *__restrict__ data, unsigned *bins,
                                     int n) {
    __shared__ unsigned local[BINS];
    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        local[i] = 0;
    __syncthreads();

    const int first = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x;
    const uchar4 *quads = reinterpret_cast<const uchar4 *>(data);
    for (int i = first; i < n / 4; i += stride) {
        const uchar4 v = quads[i];
        atomicAdd(&local[v.x], 1u);
        atomicAdd(&local[v.y], 1u);
        atomicAdd(&local[v.z], 1u);
        atomicAdd(&local[v.w], 1u);
    }
    for (int i = n / 4 * 4 + first; i < n; i += stride)
        atomicAdd(&local[data[i]], 1u);
    __syncthreads();

    for (int i = threadIdx.x; i < BINS; i += blockDim.x)
        if (local[i])
            atomicAdd(&bins[i], local[i]);
}
