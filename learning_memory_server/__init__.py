"""A memory for coding agents. Importing any part of it first forbids libraries to report what they do.

onnxruntime reads this when it is imported, and otherwise sends a device id and the interpreter's path to its vendor.
huggingface_hub says to its server, with each download, which agent runs it. See docs/explain/privacy.md.
"""

import os

os.environ["ORT_DISABLE_TELEMETRY"] = os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
# Tokenizing eight texts is not worth a thread per core, and other threads need the processor too.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
