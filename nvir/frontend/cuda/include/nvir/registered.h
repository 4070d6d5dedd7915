// Functions that the compiler lowers by the rows of its registry (frontend.builtins), and what is
// said with them.
#pragma once
#define __NVIR_WORD1(name) __NVIR_BUILTIN unsigned name(unsigned);
#define __NVIR_WORD2(name) __NVIR_BUILTIN unsigned name(unsigned, unsigned);
// 8 and 16 bits side by side
__NVIR_WORD1(__vabs2) __NVIR_WORD1(__vneg2) __NVIR_WORD1(__vabs4) __NVIR_WORD1(__vneg4)
__NVIR_WORD2(__vaddss2) __NVIR_WORD2(__vaddus2) __NVIR_WORD2(__vavgs2) __NVIR_WORD2(__vavgu2) __NVIR_WORD2(__vcmpeq2) __NVIR_WORD2(__vcmpges2)
__NVIR_WORD2(__vcmpgeu2) __NVIR_WORD2(__vcmpgts2) __NVIR_WORD2(__vcmpgtu2) __NVIR_WORD2(__vcmples2) __NVIR_WORD2(__vcmpleu2) __NVIR_WORD2(__vcmplts2)
__NVIR_WORD2(__vcmpltu2) __NVIR_WORD2(__vcmpne2) __NVIR_WORD2(__vabsdiffu2) __NVIR_WORD2(__vmaxs2) __NVIR_WORD2(__vmaxu2) __NVIR_WORD2(__vmins2)
__NVIR_WORD2(__vminu2) __NVIR_WORD2(__vseteq2) __NVIR_WORD2(__vsetges2) __NVIR_WORD2(__vsetgeu2) __NVIR_WORD2(__vsetgts2) __NVIR_WORD2(__vsetgtu2)
__NVIR_WORD2(__vsetles2) __NVIR_WORD2(__vsetleu2) __NVIR_WORD2(__vsetlts2) __NVIR_WORD2(__vsetltu2) __NVIR_WORD2(__vsetne2) __NVIR_WORD2(__vsadu2)
__NVIR_WORD2(__vsub2) __NVIR_WORD2(__vsubss2) __NVIR_WORD2(__vsubus2) __NVIR_WORD2(__vabsdiffs2) __NVIR_WORD2(__vsads2) __NVIR_WORD2(__vaddss4)
__NVIR_WORD2(__vaddus4) __NVIR_WORD2(__vavgs4) __NVIR_WORD2(__vavgu4) __NVIR_WORD2(__vcmpeq4) __NVIR_WORD2(__vcmpges4) __NVIR_WORD2(__vcmpgeu4)
__NVIR_WORD2(__vcmpgts4) __NVIR_WORD2(__vcmpgtu4) __NVIR_WORD2(__vcmples4) __NVIR_WORD2(__vcmpleu4) __NVIR_WORD2(__vcmplts4) __NVIR_WORD2(__vcmpltu4)
__NVIR_WORD2(__vcmpne4) __NVIR_WORD2(__vabsdiffu4) __NVIR_WORD2(__vmaxs4) __NVIR_WORD2(__vmaxu4) __NVIR_WORD2(__vmins4) __NVIR_WORD2(__vminu4)
__NVIR_WORD2(__vseteq4) __NVIR_WORD2(__vsetles4) __NVIR_WORD2(__vsetleu4) __NVIR_WORD2(__vsetlts4) __NVIR_WORD2(__vsetltu4) __NVIR_WORD2(__vsetges4)
__NVIR_WORD2(__vsetgeu4) __NVIR_WORD2(__vsetgts4) __NVIR_WORD2(__vsetgtu4) __NVIR_WORD2(__vsetne4) __NVIR_WORD2(__vsadu4) __NVIR_WORD2(__vsub4)
__NVIR_WORD2(__vsubss4) __NVIR_WORD2(__vsubus4) __NVIR_WORD2(__vabsdiffs4) __NVIR_WORD2(__vsads4)
__NVIR_FN unsigned __vhaddu2(unsigned a, unsigned b) { return (a & b) + (((a ^ b) & 0xfffefffeu) >> 1); }
__NVIR_FN unsigned __vhaddu4(unsigned a, unsigned b) { return (a & b) + (((a ^ b) & 0xfefefefeu) >> 1); }
__NVIR_FN unsigned __vnegss2(unsigned a) { return __vsubss2(0, a); }
__NVIR_FN unsigned __vnegss4(unsigned a) { return __vsubss4(0, a); }
__NVIR_FN unsigned __vabsss2(unsigned a) { return __vmaxs2(a, __vsubss2(0, a)); }
__NVIR_FN unsigned __vabsss4(unsigned a) { return __vmaxs4(a, __vsubss4(0, a)); }

