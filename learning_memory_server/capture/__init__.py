"""Capture of experiences and memories while agents work."""
