"""The port to a vector engine, and its adapters."""
