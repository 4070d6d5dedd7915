// Single precision. What PTX computes in one instruction is that instruction; the rest are
// polynomials after a reduction of the argument, good to a few units in the last place.
#pragma once
#define __NVIR_F1(name, text) __NVIR_I(float, name, (float), text) __NVIR_PURE
#define __NVIR_F2(name, text) __NVIR_I(float, name, (float, float), text) __NVIR_PURE
__NVIR_F1(fabsf, "llvm.fabs.f32"); __NVIR_F1(floorf, "llvm.floor.f32"); __NVIR_F1(ceilf, "llvm.ceil.f32"); __NVIR_F1(truncf, "llvm.trunc.f32"); __NVIR_F1(rintf, "llvm.rint.f32"); __NVIR_F1(nearbyintf, "llvm.nearbyint.f32"); __NVIR_F1(roundf, "llvm.round.f32");
__NVIR_F1(sqrtf, "llvm.sqrt.f32"); __NVIR_F1(rsqrtf, "llvm.nvvm.rsqrt.approx.f"); __NVIR_F1(__frsqrt_rn, "llvm.nvvm.rsqrt.approx.f"); __NVIR_F1(__saturatef, "llvm.nvvm.saturate.f");
__NVIR_F2(fminf, "llvm.minnum.f32"); __NVIR_F2(fmaxf, "llvm.maxnum.f32"); __NVIR_F2(copysignf, "llvm.copysign.f32");
__NVIR_I(float, fmaf, (float, float, float), "llvm.fma.f32") __NVIR_PURE;
__NVIR_F1(__nvir_ex2f, "llvm.nvvm.ex2.approx.f"); __NVIR_F1(__nvir_lg2f, "llvm.nvvm.lg2.approx.f");
__NVIR_F1(__sinf, "llvm.nvvm.sin.approx.f"); __NVIR_F1(__cosf, "llvm.nvvm.cos.approx.f"); __NVIR_F1(__nvir_tanhf, "llvm.nvvm.tanh.approx.f");
__NVIR_F2(__fdividef, "llvm.nvvm.div.approx.f");
__NVIR_FN float __exp2f(float x) { return __nvir_ex2f(x); }
__NVIR_FN float __expf(float x) { return __nvir_ex2f(x * 1.4426950408889634f); }
__NVIR_FN float __exp10f(float x) { return __nvir_ex2f(x * 3.3219280948873623f); }
__NVIR_FN float __log2f(float x) { return __nvir_lg2f(x); }
__NVIR_FN float __logf(float x) { return __nvir_lg2f(x) * 0.6931471805599453f; }
__NVIR_FN float __log10f(float x) { return __nvir_lg2f(x) * 0.3010299956639812f; }
__NVIR_FN float __powf(float x, float y) { return __nvir_ex2f(y * __nvir_lg2f(x)); }
__NVIR_FN float __tanf(float x) { return __fdividef(__sinf(x), __cosf(x)); }
__NVIR_FN void __sincosf(float x, float *s, float *c) { *s = __sinf(x); *c = __cosf(x); }

__NVIR_FN bool isnan(float x) { return x != x; }
__NVIR_FN bool isinf(float x) { return fabsf(x) == __builtin_inff(); }
__NVIR_FN bool isfinite(float x) { return fabsf(x) < __builtin_inff(); }
__NVIR_FN bool signbit(float x) { return __float_as_int(x) < 0; }
__NVIR_FN int __isnanf(float x) { return x != x; }
__NVIR_FN int __isinff(float x) { return fabsf(x) == __builtin_inff(); }
__NVIR_FN float fdimf(float a, float b) { return a > b ? a - b : 0.0f; }

