#pragma once
#include "nvir_cuda.h"
struct cuFloatComplex_; typedef float2 cuFloatComplex; typedef float2 cuComplex; typedef double2 cuDoubleComplex;
__NVIR_FN cuFloatComplex make_cuFloatComplex(float a, float b) { return make_float2(a, b); }
__NVIR_FN cuFloatComplex make_cuComplex(float a, float b) { return make_float2(a, b); }
__NVIR_FN float cuCrealf(cuFloatComplex v) { return v.x; }
__NVIR_FN float cuCimagf(cuFloatComplex v) { return v.y; }
__NVIR_FN cuFloatComplex cuCaddf(cuFloatComplex a, cuFloatComplex b) { return make_float2(a.x + b.x, a.y + b.y); }
__NVIR_FN cuFloatComplex cuCsubf(cuFloatComplex a, cuFloatComplex b) { return make_float2(a.x - b.x, a.y - b.y); }
__NVIR_FN cuFloatComplex cuCmulf(cuFloatComplex a, cuFloatComplex b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__NVIR_FN float cuCabsf(cuFloatComplex v) { return hypotf(v.x, v.y); }
__NVIR_FN cuDoubleComplex make_cuDoubleComplex(double a, double b) { return make_double2(a, b); }
__NVIR_FN cuDoubleComplex cuCadd(cuDoubleComplex a, cuDoubleComplex b) { return make_double2(a.x + b.x, a.y + b.y); }
__NVIR_FN cuDoubleComplex cuCmul(cuDoubleComplex a, cuDoubleComplex b) { return make_double2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__NVIR_FN double cuCreal(cuDoubleComplex v) { return v.x; }
__NVIR_FN double cuCimag(cuDoubleComplex v) { return v.y; }
__NVIR_FN double cuCabs(cuDoubleComplex v) { return hypot(v.x, v.y); }
