#include <helper_cuda.h>
#include <cooperative_groups.h>
#include <math.h>
namespace cg = cooperative_groups;
__constant__ float softeningSquared;
__constant__ double softeningSquared_fp64;
template <class T> struct SharedMemory {
    __device__ inline operator T *() { extern __shared__ int __smem[]; return (T *)__smem; }
};
template <typename T> struct vec3 { typedef float Type; };
template <> struct vec3<float> { typedef float3 Type; };
template <> struct vec3<double> { typedef double3 Type; };
template <typename T> struct vec4 { typedef float Type; };
template <> struct vec4<float> { typedef float4 Type; };
template <> struct vec4<double> { typedef double4 Type; };
template <typename T> __device__ T rsqrt_T(T x) { return rsqrt(x); }
template <> __device__ float rsqrt_T<float>(float x) { return rsqrtf(x); }
template <typename T> __device__ T getSofteningSquared() { return softeningSquared; }
template <> __device__ double getSofteningSquared<double>() { return softeningSquared_fp64; }
template <typename T> __device__ typename vec3<T>::Type bodyBodyInteraction(typename vec3<T>::Type ai, typename vec4<T>::Type bi, typename vec4<T>::Type bj) {
    typename vec3<T>::Type r;
    r.x = bj.x - bi.x; r.y = bj.y - bi.y; r.z = bj.z - bi.z;
    T distSqr = r.x * r.x + r.y * r.y + r.z * r.z;
    distSqr += getSofteningSquared<T>();
    T invDist = rsqrt_T(distSqr);
    T invDistCube = invDist * invDist * invDist;
    T s = bj.w * invDistCube;
    ai.x += r.x * s; ai.y += r.y * s; ai.z += r.z * s;
    return ai;
}
template <typename T> __device__ typename vec3<T>::Type computeBodyAccel(typename vec4<T>::Type bodyPos, typename vec4<T>::Type *positions, int numTiles, cg::thread_block cta) {
    typename vec4<T>::Type *sharedPos = SharedMemory<typename vec4<T>::Type>();
    typename vec3<T>::Type acc = {0.0f, 0.0f, 0.0f};
    for (int tile = 0; tile < numTiles; tile++) {
        sharedPos[threadIdx.x] = positions[tile * blockDim.x + threadIdx.x];
        cg::sync(cta);
#pragma unroll 128
        for (unsigned int counter = 0; counter < blockDim.x; counter++) acc = bodyBodyInteraction<T>(acc, bodyPos, sharedPos[counter]);
        cg::sync(cta);
    }
    return acc;
}
template <typename T> __global__ void integrateBodies(typename vec4<T>::Type *__restrict__ newPos, typename vec4<T>::Type *__restrict__ oldPos, typename vec4<T>::Type *vel,
                                                      unsigned int deviceOffset, unsigned int deviceNumBodies, float deltaTime, float damping, int numTiles) {
    cg::thread_block cta = cg::this_thread_block();
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= deviceNumBodies) { return; }
    typename vec4<T>::Type position = oldPos[deviceOffset + index];
    typename vec3<T>::Type accel = computeBodyAccel<T>(position, oldPos, numTiles, cta);
    typename vec4<T>::Type velocity = vel[deviceOffset + index];
    velocity.x += accel.x * deltaTime; velocity.y += accel.y * deltaTime; velocity.z += accel.z * deltaTime;
    velocity.x *= damping; velocity.y *= damping; velocity.z *= damping;
    position.x += velocity.x * deltaTime; position.y += velocity.y * deltaTime; position.z += velocity.z * deltaTime;
    newPos[deviceOffset + index] = position;
    vel[deviceOffset + index] = velocity;
}
template <typename T> void integrateNbodySystem(T *a, T *b, T *c, int blockSize) {
    integrateBodies<T><<<4, blockSize, blockSize * 4 * sizeof(T)>>>((typename vec4<T>::Type *)a, (typename vec4<T>::Type *)b, (typename vec4<T>::Type *)c, 0, 128, 0.1f, 0.9f, 4);
}
template void integrateNbodySystem<float>(float *, float *, float *, int);
template void integrateNbodySystem<double>(double *, double *, double *, int);
