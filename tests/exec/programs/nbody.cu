#include "selfcheck.h"

__global__ void forces(const float4 *p, float4 *f, int n) {
    extern __shared__ float4 tile[];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 me = p[i];
    float x = 0, y = 0, z = 0;
    for (int base = 0; base < n; base += blockDim.x) {
        tile[threadIdx.x] = p[base + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < blockDim.x; k++) {
            float4 o = tile[k];
            float dx = o.x - me.x, dy = o.y - me.y, dz = o.z - me.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), s = o.w * r * r * r;
            x += dx * s; y += dy * s; z += dz * s;
        }
        __syncthreads();
    }
    f[i] = make_float4(x, y, z, 0);
}
int main() {
    const int n = 128;
    float4 *p, *f;
    CHECK(cudaMallocManaged(&p, n * 16)); CHECK(cudaMallocManaged(&f, n * 16));
    for (int i = 0; i < n; i++) p[i] = make_float4(sinf(i), cosf(3 * i), sinf(7 * i + 1), 1);
    forces<<<n / 64, 64, 64 * 16>>>(p, f, n);
    CHECK(cudaDeviceSynchronize());
    bool ok = true;
    for (int i = 0; i < n; i += 17) {
        double x = 0;
        for (int k = 0; k < n; k++) {
            double dx = p[k].x - p[i].x, dy = p[k].y - p[i].y, dz = p[k].z - p[i].z;
            x += dx * p[k].w / pow(dx * dx + dy * dy + dz * dz + 0.01, 1.5);
        }
        ok &= fabs(x - f[i].x) < 1e-2 * (1 + fabs(x));
    }
    return verdict(ok);
}
