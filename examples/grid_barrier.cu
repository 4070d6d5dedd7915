// Iterated smoothing with a barrier across the whole grid between steps: an
// arrival counter and a generation number in global memory. All blocks must be
// resident at once (a cooperative launch). `counter`, `generation` are zero at
// launch.

__device__ void grid_sync(unsigned *counter, volatile unsigned *generation) {
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned mine = *generation;
        __threadfence();
        if (atomicAdd(counter, 1u) == gridDim.x - 1) {
            *counter = 0;
            __threadfence();
            *generation = mine + 1;
        } else {
            while (*generation == mine)
                __nanosleep(64);
        }
        __threadfence();
    }
    __syncthreads();
}

extern "C" __global__ void grid_barrier(float *a, float *b, int n, int steps, unsigned *counter,
                                        unsigned *generation) {
    for (int s = 0; s < steps; ++s) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
            const float left = a[i > 0 ? i - 1 : 0], right = a[i < n - 1 ? i + 1 : n - 1];
            b[i] = 0.25f * left + 0.5f * a[i] + 0.25f * right;
        }
        grid_sync(counter, generation);
        float *t = a;
        a = b;
        b = t;
    }
}
