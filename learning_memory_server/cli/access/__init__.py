"""How a command works with the data, if reading the journal is not enough.

`connection` starts a hub and runs operations in it through `hub_client`, or in the command's own process if that is
impossible.
"""
