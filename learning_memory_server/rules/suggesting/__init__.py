"""Suggestions: the sources of sentences that may become rules."""