// the largest and the smallest: of three, behind a sum, not below zero, told which
#define __NVIR_PICK(T, s, max, sum) \
    __NVIR_FN T __vi##max##3_##s(T a, T b, T c) { return __nvir_##max##_##s(__nvir_##max##_##s(a, b), c); } \
    __NVIR_FN T __viadd##max##_##s(T a, T b, T c) { return __nvir_##max##_##s(sum(a, b), c); }
#define __NVIR_RELU(T, s, max) \
    __NVIR_FN T __vi##max##_##s##_relu(T a, T b) { return __nvir_max_##s(__nvir_##max##_##s(a, b), 0); } \
    __NVIR_FN T __vi##max##3_##s##_relu(T a, T b, T c) { return __nvir_max_##s(__vi##max##3_##s(a, b, c), 0); } \
    __NVIR_FN T __viadd##max##_##s##_relu(T a, T b, T c) { return __nvir_max_##s(__viadd##max##_##s(a, b, c), 0); }
#define __NVIR_WHICH(T, s) \
    __NVIR_FN T __vibmax_##s(T a, T b, bool *first) { *first = a >= b; return a >= b ? a : b; } \
    __NVIR_FN T __vibmin_##s(T a, T b, bool *first) { *first = a <= b; return a <= b ? a : b; }
#define __NVIR_WHICH2(s, T) \
    __NVIR_FN unsigned __vibmax_##s(unsigned a, unsigned b, bool *high, bool *low) { *high = (T)(a >> 16) >= (T)(b >> 16); *low = (T)a >= (T)b; return __nvir_max_##s(a, b); } \
    __NVIR_FN unsigned __vibmin_##s(unsigned a, unsigned b, bool *high, bool *low) { *high = (T)(a >> 16) <= (T)(b >> 16); *low = (T)a <= (T)b; return __nvir_min_##s(a, b); }
__NVIR_FN int __nvir_max_s32(int a, int b) { return a > b ? a : b; }
__NVIR_FN int __nvir_min_s32(int a, int b) { return a < b ? a : b; }
__NVIR_FN unsigned __nvir_max_u32(unsigned a, unsigned b) { return a > b ? a : b; }
__NVIR_FN unsigned __nvir_min_u32(unsigned a, unsigned b) { return a < b ? a : b; }
__NVIR_FN unsigned __nvir_max_s16x2(unsigned a, unsigned b) { return __vmaxs2(a, b); }
__NVIR_FN unsigned __nvir_min_s16x2(unsigned a, unsigned b) { return __vmins2(a, b); }
__NVIR_FN unsigned __nvir_max_u16x2(unsigned a, unsigned b) { return __vmaxu2(a, b); }
__NVIR_FN unsigned __nvir_min_u16x2(unsigned a, unsigned b) { return __vminu2(a, b); }
__NVIR_FN int __nvir_sum_s32(int a, int b) { return (int)((unsigned)a + (unsigned)b); }
__NVIR_FN unsigned __nvir_sum_u32(unsigned a, unsigned b) { return a + b; }
#define __NVIR_PICKS(T, s, sum) __NVIR_PICK(T, s, max, sum) __NVIR_PICK(T, s, min, sum)
__NVIR_PICKS(int, s32, __nvir_sum_s32) __NVIR_PICKS(unsigned, u32, __nvir_sum_u32) __NVIR_PICKS(unsigned, s16x2, __vadd2) __NVIR_PICKS(unsigned, u16x2, __vadd2)
__NVIR_RELU(int, s32, max) __NVIR_RELU(int, s32, min) __NVIR_RELU(unsigned, s16x2, max) __NVIR_RELU(unsigned, s16x2, min)
__NVIR_WHICH(int, s32) __NVIR_WHICH(unsigned, u32) __NVIR_WHICH2(s16x2, short) __NVIR_WHICH2(u16x2, unsigned short)

