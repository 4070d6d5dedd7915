// Loops in forms that compilers must tell apart: neighbours that count alike, a nest that is to
// stay as it is, counting down without a sign, probing with a stride that wraps around, and a call
// of a small function that stays a call.

// Rows of a matrix, a thread each: their sum, their largest value, and both taken off. The first two
// loops can be one; the third needs what they make.
extern "C" __global__ void standardise(const float *__restrict__ in, float *__restrict__ out,
                                       int cols) {
    const float *x = in + (blockIdx.x * blockDim.x + threadIdx.x) * cols;
    float *y = out + (blockIdx.x * blockDim.x + threadIdx.x) * cols;
    float sum = 0.0f, largest = -1e30f;
#pragma unroll 1
    for (int i = 0; i < cols; i++) sum += x[i];
#pragma unroll 1
    for (int i = 0; i < cols; i++) largest = fmaxf(largest, x[i]);
    float mean = sum / cols;
#pragma unroll 1
    for (int i = 0; i < cols; i++) y[i] = (x[i] - mean) / (largest - mean);
}

// What 60 weights and the values behind each come to. Two stages count from 0, one from 1; threads
// keep the weights of positive values for themselves. Blocks of 32.
extern "C" __global__ void taps(const float *__restrict__ in, const float *__restrict__ weights,
                                float *out) {
    __shared__ float kept[32][60];
    float sum = 0.0f, all = 0.0f;
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < 60; i++)
        if (in[at + i] > 0.0f) kept[threadIdx.x][i] = weights[i];
#pragma unroll 1
    for (int i = 0; i < 60; i++) all += weights[i * i];
#pragma unroll 1
    for (int i = 1; i < 61; i++) sum += weights[(i - 1) * (i - 1)] * in[at + i];
    out[at] = (in[at] > 0.0f ? kept[threadIdx.x][0] : 0.0f) + sum * all;
}

// How many of a thread's n values are above a limit, from the last on; i wraps around behind 0.
extern "C" __global__ void count_above(const int *values, int *counts, unsigned n, int limit) {
    unsigned at = blockIdx.x * blockDim.x + threadIdx.x;
    int count = 0;
    for (unsigned i = n - 1; i < n; i--) count += values[at * n + i] > limit;
    counts[at] = count;
}

// Hits in a hash table whose steps are the golden ratio's, then in the multiples of the key.
extern "C" __global__ void probe(const unsigned *table, int *found, unsigned mask, unsigned tries) {
    unsigned key = blockIdx.x * blockDim.x + threadIdx.x, hits = 0;
    unsigned end = key + tries * 0x9e3779b9u;
    for (unsigned h = key; h != end; h += 0x9e3779b9u) hits += table[h & mask] == key;
    for (unsigned k = 1; tries > k; k++) hits += table[key * k & mask] > k;
    found[key] = hits;
}

__device__ __noinline__ float weight(float x, float h) { return 1.0f / (1.0f + x * x * h); }

// A nest whose outer loop is to stay: the inner one, too.
extern "C" __global__ void smooth(const float *in, float *out, int n, int radius, float h) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (n <= at) return;
    float sum = 0.0f, all = 0.0f;
#pragma unroll 1
    for (int row = 0; row < radius; row++)
        for (int k = 0; radius > k; k++) {
            float w = weight(in[row * n + k], h);
            sum += w * in[at + k];
            all += w;
        }
    out[at] = sum / all;
}
