"""Embedding models: the port to them, their backends, and the service that runs one in its own thread.

`base` has the ports. Backends: `onnx_runtime` (the packaged model in `minilm/`, and exports of others), `sentence`
(sentence-transformers, an extra), `ollama`, `hashing`. `packing` is how the packaged weights are stored. `loading`
chooses between a model and its export, which `onnx_export` makes and `exports` tracks. `source` finds a model's files,
`tokens` counts tokens without loading it, `probe` recognises it. `lazy` loads models, `service` runs them.
"""
