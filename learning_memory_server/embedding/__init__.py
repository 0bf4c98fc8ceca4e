"""Embedding models: the port to them (`base`), their backends, and the service that runs one in its own thread.

Backends: `onnx_runtime` (the packaged model in `minilm/`, and exports of others), `hashing`, and those of `extras`.
"""
