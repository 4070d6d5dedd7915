#ifdef NVIR_TEXTURES  // a third of what clang reads before a source, for those that name a texture
#include_next <__clang_cuda_texture_intrinsics.h>
#endif
