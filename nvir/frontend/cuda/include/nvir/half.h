// Half precision and bfloat16: the machine's own types, with CUDA's names around them.
#pragma once
#include "../nvir_cuda.h"
typedef __fp16 __half; typedef __fp16 half;
typedef __bf16 __nv_bfloat16; typedef __bf16 nv_bfloat16;
struct __builtin_align__(4) __half2 { half x, y; __host__ __device__ constexpr __half2() : x(0), y(0) {} __host__ __device__ constexpr __half2(half a, half b) : x(a), y(b) {} };
typedef __half2 half2;
struct __builtin_align__(4) __nv_bfloat162 { __nv_bfloat16 x, y; };
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
__NVIR_FN __half2 __hadd2(__half2 a, __half2 b) { return __half2(a.x + b.x, a.y + b.y); }
__NVIR_FN __half2 operator+(__half2 a, __half2 b) { return __hadd2(a, b); }
__NVIR_FN __half2 &operator+=(__half2 &a, __half2 b) { a = __hadd2(a, b); return a; }
__NVIR_FN __half2 __hsub2(__half2 a, __half2 b) { return __half2(a.x - b.x, a.y - b.y); }
__NVIR_FN __half2 operator-(__half2 a, __half2 b) { return __hsub2(a, b); }
__NVIR_FN __half2 &operator-=(__half2 &a, __half2 b) { a = __hsub2(a, b); return a; }
__NVIR_FN __half2 __hmul2(__half2 a, __half2 b) { return __half2(a.x * b.x, a.y * b.y); }
__NVIR_FN __half2 operator*(__half2 a, __half2 b) { return __hmul2(a, b); }
__NVIR_FN __half2 &operator*=(__half2 &a, __half2 b) { a = __hmul2(a, b); return a; }
__NVIR_FN __half2 __hdiv2(__half2 a, __half2 b) { return __half2(a.x / b.x, a.y / b.y); }
__NVIR_FN __half2 operator/(__half2 a, __half2 b) { return __hdiv2(a, b); }
__NVIR_FN __half2 &operator/=(__half2 &a, __half2 b) { a = __hdiv2(a, b); return a; }
__NVIR_FN __half2 __hfma2(__half2 a, __half2 b, __half2 c) { return __half2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)); }
__NVIR_FN __half2 __hmax2(__half2 a, __half2 b) { return __half2(__hmax(a.x, b.x), __hmax(a.y, b.y)); }
__NVIR_FN __half2 __hmin2(__half2 a, __half2 b) { return __half2(__hmin(a.x, b.x), __hmin(a.y, b.y)); }
__NVIR_FN __half2 __hneg2(__half2 a) { return __half2(-a.x, -a.y); }
__NVIR_FN __half2 h2exp(__half2 a) { return __half2(hexp(a.x), hexp(a.y)); }
__NVIR_FN __nv_bfloat162 __hadd2(__nv_bfloat162 a, __nv_bfloat162 b) { __nv_bfloat162 r; r.x = a.x + b.x; r.y = a.y + b.y; return r; }
__NVIR_FN __nv_bfloat162 __hmul2(__nv_bfloat162 a, __nv_bfloat162 b) { __nv_bfloat162 r; r.x = a.x * b.x; r.y = a.y * b.y; return r; }
__NVIR_FN __nv_bfloat162 __hfma2(__nv_bfloat162 a, __nv_bfloat162 b, __nv_bfloat162 c) { __nv_bfloat162 r; r.x = __hfma(a.x, b.x, c.x); r.y = __hfma(a.y, b.y, c.y); return r; }
__NVIR_BUILTIN half atomicAdd(half *, half);
__NVIR_BUILTIN half __shfl_sync(unsigned, half, int, int = 32);
__NVIR_BUILTIN half __shfl_up_sync(unsigned, half, unsigned, int = 32);
__NVIR_BUILTIN half __shfl_down_sync(unsigned, half, unsigned, int = 32);
__NVIR_BUILTIN half __shfl_xor_sync(unsigned, half, int, int = 32);
