// Double precision, what single precision borrows from it, and the overloads of C++.
#pragma once
#define __NVIR_D1(name, text) __NVIR_I(double, name, (double), text) __NVIR_PURE
#define __NVIR_D2(name, text) __NVIR_I(double, name, (double, double), text) __NVIR_PURE
__NVIR_D1(fabs, "llvm.fabs.f64"); __NVIR_D1(floor, "llvm.floor.f64"); __NVIR_D1(ceil, "llvm.ceil.f64"); __NVIR_D1(trunc, "llvm.trunc.f64"); __NVIR_D1(rint, "llvm.rint.f64"); __NVIR_D1(nearbyint, "llvm.nearbyint.f64"); __NVIR_D1(round, "llvm.round.f64");
__NVIR_D1(sqrt, "llvm.sqrt.f64"); __NVIR_D2(fmin, "llvm.minnum.f64"); __NVIR_D2(fmax, "llvm.maxnum.f64"); __NVIR_D2(copysign, "llvm.copysign.f64");
__NVIR_I(double, fma, (double, double, double), "llvm.fma.f64") __NVIR_PURE;
__NVIR_FN bool isnan(double x) { return x != x; }
__NVIR_FN bool isinf(double x) { return fabs(x) == __builtin_inf(); }
__NVIR_FN bool isfinite(double x) { return fabs(x) < __builtin_inf(); }
__NVIR_FN bool signbit(double x) { return __double_as_longlong(x) < 0; }
__NVIR_FN double fdim(double a, double b) { return a > b ? a - b : 0.0; }
__NVIR_FN double rsqrt(double x) { return 1.0 / sqrt(x); }
__NVIR_FN double __nvir_pow2(int n) { return __longlong_as_double((long long)(n + 1023) << 52); }
__NVIR_BIG double __nvir_exp_parts(double r, int n) {
    double q = 1.6059043836821613e-10;
    q = fma(q, r, 2.08767569878681e-09); q = fma(q, r, 2.505210838544172e-08); q = fma(q, r, 2.755731922398589e-07); q = fma(q, r, 2.7557319223985893e-06);
    q = fma(q, r, 2.48015873015873e-05); q = fma(q, r, 1.984126984126984e-04); q = fma(q, r, 1.388888888888889e-03); q = fma(q, r, 8.333333333333333e-03);
    q = fma(q, r, 4.1666666666666664e-02); q = fma(q, r, 0.16666666666666666); q = fma(q, r, 0.5); q = fma(q, r, 1.0); q = fma(q, r, 1.0);
    n = n > 2100 ? 2100 : n < -2200 ? -2200 : n;
    int h = n / 2, g = h / 2;
    return q * __nvir_pow2(g) * __nvir_pow2(h - g) * __nvir_pow2(n - h - (n - h) / 2) * __nvir_pow2((n - h) / 2);
}
__NVIR_FN double exp(double x) {
    double c = fmin(fmax(x, -1500.0), 1500.0), n = rint(c * 1.4426950408889634);
    double r = fma(n, -0.6931471805599453, c);
    r = fma(n, -2.3190468138462996e-17, r);
    return x != x ? x : __nvir_exp_parts(r, (int)n);
}
__NVIR_FN double exp2(double x) { double c = fmin(fmax(x, -2200.0), 2100.0), n = rint(c); return x != x ? x : __nvir_exp_parts((c - n) * 0.6931471805599453, (int)n); }
__NVIR_FN double exp10(double x) { double c = fmin(fmax(x, -700.0), 700.0), n = rint(c * 3.321928094887362); double r = fma(n, -0.30102999566398120, c); return x != x ? x : __nvir_exp_parts(fma(n, 2.8037281277851704e-18, r) * 2.302585092994046, (int)n); }
// log(x) = high + low
__NVIR_BIG double __nvir_log(double x, double *low) {
    double v = x;
    int e = 0;
    if (x < 2.2250738585072014e-308) { v = x * 18014398509481984.0; e = -54; }
    long long i = __double_as_longlong(v), k = (i - 0x3fe6a09e667f3bcdLL) & 0xfff0000000000000LL;
    double m = __longlong_as_double(i - k), f = m - 1.0;
    e += (int)(k >> 52);
    double s = f / (2.0 + f), z = s * s;
    double q = 0.08695652173913043;
    q = fma(q, z, 0.09523809523809523); q = fma(q, z, 0.10526315789473684); q = fma(q, z, 0.11764705882352941); q = fma(q, z, 0.13333333333333333); q = fma(q, z, 0.15384615384615385);
    q = fma(q, z, 0.18181818181818182); q = fma(q, z, 0.2222222222222222); q = fma(q, z, 0.2857142857142857); q = fma(q, z, 0.4); q = fma(q, z, 0.6666666666666666);
    double t = s + s, error = fma(-t, 0.5, 0.0) + s;
    error = (f - fma(s, f, t)) / (2.0 + f);
    double head = fma((double)e, 0.6931471805599453, t);
    double tail = fma((double)e, 0.6931471805599453, -head) + t + error + q * z * s + (double)e * 2.3190468138462996e-17;
    *low = tail;
    return head;
}
__NVIR_FN double log(double x) {
    double low, high = __nvir_log(x, &low);
    if (!(x > 0.0)) return x == 0.0 ? -__builtin_inf() : __builtin_nan("");
    return x == __builtin_inf() ? x : high + low;
}
__NVIR_FN double log2(double x) { return log(x) * 1.4426950408889634; }
__NVIR_FN double log10(double x) { return log(x) * 0.4342944819032518; }
__NVIR_FN double log1p(double x) { double u = 1.0 + x, c = x - (u - 1.0); return u == __builtin_inf() || u <= 0.0 ? log(u) : log(u) + c / u; }
__NVIR_FN double expm1(double x) { if (fabs(x) > 0.4) return exp(x) - 1.0; double q = 1.6059043836821613e-10; q = fma(q, x, 2.08767569878681e-09); q = fma(q, x, 2.505210838544172e-08); q = fma(q, x, 2.755731922398589e-07); q = fma(q, x, 2.7557319223985893e-06); q = fma(q, x, 2.48015873015873e-05); q = fma(q, x, 1.984126984126984e-04); q = fma(q, x, 1.388888888888889e-03); q = fma(q, x, 8.333333333333333e-03); q = fma(q, x, 4.1666666666666664e-02); q = fma(q, x, 0.16666666666666666); q = fma(q, x, 0.5); return fma(q * x, x, x); }
__NVIR_BIG double pow(double x, double y) {
    if (y == 0.0 || x == 1.0) return 1.0;
    if (x != x || y != y) return x + y;
    double a = fabs(x);
    bool whole = trunc(y) == y, odd = whole && fabs(y) < 9007199254740992.0 && ((long long)y & 1);
    double sign = odd && signbit(x) ? -1.0 : 1.0;
    if (a == 0.0) return y > 0.0 ? 0.0 * sign : __builtin_inf() * sign;
    if (isinf(y)) return a == 1.0 ? 1.0 : (a > 1.0) == (y > 0.0) ? __builtin_inf() : 0.0;
    if (isinf(a)) return y > 0.0 ? __builtin_inf() * sign : 0.0 * sign;
    if (x < 0.0 && !whole) return __builtin_nan("");
    double low, high = __nvir_log(a, &low);
    double sum = high + low; low = low - (sum - high); high = sum;
    double p = y * high, rest = fma(y, high, -p) + y * low;
    double c = fmin(fmax(p, -1500.0), 1500.0), n = rint(c * 1.4426950408889634);
    double r = fma(n, -0.6931471805599453, c);
    r = fma(n, -2.3190468138462996e-17, r) + (p == c ? rest : 0.0);
    return sign * __nvir_exp_parts(r, (int)n);
}
__NVIR_FN double __nvir_quadrant64(double x, int *quadrant) {
    double n = rint(x * 0.6366197723675814);
    double r = fma(n, -1.5707963267948966, x);
    r = fma(n, -6.123233995736766e-17, r);
    *quadrant = (int)(long long)n;
    return r;
}
__NVIR_BIG double __nvir_sincos64(double r, int k) {
    double s = r * r, v;
    if (k & 1) {
        double q = 4.779477332387385e-14; q = fma(q, s, -1.1470745597729725e-11); q = fma(q, s, 2.08767569878681e-09); q = fma(q, s, -2.755731922398589e-07); q = fma(q, s, 2.48015873015873e-05);
        q = fma(q, s, -1.388888888888889e-03); q = fma(q, s, 4.1666666666666664e-02); q = fma(q, s, -0.5); v = fma(q, s, 1.0);
    } else {
        double q = 2.8114572543455206e-15; q = fma(q, s, -7.647163731819816e-13); q = fma(q, s, 1.6059043836821613e-10); q = fma(q, s, -2.505210838544172e-08); q = fma(q, s, 2.7557319223985893e-06);
        q = fma(q, s, -1.984126984126984e-04); q = fma(q, s, 8.333333333333333e-03); q = fma(q, s, -0.16666666666666666); v = fma(q * s, r, r);
    }
    return k & 2 ? -v : v;
}
__NVIR_FN double sin(double x) { int k; double r = __nvir_quadrant64(x, &k); return __nvir_sincos64(r, k); }
__NVIR_FN double cos(double x) { int k; double r = __nvir_quadrant64(x, &k); return __nvir_sincos64(r, k + 1); }
__NVIR_FN void sincos(double x, double *s, double *c) { int k; double r = __nvir_quadrant64(x, &k); *s = __nvir_sincos64(r, k); *c = __nvir_sincos64(r, k + 1); }
__NVIR_FN double tan(double x) { int k; double r = __nvir_quadrant64(x, &k); return __nvir_sincos64(r, k) / __nvir_sincos64(r, k + 1); }
__NVIR_FN double sinpi(double x) { return sin((x - 2.0 * rint(0.5 * x)) * 3.141592653589793); }
__NVIR_FN double cospi(double x) { return cos((x - 2.0 * rint(0.5 * x)) * 3.141592653589793); }
__NVIR_BIG double __nvir_atan01_64(double t) {
    t = t / (1.0 + sqrt(fma(t, t, 1.0)));
    t = t / (1.0 + sqrt(fma(t, t, 1.0)));
    double s = t * t, q = -0.043478260869565216;
    q = fma(q, s, 0.047619047619047616); q = fma(q, s, -0.05263157894736842); q = fma(q, s, 0.058823529411764705); q = fma(q, s, -0.06666666666666667); q = fma(q, s, 0.07692307692307693);
    q = fma(q, s, -0.09090909090909091); q = fma(q, s, 0.1111111111111111); q = fma(q, s, -0.14285714285714285); q = fma(q, s, 0.2); q = fma(q, s, -0.3333333333333333);
    return 4.0 * fma(q * s, t, t);
}
__NVIR_FN double atan(double x) { double a = fabs(x), r = __nvir_atan01_64(a > 1.0 ? 1.0 / a : a); return copysign(a > 1.0 ? 1.5707963267948966 - r : r, x); }
__NVIR_FN double atan2(double y, double x) {
    double a = fabs(x), b = fabs(y), big = fmax(a, b), small = fmin(a, b);
    double r = big == 0.0 ? 0.0 : small == big ? 0.7853981633974483 : __nvir_atan01_64(small / big);
    r = b > a ? 1.5707963267948966 - r : r;
    r = signbit(x) ? 3.141592653589793 - r : r;
    return x != x || y != y ? x + y : copysign(r, y);
}
__NVIR_FN double asin(double x) { return atan2(x, sqrt((1.0 - x) * (1.0 + x))); }
__NVIR_FN double acos(double x) { return 2.0 * atan2(sqrt(1.0 - x), sqrt(1.0 + x)); }
__NVIR_FN double sinh(double x) { double a = expm1(fabs(x)); return copysign(fabs(x) > 700.0 ? 0.5 * exp(fabs(x) * 0.5) * exp(fabs(x) * 0.5) : 0.5 * (a + a / (a + 1.0)), x); }
__NVIR_FN double cosh(double x) { double e = exp(fabs(x) - 0.6931471805599453); return e + 0.25 / e; }
__NVIR_FN double tanh(double x) { double a = fabs(x), t = expm1(2.0 * fmin(a, 40.0)); return x != x ? x : copysign(t / (t + 2.0), x); }
__NVIR_FN double asinh(double x) { double a = fabs(x); return copysign(log1p(a + a * a / (1.0 + sqrt(a * a + 1.0))), x); }
__NVIR_FN double acosh(double x) { double t = x - 1.0; return log1p(t + sqrt(2.0 * t + t * t)); }
__NVIR_FN double atanh(double x) { double a = fabs(x); return copysign(0.5 * log1p(2.0 * a / (1.0 - a)), x); }
__NVIR_FN double hypot(double a, double b) { double x = fabs(a), y = fabs(b), big = fmax(x, y), small = fmin(x, y), t = big == 0.0 ? 0.0 : small / big; return isinf(x) || isinf(y) ? __builtin_inf() : big * sqrt(fma(t, t, 1.0)); }
__NVIR_FN double norm3d(double a, double b, double c) { return sqrt(a * a + b * b + c * c); }
__NVIR_FN double rnorm3d(double a, double b, double c) { return 1.0 / norm3d(a, b, c); }
__NVIR_FN double cbrt(double x) { if (x == 0.0 || !isfinite(x)) return x; double a = fabs(x), y = exp(log(a) * 0.3333333333333333); y = y - (y * y * y - a) / (3.0 * y * y); return copysign(y, x); }
__NVIR_FN double rcbrt(double x) { return 1.0 / cbrt(x); }
__NVIR_BIG double fmod(double a, double b) { double x = fabs(a), y = fabs(b); if (!(x < __builtin_inf()) || y == 0.0 || y != y) return __builtin_nan(""); if (x < y) return a; double t = y; while (t <= x * 0.5) t = t + t; while (t >= y) { if (x >= t) x -= t; t *= 0.5; } return copysign(x, a); }
__NVIR_BIG double remainder(double a, double b) { double y = fabs(b), r = fmod(a, y + y), x = fabs(r); if (x > y * 0.5) { x -= y; if (x >= y * 0.5) x -= y; } return signbit(a) ? -x : x; }
__NVIR_FN double modf(double x, double *whole) { *whole = trunc(x); return copysign(isinf(x) ? 0.0 : x - *whole, x); }
__NVIR_FN double ldexp(double x, int n) { n = n > 2200 ? 2200 : n < -2200 ? -2200 : n; int h = n / 2, g = h / 2; return x * __nvir_pow2(g) * __nvir_pow2(h - g) * __nvir_pow2(n - h - (n - h) / 2) * __nvir_pow2((n - h) / 2); }
__NVIR_FN double scalbn(double x, int n) { return ldexp(x, n); }
__NVIR_FN double frexp(double x, int *e) { if (x == 0.0 || !isfinite(x)) { *e = 0; return x; } double v = fabs(x) < 2.2250738585072014e-308 ? x * 18014398509481984.0 : x; long long i = __double_as_longlong(v); *e = (int)((i >> 52) & 2047) - 1022 - (v != x ? 54 : 0); return __longlong_as_double((i & 0x800fffffffffffffLL) | 0x3fe0000000000000LL); }
__NVIR_FN int ilogb(double x) { int e; frexp(x, &e); return e - 1; }
__NVIR_FN long lrint(double x) { return (long)__double2ll_rn(x); }
__NVIR_FN long long llrint(double x) { return __double2ll_rn(x); }
__NVIR_FN long lround(double x) { return (long)round(x); }
__NVIR_FN long long llround(double x) { return (long long)round(x); }
// the error function: its series, and Lentz's continued fraction of the complement
__NVIR_BIG double __nvir_erf_series(double x) { double t = x, sum = x; for (int n = 1; n < 60; ++n) { t = -t * x * x / (double)n; sum += t / (double)(2 * n + 1); } return sum * 1.1283791670955126; }
__NVIR_BIG double __nvir_erfc_fraction(double x) { double f = x; for (int n = 60; n > 0; --n) f = x + (double)n * 0.5 / f; return exp(-x * x) * 0.5641895835477563 / f; }
__NVIR_BIG double erf(double x) { double a = fabs(x); return x != x ? x : copysign(a < 2.0 ? __nvir_erf_series(a) : 1.0 - __nvir_erfc_fraction(a), x); }
__NVIR_BIG double erfc(double x) { return x != x ? x : x > 2.0 ? __nvir_erfc_fraction(x) : 1.0 - erf(x); }
__NVIR_BIG double lgamma(double x) {
    if (x < 0.5) return log(3.141592653589793 / fabs(sin(3.141592653589793 * x))) - lgamma(1.0 - x);
    double y = x - 1.0, t = y + 7.5;
    double s = 0.99999999999980993 + 676.5203681218851 / (y + 1.0) - 1259.1392167224028 / (y + 2.0) + 771.32342877765313 / (y + 3.0) - 176.61502916214059 / (y + 4.0) + 12.507343278686905 / (y + 5.0) - 0.13857109526572012 / (y + 6.0) + 9.9843695780195716e-6 / (y + 7.0) + 1.5056327351493116e-7 / (y + 8.0);
    return 0.91893853320467274 + (y + 0.5) * log(t) - t + log(s);
}
__NVIR_BIG double tgamma(double x) { return x < 0.5 ? 3.141592653589793 / (sin(3.141592653589793 * x) * exp(lgamma(1.0 - x))) : exp(lgamma(x)); }
__NVIR_BIG double normcdf(double x) { return 0.5 * erfc(-x * 0.7071067811865476); }

