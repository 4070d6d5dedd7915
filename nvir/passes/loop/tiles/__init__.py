"""Tile loops (matrix products) as multistage loops of asynchronous copies."""
