// Direct 3-D convolution with a cubic filter of run-time radius: six nested
// conditions guard the borders and three nested loops walk the filter.

extern "C" __global__ void conv3d(const float *__restrict__ in, const float *__restrict__ filter,
                                  float *__restrict__ out, int nx, int ny, int nz, int radius) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz)
        return;

    const int width = 2 * radius + 1;
    float sum = 0.0f;
    for (int dz = -radius; dz <= radius; ++dz) {
        if (z + dz < 0 || z + dz >= nz)
            continue;
        for (int dy = -radius; dy <= radius; ++dy) {
            if (y + dy < 0 || y + dy >= ny)
                continue;
            const float *plane = in + ((long long)(z + dz) * ny + y + dy) * nx;
            const float *taps = filter + ((dz + radius) * width + dy + radius) * width + radius;
            for (int dx = -radius; dx <= radius; ++dx)
                if (x + dx >= 0 && x + dx < nx)
                    sum += plane[x + dx] * taps[dx];
        }
    }
    out[((long long)z * ny + y) * nx + x] = sum;
}
