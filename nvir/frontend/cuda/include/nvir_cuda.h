// What every CUDA source sees without an include: qualifiers, vector types, built-in variables,
// intrinsics, mathematics, and enough of the runtime that host code parses.
#pragma once
#include <stddef.h>
#include "nvir/qualifiers.h"
#include "nvir/vectors.h"
#include "nvir/runtime.h"
#include "nvir/intrinsics.h"
#include "nvir/atomics.h"
#include "nvir/math32.h"
#include "nvir/math64.h"
#include "nvir/texture.h"
#include "nvir/registered.h"
