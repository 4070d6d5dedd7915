"""The real tools, each behind one small function; nvir works without any of them.

    ptxas     assemble PTX: cubin, registers, spills, messages; `assembled`: and decode it
    nvdisasm  a cubin's machine code; `disassemble` gives it as instructions with live
              registers; `read_sass` reads such text; `control_words`, `stall_counts`;
              `bodies` gives it as one `MachineBody` a function
    libnvvm   `libnvvm.verify` and `libnvvm.compile` NVVM IR, in a child process
    cuobjdump `embedded` images of fat binaries, `resource_usage` of kernels
    nvcc      `nvcc_ptx`: CUDA C++ to PTX

Each tool is looked for in the NVIDIA wheels, on PATH, and below CUDA_HOME or CUDA_PATH
(`find`, `available`, `version`). One that is missing raises ToolMissing, which says how
to install it; one that hangs or cannot be understood raises ToolError; one that rejects
its input does neither, the result says so. It imports `ir` and `sm`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nvir.exports import exports

if TYPE_CHECKING:
    from nvir.toolchain import libnvvm
    from nvir.toolchain.assembled import Assembled, assembled
    from nvir.toolchain.cubin import code_sections
    from nvir.toolchain.cuobjdump import (
        Embedded,
        embedded,
        read_resource_usage,
        resource_usage,
    )
    from nvir.toolchain.errors import ToolError, ToolMissing
    from nvir.toolchain.find import available, find
    from nvir.toolchain.libnvvm import NvvmResult
    from nvir.toolchain.nvcc import NvccResult, nvcc_ptx
    from nvir.toolchain.nvdisasm import disassemble, nvdisasm
    from nvir.toolchain.process import version
    from nvir.toolchain.ptxas import KernelInfo, Message, PtxasResult, ptxas, read_verbose
    from nvir.toolchain.sass import (
        SassInstruction,
        control_words,
        read_sass,
        stall_counts,
    )
    from nvir.toolchain.sass_body import bodies, body_of

_BY_MODULE = {
    "assembled": "Assembled assembled",
    "cubin": "code_sections",
    "cuobjdump": "Embedded embedded read_resource_usage resource_usage",
    "errors": "ToolError ToolMissing",
    "find": "available find",
    "libnvvm": "NvvmResult",
    "nvcc": "NvccResult nvcc_ptx",
    "nvdisasm": "disassemble nvdisasm",
    "process": "version",
    "ptxas": "KernelInfo Message PtxasResult ptxas read_verbose",
    "sass": "SassInstruction control_words read_sass stall_counts",
    "sass_body": "bodies body_of",
    "": "libnvvm",
}

__all__ = [
    "Assembled",
    "Embedded",
    "KernelInfo",
    "Message",
    "NvccResult",
    "NvvmResult",
    "PtxasResult",
    "SassInstruction",
    "ToolError",
    "ToolMissing",
    "assembled",
    "available",
    "bodies",
    "body_of",
    "code_sections",
    "control_words",
    "disassemble",
    "embedded",
    "find",
    "libnvvm",
    "nvcc_ptx",
    "nvdisasm",
    "ptxas",
    "read_resource_usage",
    "read_sass",
    "read_verbose",
    "resource_usage",
    "stall_counts",
    "version",
]

__getattr__ = exports(__name__, _BY_MODULE)
