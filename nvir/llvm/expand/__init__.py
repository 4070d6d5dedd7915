"""Intrinsics that the reader writes as other code (upgrade.py), some of many instructions."""
