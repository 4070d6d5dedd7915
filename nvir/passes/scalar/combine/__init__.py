"""Peepholes: rules over integers, proved, and others."""
