#include "selfcheck.h"

__global__ void gather(cudaTextureObject_t t, const int *at, int4 *out, int n) {
    int i = threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<int4>(t, at[i]);
}
int main() {
    const int n = 100;
    int4 *data, *out;
    int *at;
    CHECK(cudaMallocManaged(&data, n * 16)); CHECK(cudaMallocManaged(&out, n * 16)); CHECK(cudaMallocManaged(&at, n * 4));
    for (int i = 0; i < n; i++) data[i] = make_int4(i, -i, 2 * i, 7), at[i] = (i * 37) % n;
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeLinear; r.res.linear.devPtr = data; r.res.linear.sizeInBytes = n * 16;
    r.res.linear.desc = cudaCreateChannelDesc<int4>();
    cudaTextureDesc how = {};
    cudaTextureObject_t t;
    CHECK(cudaCreateTextureObject(&t, &r, &how, nullptr));
    gather<<<1, 128>>>(t, at, out, n);
    CHECK(cudaDeviceSynchronize());
    bool ok = true;
    for (int i = 0; i < n; i++) ok &= out[i].x == at[i] && out[i].y == -at[i] && out[i].z == 2 * at[i] && out[i].w == 7;
    return verdict(ok);
}
