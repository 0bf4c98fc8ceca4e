"""Vectors and terms of the journal's records. They can be rebuilt at any time, and are written only by `writer`."""
