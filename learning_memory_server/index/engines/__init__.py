"""The port of a vector engine, and its adapters."""
