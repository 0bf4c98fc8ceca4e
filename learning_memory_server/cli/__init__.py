"""The command line.

`app` and `maintenance` declare the commands; the work of each is in the module named after it, imported when the
command runs.
"""
