"""GHAP entries, from their start to their resolution."""
