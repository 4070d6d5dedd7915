#ifdef NVIR_CURAND  // else clang's wrapper reads it of every project whose options name its folder
#include_next <curand_mtgp32_kernel.h>
#endif
