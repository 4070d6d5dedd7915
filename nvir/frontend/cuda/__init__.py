"""CUDA C++ in: a `.cu` source, read by libclang, as the typed tree and as modules.

    read_cuda(source, ...)      the tree of its kernels and what they reach

    source.py       what is given, and what is told of it
    libclang.py     libclang, and the functions that its binding leaves out
    parse.py        clang's command line, the translation unit, diagnostics
    reader.py       kernels, functions, variables: a worklist from the kernels on
    statements.py  expressions.py  calls.py   bodies
    types.py        clang's types as the tree's
    text.py         what only the source text tells: pragmas, inline asm, headers of loops
    include/        nvir's own headers: no CUDA toolkit is needed

Source   CUDA C++ Programming Guide; libclang's Index.h; LLVM NVPTX User Guide.
"""

from nvir.frontend.cuda.source import Source, read_cuda, source_of

__all__ = ["Source", "read_cuda", "source_of"]
