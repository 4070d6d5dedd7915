"""Launching on a real GPU, with the signature of the interpreter's `nvir.launch`.

Needs an NVIDIA driver, nothing else.

Imports     ptx to print the module; of ir only errors and the classes of modules and functions; of
            interp only how arguments become bytes (arguments.py) and the classes of textures and
            results, so that an argument means the same to both ways of launching.
"""

from __future__ import annotations

from nvir.gpu.launch import available, launch, measure

__all__ = ["available", "launch", "measure"]
