#ifdef NVIR_TEXTURES
#include_next <surface_indirect_functions.h>
#endif
