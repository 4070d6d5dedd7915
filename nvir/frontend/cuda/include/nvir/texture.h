// Fetches through texture and surface objects: the compiler's own, by the type that is fetched.
#pragma once
#define __NVIR_TEX(name, ...) template <class T> __NVIR_BUILTIN T name(cudaTextureObject_t, __VA_ARGS__);
__NVIR_TEX(tex1D, float) __NVIR_TEX(tex2D, float, float) __NVIR_TEX(tex3D, float, float, float) __NVIR_TEX(tex1Dfetch, int)
__NVIR_TEX(tex1DLayered, float, int) __NVIR_TEX(tex2DLayered, float, float, int) __NVIR_TEX(texCubemap, float, float, float)
__NVIR_TEX(tex1DLod, float, float) __NVIR_TEX(tex2DLod, float, float, float) __NVIR_TEX(tex3DLod, float, float, float, float)
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero, cudaBoundaryModeClamp, cudaBoundaryModeTrap };
template <class T> __NVIR_BUILTIN T tex2Dgather(cudaTextureObject_t, float, float, int);
template <class T> __device__ inline T tex2Dgather(cudaTextureObject_t t, float x, float y) { return tex2Dgather<T>(t, x, y, 0); }
__NVIR_TEX(tex1DGrad, float, float, float) __NVIR_TEX(tex2DGrad, float, float, float2, float2) __NVIR_TEX(tex3DGrad, float, float, float, float4, float4)
#define __NVIR_SURF_BY(name, ...) template <class T> __NVIR_BUILTIN T surf##name##read(cudaSurfaceObject_t, __VA_ARGS__); template <class T> __NVIR_BUILTIN void surf##name##write(T, cudaSurfaceObject_t, __VA_ARGS__);
#define __NVIR_SURF(name, ...) __NVIR_SURF_BY(name, __VA_ARGS__) __NVIR_SURF_BY(name, __VA_ARGS__, cudaSurfaceBoundaryMode)
__NVIR_SURF(1D, int) __NVIR_SURF(2D, int, int) __NVIR_SURF(3D, int, int, int) __NVIR_SURF(1DLayered, int, int) __NVIR_SURF(2DLayered, int, int, int)
template <class T> __device__ inline void surf1Dread(T *to, cudaSurfaceObject_t s, int x) { *to = surf1Dread<T>(s, x); }
template <class T> __device__ inline void surf2Dread(T *to, cudaSurfaceObject_t s, int x, int y) { *to = surf2Dread<T>(s, x, y); }
template <class T> __device__ inline void surf3Dread(T *to, cudaSurfaceObject_t s, int x, int y, int z) { *to = surf3Dread<T>(s, x, y, z); }
