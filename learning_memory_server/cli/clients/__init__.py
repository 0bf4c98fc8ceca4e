"""The MCP clients on this machine: what differs between them, and adding this server to them.

`catalog` has the differences as data. `change` computes what to write to a client's file, and `connecting` starts the
server as a client would.
"""
