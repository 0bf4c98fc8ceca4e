"""The port to an embedding model, and its backends."""
