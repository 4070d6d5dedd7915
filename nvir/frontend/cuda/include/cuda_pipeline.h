#pragma once
#include "nvir_cuda.h"
__device__ inline void __pipeline_memcpy_async(void *to, const void *from, size_t n, size_t zfill = 0) {
    if (n == 16) __nvir_cp_async_cg_16((__nvir_shared *)to, (const __nvir_global *)from);
    else if (n == 8) __nvir_cp_async_ca_8((__nvir_shared *)to, (const __nvir_global *)from);
    else __nvir_cp_async_ca_4((__nvir_shared *)to, (const __nvir_global *)from);
}
__device__ inline void __pipeline_commit() { __nvir_cp_async_commit(); }
#define __pipeline_wait_prior(n) do { if ((n) == 0) __nvir_cp_async_wait_all(); else __nvir_cp_async_wait(n); } while (0)
