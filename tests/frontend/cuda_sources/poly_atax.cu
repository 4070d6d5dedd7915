#include <stdio.h>
#define NX 128
#define NY 96
typedef double DATA_TYPE;
extern inline __attribute__((always_inline)) int host_helper(int x) { return x; }
__global__ void atax_kernel1(DATA_TYPE *A, DATA_TYPE *x, DATA_TYPE *tmp) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < NX) {
        int j;
        for (j = 0; j < NY; j++) tmp[i] += A[i * NY + j] * x[j];
    }
}
__global__ void atax_kernel2(DATA_TYPE *A, DATA_TYPE *y, DATA_TYPE *tmp) {
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    if (j < NY)
        for (int i = 0; i < NX; i++) y[j] += A[i * NY + j] * tmp[i];
}
int main() { atax_kernel1<<<NX / 32, 32>>>(nullptr, nullptr, nullptr); }
