#include "cuda_min.h"
__device__ uint lane() { uint r; asm("mov.u32 %0, %%laneid;" : "=r"(r)); return r; }
__global__ void a1(uint* o, u64* t) { o[gid()] = lane(); u64 c; asm volatile("mov.u64 %0, %%clock64;" : "=l"(c) :: "memory"); t[gid()] = c ? 1 : 0; }
__global__ void a2(const float* a, float* o) { int i = gid(); float r; asm("{\n\t.reg .f32 t;\n\tadd.f32 t, %1, %1;\n\tmul.f32 %0, t, %2;\n}" : "=f"(r) : "f"(a[i]), "f"(3.0f)); o[i] = r; }
__global__ void a3(const int4* p, int4* o) { int i = gid(); int4 v; asm volatile("ld.global.nc.v4.s32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p + i)); o[i] = v; }
__global__ void a4(u16* p, int* d, double* x) { int i = gid(); u16 h; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"((float)i)); p[i] = h; asm("mad.lo.s32 %0, %1, %2, %0;" : "+r"(d[i]) : "r"(i), "n"(12)); asm("fma.rn.f64 %0, %0, %1, %1;" : "+d"(x[i]) : "d"(2.0)); }
