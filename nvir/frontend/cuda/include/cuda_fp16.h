#pragma once
#include "nvir/half.h"
