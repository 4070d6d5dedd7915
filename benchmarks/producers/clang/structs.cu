#include "cuda_min.h"
struct Vec3 { float x, y, z; };
struct Ray { Vec3 o, d; float tmin, tmax; };
struct Sphere { Vec3 c; float r; int id; };
__device__ Vec3 sub(Vec3 a, Vec3 b) { Vec3 r = {a.x - b.x, a.y - b.y, a.z - b.z}; return r; }
__device__ float dot(Vec3 a, Vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__device__ __noinline__ bool hit(Ray r, Sphere s, float* t) { Vec3 oc = sub(r.o, s.c); float a = dot(r.d, r.d), b = dot(oc, r.d), c = dot(oc, oc) - s.r * s.r; float disc = b*b - a*c; if (disc < 0) return false; float q = __builtin_sqrtf(disc); *t = (-b - q) / a; return *t > r.tmin && *t < r.tmax; }
__global__ void trace(Ray base, const Sphere* s, int n, float* depth, int* ids) { int i = gid(); Ray r = base; r.o.x += i; float best = r.tmax; int id = -1; for (int k = 0; k < n; k++) { float t; if (hit(r, s[k], &t) && t < best) { best = t; id = s[k].id; } } depth[i] = best; ids[i] = id; }
struct Big { int a[17]; double d; char c; };
__device__ __noinline__ Big make(int i) { Big b; for (int k = 0; k < 17; k++) b.a[k] = k * i; b.d = i * 0.5; b.c = (char)i; return b; }
__global__ void bigs(Big b, Big* out) { Big x = make(gid()); for (int k = 0; k < 17; k++) x.a[k] += b.a[k]; out[gid()] = x; }
