"""Embedding models: the port (`base`), its implementations, and the service that runs one in its own thread."""
