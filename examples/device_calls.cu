// Functions that stay calls: one kept out of line, one recursive (Ackermann's
// function needs a real stack), one through a table of function pointers.

__device__ __noinline__ float polynomial(float x, int terms) {
    float value = 0.0f, power = 1.0f;
    for (int i = 0; i < terms; ++i, power *= x)
        value += power / (i + 1);
    return value;
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ int twice(int x) { return 2 * x; }
__device__ __noinline__ int square(int x) { return x * x; }
__device__ int (*const table[2])(int) = {twice, square};

extern "C" __global__ void device_calls(const float *__restrict__ x, float *__restrict__ y,
                                        unsigned *__restrict__ z, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    y[i] = polynomial(x[i], 4 + i % 5);
    z[i] = ackermann(i % 3, i % 4) + table[i % 2](i);
}
