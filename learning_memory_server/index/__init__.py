"""Vectors and terms of the journal's records, which can be rebuilt at any time; `writer` is the only way in."""
