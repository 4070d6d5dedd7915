#include "selfcheck.h"

struct Mt { unsigned s[624]; int at; };
__device__ __host__ void seed(Mt &m, unsigned k) { m.s[0] = k; for (int i = 1; i < 624; i++) m.s[i] = 1812433253u * (m.s[i - 1] ^ m.s[i - 1] >> 30) + i; m.at = 624; }
__device__ __host__ unsigned next(Mt &m) {
    if (m.at == 624) {
        for (int i = 0; i < 624; i++) {
            unsigned y = (m.s[i] & 0x80000000u) | (m.s[(i + 1) % 624] & 0x7fffffffu);
            m.s[i] = m.s[(i + 397) % 624] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
        }
        m.at = 0;
    }
    unsigned y = m.s[m.at++];
    y ^= y >> 11; y ^= y << 7 & 0x9d2c5680u; y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}
__global__ void draw(unsigned *out, int each) { Mt m; seed(m, 5489 + threadIdx.x); for (int k = 0; k < each; k++) out[threadIdx.x * each + k] = next(m); }
int main() {
    const int threads = 8, each = 4;
    unsigned *d;
    CHECK(cudaMallocManaged(&d, threads * each * 4));
    draw<<<1, threads>>>(d, each);
    CHECK(cudaDeviceSynchronize());
    bool ok = d[0] == 3499211612u;
    for (int t = 0; t < threads; t++) { Mt m; seed(m, 5489 + t); for (int k = 0; k < each; k++) ok &= d[t * each + k] == next(m); }
    return verdict(ok);
}
