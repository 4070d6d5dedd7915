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
