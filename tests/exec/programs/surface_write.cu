#include "selfcheck.h"

__global__ void fill(cudaSurfaceObject_t s, int w, int h) {
    int x = threadIdx.x + blockIdx.x * blockDim.x, y = threadIdx.y + blockIdx.y * blockDim.y;
    if (x < w && y < h) { int old; surf2Dread(&old, s, x * 4, y); surf2Dwrite(old + x * 100 + y, s, x * 4, y); }
}
int main() {
    const int w = 20, h = 12;
    std::vector<int> a(w * h, 5);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &format, w, h, cudaArraySurfaceLoadStore));
    CHECK(cudaMemcpy2DToArray(array, 0, 0, a.data(), w * 4, w * 4, h, cudaMemcpyHostToDevice));
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeArray; r.res.array.array = array;
    cudaSurfaceObject_t s;
    CHECK(cudaCreateSurfaceObject(&s, &r));
    fill<<<dim3(2, 2), dim3(16, 8)>>>(s, w, h);
    CHECK(cudaMemcpy2DFromArray(a.data(), w * 4, array, 0, 0, w * 4, h, cudaMemcpyDeviceToHost));
    bool ok = true;
    for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) ok &= a[y * w + x] == 5 + x * 100 + y;
    CHECK(cudaDestroySurfaceObject(s));
    return verdict(ok);
}
