"""CUDA C++ in: a `.cu` source, read by libclang, as the typed tree and as modules.

    read_cuda(source, ...)      the tree of its kernels and what they reach

    source.py       what is given
    read.py         the tree of that, and what is told of it
    libclang.py     libclang, and the functions that its binding leaves out
    parse.py        clang's command line, the translation unit, diagnostics
    reader.py       kernels, functions, variables: a worklist from the kernels on
    statements.py  expressions.py  calls.py   bodies
    types.py        clang's types as the tree's
    text.py         what only the source text tells: pragmas, inline asm, headers of loops
    include/        nvir's own headers: no CUDA toolkit is needed

Source   CUDA C++ Programming Guide; libclang's Index.h; LLVM NVPTX User Guide.
"""

from typing import TYPE_CHECKING, Any

from nvir.frontend.cuda.source import Source, source_of

if TYPE_CHECKING:
    from nvir.frontend.cuda.read import read_cuda

__all__ = ["Source", "read_cuda", "source_of"]


def __getattr__(name: str) -> Any:
    if name != "read_cuda":  # that brings the typed tree, which what clang compiles has none of
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from nvir.frontend.cuda.read import read_cuda

    return read_cuda
