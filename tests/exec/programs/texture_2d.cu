#include "selfcheck.h"

__global__ void sample(cudaTextureObject_t t, float *out, int w, int h, float shift) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h) out[y * w + x] = tex2D<float>(t, x + 0.5f + shift, y + 0.5f);
}
int main() {
    const int w = 33, h = 17;
    std::vector<float> a(w * h), b(w * h);
    for (int i = 0; i < w * h; i++) a[i] = i * 2;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, w, h));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, a.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeArray; r.res.array.array = array;
    cudaTextureDesc how = {};
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.filterMode = cudaFilterModeLinear;
    cudaTextureObject_t t;
    CHECK(cudaCreateTextureObject(&t, &r, &how, nullptr));
    float *out;
    CHECK(cudaMalloc(&out, w * h * 4));
    bool ok = true;
    for (float shift : {0.0f, 0.5f}) {
        sample<<<dim3(3, 2), dim3(16, 16)>>>(t, out, w, h, shift);
        CHECK(cudaMemcpy(b.data(), out, w * h * 4, cudaMemcpyDeviceToHost));
        for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) {
            float left = a[y * w + x], right = a[y * w + (x + 1 < w ? x + 1 : x)];
            ok &= b[y * w + x] == (shift ? (left + right) / 2 : left);
        }
    }
    CHECK(cudaDestroyTextureObject(t)); CHECK(cudaFreeArray(array));
    return verdict(ok);
}
