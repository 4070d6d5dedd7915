#pragma once
#include "nvir_cuda.h"
// Arithmetic of the vector types by element, with the names of the samples' header.
#define __NVIR_HM static __host__ __device__ inline
__NVIR_HM float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__NVIR_HM float2 operator+(float2 a, float b) { return make_float2(a.x + b, a.y + b); }
__NVIR_HM float2 operator+(float a, float2 b) { return make_float2(a + b.x, a + b.y); }
__NVIR_HM void operator+=(float2 &a, float2 b) { a.x += b.x; a.y += b.y; }
__NVIR_HM void operator+=(float2 &a, float b) { a.x += b; a.y += b; }
__NVIR_HM float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__NVIR_HM float2 operator-(float2 a, float b) { return make_float2(a.x - b, a.y - b); }
__NVIR_HM float2 operator-(float a, float2 b) { return make_float2(a - b.x, a - b.y); }
__NVIR_HM void operator-=(float2 &a, float2 b) { a.x -= b.x; a.y -= b.y; }
__NVIR_HM void operator-=(float2 &a, float b) { a.x -= b; a.y -= b; }
__NVIR_HM float2 operator*(float2 a, float2 b) { return make_float2(a.x * b.x, a.y * b.y); }
__NVIR_HM float2 operator*(float2 a, float b) { return make_float2(a.x * b, a.y * b); }
__NVIR_HM float2 operator*(float a, float2 b) { return make_float2(a * b.x, a * b.y); }
__NVIR_HM void operator*=(float2 &a, float2 b) { a.x *= b.x; a.y *= b.y; }
__NVIR_HM void operator*=(float2 &a, float b) { a.x *= b; a.y *= b; }
__NVIR_HM float2 operator/(float2 a, float2 b) { return make_float2(a.x / b.x, a.y / b.y); }
__NVIR_HM float2 operator/(float2 a, float b) { return make_float2(a.x / b, a.y / b); }
__NVIR_HM float2 operator/(float a, float2 b) { return make_float2(a / b.x, a / b.y); }
__NVIR_HM void operator/=(float2 &a, float2 b) { a.x /= b.x; a.y /= b.y; }
__NVIR_HM void operator/=(float2 &a, float b) { a.x /= b; a.y /= b; }
__NVIR_HM float2 operator-(float2 a) { return make_float2(-a.x, -a.y); }
__NVIR_HM float2 make_float2(float s) { return make_float2(s, s); }
__NVIR_HM float dot(float2 a, float2 b) { return a.x * b.x + a.y * b.y; }
__NVIR_HM float2 fminf(float2 a, float2 b) { return make_float2(fminf(a.x, b.x), fminf(a.y, b.y)); }
__NVIR_HM float2 fmaxf(float2 a, float2 b) { return make_float2(fmaxf(a.x, b.x), fmaxf(a.y, b.y)); }
__NVIR_HM float length(float2 v) { return sqrtf(dot(v, v)); }
__NVIR_HM float2 normalize(float2 v) { float s = rsqrtf(dot(v, v)); return v * s; }
__NVIR_HM float2 lerp(float2 a, float2 b, float t) { return a + t * (b - a); }
__NVIR_HM float2 floorf(float2 v) { return make_float2(floorf(v.x), floorf(v.y)); }
__NVIR_HM float2 fabs(float2 v) { return make_float2(fabsf(v.x), fabsf(v.y)); }
__NVIR_HM float2 reflect(float2 i, float2 n) { return i - 2.0f * n * dot(n, i); }
__NVIR_HM float2 clamp(float2 v, float a, float b) { return make_float2(fmaxf(a, fminf(v.x, b)), fmaxf(a, fminf(v.y, b))); }
__NVIR_HM float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
__NVIR_HM float3 operator+(float3 a, float b) { return make_float3(a.x + b, a.y + b, a.z + b); }
__NVIR_HM float3 operator+(float a, float3 b) { return make_float3(a + b.x, a + b.y, a + b.z); }
__NVIR_HM void operator+=(float3 &a, float3 b) { a.x += b.x; a.y += b.y; a.z += b.z; }
__NVIR_HM void operator+=(float3 &a, float b) { a.x += b; a.y += b; a.z += b; }
__NVIR_HM float3 operator-(float3 a, float3 b) { return make_float3(a.x - b.x, a.y - b.y, a.z - b.z); }
__NVIR_HM float3 operator-(float3 a, float b) { return make_float3(a.x - b, a.y - b, a.z - b); }
__NVIR_HM float3 operator-(float a, float3 b) { return make_float3(a - b.x, a - b.y, a - b.z); }
__NVIR_HM void operator-=(float3 &a, float3 b) { a.x -= b.x; a.y -= b.y; a.z -= b.z; }
__NVIR_HM void operator-=(float3 &a, float b) { a.x -= b; a.y -= b; a.z -= b; }
__NVIR_HM float3 operator*(float3 a, float3 b) { return make_float3(a.x * b.x, a.y * b.y, a.z * b.z); }
__NVIR_HM float3 operator*(float3 a, float b) { return make_float3(a.x * b, a.y * b, a.z * b); }
__NVIR_HM float3 operator*(float a, float3 b) { return make_float3(a * b.x, a * b.y, a * b.z); }
__NVIR_HM void operator*=(float3 &a, float3 b) { a.x *= b.x; a.y *= b.y; a.z *= b.z; }
__NVIR_HM void operator*=(float3 &a, float b) { a.x *= b; a.y *= b; a.z *= b; }
__NVIR_HM float3 operator/(float3 a, float3 b) { return make_float3(a.x / b.x, a.y / b.y, a.z / b.z); }
__NVIR_HM float3 operator/(float3 a, float b) { return make_float3(a.x / b, a.y / b, a.z / b); }
__NVIR_HM float3 operator/(float a, float3 b) { return make_float3(a / b.x, a / b.y, a / b.z); }
__NVIR_HM void operator/=(float3 &a, float3 b) { a.x /= b.x; a.y /= b.y; a.z /= b.z; }
__NVIR_HM void operator/=(float3 &a, float b) { a.x /= b; a.y /= b; a.z /= b; }
__NVIR_HM float3 operator-(float3 a) { return make_float3(-a.x, -a.y, -a.z); }
__NVIR_HM float3 make_float3(float s) { return make_float3(s, s, s); }
__NVIR_HM float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__NVIR_HM float3 fminf(float3 a, float3 b) { return make_float3(fminf(a.x, b.x), fminf(a.y, b.y), fminf(a.z, b.z)); }
__NVIR_HM float3 fmaxf(float3 a, float3 b) { return make_float3(fmaxf(a.x, b.x), fmaxf(a.y, b.y), fmaxf(a.z, b.z)); }
__NVIR_HM float length(float3 v) { return sqrtf(dot(v, v)); }
__NVIR_HM float3 normalize(float3 v) { float s = rsqrtf(dot(v, v)); return v * s; }
__NVIR_HM float3 lerp(float3 a, float3 b, float t) { return a + t * (b - a); }
__NVIR_HM float3 floorf(float3 v) { return make_float3(floorf(v.x), floorf(v.y), floorf(v.z)); }
__NVIR_HM float3 fabs(float3 v) { return make_float3(fabsf(v.x), fabsf(v.y), fabsf(v.z)); }
__NVIR_HM float3 reflect(float3 i, float3 n) { return i - 2.0f * n * dot(n, i); }
__NVIR_HM float3 clamp(float3 v, float a, float b) { return make_float3(fmaxf(a, fminf(v.x, b)), fmaxf(a, fminf(v.y, b)), fmaxf(a, fminf(v.z, b))); }
__NVIR_HM float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
__NVIR_HM float4 operator+(float4 a, float b) { return make_float4(a.x + b, a.y + b, a.z + b, a.w + b); }
__NVIR_HM float4 operator+(float a, float4 b) { return make_float4(a + b.x, a + b.y, a + b.z, a + b.w); }
__NVIR_HM void operator+=(float4 &a, float4 b) { a.x += b.x; a.y += b.y; a.z += b.z; a.w += b.w; }
__NVIR_HM void operator+=(float4 &a, float b) { a.x += b; a.y += b; a.z += b; a.w += b; }
__NVIR_HM float4 operator-(float4 a, float4 b) { return make_float4(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w); }
__NVIR_HM float4 operator-(float4 a, float b) { return make_float4(a.x - b, a.y - b, a.z - b, a.w - b); }
__NVIR_HM float4 operator-(float a, float4 b) { return make_float4(a - b.x, a - b.y, a - b.z, a - b.w); }
__NVIR_HM void operator-=(float4 &a, float4 b) { a.x -= b.x; a.y -= b.y; a.z -= b.z; a.w -= b.w; }
__NVIR_HM void operator-=(float4 &a, float b) { a.x -= b; a.y -= b; a.z -= b; a.w -= b; }
__NVIR_HM float4 operator*(float4 a, float4 b) { return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }
__NVIR_HM float4 operator*(float4 a, float b) { return make_float4(a.x * b, a.y * b, a.z * b, a.w * b); }
__NVIR_HM float4 operator*(float a, float4 b) { return make_float4(a * b.x, a * b.y, a * b.z, a * b.w); }
__NVIR_HM void operator*=(float4 &a, float4 b) { a.x *= b.x; a.y *= b.y; a.z *= b.z; a.w *= b.w; }
__NVIR_HM void operator*=(float4 &a, float b) { a.x *= b; a.y *= b; a.z *= b; a.w *= b; }
__NVIR_HM float4 operator/(float4 a, float4 b) { return make_float4(a.x / b.x, a.y / b.y, a.z / b.z, a.w / b.w); }
__NVIR_HM float4 operator/(float4 a, float b) { return make_float4(a.x / b, a.y / b, a.z / b, a.w / b); }
__NVIR_HM float4 operator/(float a, float4 b) { return make_float4(a / b.x, a / b.y, a / b.z, a / b.w); }
__NVIR_HM void operator/=(float4 &a, float4 b) { a.x /= b.x; a.y /= b.y; a.z /= b.z; a.w /= b.w; }
__NVIR_HM void operator/=(float4 &a, float b) { a.x /= b; a.y /= b; a.z /= b; a.w /= b; }
__NVIR_HM float4 operator-(float4 a) { return make_float4(-a.x, -a.y, -a.z, -a.w); }
__NVIR_HM float4 make_float4(float s) { return make_float4(s, s, s, s); }
__NVIR_HM float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
__NVIR_HM float4 fminf(float4 a, float4 b) { return make_float4(fminf(a.x, b.x), fminf(a.y, b.y), fminf(a.z, b.z), fminf(a.w, b.w)); }
__NVIR_HM float4 fmaxf(float4 a, float4 b) { return make_float4(fmaxf(a.x, b.x), fmaxf(a.y, b.y), fmaxf(a.z, b.z), fmaxf(a.w, b.w)); }
__NVIR_HM float length(float4 v) { return sqrtf(dot(v, v)); }
__NVIR_HM float4 normalize(float4 v) { float s = rsqrtf(dot(v, v)); return v * s; }
__NVIR_HM float4 lerp(float4 a, float4 b, float t) { return a + t * (b - a); }
__NVIR_HM float4 floorf(float4 v) { return make_float4(floorf(v.x), floorf(v.y), floorf(v.z), floorf(v.w)); }
__NVIR_HM float4 fabs(float4 v) { return make_float4(fabsf(v.x), fabsf(v.y), fabsf(v.z), fabsf(v.w)); }
__NVIR_HM float4 reflect(float4 i, float4 n) { return i - 2.0f * n * dot(n, i); }
__NVIR_HM float4 clamp(float4 v, float a, float b) { return make_float4(fmaxf(a, fminf(v.x, b)), fmaxf(a, fminf(v.y, b)), fmaxf(a, fminf(v.z, b)), fmaxf(a, fminf(v.w, b))); }
__NVIR_HM int2 operator+(int2 a, int2 b) { return make_int2(a.x + b.x, a.y + b.y); }
__NVIR_HM int2 operator+(int2 a, int b) { return make_int2(a.x + b, a.y + b); }
__NVIR_HM int2 operator+(int a, int2 b) { return make_int2(a + b.x, a + b.y); }
__NVIR_HM void operator+=(int2 &a, int2 b) { a.x += b.x; a.y += b.y; }
__NVIR_HM void operator+=(int2 &a, int b) { a.x += b; a.y += b; }
__NVIR_HM int2 operator-(int2 a, int2 b) { return make_int2(a.x - b.x, a.y - b.y); }
__NVIR_HM int2 operator-(int2 a, int b) { return make_int2(a.x - b, a.y - b); }
__NVIR_HM int2 operator-(int a, int2 b) { return make_int2(a - b.x, a - b.y); }
__NVIR_HM void operator-=(int2 &a, int2 b) { a.x -= b.x; a.y -= b.y; }
__NVIR_HM void operator-=(int2 &a, int b) { a.x -= b; a.y -= b; }
__NVIR_HM int2 operator*(int2 a, int2 b) { return make_int2(a.x * b.x, a.y * b.y); }
__NVIR_HM int2 operator*(int2 a, int b) { return make_int2(a.x * b, a.y * b); }
__NVIR_HM int2 operator*(int a, int2 b) { return make_int2(a * b.x, a * b.y); }
__NVIR_HM void operator*=(int2 &a, int2 b) { a.x *= b.x; a.y *= b.y; }
__NVIR_HM void operator*=(int2 &a, int b) { a.x *= b; a.y *= b; }
__NVIR_HM int2 operator-(int2 a) { return make_int2(-a.x, -a.y); }
__NVIR_HM int2 make_int2(int s) { return make_int2(s, s); }
__NVIR_HM int dot(int2 a, int2 b) { return a.x * b.x + a.y * b.y; }
__NVIR_HM int2 min(int2 a, int2 b) { return make_int2(min(a.x, b.x), min(a.y, b.y)); }
__NVIR_HM int2 max(int2 a, int2 b) { return make_int2(max(a.x, b.x), max(a.y, b.y)); }
__NVIR_HM int3 operator+(int3 a, int3 b) { return make_int3(a.x + b.x, a.y + b.y, a.z + b.z); }
__NVIR_HM int3 operator+(int3 a, int b) { return make_int3(a.x + b, a.y + b, a.z + b); }
__NVIR_HM int3 operator+(int a, int3 b) { return make_int3(a + b.x, a + b.y, a + b.z); }
__NVIR_HM void operator+=(int3 &a, int3 b) { a.x += b.x; a.y += b.y; a.z += b.z; }
__NVIR_HM void operator+=(int3 &a, int b) { a.x += b; a.y += b; a.z += b; }
__NVIR_HM int3 operator-(int3 a, int3 b) { return make_int3(a.x - b.x, a.y - b.y, a.z - b.z); }
__NVIR_HM int3 operator-(int3 a, int b) { return make_int3(a.x - b, a.y - b, a.z - b); }
__NVIR_HM int3 operator-(int a, int3 b) { return make_int3(a - b.x, a - b.y, a - b.z); }
__NVIR_HM void operator-=(int3 &a, int3 b) { a.x -= b.x; a.y -= b.y; a.z -= b.z; }
__NVIR_HM void operator-=(int3 &a, int b) { a.x -= b; a.y -= b; a.z -= b; }
__NVIR_HM int3 operator*(int3 a, int3 b) { return make_int3(a.x * b.x, a.y * b.y, a.z * b.z); }
__NVIR_HM int3 operator*(int3 a, int b) { return make_int3(a.x * b, a.y * b, a.z * b); }
__NVIR_HM int3 operator*(int a, int3 b) { return make_int3(a * b.x, a * b.y, a * b.z); }
__NVIR_HM void operator*=(int3 &a, int3 b) { a.x *= b.x; a.y *= b.y; a.z *= b.z; }
__NVIR_HM void operator*=(int3 &a, int b) { a.x *= b; a.y *= b; a.z *= b; }
__NVIR_HM int3 operator-(int3 a) { return make_int3(-a.x, -a.y, -a.z); }
__NVIR_HM int3 make_int3(int s) { return make_int3(s, s, s); }
__NVIR_HM int dot(int3 a, int3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__NVIR_HM int3 min(int3 a, int3 b) { return make_int3(min(a.x, b.x), min(a.y, b.y), min(a.z, b.z)); }
__NVIR_HM int3 max(int3 a, int3 b) { return make_int3(max(a.x, b.x), max(a.y, b.y), max(a.z, b.z)); }
__NVIR_HM int4 operator+(int4 a, int4 b) { return make_int4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
__NVIR_HM int4 operator+(int4 a, int b) { return make_int4(a.x + b, a.y + b, a.z + b, a.w + b); }
__NVIR_HM int4 operator+(int a, int4 b) { return make_int4(a + b.x, a + b.y, a + b.z, a + b.w); }
__NVIR_HM void operator+=(int4 &a, int4 b) { a.x += b.x; a.y += b.y; a.z += b.z; a.w += b.w; }
__NVIR_HM void operator+=(int4 &a, int b) { a.x += b; a.y += b; a.z += b; a.w += b; }
__NVIR_HM int4 operator-(int4 a, int4 b) { return make_int4(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w); }
__NVIR_HM int4 operator-(int4 a, int b) { return make_int4(a.x - b, a.y - b, a.z - b, a.w - b); }
__NVIR_HM int4 operator-(int a, int4 b) { return make_int4(a - b.x, a - b.y, a - b.z, a - b.w); }
__NVIR_HM void operator-=(int4 &a, int4 b) { a.x -= b.x; a.y -= b.y; a.z -= b.z; a.w -= b.w; }
__NVIR_HM void operator-=(int4 &a, int b) { a.x -= b; a.y -= b; a.z -= b; a.w -= b; }
__NVIR_HM int4 operator*(int4 a, int4 b) { return make_int4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }
__NVIR_HM int4 operator*(int4 a, int b) { return make_int4(a.x * b, a.y * b, a.z * b, a.w * b); }
__NVIR_HM int4 operator*(int a, int4 b) { return make_int4(a * b.x, a * b.y, a * b.z, a * b.w); }
__NVIR_HM void operator*=(int4 &a, int4 b) { a.x *= b.x; a.y *= b.y; a.z *= b.z; a.w *= b.w; }
__NVIR_HM void operator*=(int4 &a, int b) { a.x *= b; a.y *= b; a.z *= b; a.w *= b; }
__NVIR_HM int4 operator-(int4 a) { return make_int4(-a.x, -a.y, -a.z, -a.w); }
__NVIR_HM int4 make_int4(int s) { return make_int4(s, s, s, s); }
__NVIR_HM int dot(int4 a, int4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
__NVIR_HM int4 min(int4 a, int4 b) { return make_int4(min(a.x, b.x), min(a.y, b.y), min(a.z, b.z), min(a.w, b.w)); }
__NVIR_HM int4 max(int4 a, int4 b) { return make_int4(max(a.x, b.x), max(a.y, b.y), max(a.z, b.z), max(a.w, b.w)); }
__NVIR_HM uint2 operator+(uint2 a, uint2 b) { return make_uint2(a.x + b.x, a.y + b.y); }
__NVIR_HM uint2 operator+(uint2 a, unsigned int b) { return make_uint2(a.x + b, a.y + b); }
__NVIR_HM uint2 operator+(unsigned int a, uint2 b) { return make_uint2(a + b.x, a + b.y); }
__NVIR_HM void operator+=(uint2 &a, uint2 b) { a.x += b.x; a.y += b.y; }
__NVIR_HM void operator+=(uint2 &a, unsigned int b) { a.x += b; a.y += b; }
__NVIR_HM uint2 operator-(uint2 a, uint2 b) { return make_uint2(a.x - b.x, a.y - b.y); }
__NVIR_HM uint2 operator-(uint2 a, unsigned int b) { return make_uint2(a.x - b, a.y - b); }
__NVIR_HM uint2 operator-(unsigned int a, uint2 b) { return make_uint2(a - b.x, a - b.y); }
__NVIR_HM void operator-=(uint2 &a, uint2 b) { a.x -= b.x; a.y -= b.y; }
__NVIR_HM void operator-=(uint2 &a, unsigned int b) { a.x -= b; a.y -= b; }
__NVIR_HM uint2 operator*(uint2 a, uint2 b) { return make_uint2(a.x * b.x, a.y * b.y); }
__NVIR_HM uint2 operator*(uint2 a, unsigned int b) { return make_uint2(a.x * b, a.y * b); }
__NVIR_HM uint2 operator*(unsigned int a, uint2 b) { return make_uint2(a * b.x, a * b.y); }
__NVIR_HM void operator*=(uint2 &a, uint2 b) { a.x *= b.x; a.y *= b.y; }
__NVIR_HM void operator*=(uint2 &a, unsigned int b) { a.x *= b; a.y *= b; }
__NVIR_HM uint2 make_uint2(unsigned int s) { return make_uint2(s, s); }
__NVIR_HM unsigned int dot(uint2 a, uint2 b) { return a.x * b.x + a.y * b.y; }
__NVIR_HM uint2 min(uint2 a, uint2 b) { return make_uint2(min(a.x, b.x), min(a.y, b.y)); }
__NVIR_HM uint2 max(uint2 a, uint2 b) { return make_uint2(max(a.x, b.x), max(a.y, b.y)); }
__NVIR_HM uint3 operator+(uint3 a, uint3 b) { return make_uint3(a.x + b.x, a.y + b.y, a.z + b.z); }
__NVIR_HM uint3 operator+(uint3 a, unsigned int b) { return make_uint3(a.x + b, a.y + b, a.z + b); }
__NVIR_HM uint3 operator+(unsigned int a, uint3 b) { return make_uint3(a + b.x, a + b.y, a + b.z); }
__NVIR_HM void operator+=(uint3 &a, uint3 b) { a.x += b.x; a.y += b.y; a.z += b.z; }
__NVIR_HM void operator+=(uint3 &a, unsigned int b) { a.x += b; a.y += b; a.z += b; }
__NVIR_HM uint3 operator-(uint3 a, uint3 b) { return make_uint3(a.x - b.x, a.y - b.y, a.z - b.z); }
__NVIR_HM uint3 operator-(uint3 a, unsigned int b) { return make_uint3(a.x - b, a.y - b, a.z - b); }
__NVIR_HM uint3 operator-(unsigned int a, uint3 b) { return make_uint3(a - b.x, a - b.y, a - b.z); }
__NVIR_HM void operator-=(uint3 &a, uint3 b) { a.x -= b.x; a.y -= b.y; a.z -= b.z; }
__NVIR_HM void operator-=(uint3 &a, unsigned int b) { a.x -= b; a.y -= b; a.z -= b; }
__NVIR_HM uint3 operator*(uint3 a, uint3 b) { return make_uint3(a.x * b.x, a.y * b.y, a.z * b.z); }
__NVIR_HM uint3 operator*(uint3 a, unsigned int b) { return make_uint3(a.x * b, a.y * b, a.z * b); }
__NVIR_HM uint3 operator*(unsigned int a, uint3 b) { return make_uint3(a * b.x, a * b.y, a * b.z); }
__NVIR_HM void operator*=(uint3 &a, uint3 b) { a.x *= b.x; a.y *= b.y; a.z *= b.z; }
__NVIR_HM void operator*=(uint3 &a, unsigned int b) { a.x *= b; a.y *= b; a.z *= b; }
__NVIR_HM uint3 make_uint3(unsigned int s) { return make_uint3(s, s, s); }
__NVIR_HM unsigned int dot(uint3 a, uint3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__NVIR_HM uint3 min(uint3 a, uint3 b) { return make_uint3(min(a.x, b.x), min(a.y, b.y), min(a.z, b.z)); }
__NVIR_HM uint3 max(uint3 a, uint3 b) { return make_uint3(max(a.x, b.x), max(a.y, b.y), max(a.z, b.z)); }
__NVIR_HM uint4 operator+(uint4 a, uint4 b) { return make_uint4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
__NVIR_HM uint4 operator+(uint4 a, unsigned int b) { return make_uint4(a.x + b, a.y + b, a.z + b, a.w + b); }
__NVIR_HM uint4 operator+(unsigned int a, uint4 b) { return make_uint4(a + b.x, a + b.y, a + b.z, a + b.w); }
__NVIR_HM void operator+=(uint4 &a, uint4 b) { a.x += b.x; a.y += b.y; a.z += b.z; a.w += b.w; }
__NVIR_HM void operator+=(uint4 &a, unsigned int b) { a.x += b; a.y += b; a.z += b; a.w += b; }
__NVIR_HM uint4 operator-(uint4 a, uint4 b) { return make_uint4(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w); }
__NVIR_HM uint4 operator-(uint4 a, unsigned int b) { return make_uint4(a.x - b, a.y - b, a.z - b, a.w - b); }
__NVIR_HM uint4 operator-(unsigned int a, uint4 b) { return make_uint4(a - b.x, a - b.y, a - b.z, a - b.w); }
__NVIR_HM void operator-=(uint4 &a, uint4 b) { a.x -= b.x; a.y -= b.y; a.z -= b.z; a.w -= b.w; }
__NVIR_HM void operator-=(uint4 &a, unsigned int b) { a.x -= b; a.y -= b; a.z -= b; a.w -= b; }
__NVIR_HM uint4 operator*(uint4 a, uint4 b) { return make_uint4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }
__NVIR_HM uint4 operator*(uint4 a, unsigned int b) { return make_uint4(a.x * b, a.y * b, a.z * b, a.w * b); }
__NVIR_HM uint4 operator*(unsigned int a, uint4 b) { return make_uint4(a * b.x, a * b.y, a * b.z, a * b.w); }
__NVIR_HM void operator*=(uint4 &a, uint4 b) { a.x *= b.x; a.y *= b.y; a.z *= b.z; a.w *= b.w; }
__NVIR_HM void operator*=(uint4 &a, unsigned int b) { a.x *= b; a.y *= b; a.z *= b; a.w *= b; }
__NVIR_HM uint4 make_uint4(unsigned int s) { return make_uint4(s, s, s, s); }
__NVIR_HM unsigned int dot(uint4 a, uint4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }
__NVIR_HM uint4 min(uint4 a, uint4 b) { return make_uint4(min(a.x, b.x), min(a.y, b.y), min(a.z, b.z), min(a.w, b.w)); }
__NVIR_HM uint4 max(uint4 a, uint4 b) { return make_uint4(max(a.x, b.x), max(a.y, b.y), max(a.z, b.z), max(a.w, b.w)); }
__NVIR_HM float clamp(float v, float a, float b) { return fmaxf(a, fminf(v, b)); }
__NVIR_HM int clamp(int v, int a, int b) { return max(a, min(v, b)); }
__NVIR_HM unsigned clamp(unsigned v, unsigned a, unsigned b) { return max(a, min(v, b)); }
__NVIR_HM float lerp(float a, float b, float t) { return a + t * (b - a); }
__NVIR_HM float3 cross(float3 a, float3 b) { return make_float3(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x); }
__NVIR_HM float3 make_float3(float4 v) { return make_float3(v.x, v.y, v.z); }
__NVIR_HM float3 make_float3(float2 a, float z) { return make_float3(a.x, a.y, z); }
__NVIR_HM float4 make_float4(float3 v, float w) { return make_float4(v.x, v.y, v.z, w); }
__NVIR_HM float2 make_float2(float3 v) { return make_float2(v.x, v.y); }
