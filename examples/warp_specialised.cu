// Warp specialisation on sm_90: warp 0 feeds a ring of shared-memory stages with
// bulk asynchronous copies and the other warps consume them; two mbarriers a
// stage, `full` and `empty`, carry the handshake. Computes the sum of squares of
// each block's `chunks` chunks. Blocks of 160 threads: one producer warp, four
// consumer warps.

#include <cstdint>

constexpr int STAGES = 4, CHUNK = 512, CONSUMERS = 128;

__device__ __forceinline__ uint32_t smem(const void *p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void barrier_init(uint64_t *bar, uint32_t count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(smem(bar)), "r"(count));
}

__device__ __forceinline__ void barrier_arrive(uint64_t *bar) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(smem(bar)) : "memory");
}

__device__ __forceinline__ void barrier_expect(uint64_t *bar, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(smem(bar)),
                 "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void barrier_wait(uint64_t *bar, uint32_t parity) {
    uint32_t done;
    do {
        asm volatile("{\n\t"
                     ".reg .pred p;\n\t"
                     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                     "selp.u32 %0, 1, 0, p;\n\t"
                     "}"
                     : "=r"(done)
                     : "r"(smem(bar)), "r"(parity)
                     : "memory");
    } while (!done);
}

__device__ __forceinline__ void bulk_copy(void *dst, const void *src, uint32_t bytes,
                                          uint64_t *bar) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(smem(dst)),
                 "l"(src), "r"(bytes), "r"(smem(bar))
                 : "memory");
}

extern "C" __global__ void __launch_bounds__(CONSUMERS + 32)
    warp_specialised(const float *__restrict__ in, float *__restrict__ out, int chunks) {
    __shared__ __align__(128) float ring[STAGES][CHUNK];
    __shared__ __align__(8) uint64_t full[STAGES], empty[STAGES];
    __shared__ float total;

    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; ++s) {
            barrier_init(&full[s], 1);
            barrier_init(&empty[s], CONSUMERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        total = 0.0f;
    }
    __syncthreads();

    in += (long long)blockIdx.x * chunks * CHUNK;
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0) {
            for (int i = 0; i < chunks; ++i) {
                const int s = i % STAGES;
                barrier_wait(&empty[s], (i / STAGES & 1) ^ 1);  // a fresh barrier lets through
                barrier_expect(&full[s], CHUNK * sizeof(float));
                bulk_copy(ring[s], in + (long long)i * CHUNK, CHUNK * sizeof(float), &full[s]);
            }
        }
    } else {
        const int t = threadIdx.x - 32;
        float sum = 0.0f;
        for (int i = 0; i < chunks; ++i) {
            const int s = i % STAGES;
            barrier_wait(&full[s], i / STAGES & 1);
            const float4 v = *reinterpret_cast<const float4 *>(&ring[s][t * 4]);
            sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
            barrier_arrive(&empty[s]);
        }
        atomicAdd(&total, sum);
    }
    __syncthreads();
    if (threadIdx.x == 0)
        out[blockIdx.x] = total;
}