#ifdef NVIR_FAST_MATH
__NVIR_FN float powf(float x, float y) { return __powf(x, y); }
#else
__NVIR_FN float powf(float x, float y) { return (float)pow((double)x, (double)y); }
#endif
__NVIR_FN float cbrtf(float x) { return (float)cbrt((double)x); }
__NVIR_FN float rcbrtf(float x) { return (float)(1.0 / cbrt((double)x)); }
__NVIR_FN float erff(float x) { return (float)erf((double)x); }
__NVIR_FN float erfcf(float x) { return (float)erfc((double)x); }
__NVIR_FN float normcdff(float x) { return (float)normcdf((double)x); }
__NVIR_FN float lgammaf(float x) { return (float)lgamma((double)x); }
__NVIR_FN float tgammaf(float x) { return (float)tgamma((double)x); }

// C++: one name for float, double and the integers
#define __NVIR_OVER1(name) __NVIR_FN float name(float x) { return name##f(x); } template <class T> __NVIR_FN typename __nvir_integer<T>::type name(T x) { return name((double)x); }
#define __NVIR_OVER2(name) __NVIR_FN float name(float a, float b) { return name##f(a, b); } template <class A, class B> __NVIR_FN typename __nvir_mixed<A, B>::type name(A a, B b) { return name((typename __nvir_mixed<A, B>::type)a, (typename __nvir_mixed<A, B>::type)b); }
template <class T> struct __nvir_integer {};
template <> struct __nvir_integer<int> { typedef double type; }; template <> struct __nvir_integer<unsigned> { typedef double type; }; template <> struct __nvir_integer<long> { typedef double type; };
template <> struct __nvir_integer<unsigned long> { typedef double type; }; template <> struct __nvir_integer<long long> { typedef double type; }; template <> struct __nvir_integer<unsigned long long> { typedef double type; };
template <> struct __nvir_integer<short> { typedef double type; }; template <> struct __nvir_integer<char> { typedef double type; }; template <> struct __nvir_integer<unsigned char> { typedef double type; };
template <class T> struct __nvir_floating { enum { value = 0 }; }; template <> struct __nvir_floating<float> { enum { value = 1 }; }; template <> struct __nvir_floating<double> { enum { value = 2 }; };
template <class T> struct __nvir_number : __nvir_integer<T> {}; template <> struct __nvir_number<float> { typedef double type; }; template <> struct __nvir_number<double> { typedef double type; };
template <class A, class B, int = __nvir_floating<A>::value * 3 + __nvir_floating<B>::value> struct __nvir_mixed : __nvir_number<A> {};
template <class A, class B> struct __nvir_mixed<A, B, 4> {};
template <class A, class B> struct __nvir_mixed<A, B, 8> {};
__NVIR_OVER1(sqrt) __NVIR_OVER1(rsqrt) __NVIR_OVER1(exp) __NVIR_OVER1(exp2) __NVIR_OVER1(exp10) __NVIR_OVER1(expm1) __NVIR_OVER1(log) __NVIR_OVER1(log2) __NVIR_OVER1(log10) __NVIR_OVER1(log1p)
__NVIR_OVER1(sin) __NVIR_OVER1(cos) __NVIR_OVER1(tan) __NVIR_OVER1(asin) __NVIR_OVER1(acos) __NVIR_OVER1(atan) __NVIR_OVER1(sinh) __NVIR_OVER1(cosh) __NVIR_OVER1(tanh) __NVIR_OVER1(asinh) __NVIR_OVER1(acosh) __NVIR_OVER1(atanh)
__NVIR_OVER1(floor) __NVIR_OVER1(ceil) __NVIR_OVER1(trunc) __NVIR_OVER1(round) __NVIR_OVER1(rint) __NVIR_OVER1(fabs) __NVIR_OVER1(cbrt) __NVIR_OVER1(erf) __NVIR_OVER1(erfc) __NVIR_OVER1(lgamma) __NVIR_OVER1(tgamma) __NVIR_OVER1(sinpi) __NVIR_OVER1(cospi)
__NVIR_OVER2(pow) __NVIR_OVER2(atan2) __NVIR_OVER2(fmod) __NVIR_OVER2(fmin) __NVIR_OVER2(fmax) __NVIR_OVER2(hypot) __NVIR_OVER2(copysign) __NVIR_OVER2(remainder) __NVIR_OVER2(fdim)
__NVIR_FN float fma(float a, float b, float c) { return fmaf(a, b, c); }
__NVIR_FN float ldexp(float x, int n) { return ldexpf(x, n); }
__NVIR_FN float frexp(float x, int *e) { return frexpf(x, e); }
__NVIR_FN float modf(float x, float *w) { return modff(x, w); }
__NVIR_FN long lround(float x) { return lroundf(x); }
__NVIR_FN void sincos(float x, float *s, float *c) { sincosf(x, s, c); }
__NVIR_FN int abs(int x) { return x < 0 ? -x : x; }
__NVIR_FN long abs(long x) { return x < 0 ? -x : x; }
__NVIR_FN long long abs(long long x) { return x < 0 ? -x : x; }
__NVIR_FN float abs(float x) { return fabsf(x); }
__NVIR_FN double abs(double x) { return fabs(x); }
__NVIR_FN long labs(long x) { return x < 0 ? -x : x; }
__NVIR_FN long long llabs(long long x) { return x < 0 ? -x : x; }

