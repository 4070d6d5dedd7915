#include "selfcheck.h"

__global__ void heat(const float *a, float *b, int w, int h) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, i = y * w + x;
    if (x > 0 && y > 0 && x < w - 1 && y < h - 1) b[i] = 0.25f * (a[i - 1] + a[i + 1] + a[i - w] + a[i + w]);
    else if (x < w && y < h) b[i] = a[i];
}
int main() {
    const int w = 40, h = 30;
    std::vector<float> a(w * h), b(w * h), got(w * h);
    for (int i = 0; i < w * h; i++) a[i] = i % w == 0 ? 64 : i % 5;
    float *x, *y;
    size_t pitch;
    CHECK(cudaMalloc(&x, w * h * 4)); CHECK(cudaMalloc(&y, w * h * 4));
    CHECK(cudaMemcpy(x, a.data(), w * h * 4, cudaMemcpyHostToDevice));
    for (int k = 0; k < 20; k++) {
        heat<<<dim3((w + 15) / 16, (h + 7) / 8), dim3(16, 8)>>>(x, y, w, h);
        std::swap(x, y);
        for (int i = 0; i < w * h; i++) {
            int p = i % w, q = i / w;
            b[i] = p > 0 && q > 0 && p < w - 1 && q < h - 1 ? 0.25f * (a[i - 1] + a[i + 1] + a[i - w] + a[i + w]) : a[i];
        }
        std::swap(a, b);
    }
    float *p2;
    CHECK(cudaMallocPitch(&p2, &pitch, w * 4, h));
    CHECK(cudaMemcpy2D(p2, pitch, x, w * 4, w * 4, h, cudaMemcpyDeviceToDevice));
    CHECK(cudaMemcpy2D(got.data(), w * 4, p2, pitch, w * 4, h, cudaMemcpyDeviceToHost));
    bool ok = true;
    for (int i = 0; i < w * h; i++) ok &= fabsf(got[i] - a[i]) < 1e-5f;
    return verdict(ok);
}
