"""CUDA C++ in: a `.cu` source, read by libclang, as the typed tree and as modules.

    read_cuda(source, ...)      the tree of its kernels and what they reach
    compile_cuda(source, ...)   a module of level `nvvm`, optimised as asked, or of `ori`

    libclang.py     libclang, and the functions that its binding leaves out
    parse.py        clang's command line, the translation unit, diagnostics
    reader.py       kernels, functions, variables: a worklist from the kernels on
    statements.py  expressions.py  calls.py   bodies
    types.py        clang's types as the tree's
    text.py         what only the source text tells: pragmas, inline asm, headers of loops
    compile.py      the whole way down
    include/        nvir's own headers: no CUDA toolkit is needed

Source   CUDA C++ Programming Guide; libclang's Index.h; LLVM NVPTX User Guide.
"""

from nvir.frontend.cuda.compile import Source, compile_cuda, read_cuda

__all__ = ["Source", "compile_cuda", "read_cuda"]
