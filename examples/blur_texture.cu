// Box blur through a texture object: (2 * radius + 1)^2 fetches a pixel, the
// texture unit clamps at the borders.

extern "C" __global__ void blur_texture(cudaTextureObject_t image, float *__restrict__ out,
                                        int width, int height, int radius) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
    for (int dy = -radius; dy <= radius; ++dy)
        for (int dx = -radius; dx <= radius; ++dx)
            sum += tex2D<float>(image, x + dx + 0.5f, y + dy + 0.5f);
    const int taps = 2 * radius + 1;
    out[y * width + x] = sum / (taps * taps);
}

// The same with a radius known when compiled: 25 fetches in a row.
extern "C" __global__ void blur_texture5(cudaTextureObject_t image, float *__restrict__ out,
                                         int width, int height) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
#pragma unroll 1
    for (int dy = -2; dy <= 2; ++dy)
#pragma unroll
        for (int dx = -2; dx <= 2; ++dx)
            sum += tex2D<float>(image, x + dx + 0.5f, y + dy + 0.5f);
    out[y * width + x] = sum * (1.0f / 25.0f);
}
