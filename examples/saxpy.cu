// y = a * x + y, with a grid-stride loop; and a vectorised twin for n a multiple
// of four and 16-byte aligned arrays.

extern "C" __global__ void saxpy(int n, float a, const float *__restrict__ x,
                                 float *__restrict__ y) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = a * x[i] + y[i];
}

extern "C" __global__ void saxpy4(int n, float a, const float4 *__restrict__ x,
                                  float4 *__restrict__ y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 4)
        return;
    const float4 u = x[i];
    float4 v = y[i];
    v.x += a * u.x;
    v.y += a * u.y;
    v.z += a * u.z;
    v.w += a * u.w;
    y[i] = v;
}
