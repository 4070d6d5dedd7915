// Half precision and bfloat16: the machine's own types, with CUDA's names around them.
#pragma once
#include "../nvir_cuda.h"
typedef __fp16 __half; typedef __fp16 half;
typedef __bf16 __nv_bfloat16; typedef __bf16 nv_bfloat16;
struct __builtin_align__(4) __half2 { half x, y; __half2() = default; __host__ __device__ constexpr __half2(half a, half b) : x(a), y(b) {} };
typedef __half2 half2;
struct __builtin_align__(4) __nv_bfloat162 { __nv_bfloat16 x, y; __nv_bfloat162() = default; __host__ __device__ constexpr __nv_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) : x(a), y(b) {} };
typedef __nv_bfloat162 nv_bfloat162;
struct __half_raw { unsigned short x; };
__NVIR_FN float __half2float(half x) { return (float)x; }
__NVIR_FN half __float2half(float x) { return (half)x; }
__NVIR_FN half __float2half_rn(float x) { return (half)x; }
__NVIR_FN half __double2half(double x) { return (half)x; }
__NVIR_FN half __int2half_rn(int x) { return (half)(float)x; }
__NVIR_FN half __uint2half_rn(unsigned x) { return (half)(float)x; }
__NVIR_FN half __short2half_rn(short x) { return (half)(float)x; }
__NVIR_FN int __half2int_rz(half x) { return (int)(float)x; }
__NVIR_FN unsigned __half2uint_rz(half x) { return (unsigned)(float)x; }
__NVIR_FN int __half2int_rn(half x) { return __float2int_rn((float)x); }
__NVIR_FN float __bfloat162float(__nv_bfloat16 x) { return (float)x; }
__NVIR_FN __nv_bfloat16 __float2bfloat16(float x) { return (__nv_bfloat16)x; }
__NVIR_FN __nv_bfloat16 __float2bfloat16_rn(float x) { return (__nv_bfloat16)x; }
__NVIR_FN __half2 __floats2half2_rn(float a, float b) { return __half2((half)a, (half)b); }
__NVIR_FN __half2 __float22half2_rn(float2 v) { return __half2((half)v.x, (half)v.y); }
__NVIR_FN float2 __half22float2(__half2 v) { return make_float2((float)v.x, (float)v.y); }
__NVIR_FN __half2 __halves2half2(half a, half b) { return __half2(a, b); }
__NVIR_FN __half2 __half2half2(half a) { return __half2(a, a); }
__NVIR_FN __half2 __float2half2_rn(float a) { return __half2((half)a, (half)a); }
__NVIR_FN __half2 make_half2(half a, half b) { return __half2(a, b); }
__NVIR_FN half __low2half(__half2 v) { return v.x; }
__NVIR_FN half __high2half(__half2 v) { return v.y; }
__NVIR_FN float __low2float(__half2 v) { return (float)v.x; }
__NVIR_FN float __high2float(__half2 v) { return (float)v.y; }
__NVIR_FN __half2 __lowhigh2highlow(__half2 v) { return __half2(v.y, v.x); }
__NVIR_FN float2 __bfloat1622float2(__nv_bfloat162 v) { return make_float2((float)v.x, (float)v.y); }
__NVIR_FN __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { __nv_bfloat162 r; r.x = (__nv_bfloat16)a; r.y = (__nv_bfloat16)b; return r; }
__NVIR_FN unsigned short __half_as_ushort(half x) { return *(unsigned short *)&x; }
__NVIR_FN short __half_as_short(half x) { return *(short *)&x; }
__NVIR_FN half __ushort_as_half(unsigned short x) { return *(half *)&x; }
__NVIR_FN half __short_as_half(short x) { return *(half *)&x; }
__NVIR_FN half __hadd(half a, half b) { return a + b; }
__NVIR_FN half __hadd_rn(half a, half b) { return a + b; }
__NVIR_FN half __hsub(half a, half b) { return a - b; }
__NVIR_FN half __hsub_rn(half a, half b) { return a - b; }
__NVIR_FN half __hmul(half a, half b) { return a * b; }
__NVIR_FN half __hmul_rn(half a, half b) { return a * b; }
__NVIR_FN half __hdiv(half a, half b) { return a / b; }
__NVIR_FN half __hdiv_rn(half a, half b) { return a / b; }
__NVIR_FN bool __heq(half a, half b) { return a == b; }
__NVIR_FN bool __hne(half a, half b) { return a != b; }
__NVIR_FN bool __hlt(half a, half b) { return a < b; }
__NVIR_FN bool __hle(half a, half b) { return a <= b; }
__NVIR_FN bool __hgt(half a, half b) { return a > b; }
__NVIR_FN bool __hge(half a, half b) { return a >= b; }
__NVIR_FN half __hneg(half a) { return -a; }
__NVIR_FN bool __hisnan(half a) { return a != a; }
__NVIR_FN half __hmin(half a, half b) { return (half)fminf((float)a, (float)b); }
__NVIR_FN half __hmax(half a, half b) { return (half)fmaxf((float)a, (float)b); }
__NVIR_FN half __habs(half a) { return (half)fabsf((float)a); }
__NVIR_FN half hsqrt(half a) { return (half)sqrtf((float)a); }
__NVIR_FN half hrsqrt(half a) { return (half)rsqrtf((float)a); }
__NVIR_FN half hexp(half a) { return (half)expf((float)a); }
__NVIR_FN half hexp2(half a) { return (half)exp2f((float)a); }
__NVIR_FN half hlog(half a) { return (half)logf((float)a); }
__NVIR_FN half hlog2(half a) { return (half)log2f((float)a); }
__NVIR_FN half hlog10(half a) { return (half)log10f((float)a); }
__NVIR_FN half hsin(half a) { return (half)sinf((float)a); }
__NVIR_FN half hcos(half a) { return (half)cosf((float)a); }
__NVIR_FN half hfloor(half a) { return (half)floorf((float)a); }
__NVIR_FN half hceil(half a) { return (half)ceilf((float)a); }
__NVIR_FN half htrunc(half a) { return (half)truncf((float)a); }
__NVIR_FN half hrint(half a) { return (half)rintf((float)a); }
__NVIR_FN half hrcp(half a) { return (half)(1.0f / (float)a); }
__NVIR_FN half __ldg(const half *p) { unsigned short v = __ldg((const unsigned short *)p); return *(half *)&v; }
__NVIR_FN __nv_bfloat16 __hadd(__nv_bfloat16 a, __nv_bfloat16 b) { return a + b; }
__NVIR_FN __nv_bfloat16 __hsub(__nv_bfloat16 a, __nv_bfloat16 b) { return a - b; }
__NVIR_FN __nv_bfloat16 __hmul(__nv_bfloat16 a, __nv_bfloat16 b) { return a * b; }
__NVIR_FN __nv_bfloat16 __hdiv(__nv_bfloat16 a, __nv_bfloat16 b) { return a / b; }
__NVIR_FN bool __heq(__nv_bfloat16 a, __nv_bfloat16 b) { return a == b; }
__NVIR_FN bool __hne(__nv_bfloat16 a, __nv_bfloat16 b) { return a != b; }
__NVIR_FN bool __hlt(__nv_bfloat16 a, __nv_bfloat16 b) { return a < b; }
__NVIR_FN bool __hle(__nv_bfloat16 a, __nv_bfloat16 b) { return a <= b; }
__NVIR_FN bool __hgt(__nv_bfloat16 a, __nv_bfloat16 b) { return a > b; }
__NVIR_FN bool __hge(__nv_bfloat16 a, __nv_bfloat16 b) { return a >= b; }
__NVIR_FN __nv_bfloat16 __hneg(__nv_bfloat16 a) { return -a; }
__NVIR_FN bool __hisnan(__nv_bfloat16 a) { return a != a; }
__NVIR_FN __nv_bfloat16 __hmin(__nv_bfloat16 a, __nv_bfloat16 b) { return (__nv_bfloat16)fminf((float)a, (float)b); }
__NVIR_FN __nv_bfloat16 __hmax(__nv_bfloat16 a, __nv_bfloat16 b) { return (__nv_bfloat16)fmaxf((float)a, (float)b); }
__NVIR_FN __nv_bfloat16 __habs(__nv_bfloat16 a) { return (__nv_bfloat16)fabsf((float)a); }
__NVIR_FN __nv_bfloat16 hsqrt(__nv_bfloat16 a) { return (__nv_bfloat16)sqrtf((float)a); }
__NVIR_FN __nv_bfloat16 hrsqrt(__nv_bfloat16 a) { return (__nv_bfloat16)rsqrtf((float)a); }
__NVIR_FN __nv_bfloat16 hexp(__nv_bfloat16 a) { return (__nv_bfloat16)expf((float)a); }
__NVIR_FN __nv_bfloat16 hexp2(__nv_bfloat16 a) { return (__nv_bfloat16)exp2f((float)a); }
__NVIR_FN __nv_bfloat16 hlog(__nv_bfloat16 a) { return (__nv_bfloat16)logf((float)a); }
__NVIR_FN __nv_bfloat16 hlog2(__nv_bfloat16 a) { return (__nv_bfloat16)log2f((float)a); }
__NVIR_FN __nv_bfloat16 hlog10(__nv_bfloat16 a) { return (__nv_bfloat16)log10f((float)a); }
__NVIR_FN __nv_bfloat16 hsin(__nv_bfloat16 a) { return (__nv_bfloat16)sinf((float)a); }
__NVIR_FN __nv_bfloat16 hcos(__nv_bfloat16 a) { return (__nv_bfloat16)cosf((float)a); }
__NVIR_FN __nv_bfloat16 hfloor(__nv_bfloat16 a) { return (__nv_bfloat16)floorf((float)a); }
__NVIR_FN __nv_bfloat16 hceil(__nv_bfloat16 a) { return (__nv_bfloat16)ceilf((float)a); }
__NVIR_FN __nv_bfloat16 htrunc(__nv_bfloat16 a) { return (__nv_bfloat16)truncf((float)a); }
__NVIR_FN __nv_bfloat16 hrint(__nv_bfloat16 a) { return (__nv_bfloat16)rintf((float)a); }
__NVIR_FN __nv_bfloat16 hrcp(__nv_bfloat16 a) { return (__nv_bfloat16)(1.0f / (float)a); }
__NVIR_FN __nv_bfloat16 __ldg(const __nv_bfloat16 *p) { unsigned short v = __ldg((const unsigned short *)p); return *(__nv_bfloat16 *)&v; }
__NVIR_I(half, __hfma, (half, half, half), "llvm.fma.f16") __NVIR_PURE;
__NVIR_I(__nv_bfloat16, __hfma, (__nv_bfloat16, __nv_bfloat16, __nv_bfloat16), "llvm.fma.bf16") __NVIR_PURE;
// two numbers in a word: the machine's operations on pairs
#define __NVIR_PAIR_WORD(P, word) \
    __NVIR_FN unsigned __nvir_word(P v) { return *(unsigned *)&v; } \
    __NVIR_FN P word(unsigned v) { return *(P *)&v; }
