"""The MCP clients on this machine: what differs between them, and adding this server to them.

`catalog` has the differences as data, and `change` computes what to write to a client's file.
"""
