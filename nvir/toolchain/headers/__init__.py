"""The headers of CUDA sources: what includes them, and what is kept of them precompiled."""
