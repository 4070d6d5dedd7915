// Numerically safe softmax of each row: one block a row, three passes (maximum,
// sum of exponentials, division), each a strided loop and a block reduction.

constexpr float LOG2E = 1.4426950408889634f;

template <class Combine>
__device__ float block_reduce(float value, float identity, Combine combine) {
    __shared__ float partial[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1)
        value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
    __syncthreads();  // the readers of an earlier call are done
    if (lane == 0)
        partial[warp] = value;
    __syncthreads();
    value = lane < blockDim.x / 32 ? partial[lane] : identity;
#pragma unroll
    for (int offset = 16; offset > 0; offset >>= 1)
        value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

extern "C" __global__ void softmax(const float *__restrict__ in, float *__restrict__ out, int n) {
    in += (long long)blockIdx.x * n;
    out += (long long)blockIdx.x * n;

    float top = -INFINITY;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        top = fmaxf(top, in[i]);
    top = block_reduce(top, -INFINITY, [](float a, float b) { return fmaxf(a, b); });

    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += exp2f((in[i] - top) * LOG2E);
    sum = block_reduce(sum, 0.0f, [](float a, float b) { return a + b; });

    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = exp2f((in[i] - top) * LOG2E) / sum;
}
