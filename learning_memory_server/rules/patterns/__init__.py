"""Patterns: the machine-readable part of a rule, and whether a call breaks it."""
