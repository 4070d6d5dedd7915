// Polynomials in double precision by Horner's rule: a chain of dependent fused
// multiply-adds, so the recurrence bounds the initiation interval. The first
// kernel takes its coefficients from constant memory and a run-time degree, the
// second has a degree known when it is compiled.

__constant__ double coefficients[64];

extern "C" __global__ void horner(const double *__restrict__ x, double *__restrict__ y, int n,
                                  int degree) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const double t = x[i];
    double value = coefficients[degree];
    for (int d = degree - 1; d >= 0; --d)
        value = fma(value, t, coefficients[d]);
    y[i] = value;
}

extern "C" __global__ void horner_fixed(const double *__restrict__ x, double *__restrict__ y,
                                        const double *__restrict__ c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const double t = x[i];
    double value = c[12];
#pragma unroll 1
    for (int d = 11; d >= 0; --d)
        value = fma(value, t, c[d]);
    y[i] = value / (1.0 + t * t);
}
