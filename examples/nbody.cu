// Gravitational acceleration of n bodies, all pairs, in tiles of blockDim.x
// bodies kept in shared memory. Arithmetic bound: about 20 operations and one
// reciprocal square root a pair. `softening` > 0 keeps the self term finite.

extern __shared__ float4 tile[];

extern "C" __global__ void nbody(const float4 *__restrict__ bodies, float3 *__restrict__ force,
                                 int n, float softening) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 self = i < n ? bodies[i] : make_float4(0, 0, 0, 0);
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
    for (int base = 0; base < n; base += blockDim.x) {
        const int j = base + threadIdx.x;
        tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int t = 0; t < blockDim.x; ++t) {
            const float4 other = tile[t];
            const float dx = other.x - self.x, dy = other.y - self.y, dz = other.z - self.z;
            const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
            const float scale = other.w * inverse * inverse * inverse;
            ax += dx * scale;
            ay += dy * scale;
            az += dz * scale;
        }
        __syncthreads();
    }
    if (i < n)
        force[i] = make_float3(ax, ay, az);
}
