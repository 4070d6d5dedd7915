// Thrust's algorithms in device code run in sequence. A dead call of the parallel one, there so that its
// kernels are made, calls host functions: nvcc warns, clang refuses. In a lambda that nobody calls it does not.
#pragma once
#include_next <thrust/system/cuda/detail/cdp_dispatch.h>
#ifdef __CUDA_ARCH__
struct nvir_anything { template <class... T> __host__ __device__ nvir_anything(T &&...); };
#undef THRUST_CDP_DISPATCH
#define THRUST_CDP_DISPATCH(parallel, sequential)                                                                 \
    [[maybe_unused]] auto nvir_parallel = [&]() -> nvir_anything { NV_IF_TARGET(NV_ANY_TARGET, parallel) }; \
    NV_IF_TARGET(NV_IS_HOST, parallel, sequential)
#endif