#define __NVIR_PAIR_OP(P, name, word, text) __NVIR_FN P name(P a, P b) { unsigned r; asm(text : "=r"(r) : "r"(__nvir_word(a)), "r"(__nvir_word(b))); return word(r); }
#define __NVIR_PAIR(P, E, word) \
    __NVIR_FN P __hadd2_rn(P a, P b) { return __hadd2(a, b); } \
    __NVIR_FN P __hsub2_rn(P a, P b) { return __hsub2(a, b); } \
    __NVIR_FN P __hmul2_rn(P a, P b) { return __hmul2(a, b); } \
    __NVIR_FN P __hdiv2(P a, P b) { return P(a.x / b.x, a.y / b.y); } \
    __NVIR_FN P __h2div(P a, P b) { return P(a.x / b.x, a.y / b.y); } \
    __NVIR_FN P __hneg2(P a) { return P(-a.x, -a.y); } \
    __NVIR_FN P __habs2(P a) { return word(__nvir_word(a) & 0x7fff7fffu); } \
    __NVIR_FN P __hmax2(P a, P b) { return P(__hmax(a.x, b.x), __hmax(a.y, b.y)); } \
    __NVIR_FN P __hmin2(P a, P b) { return P(__hmin(a.x, b.x), __hmin(a.y, b.y)); } \
    __NVIR_FN P operator+(P a, P b) { return __hadd2(a, b); } \
    __NVIR_FN P operator-(P a, P b) { return __hsub2(a, b); } \
    __NVIR_FN P operator*(P a, P b) { return __hmul2(a, b); } \
    __NVIR_FN P operator/(P a, P b) { return __hdiv2(a, b); } \
    __NVIR_FN P operator-(P a) { return __hneg2(a); } \
    __NVIR_FN P operator+(P a) { return a; } \
    __NVIR_FN P &operator+=(P &a, P b) { a = __hadd2(a, b); return a; } \
    __NVIR_FN P &operator-=(P &a, P b) { a = __hsub2(a, b); return a; } \
    __NVIR_FN P &operator*=(P &a, P b) { a = __hmul2(a, b); return a; } \
    __NVIR_FN P &operator/=(P &a, P b) { a = __hdiv2(a, b); return a; } \
    __NVIR_FN bool operator==(P a, P b) { return a.x == b.x && a.y == b.y; } \
    __NVIR_FN bool operator!=(P a, P b) { return !(a == b); } \
    __NVIR_FN bool operator<(P a, P b) { return a.x < b.x && a.y < b.y; } \
    __NVIR_FN bool operator<=(P a, P b) { return a.x <= b.x && a.y <= b.y; } \
    __NVIR_FN bool operator>(P a, P b) { return a.x > b.x && a.y > b.y; } \
    __NVIR_FN bool operator>=(P a, P b) { return a.x >= b.x && a.y >= b.y; } \
    __NVIR_COMPARE(P, E, __heq2, __hbeq2, ==) __NVIR_COMPARE(P, E, __hne2, __hbne2, !=) __NVIR_COMPARE(P, E, __hlt2, __hblt2, <) \
    __NVIR_COMPARE(P, E, __hle2, __hble2, <=) __NVIR_COMPARE(P, E, __hgt2, __hbgt2, >) __NVIR_COMPARE(P, E, __hge2, __hbge2, >=) \
    __NVIR_EACH(P, h2exp, hexp) __NVIR_EACH(P, h2exp2, hexp2) __NVIR_EACH(P, h2log, hlog) __NVIR_EACH(P, h2log2, hlog2) \
    __NVIR_EACH(P, h2sqrt, hsqrt) __NVIR_EACH(P, h2rsqrt, hrsqrt) __NVIR_EACH(P, h2rcp, hrcp) __NVIR_EACH(P, h2sin, hsin) \
    __NVIR_EACH(P, h2cos, hcos) __NVIR_EACH(P, h2floor, hfloor) __NVIR_EACH(P, h2ceil, hceil) __NVIR_EACH(P, h2trunc, htrunc) __NVIR_EACH(P, h2rint, hrint) \
    __NVIR_WORD_ACCESS(P, unsigned) \
    __NVIR_FN P __shfl_sync(unsigned m, P v, int from, int width = 32) { return word(__shfl_sync(m, __nvir_word(v), from, width)); } \
    __NVIR_FN P __shfl_up_sync(unsigned m, P v, unsigned n, int width = 32) { return word(__shfl_up_sync(m, __nvir_word(v), n, width)); } \
    __NVIR_FN P __shfl_down_sync(unsigned m, P v, unsigned n, int width = 32) { return word(__shfl_down_sync(m, __nvir_word(v), n, width)); } \
    __NVIR_FN P __shfl_xor_sync(unsigned m, P v, int n, int width = 32) { return word(__shfl_xor_sync(m, __nvir_word(v), n, width)); }
