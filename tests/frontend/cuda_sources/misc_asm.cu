#include <cstdint>
#define LOP3(d, a, b, c, lut) asm volatile("lop3.b32 %0, %1, %2, %3, " #lut ";" : "=r"(d) : "r"(a), "r"(b), "r"(c))
#define CP_ASYNC16(dst, src) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(dst), "l"(src))
#define CP_COMMIT() asm volatile("cp.async.commit_group;\n" ::)
#define CP_WAIT(n) asm volatile("cp.async.wait_group %0;\n" ::"n"(n))
#define LDMATRIX_X2(R0, R1, addr) asm volatile("ldmatrix.sync.aligned.x2.m8n8.shared.b16 {%0, %1}, [%2];\n" : "=r"(R0), "=r"(R1) : "r"(addr))
__device__ __forceinline__ uint32_t lane_id() { uint32_t r; asm("mov.u32 %0, %%laneid;" : "=r"(r)); return r; }
__device__ __forceinline__ int bfe(int x, int pos, int len) { int r; asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r) : "r"(x), "r"(pos), "r"(len)); return r; }
__global__ void assembly(int *out, const int *in, const uint4 *block) {
    __shared__ __align__(16) uint4 tile[32];
    uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(&tile[threadIdx.x]));
    CP_ASYNC16(at, block + threadIdx.x);
    CP_COMMIT();
    CP_WAIT(0);
    __syncthreads();
    int v = in[threadIdx.x], d;
    LOP3(d, v, 0xff, 0x0f0f, 0x96);
    asm("add.s32 %0, %0, %1;" : "+r"(d) : "r"(bfe(v, 2, 5)));
    unsigned long long wide = 7;
    asm("{\n\t.reg .u64 t;\n\tcvt.u64.u32 t, %1;\n\tadd.u64 %0, %0, t;\n\t}" : "+l"(wide) : "r"(lane_id()));
    uint32_t a, b;
    LDMATRIX_X2(a, b, static_cast<uint32_t>(__cvta_generic_to_shared(tile)));
    out[threadIdx.x] = d + (int)wide + (int)tile[threadIdx.x].y + (int)(a ^ a) + (int)(b - b);
}
