"""Which invariants ptxas moves out of loops, as it was observed to decide."""