// conversions that round as told
#define __NVIR_MODES(result, name, from) __NVIR_BUILTIN result name##rn(from); __NVIR_BUILTIN result name##rz(from); __NVIR_BUILTIN result name##ru(from); __NVIR_BUILTIN result name##rd(from);
__NVIR_BUILTIN float __int2float_ru(int); __NVIR_BUILTIN float __int2float_rd(int);
__NVIR_BUILTIN float __uint2float_ru(unsigned); __NVIR_BUILTIN float __uint2float_rd(unsigned);
__NVIR_BUILTIN long long __float2ll_ru(float); __NVIR_BUILTIN long long __float2ll_rd(float);
__NVIR_BUILTIN unsigned long long __float2ull_ru(float); __NVIR_BUILTIN unsigned long long __float2ull_rd(float);
__NVIR_BUILTIN float __ll2float_ru(long long); __NVIR_BUILTIN float __ll2float_rd(long long);
__NVIR_MODES(float, __ull2float_, unsigned long long)
__NVIR_MODES(unsigned long long, __double2ull_, double)
__NVIR_BUILTIN float __double2float_ru(double); __NVIR_BUILTIN float __double2float_rd(double);
__NVIR_BUILTIN unsigned __double2uint_ru(double); __NVIR_BUILTIN unsigned __double2uint_rd(double);
__NVIR_BUILTIN long long __double2ll_ru(double); __NVIR_BUILTIN long long __double2ll_rd(double);
__NVIR_MODES(double, __ull2double_, unsigned long long)
__NVIR_MODES(double, __ll2double_, long long)

__NVIR_BUILTIN float __tanhf(float x);
__NVIR_BUILTIN unsigned __uhadd(unsigned a, unsigned b);
__NVIR_BUILTIN unsigned __urhadd(unsigned a, unsigned b);
__NVIR_BUILTIN int __isConstant(const void *p);
__NVIR_BUILTIN int __isLocal(const void *p);
__NVIR_BUILTIN size_t __cvta_generic_to_constant(const void *p);
__NVIR_BUILTIN size_t __cvta_generic_to_local(const void *p);
__NVIR_BUILTIN void *__cvta_global_to_generic(size_t p);
__NVIR_BUILTIN void *__cvta_constant_to_generic(size_t p);
__NVIR_BUILTIN void *__cvta_local_to_generic(size_t p);
__NVIR_BUILTIN unsigned __fns(unsigned mask, unsigned base, int offset);
__NVIR_BUILTIN void __barrier_sync(unsigned id);
__NVIR_BUILTIN void __barrier_sync_count(unsigned id, unsigned n);
__NVIR_BUILTIN unsigned __funnelshift_lc(unsigned, unsigned, unsigned);
__NVIR_BUILTIN unsigned __funnelshift_rc(unsigned, unsigned, unsigned);
__NVIR_BUILTIN int __dp2a_lo(int a, int b, int c);
__NVIR_BUILTIN unsigned __dp2a_lo(unsigned a, unsigned b, unsigned c);
__NVIR_BUILTIN int __dp2a_hi(int a, int b, int c);
__NVIR_BUILTIN unsigned __dp2a_hi(unsigned a, unsigned b, unsigned c);
__NVIR_BUILTIN void __cluster_barrier_arrive();
__NVIR_BUILTIN void __cluster_barrier_arrive_relaxed();
__NVIR_BUILTIN void __cluster_barrier_wait();
__NVIR_BUILTIN unsigned long long ullmin(unsigned long long, unsigned long long); __NVIR_BUILTIN unsigned long long ullmax(unsigned long long, unsigned long long);
__NVIR_BUILTIN double logb(double); __NVIR_BUILTIN double nextafter(double, double); __NVIR_BUILTIN float logb(float); __NVIR_BUILTIN float nextafter(float, float);

