#include "selfcheck.h"

__global__ void votes(const int *in, unsigned *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned b = __ballot_sync(~0u, in[i] & 1);
    unsigned before = __popc(b & ((1u << (threadIdx.x % 32)) - 1));
    bool any = __any_sync(~0u, in[i] == 0), all = __all_sync(~0u, in[i] < 1000);
    unsigned same = __match_any_sync(~0u, in[i] % 4);
    out[i] = before | any << 8 | all << 9 | __popc(same) << 16;
}
int main() {
    const int n = 128;
    int a[n], *in;
    unsigned got[n], *out;
    for (int i = 0; i < n; i++) a[i] = (i * 5) % 23;
    CHECK(cudaMalloc(&in, sizeof a)); CHECK(cudaMalloc(&out, sizeof got));
    CHECK(cudaMemcpy(in, a, sizeof a, cudaMemcpyHostToDevice));
    votes<<<2, 64>>>(in, out);
    CHECK(cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost));
    bool ok = true;
    for (int i = 0; i < n; i++) {
        int w = i / 32 * 32;
        unsigned before = 0, any = 0, all = 1, same = 0;
        for (int j = w; j < w + 32; j++) {
            if (j < i) before += a[j] & 1;
            any |= a[j] == 0; all &= a[j] < 1000; same += a[j] % 4 == a[i] % 4;
        }
        ok &= got[i] == (before | any << 8 | all << 9 | same << 16);
    }
    return verdict(ok);
}
