"""Schedules of loops for people."""