// the same in other words
#define alloca __builtin_alloca
__NVIR_FN float fdividef(float a, float b) { return a / b; }
__NVIR_FN double fdivide(double a, double b) { return a / b; }
__NVIR_FN float __fmaf_ieee_rn(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__NVIR_FN float __fmaf_ieee_rz(float a, float b, float c) { return __fmaf_rz(a, b, c); }
__NVIR_FN float __fmaf_ieee_ru(float a, float b, float c) { return __fmaf_ru(a, b, c); }
__NVIR_FN float __fmaf_ieee_rd(float a, float b, float c) { return __fmaf_rd(a, b, c); }
__NVIR_FN unsigned short __nv_bswap16(unsigned short x) { return (unsigned short)(x << 8 | x >> 8); }
__NVIR_FN unsigned __nv_bswap32(unsigned x) { return __byte_perm(x, 0, 0x0123); }
__NVIR_FN unsigned long long __nv_bswap64(unsigned long long x) { return (unsigned long long)__nv_bswap32((unsigned)x) << 32 | __nv_bswap32((unsigned)(x >> 32)); }
__NVIR_FN float scalblnf(float x, long n) { return scalbnf(x, n > 4000 ? 4000 : n < -4000 ? -4000 : (int)n); }
__NVIR_FN double scalbln(double x, long n) { return scalbn(x, n > 4000 ? 4000 : n < -4000 ? -4000 : (int)n); }
__NVIR_FN void sincospif(float x, float *s, float *c) { *s = sinpif(x); *c = cospif(x); }
__NVIR_FN void sincospi(double x, double *s, double *c) { *s = sinpi(x); *c = cospi(x); }
__NVIR_FN double rhypot(double a, double b) { return 1.0 / hypot(a, b); }
__NVIR_FN double norm4d(double a, double b, double c, double d) { return hypot(hypot(a, b), hypot(c, d)); }
__NVIR_FN double rnorm4d(double a, double b, double c, double d) { return 1.0 / norm4d(a, b, c, d); }
__NVIR_FN float rnorm4df(float a, float b, float c, float d) { return (float)(1.0 / sqrt((double)a * a + (double)b * b + (double)c * c + (double)d * d)); }
__NVIR_BIG double norm(int n, const double *p) { double r = 0.0; for (int i = 0; i < n; ++i) r = hypot(r, p[i]); return r; }
__NVIR_BIG double rnorm(int n, const double *p) { return 1.0 / norm(n, p); }
__NVIR_BIG float normf(int n, const float *p) { double r = 0.0; for (int i = 0; i < n; ++i) r += (double)p[i] * p[i]; return (float)sqrt(r); }
__NVIR_BIG float rnormf(int n, const float *p) { return (float)(1.0 / (double)normf(n, p)); }
__NVIR_FN int __isnand(double x) { return x != x; }
__NVIR_FN int __isinfd(double x) { return fabs(x) == __builtin_inf(); }
__NVIR_FN int __isfinited(double x) { return fabs(x) < __builtin_inf(); }
__NVIR_FN int __finite(double x) { return __isfinited(x); }
__NVIR_FN int __finitef(float x) { return fabsf(x) < __builtin_inff(); }
__NVIR_FN int __isfinitef(float x) { return __finitef(x); }
__NVIR_FN int __signbitd(double x) { return __double2hiint(x) < 0; }
__NVIR_FN int __signbitf(float x) { return __float_as_int(x) < 0; }

// what libdevice has, for the back end that links it
#define __NVIR_FAR(name, args, argsf) __NVIR_BUILTIN double name args; __NVIR_BUILTIN float name##f argsf;
#define __NVIR_FAR1(name) __NVIR_FAR(name, (double), (float))
__NVIR_FAR1(erfcx) __NVIR_FAR1(erfinv) __NVIR_FAR1(erfcinv) __NVIR_FAR1(normcdfinv) __NVIR_FAR1(j0) __NVIR_FAR1(j1) __NVIR_FAR1(y0) __NVIR_FAR1(y1) __NVIR_FAR1(cyl_bessel_i0) __NVIR_FAR1(cyl_bessel_i1)
__NVIR_FAR(jn, (int, double), (int, float)) __NVIR_FAR(yn, (int, double), (int, float)) __NVIR_FAR(remquo, (double, double, int *), (float, float, int *))
__NVIR_FN double nan(const char *) { return __builtin_nan(""); }

// `std::sin` needs no include, as the real compiler has its headers included
namespace std {
using ::abs; using ::sqrt; using ::exp; using ::log; using ::pow; using ::sin; using ::cos; using ::tan; using ::floor; using ::ceil; using ::fabs; using ::fmin; using ::fmax; using ::round; using ::trunc; using ::log2; using ::log10; using ::exp2; using ::tanh; using ::sinh; using ::cosh; using ::asin; using ::acos; using ::atan; using ::atan2; using ::fma; using ::cbrt; using ::hypot; using ::erf; using ::erfc; using ::isnan; using ::isinf; using ::isfinite; using ::fmod; using ::copysign; using ::expm1; using ::log1p; using ::sqrtf; using ::fabsf; using ::rint; using ::lround;
}
