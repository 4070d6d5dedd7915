#pragma once
#include "nvir_cuda.h"
#define INT8_MAX 127
#define INT8_MIN (-128)
#define UINT8_MAX 255
#define INT16_MAX 32767
#define INT16_MIN (-32768)
#define UINT16_MAX 65535
#define INT32_MAX 2147483647
#define INT32_MIN (-2147483647 - 1)
#define UINT32_MAX 4294967295U
#define INT64_MAX 9223372036854775807L
#define INT64_MIN (-9223372036854775807L - 1)
#define UINT64_MAX 18446744073709551615UL
#define SIZE_MAX 18446744073709551615UL
#define INT8_C(n) n
#define INT16_C(n) n
#define INT32_C(n) n
#define INT64_C(n) n##L
#define UINT8_C(n) n
#define UINT16_C(n) n
#define UINT32_C(n) n##U
#define UINT64_C(n) n##UL
#define INTPTR_MAX INT64_MAX
#define UINTPTR_MAX UINT64_MAX
#define PTRDIFF_MAX INT64_MAX
