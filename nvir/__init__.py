"""nvir: NVIDIA's compiler as an open, readable, pure-Python framework."""

__version__ = "0.1.0"
