"""Passes that prepare the nvvm level for LLVM text that libnvvm takes."""
