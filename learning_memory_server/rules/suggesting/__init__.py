"""Suggestions: where sentences come from that may become rules."""
