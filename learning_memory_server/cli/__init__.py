"""The command line.

`app` declares the commands that show something, `maintenance.commands` those that change the stored data; the work of
each is in the module named after it, imported when the command runs.
"""
