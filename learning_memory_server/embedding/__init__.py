"""Embedding models: the port (`base`), its backends, and the service that runs one in its own thread."""
