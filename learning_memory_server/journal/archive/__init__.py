"""A journal in one file: to keep, to move, and to import elsewhere."""
