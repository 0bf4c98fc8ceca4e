"""A journal in one file: to keep, to move, and to import elsewhere.

`snapshot` decides what goes into an archive; `writing` writes its bytes.
"""
