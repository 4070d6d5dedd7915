// Sum of an array in one pass: a grid-stride loop, then shuffles within each
// warp, then shared memory across the warps of a block, then one atomic add a
// block. `total` must be zero before the launch. Blocks of 32 to 1024 threads.

__device__ __forceinline__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset >>= 1)
        value += __shfl_down_sync(0xffffffffu, value, offset);
    return value;
}

extern "C" __global__ void reduction(const float *__restrict__ in, float *total, int n) {
    __shared__ float partial[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];

    sum = warp_sum(sum);
    if (lane == 0)
        partial[warp] = sum;
    __syncthreads();

    if (warp == 0) {
        sum = lane < (blockDim.x + 31) / 32 ? partial[lane] : 0.0f;
        sum = warp_sum(sum);
        if (lane == 0)
            atomicAdd(total, sum);
    }
}
