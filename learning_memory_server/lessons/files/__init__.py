"""Anchors: the files and lines that experiences are about, and their later state."""
