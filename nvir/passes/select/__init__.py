"""Selection: from the nvvm level to ori, PTX's own operations.

`select_module(module)` gives a new module; the pass `select` does it in place. `LOWER` is the
pipeline that takes a module of level nvvm to what is printed as PTX:

    nvir.run_passes(module, LOWER)
    text = nvir.print_ptx(module)
"""

from nvir.passes.select.module import select_module
from nvir.passes.select.options import Options

LOWER = "vectorize-memory,select,gvn,dce"

__all__ = ["LOWER", "Options", "select_module"]
