"""nvir: NVIDIA's compiler as an open, readable, pure-Python framework.

    import nvir
    m = nvir.read_ptx("kernel.ptx")
    nvir.run_passes(m, "copy-prop,gvn,dce")
    print(nvir.print_ptx(m))

Names are imported when first used, so that `import nvir` stays quick.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
PAINTERS = "nvir.report.notebook"  # draws what notebooks show

if TYPE_CHECKING:
    from nvir import (
        analysis,
        assembler,
        documented,
        frontend,
        gpu,
        interp,
        ir,
        llvm,
        passes,
        ptx,
        report,
        sm,
        toolchain,
    )
    from nvir.compiler import compile_cuda
    from nvir.interp.arguments import DeviceArray
    from nvir.interp.grid import LaunchResult, launch
    from nvir.interp.tensormap import TensorMap
    from nvir.interp.texture import Texture
    from nvir.ir.errors import (
        LaunchError,
        NvirError,
        ParseError,
        PassError,
        Unsupported,
        VerifyError,
    )
    from nvir.ir.module import Module
    from nvir.ir.text.parse import parse_ir
    from nvir.ir.text.print import print_ir
    from nvir.ir.verify import verify
    from nvir.llvm.printer import print_ll
    from nvir.llvm.reader import read_ll
    from nvir.loading import load
    from nvir.passes.driver import run_passes
    from nvir.ptx.printer import print_ptx
    from nvir.ptx.reader import read_ptx
    from nvir.report.pictures import cfg_dot, to_networkx

# public name -> module that defines it
_EXPORTS = {
    "DeviceArray": "nvir.interp.arguments",
    "LaunchError": "nvir.ir.errors",
    "LaunchResult": "nvir.interp.grid",
    "Module": "nvir.ir.module",
    "NvirError": "nvir.ir.errors",
    "ParseError": "nvir.ir.errors",
    "PassError": "nvir.ir.errors",
    "TensorMap": "nvir.interp.tensormap",
    "Texture": "nvir.interp.texture",
    "Unsupported": "nvir.ir.errors",
    "VerifyError": "nvir.ir.errors",
    "cfg_dot": "nvir.report.pictures",
    "compile_cuda": "nvir.compiler",
    "launch": "nvir.interp.grid",
    "load": "nvir.loading",
    "parse_ir": "nvir.ir.text.parse",
    "print_ir": "nvir.ir.text.print",
    "print_ll": "nvir.llvm.printer",
    "print_ptx": "nvir.ptx.printer",
    "read_ll": "nvir.llvm.reader",
    "read_ptx": "nvir.ptx.reader",
    "run_passes": "nvir.passes.driver",
    "to_networkx": "nvir.report.pictures",
    "verify": "nvir.ir.verify",
}
_ROOMS = (
    "analysis", "assembler", "documented", "frontend", "gpu", "interp", "ir", "llvm", "passes",
    "ptx", "report", "sm", "toolchain",
)

__all__ = [
    "DeviceArray", "LaunchError", "LaunchResult", "Module", "NvirError", "ParseError",
    "PassError", "TensorMap", "Texture", "Unsupported", "VerifyError", "__version__", "analysis",
    "assembler", "cfg_dot", "compile_cuda", "documented", "frontend", "gpu", "interp", "ir",
    "launch", "llvm", "load", "parse_ir", "passes", "print_ir", "print_ll", "print_ptx", "ptx",
    "read_ll", "read_ptx", "report", "run_passes", "sm", "to_networkx", "toolchain", "verify",
]


def __getattr__(name: str) -> Any:
    where = _EXPORTS.get(name)
    if where is not None:
        value = getattr(importlib.import_module(where), name)
    elif name in _ROOMS:
        value = importlib.import_module(f"nvir.{name}")
    else:
        raise AttributeError(f"module 'nvir' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
