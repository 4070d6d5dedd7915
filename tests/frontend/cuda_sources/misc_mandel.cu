#include <cuComplex.h>
#include <helper_math.h>
typedef unsigned char uchar;
struct Camera { float3 origin, right, up; float zoom; };
__device__ inline uchar4 palette(int it, int limit) {
    if (it >= limit) return make_uchar4(0, 0, 0, 255);
    float t = it / (float)limit;
    float3 c = lerp(make_float3(0.1f, 0.2f, 0.5f), make_float3(1.0f, 0.9f, 0.4f), t);
    return make_uchar4((uchar)(255.0f * c.x), (uchar)(255.0f * c.y), (uchar)(255.0f * c.z), 255);
}
__global__ void mandel(uchar4 *image, Camera cam, int w, int h, int limit) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h) return;
    float3 p = cam.origin + cam.right * ((x - 0.5f * w) * cam.zoom) + ((y - 0.5f * h) * cam.zoom) * cam.up;
    cuFloatComplex z = make_cuFloatComplex(0, 0), c = make_cuFloatComplex(p.x, p.y);
    int it = 0;
    while (it < limit && z.x * z.x + z.y * z.y < 4.0f) { z = cuCaddf(cuCmulf(z, z), c); ++it; }
    image[y * w + x] = palette(it, limit);
}
