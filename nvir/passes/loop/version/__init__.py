"""A second version of a loop for operands that do not overlap."""
