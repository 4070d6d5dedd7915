#include "selfcheck.h"

__global__ void add(cudaPitchedPtr p, int w, int h, int d) {
    int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
    if (x < w && y < h && z < d) ((int *)((char *)p.ptr + (z * p.ysize + y) * p.pitch))[x] += z * 100 + y * 10 + x;
}
int main() {
    const int w = 10, h = 6, d = 4;
    std::vector<int> a(w * h * d, 1), b(w * h * d);
    cudaPitchedPtr p;
    cudaExtent e = make_cudaExtent(w * 4, h, d);
    CHECK(cudaMalloc3D(&p, e));
    cudaMemcpy3DParms c = {};
    c.srcPtr = make_cudaPitchedPtr(a.data(), w * 4, w, h); c.dstPtr = p; c.extent = e; c.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&c));
    add<<<d, dim3(16, 8)>>>(p, w, h, d);
    cudaMemcpy3DParms back = {};
    back.srcPtr = p; back.dstPtr = make_cudaPitchedPtr(b.data(), w * 4, w, h); back.extent = e; back.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&back));
    bool ok = true;
    for (int z = 0; z < d; z++) for (int y = 0; y < h; y++) for (int x = 0; x < w; x++) ok &= b[(z * h + y) * w + x] == 1 + z * 100 + y * 10 + x;
    return verdict(ok);
}
