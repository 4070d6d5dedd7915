"""Passes over single values: no memory layout, no loops."""
