#include <cmath>
__global__ void mathf(const float *x, float *o, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    o[0 * n + i] = sinf(v); o[1 * n + i] = cosf(v); o[2 * n + i] = expf(v); o[3 * n + i] = logf(fabsf(v) + 0.1f);
    o[4 * n + i] = tanf(v); o[5 * n + i] = atanf(v); o[6 * n + i] = tanhf(v); o[7 * n + i] = powf(fabsf(v), 1.5f);
    o[8 * n + i] = asinf(v / 20.0f); o[9 * n + i] = acosf(v / 20.0f); o[10 * n + i] = sinhf(v / 4); o[11 * n + i] = coshf(v / 4);
    o[12 * n + i] = log2f(fabsf(v) + 1); o[13 * n + i] = exp2f(v); o[14 * n + i] = cbrtf(v); o[15 * n + i] = atan2f(v, 2.0f);
    o[16 * n + i] = erff(v); o[17 * n + i] = fmodf(v, 0.7f); o[18 * n + i] = hypotf(v, 3.0f); o[19 * n + i] = log1pf(fabsf(v));
    o[20 * n + i] = expm1f(v / 8); o[21 * n + i] = roundf(v) + floorf(v) + ceilf(v) + truncf(v) + rintf(v); o[22 * n + i] = sqrtf(fabsf(v)); o[23 * n + i] = log10f(fabsf(v) + 2);
}
__global__ void mathd(const double *x, double *o, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    double v = x[i];
    o[0 * n + i] = sin(v); o[1 * n + i] = cos(v); o[2 * n + i] = exp(v); o[3 * n + i] = log(fabs(v) + 0.1);
    o[4 * n + i] = tan(v); o[5 * n + i] = atan(v); o[6 * n + i] = tanh(v); o[7 * n + i] = pow(fabs(v), 1.5);
    o[8 * n + i] = asin(v / 20); o[9 * n + i] = acos(v / 20); o[10 * n + i] = sinh(v / 4); o[11 * n + i] = cosh(v / 4);
    o[12 * n + i] = log2(fabs(v) + 1); o[13 * n + i] = exp2(v); o[14 * n + i] = cbrt(v); o[15 * n + i] = atan2(v, 2.0);
    o[16 * n + i] = erf(v); o[17 * n + i] = fmod(v, 0.7); o[18 * n + i] = hypot(v, 3.0); o[19 * n + i] = log1p(fabs(v));
    o[20 * n + i] = expm1(v / 8); o[21 * n + i] = round(v) + floor(v) + ceil(v) + trunc(v) + rint(v); o[22 * n + i] = sqrt(fabs(v)); o[23 * n + i] = log10(fabs(v) + 2);
}
