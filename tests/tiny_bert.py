"""A real sentence-transformers model of a few kilobytes that brings an ONNX file, saved by the library. Needs torch."""

import warnings
from pathlib import Path
from typing import Any

from tests.tiny_onnx import WORDS
from tests.tiny_reranker import TINY, make_tokenizer


def save_bert(folder: Path) -> Path:
    """Save the model, and its graph as `onnx/model.onnx`, and return its folder."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    bert: Any = BertModel(BertConfig(vocab_size=len(WORDS) + 1, **TINY))
    bert.save_pretrained(folder / "bare")
    make_tokenizer([*WORDS[:4], "[MASK]", *WORDS[4:]]).save_pretrained(folder / "bare")
    transformer = Transformer(str(folder / "bare"))
    model = SentenceTransformer(modules=[transformer, Pooling(32, "mean")], device="cpu")
    model.save_pretrained(str(folder))
    (folder / "onnx").mkdir()
    _export(bert, folder / "onnx" / "model.onnx")
    return folder


def _export(bert: Any, path: Path) -> None:
    import torch

    class Graph(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.bert = bert

        def forward(self, *arrays: Any) -> Any:
            return self.bert(**dict(zip(inputs, arrays, strict=True))).last_hidden_state

    inputs = ["input_ids", "attention_mask", "token_type_ids"]
    bert.set_attn_implementation("eager")
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            Graph().eval(),
            tuple(torch.ones((2, 5), dtype=torch.int64) for _ in inputs),
            str(path),
            input_names=inputs,
            output_names=["last_hidden_state"],
            dynamic_axes={name: {0: "batch", 1: "length"} for name in [*inputs, "last_hidden_state"]},
            opset_version=17,
            dynamo=False,
        )
