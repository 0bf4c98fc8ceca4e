"""Embedding models: the port to them (`base`), their backends, and the service that runs one in its own thread.

Backends: `onnx_runtime` (the packaged model in `minilm/`, and models that bring an ONNX file), `hashing`, and those of
`extras`.
"""
