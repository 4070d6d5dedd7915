"""The model of ptxas: what it decides (unrolling, hoisting) and what code it makes of a kernel."""
