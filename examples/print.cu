// Formatted output from device code: the arguments go through a buffer in local
// memory to vprintf.

#include <cstdio>

extern "C" __global__ void print(const int *__restrict__ data, int n, double scale) {
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        if (data[i] < 0)
            printf("thread %d: data[%d] = %d, scaled %f\n", threadIdx.x, i, data[i],
                   data[i] * scale);
    if (threadIdx.x == 0)
        printf("done\n");
}