#define __NVIR_COMPARE(P, E, each, all, op) \
    __NVIR_FN P each(P a, P b) { return P(a.x op b.x ? (E)1.0f : (E)0.0f, a.y op b.y ? (E)1.0f : (E)0.0f); } \
    __NVIR_FN bool all(P a, P b) { return a.x op b.x && a.y op b.y; }
#define __NVIR_EACH(P, pair, one) __NVIR_FN P pair(P a) { return P(one(a.x), one(a.y)); }
#define __NVIR_WORD_ACCESS(T, W) \
    __NVIR_WORD_LOAD(T, W, __ldcg) __NVIR_WORD_LOAD(T, W, __ldca) __NVIR_WORD_LOAD(T, W, __ldcs) __NVIR_WORD_LOAD(T, W, __ldlu) __NVIR_WORD_LOAD(T, W, __ldcv) \
    __NVIR_WORD_STORE(T, W, __stcg) __NVIR_WORD_STORE(T, W, __stcs) __NVIR_WORD_STORE(T, W, __stwb) __NVIR_WORD_STORE(T, W, __stwt)
#define __NVIR_WORD_LOAD(T, W, load) __NVIR_FN T load(const T *p) { W v = load((const W *)p); return *(T *)&v; }
#define __NVIR_WORD_STORE(T, W, store) __NVIR_FN void store(T *p, T v) { store((W *)p, *(W *)&v); }
__NVIR_WORD_ACCESS(half, unsigned short) __NVIR_WORD_ACCESS(__nv_bfloat16, unsigned short)
__NVIR_PAIR_WORD(__half2, __nvir_half2)
__NVIR_PAIR_OP(__half2, __hadd2, __nvir_half2, "add.f16x2 %0, %1, %2;")
__NVIR_PAIR_OP(__half2, __hsub2, __nvir_half2, "sub.f16x2 %0, %1, %2;")
__NVIR_PAIR_OP(__half2, __hmul2, __nvir_half2, "mul.f16x2 %0, %1, %2;")
__NVIR_PAIR(__half2, half, __nvir_half2)
__NVIR_FN __half2 __hfma2(__half2 a, __half2 b, __half2 c) { unsigned r; asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(__nvir_word(a)), "r"(__nvir_word(b)), "r"(__nvir_word(c))); return __nvir_half2(r); }
__NVIR_WORD_LOAD(__half2, unsigned, __ldg)
__NVIR_PAIR_WORD(__nv_bfloat162, __nvir_bfloat162)
#if __CUDA_ARCH__ >= 900
__NVIR_PAIR_OP(__nv_bfloat162, __hadd2, __nvir_bfloat162, "add.rn.bf16x2 %0, %1, %2;")
__NVIR_PAIR_OP(__nv_bfloat162, __hsub2, __nvir_bfloat162, "sub.rn.bf16x2 %0, %1, %2;")
__NVIR_PAIR_OP(__nv_bfloat162, __hmul2, __nvir_bfloat162, "mul.rn.bf16x2 %0, %1, %2;")
#else  // what there is no operation for is a product and a sum with 1, -1 or -0
__NVIR_PAIR_OP(__nv_bfloat162, __hadd2, __nvir_bfloat162, "{.reg .b32 c; mov.b32 c, 0x3f803f80U; fma.rn.bf16x2 %0, %1, c, %2;}")
__NVIR_PAIR_OP(__nv_bfloat162, __hsub2, __nvir_bfloat162, "{.reg .b32 c; mov.b32 c, 0xbf80bf80U; fma.rn.bf16x2 %0, %2, c, %1;}")
__NVIR_PAIR_OP(__nv_bfloat162, __hmul2, __nvir_bfloat162, "{.reg .b32 c; mov.b32 c, 0x80008000U; fma.rn.bf16x2 %0, %1, %2, c;}")
#endif
__NVIR_PAIR(__nv_bfloat162, __nv_bfloat16, __nvir_bfloat162)
__NVIR_FN __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) { unsigned r; asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(__nvir_word(a)), "r"(__nvir_word(b)), "r"(__nvir_word(c))); return __nvir_bfloat162(r); }
__NVIR_WORD_LOAD(__nv_bfloat162, unsigned, __ldg)
__NVIR_FN __half2 __low2half2(__half2 v) { return __half2(v.x, v.x); }
__NVIR_FN __half2 __high2half2(__half2 v) { return __half2(v.y, v.y); }
__NVIR_FN __half2 __lows2half2(__half2 a, __half2 b) { return __half2(a.x, b.x); }
__NVIR_FN __half2 __highs2half2(__half2 a, __half2 b) { return __half2(a.y, b.y); }
__NVIR_FN __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
__NVIR_FN __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return __nv_bfloat162(a, b); }
__NVIR_FN __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 a) { return __nv_bfloat162(a, a); }
__NVIR_FN __nv_bfloat162 __float2bfloat162_rn(float a) { return __nv_bfloat162((__nv_bfloat16)a, (__nv_bfloat16)a); }
__NVIR_FN __nv_bfloat162 __float22bfloat162_rn(float2 v) { return __nv_bfloat162((__nv_bfloat16)v.x, (__nv_bfloat16)v.y); }
__NVIR_FN __nv_bfloat16 __low2bfloat16(__nv_bfloat162 v) { return v.x; }
__NVIR_FN __nv_bfloat16 __high2bfloat16(__nv_bfloat162 v) { return v.y; }
__NVIR_FN __nv_bfloat162 __low2bfloat162(__nv_bfloat162 v) { return __nv_bfloat162(v.x, v.x); }
__NVIR_FN __nv_bfloat162 __high2bfloat162(__nv_bfloat162 v) { return __nv_bfloat162(v.y, v.y); }
__NVIR_FN __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.x, b.x); }
__NVIR_FN __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return __nv_bfloat162(a.y, b.y); }
__NVIR_FN __nv_bfloat162 __lowhigh2highlow(__nv_bfloat162 v) { return __nv_bfloat162(v.y, v.x); }
__NVIR_FN float __low2float(__nv_bfloat162 v) { return (float)v.x; }
__NVIR_FN float __high2float(__nv_bfloat162 v) { return (float)v.y; }
__NVIR_FN unsigned short __bfloat16_as_ushort(__nv_bfloat16 x) { return *(unsigned short *)&x; }
__NVIR_FN short __bfloat16_as_short(__nv_bfloat16 x) { return *(short *)&x; }
__NVIR_FN __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return *(__nv_bfloat16 *)&x; }
__NVIR_FN __nv_bfloat16 __short_as_bfloat16(short x) { return *(__nv_bfloat16 *)&x; }
__NVIR_FN __nv_bfloat16 __double2bfloat16(double x) { return (__nv_bfloat16)x; }
__NVIR_FN __nv_bfloat16 __int2bfloat16_rn(int x) { return (__nv_bfloat16)(float)x; }
__NVIR_FN __nv_bfloat16 __uint2bfloat16_rn(unsigned x) { return (__nv_bfloat16)(float)x; }
__NVIR_FN int __bfloat162int_rz(__nv_bfloat16 x) { return (int)(float)x; }
__NVIR_FN int __bfloat162int_rn(__nv_bfloat16 x) { return __float2int_rn((float)x); }
__NVIR_FN unsigned __bfloat162uint_rz(__nv_bfloat16 x) { return (unsigned)(float)x; }
__NVIR_FN __nv_bfloat16 __shfl_sync(unsigned m, __nv_bfloat16 v, int from, int width = 32) { return __ushort_as_bfloat16((unsigned short)__shfl_sync(m, (unsigned)__bfloat16_as_ushort(v), from, width)); }
__NVIR_FN __nv_bfloat16 __shfl_up_sync(unsigned m, __nv_bfloat16 v, unsigned n, int width = 32) { return __ushort_as_bfloat16((unsigned short)__shfl_up_sync(m, (unsigned)__bfloat16_as_ushort(v), n, width)); }
__NVIR_FN __nv_bfloat16 __shfl_down_sync(unsigned m, __nv_bfloat16 v, unsigned n, int width = 32) { return __ushort_as_bfloat16((unsigned short)__shfl_down_sync(m, (unsigned)__bfloat16_as_ushort(v), n, width)); }
__NVIR_FN __nv_bfloat16 __shfl_xor_sync(unsigned m, __nv_bfloat16 v, int n, int width = 32) { return __ushort_as_bfloat16((unsigned short)__shfl_xor_sync(m, (unsigned)__bfloat16_as_ushort(v), n, width)); }
// sums in memory: pairs of half by an operation, pairs of bfloat16 by one of sm_90, else by exchange
__NVIR_FN __half2 atomicAdd(__half2 *p, __half2 v) { unsigned r; asm volatile("atom.add.noftz.f16x2 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(__nvir_word(v)) : "memory"); return __nvir_half2(r); }
__NVIR_FN __nv_bfloat162 atomicAdd(__nv_bfloat162 *p, __nv_bfloat162 v) {
#if __CUDA_ARCH__ >= 900
    unsigned r; asm volatile("atom.add.noftz.bf16x2 %0, [%1], %2;" : "=r"(r) : "l"(p), "r"(__nvir_word(v)) : "memory");
    return __nvir_bfloat162(r);
#else
    unsigned seen = *(volatile unsigned *)p, was;
    do { was = seen; seen = atomicCAS((unsigned *)p, was, __nvir_word(__hadd2(__nvir_bfloat162(was), v))); } while (seen != was);
    return __nvir_bfloat162(seen);
#endif
}
__NVIR_FN __nv_bfloat16 atomicAdd(__nv_bfloat16 *p, __nv_bfloat16 v) {
    unsigned *whole = (unsigned *)((size_t)p & ~(size_t)3), shift = ((size_t)p & 2) * 8, seen = *(volatile unsigned *)whole, was;
    do {
        was = seen;
        unsigned sum = __bfloat16_as_ushort(__ushort_as_bfloat16((unsigned short)(was >> shift)) + v);
        seen = atomicCAS(whole, was, (was & ~(0xffffu << shift)) | (sum << shift));
    } while (seen != was);
    return __ushort_as_bfloat16((unsigned short)(seen >> shift));
}
__NVIR_BUILTIN half atomicAdd(half *, half);
__NVIR_BUILTIN half __shfl_sync(unsigned, half, int, int = 32);
__NVIR_BUILTIN half __shfl_up_sync(unsigned, half, unsigned, int = 32);
__NVIR_BUILTIN half __shfl_down_sync(unsigned, half, unsigned, int = 32);
__NVIR_BUILTIN half __shfl_xor_sync(unsigned, half, int, int = 32);

// conversions that round as told: a half is exact as a float, and an integer goes in one step
__NVIR_FN half __int2half_rz(int x) { unsigned short r; asm("cvt.rz.f16.s32 %0, %1;" : "=h"(r) : "r"(x)); return __ushort_as_half(r); }
__NVIR_FN half __int2half_rd(int x) { unsigned short r; asm("cvt.rm.f16.s32 %0, %1;" : "=h"(r) : "r"(x)); return __ushort_as_half(r); }
__NVIR_FN half __int2half_ru(int x) { unsigned short r; asm("cvt.rp.f16.s32 %0, %1;" : "=h"(r) : "r"(x)); return __ushort_as_half(r); }
__NVIR_FN half __uint2half_rz(unsigned x) { unsigned short r; asm("cvt.rz.f16.u32 %0, %1;" : "=h"(r) : "r"(x)); return __ushort_as_half(r); }
__NVIR_FN half __uint2half_rd(unsigned x) { unsigned short r; asm("cvt.rm.f16.u32 %0, %1;" : "=h"(r) : "r"(x)); return __ushort_as_half(r); }
__NVIR_FN half __uint2half_ru(unsigned x) { unsigned short r; asm("cvt.rp.f16.u32 %0, %1;" : "=h"(r) : "r"(x)); return __ushort_as_half(r); }
__NVIR_FN half __short2half_rz(short x) { unsigned short r; asm("cvt.rz.f16.s32 %0, %1;" : "=h"(r) : "r"((int)x)); return __ushort_as_half(r); }
__NVIR_FN half __short2half_rd(short x) { unsigned short r; asm("cvt.rm.f16.s32 %0, %1;" : "=h"(r) : "r"((int)x)); return __ushort_as_half(r); }
__NVIR_FN half __short2half_ru(short x) { unsigned short r; asm("cvt.rp.f16.s32 %0, %1;" : "=h"(r) : "r"((int)x)); return __ushort_as_half(r); }
__NVIR_FN half __ushort2half_rn(unsigned short x) { unsigned short r; asm("cvt.rn.f16.u32 %0, %1;" : "=h"(r) : "r"((unsigned)x)); return __ushort_as_half(r); }
__NVIR_FN half __ushort2half_rz(unsigned short x) { unsigned short r; asm("cvt.rz.f16.u32 %0, %1;" : "=h"(r) : "r"((unsigned)x)); return __ushort_as_half(r); }
__NVIR_FN half __ushort2half_rd(unsigned short x) { unsigned short r; asm("cvt.rm.f16.u32 %0, %1;" : "=h"(r) : "r"((unsigned)x)); return __ushort_as_half(r); }
__NVIR_FN half __ushort2half_ru(unsigned short x) { unsigned short r; asm("cvt.rp.f16.u32 %0, %1;" : "=h"(r) : "r"((unsigned)x)); return __ushort_as_half(r); }
__NVIR_FN half __ll2half_rn(long long x) { unsigned short r; asm("cvt.rn.f16.s64 %0, %1;" : "=h"(r) : "l"(x)); return __ushort_as_half(r); }
__NVIR_FN half __ll2half_rz(long long x) { unsigned short r; asm("cvt.rz.f16.s64 %0, %1;" : "=h"(r) : "l"(x)); return __ushort_as_half(r); }
__NVIR_FN half __ll2half_rd(long long x) { unsigned short r; asm("cvt.rm.f16.s64 %0, %1;" : "=h"(r) : "l"(x)); return __ushort_as_half(r); }
__NVIR_FN half __ll2half_ru(long long x) { unsigned short r; asm("cvt.rp.f16.s64 %0, %1;" : "=h"(r) : "l"(x)); return __ushort_as_half(r); }
__NVIR_FN half __ull2half_rn(unsigned long long x) { unsigned short r; asm("cvt.rn.f16.u64 %0, %1;" : "=h"(r) : "l"(x)); return __ushort_as_half(r); }
__NVIR_FN half __ull2half_rz(unsigned long long x) { unsigned short r; asm("cvt.rz.f16.u64 %0, %1;" : "=h"(r) : "l"(x)); return __ushort_as_half(r); }
__NVIR_FN half __ull2half_rd(unsigned long long x) { unsigned short r; asm("cvt.rm.f16.u64 %0, %1;" : "=h"(r) : "l"(x)); return __ushort_as_half(r); }
__NVIR_FN half __ull2half_ru(unsigned long long x) { unsigned short r; asm("cvt.rp.f16.u64 %0, %1;" : "=h"(r) : "l"(x)); return __ushort_as_half(r); }
__NVIR_BUILTIN half __float2half_rz(float); __NVIR_BUILTIN half __float2half_rd(float); __NVIR_BUILTIN half __float2half_ru(float);
#define __NVIR_TO_INT(T, name, m) \
    __NVIR_FN long long name##ll_##m(T x) { return __float2ll_##m((float)x); } \
    __NVIR_FN unsigned long long name##ull_##m(T x) { return __float2ull_##m((float)x); } \
    __NVIR_FN short name##short_##m(T x) { int n = __float2int_##m((float)x); return (short)(n > 32767 ? 32767 : n < -32768 ? -32768 : n); } \
    __NVIR_FN unsigned short name##ushort_##m(T x) { unsigned n = __float2uint_##m((float)x); return (unsigned short)(n > 65535u ? 65535u : n); }
#define __NVIR_TO_WORD(T, name, m) __NVIR_FN int name##int_##m(T x) { return __float2int_##m((float)x); }
#define __NVIR_TO_UNSIGNED(T, name, m) __NVIR_FN unsigned name##uint_##m(T x) { return __float2uint_##m((float)x); }
#define __NVIR_TO_INTS(T, name) \
    __NVIR_TO_INT(T, name, rn) __NVIR_TO_INT(T, name, rz) __NVIR_TO_INT(T, name, ru) __NVIR_TO_INT(T, name, rd) \
    __NVIR_TO_WORD(T, name, ru) __NVIR_TO_WORD(T, name, rd) \
    __NVIR_TO_UNSIGNED(T, name, rn) __NVIR_TO_UNSIGNED(T, name, ru) __NVIR_TO_UNSIGNED(T, name, rd) \
    __NVIR_FN signed char name##char_rz(T x) { int n = __float2int_rz((float)x); return (signed char)(n > 127 ? 127 : n < -128 ? -128 : n); } \
    __NVIR_FN unsigned char name##uchar_rz(T x) { unsigned n = __float2uint_rz((float)x); return (unsigned char)(n > 255u ? 255u : n); }
__NVIR_TO_INTS(half, __half2) __NVIR_TO_INTS(__nv_bfloat16, __bfloat162)
__NVIR_FN __nv_bfloat16 __short2bfloat16_rn(short x) { return (__nv_bfloat16)(float)x; }
__NVIR_FN __nv_bfloat16 __ushort2bfloat16_rn(unsigned short x) { return (__nv_bfloat16)(float)x; }
__NVIR_FN __nv_bfloat16 __ll2bfloat16_rn(long long x) { return (__nv_bfloat16)x; }
__NVIR_FN __nv_bfloat16 __ull2bfloat16_rn(unsigned long long x) { return (__nv_bfloat16)x; }

// comparisons that hold where they cannot tell; masks of pairs
#define __NVIR_UNORDERED(T, P, name, op) \
    __NVIR_FN bool __h##name##u(T a, T b) { return !((float)a op (float)b); } \
    __NVIR_FN P __h##name##u2(P a, P b) { return P(__h##name##u(a.x, b.x) ? (T)1.0f : (T)0.0f, __h##name##u(a.y, b.y) ? (T)1.0f : (T)0.0f); } \
    __NVIR_FN bool __hb##name##u2(P a, P b) { return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y); } \
    __NVIR_FN unsigned __h##name##u2_mask(P a, P b) { return (__h##name##u(a.x, b.x) ? 0xffffu : 0u) | (__h##name##u(a.y, b.y) ? 0xffff0000u : 0u); } \
    __NVIR_FN unsigned __h##name##2_mask(P a, P b) { return (__h##name(a.x, b.x) ? 0xffffu : 0u) | (__h##name(a.y, b.y) ? 0xffff0000u : 0u); }
#define __NVIR_UNORDEREDS(T, P) \
    __NVIR_FN bool __hequ(T a, T b) { return !((float)a < (float)b || (float)a > (float)b); } \
    __NVIR_FN P __hequ2(P a, P b) { return P(__hequ(a.x, b.x) ? (T)1.0f : (T)0.0f, __hequ(a.y, b.y) ? (T)1.0f : (T)0.0f); } \
    __NVIR_FN bool __hbequ2(P a, P b) { return __hequ(a.x, b.x) && __hequ(a.y, b.y); } \
    __NVIR_FN unsigned __hequ2_mask(P a, P b) { return (__hequ(a.x, b.x) ? 0xffffu : 0u) | (__hequ(a.y, b.y) ? 0xffff0000u : 0u); } \
    __NVIR_FN unsigned __heq2_mask(P a, P b) { return (__heq(a.x, b.x) ? 0xffffu : 0u) | (__heq(a.y, b.y) ? 0xffff0000u : 0u); } \
    __NVIR_UNORDERED(T, P, ne, ==) __NVIR_UNORDERED(T, P, lt, >=) __NVIR_UNORDERED(T, P, le, >) __NVIR_UNORDERED(T, P, gt, <=) __NVIR_UNORDERED(T, P, ge, <) \
    __NVIR_FN int __hisinf(T a) { return (float)a == __builtin_inff() ? 1 : (float)a == -__builtin_inff() ? -1 : 0; } \
    __NVIR_FN P __hisnan2(P a) { return P(a.x != a.x ? (T)1.0f : (T)0.0f, a.y != a.y ? (T)1.0f : (T)0.0f); }
__NVIR_UNORDEREDS(half, __half2) __NVIR_UNORDEREDS(__nv_bfloat16, __nv_bfloat162)

// kept between 0 and 1; not below 0; NaN where an argument is
__NVIR_FN half __nvir_unit(half x) { return x > (half)1.0f ? (half)1.0f : x > (half)0.0f ? x : (half)0.0f; }
__NVIR_FN __half2 __nvir_unit(__half2 v) { return __half2(__nvir_unit(v.x), __nvir_unit(v.y)); }
__NVIR_FN half __hadd_sat(half a, half b) { return __nvir_unit(a + b); }
__NVIR_FN half __hsub_sat(half a, half b) { return __nvir_unit(a - b); }
__NVIR_FN half __hmul_sat(half a, half b) { return __nvir_unit(a * b); }
__NVIR_FN half __hfma_sat(half a, half b, half c) { return __nvir_unit(__hfma(a, b, c)); }
__NVIR_FN __half2 __hadd2_sat(__half2 a, __half2 b) { return __nvir_unit(__hadd2(a, b)); }
__NVIR_FN __half2 __hsub2_sat(__half2 a, __half2 b) { return __nvir_unit(__hsub2(a, b)); }
__NVIR_FN __half2 __hmul2_sat(__half2 a, __half2 b) { return __nvir_unit(__hmul2(a, b)); }
__NVIR_FN __half2 __hfma2_sat(__half2 a, __half2 b, __half2 c) { return __nvir_unit(__hfma2(a, b, c)); }
#define __NVIR_NAN(T, P, nan) \
    __NVIR_FN T __hmax_nan(T a, T b) { return a != a || b != b ? nan : __hmax(a, b); } \
    __NVIR_FN T __hmin_nan(T a, T b) { return a != a || b != b ? nan : __hmin(a, b); } \
    __NVIR_FN P __hmax2_nan(P a, P b) { return P(__hmax_nan(a.x, b.x), __hmax_nan(a.y, b.y)); } \
    __NVIR_FN P __hmin2_nan(P a, P b) { return P(__hmin_nan(a.x, b.x), __hmin_nan(a.y, b.y)); } \
    __NVIR_FN T __hfma_relu(T a, T b, T c) { T r = __hfma(a, b, c); return r != r ? nan : (float)r > 0.0f ? r : (T)0.0f; } \
    __NVIR_FN P __hfma2_relu(P a, P b, P c) { return P(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)); } \
    __NVIR_FN P __hcmadd(P a, P b, P c) { T re = __hfma(a.x, b.x, c.x), im = __hfma(a.x, b.y, c.y); return P(__hfma(-a.y, b.y, re), __hfma(a.y, b.x, im)); } \
    __NVIR_FN T htanh(T a) { return (T)tanhf((float)a); } \
    __NVIR_FN T hexp10(T a) { return (T)exp10f((float)a); } \
    __NVIR_FN P h2tanh(P a) { return P(htanh(a.x), htanh(a.y)); } \
    __NVIR_FN P h2exp10(P a) { return P(hexp10(a.x), hexp10(a.y)); } \
    __NVIR_FN P h2log10(P a) { return P(hlog10(a.x), hlog10(a.y)); }
__NVIR_NAN(half, __half2, __ushort_as_half(0x7fff)) __NVIR_NAN(__nv_bfloat16, __nv_bfloat162, __ushort_as_bfloat16(0x7fff))
__NVIR_FN half htanh_approx(half a) { unsigned short r; asm("tanh.approx.f16 %0, %1;" : "=h"(r) : "h"(__half_as_ushort(a))); return __ushort_as_half(r); }
__NVIR_FN __half2 h2tanh_approx(__half2 a) { return __half2(htanh_approx(a.x), htanh_approx(a.y)); }
