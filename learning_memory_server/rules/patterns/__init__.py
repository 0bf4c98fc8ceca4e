"""Patterns: what a machine sees of a rule, and whether a call breaks it."""
