"""Passes over loops, and what they decide by."""