__NVIR_FN float exp2f(float x) { return __nvir_ex2f(x); }
__NVIR_FN float expf(float x) {
#ifdef NVIR_FAST_MATH
    return __expf(x);
#else
    float n = fminf(fmaxf(rintf(x * 1.44269504f), -126.0f), 127.0f);
    float r = fmaf(n, -0.693145752f, x);
    r = fmaf(n, -1.42860677e-6f, r);
    return __nvir_ex2f(r * 1.44269504f) * __nvir_ex2f(n);
#endif
}
__NVIR_FN float exp10f(float x) {
    float n = fminf(fmaxf(rintf(x * 3.32192809f), -126.0f), 127.0f);
    float r = fmaf(n, -0.301025391f, x);
    r = fmaf(n, -4.60503907e-6f, r);
    return __nvir_ex2f(r * 3.32192809f) * __nvir_ex2f(n);
}
__NVIR_FN float logf(float x) {
#ifdef NVIR_FAST_MATH
    return __logf(x);
#else
    float e = 0.0f;
    float v = x;
    if (x < 1.17549435e-38f) { v = x * 8388608.0f; e = -23.0f; }
    int i = __float_as_int(v);
    int k = (i - 0x3f2aaaab) & 0xff800000;
    float f = __int_as_float(i - k) - 1.0f;
    e = fmaf((float)k, 1.1920929e-7f, e);
    float q = -0.128599256f;
    q = fmaf(q, f, 0.140139908f); q = fmaf(q, f, -0.121922068f); q = fmaf(q, f, 0.139990553f); q = fmaf(q, f, -0.166798502f);
    q = fmaf(q, f, 0.200108975f); q = fmaf(q, f, -0.249998137f); q = fmaf(q, f, 0.333332062f); q = fmaf(q, f, -0.5f);
    float r = fmaf(e, 0.693147182f, fmaf(q * f, f, f));
    if ((unsigned)i >= 0x7f800000u) r = fmaf(v, __builtin_inff(), __builtin_inff());
    return v == 0.0f ? -__builtin_inff() : r;
#endif
}
__NVIR_FN float log2f(float x) { float l = logf(x); return fmaf(l, 1.44269502f, l * 1.92596303e-8f); }
__NVIR_FN float log10f(float x) { return logf(x) * 0.434294492f; }
__NVIR_FN float log1pf(float x) {
    float u = 1.0f + x, c = x - (u - 1.0f);
    return u == __builtin_inff() ? u : x < -1.0f ? __builtin_nanf("") : u == 0.0f ? -__builtin_inff() : logf(u) + c / u;
}
__NVIR_FN float expm1f(float x) {
    if (fabsf(x) < 0.35f) { float q = fmaf(x, 1.98412698e-4f, 1.38888889e-3f); q = fmaf(q, x, 8.33333333e-3f); q = fmaf(q, x, 4.16666667e-2f); q = fmaf(q, x, 0.166666667f); q = fmaf(q, x, 0.5f); return fmaf(q * x, x, x); }
    return expf(x) - 1.0f;
}
// the quadrant and the rest of an angle; large ones go by double precision
__NVIR_FN float __nvir_quadrant(float x, int *quadrant) {
    float n = rintf(x * 0.636619747f);
    float r = fmaf(n, -1.57079601f, x);
    r = fmaf(n, -3.13916473e-7f, r);
    r = fmaf(n, -5.39030253e-15f, r);
    int k = (int)n;
    if (fabsf(x) > 105615.0f) {
        double wide = (double)x, turns = __dmul_rn(wide, 0.63661977236758134);
        long long whole = __double2ll_rn(turns);
        double rest = __fma_rn((double)whole, -1.5707963267948966, wide);
        rest = __fma_rn((double)whole, -6.123233995736766e-17, rest);
        r = (float)rest;
        k = (int)whole;
    }
    *quadrant = k;
    return r;
}
__NVIR_FN float __nvir_sincos(float r, int k) {
    float s = r * r;
    bool even = (k & 1) == 0;
    float a = even ? -1.95152959e-4f : 2.44331571e-5f;
    a = fmaf(a, s, even ? 8.33216087e-3f : -1.38873163e-3f);
    a = fmaf(a, s, even ? -1.66666546e-1f : 4.16666456e-2f);
    a = fmaf(a, s, even ? 0.0f : -0.5f);
    float b = even ? r : 1.0f;
    float v = even ? fmaf(a, r, b) : fmaf(a, s, b);
    return k & 2 ? -v : v;
}
#ifdef NVIR_FAST_MATH
__NVIR_FN float sinf(float x) { return __sinf(x); }
__NVIR_FN float cosf(float x) { return __cosf(x); }
#else
__NVIR_FN float sinf(float x) { int k; float r = __nvir_quadrant(x, &k); return __nvir_sincos(r, k); }
__NVIR_FN float cosf(float x) { int k; float r = __nvir_quadrant(x, &k); return __nvir_sincos(r, k + 1); }
#endif
__NVIR_FN void sincosf(float x, float *s, float *c) { int k; float r = __nvir_quadrant(x, &k); *s = __nvir_sincos(r, k); *c = __nvir_sincos(r, k + 1); }
__NVIR_FN float tanf(float x) { int k; float r = __nvir_quadrant(x, &k); return __nvir_sincos(r, k) / __nvir_sincos(r, k + 1); }
__NVIR_FN float sinpif(float x) { return sinf((x - 2.0f * rintf(0.5f * x)) * 3.14159265f); }
__NVIR_FN float cospif(float x) { return cosf((x - 2.0f * rintf(0.5f * x)) * 3.14159265f); }
__NVIR_FN float __nvir_atan01(float t) {
    float s = t * t, q = -1.82266533e-3f;
    q = fmaf(q, s, 1.10480431e-2f); q = fmaf(q, s, -3.14339548e-2f); q = fmaf(q, s, 5.82234595e-2f); q = fmaf(q, s, -8.41958672e-2f);
    q = fmaf(q, s, 0.109579548f); q = fmaf(q, s, -0.142654002f); q = fmaf(q, s, 0.199986637f); q = fmaf(q, s, -0.333333045f);
    return fmaf(q * s, t, t);
}
__NVIR_FN float atanf(float x) {
    float a = fabsf(x);
    float r = __nvir_atan01(a > 1.0f ? 1.0f / a : a);
    return copysignf(a > 1.0f ? 1.57079633f - r : r, x);
}
__NVIR_FN float atan2f(float y, float x) {
    float a = fabsf(x), b = fabsf(y), big = fmaxf(a, b), small = fminf(a, b);
    float r = big == 0.0f ? 0.0f : small == big ? 0.785398163f : __nvir_atan01(small / big);
    r = b > a ? 1.57079633f - r : r;
    r = signbit(x) ? 3.14159265f - r : r;
    return x != x || y != y ? x + y : copysignf(r, y);
}
__NVIR_FN float __nvir_asin_small(float x) {
    float s = x * x, q = 4.18704897e-2f;
    q = fmaf(q, s, 2.43650358e-2f); q = fmaf(q, s, 4.54299301e-2f); q = fmaf(q, s, 7.4956499e-2f); q = fmaf(q, s, 0.166667432f);
    return fmaf(q * s, x, x);
}
__NVIR_FN float asinf(float x) {
    float a = fabsf(x);
    float r = a > 0.5f ? 1.57079633f - 2.0f * __nvir_asin_small(sqrtf(0.5f - 0.5f * a)) : __nvir_asin_small(a);
    return copysignf(r, x);
}
__NVIR_FN float acosf(float x) {
    float a = fabsf(x);
    float r = a > 0.5f ? 2.0f * __nvir_asin_small(sqrtf(0.5f - 0.5f * a)) : 1.57079633f - __nvir_asin_small(a);
    return x < 0.0f ? 3.14159265f - r : r;
}
__NVIR_FN float sinhf(float x) { if (fabsf(x) < 1.0f) { float s = x * x, q = fmaf(s, 2.75573192e-6f, 1.98412698e-4f); q = fmaf(q, s, 8.33333333e-3f); q = fmaf(q, s, 0.166666667f); return fmaf(q * s, x, x); } float e = expf(fabsf(x) - 0.693147182f); return copysignf(e - 0.25f / e, x); }
__NVIR_FN float coshf(float x) { float e = expf(fabsf(x) - 0.693147182f); return e + 0.25f / e; }
__NVIR_FN float tanhf(float x) {
    float a = fabsf(x), s = x * x, q = -5.91984205e-3f;
    q = fmaf(q, s, 2.08182372e-2f); q = fmaf(q, s, -5.37908189e-2f); q = fmaf(q, s, 0.133320123f); q = fmaf(q, s, -0.333333015f);
    float small = fmaf(fmaf(q, s, 0.0f), x, x);
    float big = 1.0f - __fdividef(2.0f, expf(2.0f * a) + 1.0f);
    return a < 0.6f ? small : copysignf(big, x);
}
__NVIR_FN float asinhf(float x) { float a = fabsf(x); return copysignf(log1pf(a + a * a / (1.0f + sqrtf(a * a + 1.0f))), x); }
__NVIR_FN float acoshf(float x) { float t = x - 1.0f; return log1pf(t + sqrtf(2.0f * t + t * t)); }
__NVIR_FN float atanhf(float x) { float a = fabsf(x); return copysignf(0.5f * log1pf(2.0f * a / (1.0f - a)), x); }
__NVIR_FN float hypotf(float a, float b) { return (float)__dsqrt_rn((double)a * a + (double)b * b); }
__NVIR_FN float rhypotf(float a, float b) { return 1.0f / hypotf(a, b); }
__NVIR_FN float norm3df(float a, float b, float c) { return (float)__dsqrt_rn((double)a * a + (double)b * b + (double)c * c); }
__NVIR_FN float norm4df(float a, float b, float c, float d) { return (float)__dsqrt_rn((double)a * a + (double)b * b + (double)c * c + (double)d * d); }
__NVIR_FN float rnorm3df(float a, float b, float c) { return 1.0f / norm3df(a, b, c); }
__NVIR_BIG float fmodf(float a, float b) {
    float x = fabsf(a), y = fabsf(b);
    if (!(x < __builtin_inff()) || y == 0.0f || y != y) return __builtin_nanf("");
    if (x < y) return a;
    float t = y;
    while (t <= x * 0.5f) t = t + t;
    while (t >= y) { if (x >= t) x -= t; t *= 0.5f; }
    return copysignf(x, a);
}
__NVIR_BIG float remainderf(float a, float b) { float y = fabsf(b), r = fmodf(a, y + y), x = fabsf(r); if (x > y * 0.5f) { x -= y; if (x >= y * 0.5f) x -= y; } return signbit(a) ? -x : x; }
__NVIR_FN float modff(float x, float *whole) { *whole = truncf(x); return copysignf(isinf(x) ? 0.0f : x - *whole, x); }
__NVIR_FN float ldexpf(float x, int n) { n = n > 300 ? 300 : n < -300 ? -300 : n; int h = n / 2, q = h / 2; float a = __int_as_float((q + 127) << 23), b = __int_as_float((h - q + 127) << 23), c = __int_as_float(((n - h) / 2 + 127) << 23), d = __int_as_float((n - h - (n - h) / 2 + 127) << 23); return x * a * b * c * d; }
__NVIR_FN float scalbnf(float x, int n) { return ldexpf(x, n); }
__NVIR_FN float frexpf(float x, int *e) { if (x == 0.0f || !isfinite(x)) { *e = 0; return x; } float v = fabsf(x) < 1.17549435e-38f ? x * 8388608.0f : x; int i = __float_as_int(v); *e = ((i >> 23) & 255) - 126 - (v != x ? 23 : 0); return __int_as_float((i & 0x807fffff) | 0x3f000000); }
__NVIR_FN int ilogbf(float x) { int e; frexpf(x, &e); return e - 1; }
__NVIR_FN float logbf(float x) { return (float)ilogbf(x); }
__NVIR_FN long lrintf(float x) { return (long)__float2ll_rn(x); }
__NVIR_FN long long llrintf(float x) { return __float2ll_rn(x); }
__NVIR_FN long lroundf(float x) { return (long)roundf(x); }
__NVIR_FN long long llroundf(float x) { return (long long)roundf(x); }
__NVIR_FN float nextafterf(float x, float y) { if (x != x || y != y) return x + y; if (x == y) return y; if (x == 0.0f) return copysignf(1.40129846e-45f, y); int i = __float_as_int(x); return __int_as_float((x < y) == (x > 0.0f) ? i + 1 : i - 1); }
__NVIR_FN float nanf(const char *) { return __builtin_nanf(""); }
