#pragma once
#include "nvir_cuda.h"
