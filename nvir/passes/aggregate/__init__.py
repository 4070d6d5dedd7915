"""Passes that take aggregates apart: copies of memory, struct values, struct parameters."""
