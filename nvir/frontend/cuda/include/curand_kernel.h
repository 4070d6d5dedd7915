#pragma once
#include "nvir_cuda.h"
// A counter-based generator behind cuRAND's device names (Philox 4x32, ten rounds); the sequences
// are not those of the library's XORWOW.
struct curandStatePhilox4_32_10 { unsigned c[4], k[2], out[4], at; };
typedef curandStatePhilox4_32_10 curandStatePhilox4_32_10_t; typedef curandStatePhilox4_32_10 curandState; typedef curandStatePhilox4_32_10 curandState_t; typedef curandStatePhilox4_32_10 curandStateXORWOW_t;
__device__ inline void __nvir_philox(curandState *s) {
    unsigned a = s->c[0], b = s->c[1], c = s->c[2], d = s->c[3], k = s->k[0], l = s->k[1];
    for (int i = 0; i < 10; ++i) { unsigned h0 = __umulhi(0xD2511F53u, a), l0 = 0xD2511F53u * a, h1 = __umulhi(0xCD9E8D57u, c), l1 = 0xCD9E8D57u * c; a = h1 ^ b ^ k; b = l1; c = h0 ^ d ^ l; d = l0; k += 0x9E3779B9u; l += 0xBB67AE85u; }
    s->out[0] = a; s->out[1] = b; s->out[2] = c; s->out[3] = d; s->at = 0;
    if (++s->c[0] == 0) ++s->c[1];
}
__device__ inline void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset, curandState *s) { s->k[0] = (unsigned)seed; s->k[1] = (unsigned)(seed >> 32); s->c[0] = (unsigned)(offset / 4); s->c[1] = (unsigned)(offset >> 34); s->c[2] = (unsigned)sequence; s->c[3] = (unsigned)(sequence >> 32); __nvir_philox(s); s->at = (unsigned)(offset & 3); }
__device__ inline unsigned curand(curandState *s) { if (s->at > 3) __nvir_philox(s); unsigned k = s->at++; return k == 0 ? s->out[0] : k == 1 ? s->out[1] : k == 2 ? s->out[2] : s->out[3]; }
__device__ inline float curand_uniform(curandState *s) { return curand(s) * 2.3283064e-10f + 1.16415322e-10f; }
__device__ inline double curand_uniform_double(curandState *s) { return (double)curand(s) * 2.3283064365386963e-10 + 1.1641532182693481e-10; }
__device__ inline float curand_normal(curandState *s) { float u = curand_uniform(s), v = curand_uniform(s); return sqrtf(-2.0f * logf(u)) * cosf(6.28318531f * v); }
__device__ inline float2 curand_normal2(curandState *s) { float u = curand_uniform(s), v = curand_uniform(s), r = sqrtf(-2.0f * logf(u)); return make_float2(r * cosf(6.28318531f * v), r * sinf(6.28318531f * v)); }
