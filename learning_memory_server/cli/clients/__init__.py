"""The MCP clients on this machine: their differences (`catalog`), and changes to their files (`change`)."""
