"""Launching on a real GPU, with the signature of the interpreter's `nvir.launch`.

Needs an NVIDIA driver and the extra `gpu` (cuda-bindings).
"""

from __future__ import annotations

from nvir.gpu.launch import available, launch

__all__ = ["available", "launch"]
