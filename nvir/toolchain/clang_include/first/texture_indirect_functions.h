#ifdef NVIR_TEXTURES
#include_next <texture_indirect_functions.h>
#endif
