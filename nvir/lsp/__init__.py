"""What an editor asks of PTX, LLVM text and the `asm` strings of CUDA sources: `nvir lsp`.

    outline     names and where they stand, of a text that need not be whole
    text        the text of an open document, changed row by row
    document    one version of a text: its findings, its modules, what is known of its functions
    answers     hover, hints, symbols, folds, definitions, references, renaming
    server      those as the Language Server Protocol, over standard input and output

Everything but `server` works without an LSP library, on offsets of the text.
"""
