"""The MCP clients on this machine: their differences (`catalog`), and changes of their files (`change`)."""
