"""Anchors: the files that experiences are about, and their later state."""
