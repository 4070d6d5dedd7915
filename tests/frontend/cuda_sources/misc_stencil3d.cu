#include <cstdio>
constexpr int RADIUS = 4;
constexpr int TX = 32, TY = 8;
__constant__ float coeff[RADIUS + 1];
template <int R> __global__ void fd3d(float *__restrict__ output, const float *__restrict__ input, const int dimx, const int dimy, const int dimz) {
    bool validr = true, validw = true;
    const int gtidx = blockIdx.x * blockDim.x + threadIdx.x;
    const int gtidy = blockIdx.y * blockDim.y + threadIdx.y;
    const int ltidx = threadIdx.x, ltidy = threadIdx.y, workx = blockDim.x, worky = blockDim.y;
    __shared__ float tile[TY + 2 * R][TX + 2 * R];
    const int stride_y = dimx + 2 * R;
    const int stride_z = stride_y * (dimy + 2 * R);
    int inputIndex = R * stride_y + R, outputIndex = 0;
    inputIndex += gtidy * stride_y + gtidx;
    float infront[R], behind[R], current;
    const int tx = ltidx + R, ty = ltidy + R;
    if ((gtidx >= dimx + R) || (gtidy >= dimy + R)) validr = false;
    if ((gtidx >= dimx) || (gtidy >= dimy)) validw = false;
    for (int i = R - 2; i >= 0; i--) { if (validr) behind[i] = input[inputIndex]; inputIndex += stride_z; }
    if (validr) current = input[inputIndex];
    outputIndex = inputIndex;
    inputIndex += stride_z;
    for (int i = 0; i < R; i++) { if (validr) infront[i] = input[inputIndex]; inputIndex += stride_z; }
#pragma unroll 9
    for (int iz = 0; iz < dimz; iz++) {
        for (int i = R - 1; i > 0; i--) behind[i] = behind[i - 1];
        behind[0] = current;
        current = infront[0];
#pragma unroll
        for (int i = 0; i < R - 1; i++) infront[i] = infront[i + 1];
        if (validr) infront[R - 1] = input[inputIndex];
        inputIndex += stride_z;
        outputIndex += stride_z;
        __syncthreads();
        if (ltidy < R) { tile[ltidy][tx] = input[outputIndex - R * stride_y]; tile[ltidy + worky + R][tx] = input[outputIndex + worky * stride_y]; }
        if (ltidx < R) { tile[ty][ltidx] = input[outputIndex - R]; tile[ty][ltidx + workx + R] = input[outputIndex + workx]; }
        tile[ty][tx] = current;
        __syncthreads();
        float value = coeff[0] * current;
#pragma unroll R
        for (int i = 1; i <= R; i++) value += coeff[i] * (infront[i - 1] + behind[i - 1] + tile[ty - i][tx] + tile[ty + i][tx] + tile[ty][tx - i] + tile[ty][tx + i]);
        if (validw) output[outputIndex] = value;
    }
}
int main() { fd3d<RADIUS><<<dim3(2, 2), dim3(TX, TY)>>>(nullptr, nullptr, 64, 16, 8); }
