"""Which loops ptxas unrolls, as it was observed to decide."""
