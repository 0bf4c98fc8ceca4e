"""How a command reaches the data.

`reading` needs no lock. `connection` starts a hub and runs operations in it through `hub_client`, or in the command's
own process if that is impossible.
"""
