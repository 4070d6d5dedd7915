#pragma once
#include "nvir_cuda.h"
#define offsetof(t, m) __builtin_offsetof(t, m)