__NVIR_FN int min(int a, int b) { return a < b ? a : b; }
__NVIR_FN int max(int a, int b) { return a > b ? a : b; }
#define __NVIR_MINMAX(t, a, b) __NVIR_FN t min(a x, b y) { return (t)x < (t)y ? (t)x : (t)y; } __NVIR_FN t max(a x, b y) { return (t)x > (t)y ? (t)x : (t)y; }
__NVIR_MINMAX(unsigned, unsigned, unsigned) __NVIR_MINMAX(unsigned, int, unsigned) __NVIR_MINMAX(unsigned, unsigned, int)
__NVIR_MINMAX(long, long, long) __NVIR_MINMAX(unsigned long, unsigned long, unsigned long) __NVIR_MINMAX(unsigned long, long, unsigned long) __NVIR_MINMAX(unsigned long, unsigned long, long)
__NVIR_MINMAX(long long, long long, long long) __NVIR_MINMAX(unsigned long long, unsigned long long, unsigned long long) __NVIR_MINMAX(unsigned long long, long long, unsigned long long) __NVIR_MINMAX(unsigned long long, unsigned long long, long long)
__NVIR_FN float min(float a, float b) { return fminf(a, b); }
__NVIR_FN float max(float a, float b) { return fmaxf(a, b); }
__NVIR_FN double min(double a, double b) { return fmin(a, b); }
__NVIR_FN double max(double a, double b) { return fmax(a, b); }
__NVIR_FN double min(float a, double b) { return fmin(a, b); }
__NVIR_FN double max(float a, double b) { return fmax(a, b); }
__NVIR_FN double min(double a, float b) { return fmin(a, b); }
__NVIR_FN double max(double a, float b) { return fmax(a, b); }
__NVIR_FN unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
__NVIR_FN unsigned umax(unsigned a, unsigned b) { return a > b ? a : b; }
__NVIR_FN long long llmin(long long a, long long b) { return a < b ? a : b; }
__NVIR_FN long long llmax(long long a, long long b) { return a > b ? a : b; }
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_E 2.7182818284590452354
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_LOG2E 1.4426950408889634074
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.1415926535897931e+0
#define CUDART_INF_F __builtin_inff()
#define CUDART_INF __builtin_inf()
#define CUDART_NAN_F __builtin_nanf("")
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VAL __builtin_inf()
#define HUGE_VALF __builtin_inff()
