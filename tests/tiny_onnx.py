"""Models of a few hundred bytes in the layout of sentence-transformers, whose vectors are known beforehand.

The vector of a token is its row of `TABLE`. The files are written by hand, so that neither torch nor `onnx` is needed.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.processors import TemplateProcessing

WORDS: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "query:", "passage:", "pool", "connection", "theme", "colour")
SIZE: Final = 8
TABLE: Final = np.random.default_rng(7).normal(size=(len(WORDS), SIZE)).astype(np.float32)
POSITIONS: Final = 12

_FLOAT, _INT64 = 1, 7


def expected(text: str, pooling: str = "mean") -> NDArray[np.float32]:
    """Return a text's vector."""
    words = ["[CLS]", *text.split()[: POSITIONS - 2], "[SEP]"]
    rows = TABLE[[WORDS.index(word) if word in WORDS else 1 for word in words]]
    vector: NDArray[np.float32] = rows[0] if pooling == "cls" else rows.mean(axis=0)
    normalised: NDArray[np.float32] = vector / np.linalg.norm(vector)
    return normalised


def save_model(
    folder: Path,
    *,
    pooling: str = "mean",
    prompts: dict[str, str] | None = None,
    inputs: Sequence[str] = ("input_ids", "attention_mask", "token_type_ids"),
    scaled: bool = False,
) -> Path:
    """Write a model and return its folder; `scaled` makes vectors depend on the batch, as quantisation does."""
    described: dict[str, Any] = {
        "modules.json": [
            {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for number, (path, kind) in enumerate(
                [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
            )
        ],
        "1_Pooling/config.json": {f"pooling_mode_{mode}": mode.startswith(pooling) for mode in _MODES},
        "sentence_bert_config.json": {"max_seq_length": POSITIONS, "do_lower_case": False},
        "config_sentence_transformers.json": {"prompts": prompts or {}, "default_prompt_name": None},
        "config.json": {"architectures": ["BertModel"], "max_position_embeddings": 512},
    }
    for name, content in described.items():
        write_json(folder / name, content)
    tokenizer = Tokenizer(WordLevel({word: row for row, word in enumerate(WORDS)}, unk_token="[UNK]"))  # noqa: S106
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.post_processor = TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "onnx").mkdir()
    (folder / "onnx/model.onnx").write_bytes(graph(inputs, scaled=scaled))
    return folder


_MODES: Final = ("cls_token", "mean_tokens", "max_tokens", "lasttoken")


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")


def change(path: Path, **changes: Any) -> None:
    """Change an object in a file."""
    write_json(path, {**json.loads(path.read_text("utf-8")), **changes})


def graph(inputs: Sequence[str], *, scaled: bool = False, output: str = "last_hidden_state") -> bytes:
    """Return an ONNX file that looks the tokens up in `TABLE`; `scaled` adds the largest token of the batch."""
    nodes = [_node("Gather", ["table", "input_ids"], ["found"])]
    if scaled:
        nodes += [
            _node("ReduceMax", ["input_ids"], ["most"], keepdims=0),
            _node("Cast", ["most"], ["largest"], to=_FLOAT),
            _node("Add", ["found", "largest"], [output]),
        ]
    else:
        nodes.append(_node("Identity", ["found"], [output]))
    table = b"".join(
        [_number(1, size) for size in TABLE.shape] + [_number(2, _FLOAT), _text(8, "table"), _bytes(9, TABLE.tobytes())]
    )
    content = b"".join(
        [
            *(_bytes(1, node) for node in nodes),
            _text(2, "tiny"),
            _bytes(5, table),
            *(_bytes(11, _value(name, _INT64, ["batch", "length"])) for name in inputs),
            _bytes(12, _value(output, _FLOAT, ["batch", "length", SIZE])),
        ]
    )
    return _number(1, 8) + _bytes(7, content) + _bytes(8, _text(1, "") + _number(2, 17))


# The fields of ONNX's messages, in protobuf's encoding.
def _node(operation: str, inputs: Sequence[str], outputs: Sequence[str], **attributes: int) -> bytes:
    set_ = (_text(1, name) + _number(3, value) + _number(20, 2) for name, value in attributes.items())
    return b"".join(
        [
            *(_text(1, name) for name in inputs),
            *(_text(2, name) for name in outputs),
            _text(4, operation),
            *(_bytes(5, attribute) for attribute in set_),
        ]
    )


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    sizes = (_text(2, size) if isinstance(size, str) else _number(1, size) for size in shape)
    tensor = _number(1, kind) + _bytes(2, b"".join(_bytes(1, size) for size in sizes))
    return _text(1, name) + _bytes(2, _bytes(1, tensor))


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())


def _varint(value: int) -> bytes:
    if value < 128:
        return bytes([value])
    return bytes([value & 127 | 128]) + _varint(value >> 7)
