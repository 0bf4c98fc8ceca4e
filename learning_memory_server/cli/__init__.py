"""The command line: what a person runs beside, before or in place of the server."""
