"""The notes' loop-invariant code motion: five stages for each block of a loop."""
