#include "selfcheck.h"

__global__ void mandel(int *out, int w, int h, int most) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float cr = -2.0f + 3.0f * x / w, ci = -1.0f + 2.0f * y / h, r = 0, i = 0;
    int k = 0;
    while (k < most && r * r + i * i < 4) { float t = __fadd_rn(__fsub_rn(__fmul_rn(r, r), __fmul_rn(i, i)), cr); i = __fadd_rn(__fmul_rn(2, __fmul_rn(r, i)), ci); r = t; k++; }
    out[y * w + x] = k;
}
int main() {
    const int w = 64, h = 48, most = 60;
    int *d;
    CHECK(cudaMallocManaged(&d, w * h * 4));
    mandel<<<dim3(w / 16, h / 16), dim3(16, 16)>>>(d, w, h, most);
    CHECK(cudaDeviceSynchronize());
    int inside = 0;
    for (int i = 0; i < w * h; i++) inside += d[i] == most;
    return verdict(inside > 300 && inside < 1200 && d[0] <= 2 && d[h / 2 * w + w * 2 / 3] == most);
}
