"""The notes' decision on unrolling: steps A to P."""
