// Classes with private members, a ray tracer in a few lines, defaulted constructors.
#include <cuda_runtime.h>
class Image { public: __device__ Image(float *p, int w) : p_(p), w_(w) {} __device__ float at(int x, int y) const { return p_[y * w_ + x]; } __device__ void set(int x, int y, float v) { p_[y * w_ + x] = v; } static __device__ int clampi(int v, int hi) { return v < 0 ? 0 : v > hi ? hi : v; } private: float *p_; int w_; };
struct Ray { float3 o, d; __device__ float3 at(float t) const { return make_float3(o.x + t * d.x, o.y + t * d.y, o.z + t * d.z); } };
struct Hit { float t = 1e30f; int id = -1; __device__ bool valid() const { return id >= 0; } };
struct Sphere { float3 c; float r; __device__ bool hit(const Ray &ray, Hit &h, int id) const { float ox = ray.o.x - c.x, oy = ray.o.y - c.y, oz = ray.o.z - c.z; float b = ox * ray.d.x + oy * ray.d.y + oz * ray.d.z, q = ox * ox + oy * oy + oz * oz - r * r, disc = b * b - q; if (disc < 0) return false; float t = -b - sqrtf(disc); if (t > 0 && t < h.t) { h.t = t; h.id = id; return true; } return false; } };
__constant__ Sphere spheres[4];
__global__ void trace(Image img, int w, int h, int n) { int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; if (x >= w || y >= h) return; Ray r{{0, 0, -5}, {(x - w / 2) / (float)w, (y - h / 2) / (float)h, 1}}; Hit best; for (int i = 0; i < n; i++) spheres[i].hit(r, best, i); img.set(x, y, best.valid() ? best.t + img.at(Image::clampi(x - 1, w), y) * 0 : -1.0f); float3 p = r.at(best.t); if (p.x > 1e29f) img.set(0, 0, p.x); }
template <typename T, typename U> struct Pair { T a; U b; __device__ Pair() = default; __device__ Pair(T x, U y) : a(x), b(y) {} __device__ bool operator==(const Pair &o) const { return a == o.a && b == o.b; } };
__global__ void pairs(Pair<int, float> *p, int n) { for (int i = threadIdx.x; i < n; i += blockDim.x) { Pair<int, float> q(i, 2.0f * i); if (!(p[i] == q)) p[i] = q; else p[i] = Pair<int, float>(-1, 0.f); } }
