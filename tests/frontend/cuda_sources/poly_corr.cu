#include <cmath>
#define M 32
#define N 40
#define FLOAT_N 3214212.01f
#define EPS 0.005f
#define sqrt_of_array_cell(x, j) sqrt(x[j])
typedef float DATA_TYPE;
__global__ void mean_kernel(DATA_TYPE *mean, DATA_TYPE *data) {
    int j = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if ((j >= 1) && (j < (M + 1))) {
        mean[j] = 0.0;
        for (int i = 1; i < (N + 1); i++) mean[j] += data[i * (M + 1) + j];
        mean[j] /= (DATA_TYPE)FLOAT_N;
    }
}
__global__ void std_kernel(DATA_TYPE *mean, DATA_TYPE *std, DATA_TYPE *data) {
    int j = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if ((j >= 1) && (j < (M + 1))) {
        std[j] = 0.0;
        for (int i = 1; i < (N + 1); i++) std[j] += (data[i * (M + 1) + j] - mean[j]) * (data[i * (M + 1) + j] - mean[j]);
        std[j] /= (FLOAT_N);
        std[j] = sqrt(std[j]);
        if (std[j] <= EPS) std[j] = 1.0;
    }
}
__global__ void reduce_kernel(DATA_TYPE *mean, DATA_TYPE *std, DATA_TYPE *data) {
    int j = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int i = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if ((i >= 1) && (i < (N + 1)) && (j >= 1) && (j < (M + 1))) {
        data[i * (M + 1) + j] -= mean[j];
        data[i * (M + 1) + j] /= (sqrt(FLOAT_N) * std[j]);
    }
}
