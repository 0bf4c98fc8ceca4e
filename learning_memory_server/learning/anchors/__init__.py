"""Anchors: the files and lines that experiences are about, and what became of these since."""
