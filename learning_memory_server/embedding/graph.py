"""Find the parameters to run a model's ONNX file in its other files, which have sentence-transformers' layout."""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from learning_memory_server.system import files


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prefixes that a model expects; empty for a symmetric model."""

    query: str = ""  # before a query
    document: str = ""  # before a document

    @property
    def definition(self) -> str:
        """The text for an identity; empty without prefixes."""
        return f"{self.query!r} {self.document!r}" if self.query or self.document else ""


_SENTENCE: Final = Prompts("Represent this sentence for searching relevant passages: ")
_NOMIC: Final = Prompts("search_query: ", "search_document: ")

_PROMPTS: Final = {
    r"nomic-embed-text(-v2-moe)?": _NOMIC,
    r"mxbai-embed-large": _SENTENCE,
    r"snowflake-arctic-embed": _SENTENCE,
    r"snowflake-arctic-embed2": Prompts("query: "),
    r"bge-large|bge-(small|base|large)-en(-v1\.5)?": _SENTENCE,
    r"embeddinggemma": Prompts("task: search result | query: ", "title: none | text: "),
    r"qwen3-embedding": Prompts(
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
    ),
    r"(multilingual-)?e5-(small|base|large)(-v2)?": Prompts("query: ", "passage: "),
}
"""By name without owner and tag, from the models' cards: files may lack the prompts, and Ollama does not add them."""


def prompts_of(model: str) -> Prompts:
    """Return the prompts for a model's name; empty for an unknown model."""
    name = model.rpartition("/")[2].partition(":")[0].lower()
    return next((prompts for names, prompts in _PROMPTS.items() if re.fullmatch(names, name)), Prompts())


TOKENIZER: Final = "tokenizer.json"
_USUAL: Final = ("onnx/model.onnx", "model.onnx")  # The default files, in order of preference
_PARTS: Final = (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"])
"""The supported lists of modules. `Normalize` makes no difference, since vectors are always normalized."""

Pooling = Literal["mean", "cls", "in the graph"]


class NotRunnableError(Exception):
    """onnxruntime cannot run the model. The message is the end of a sentence about the model."""


@dataclass(frozen=True, slots=True)
class Graph:
    """An ONNX file, and the parameters to run it."""

    file: str  # its path in the model's folder
    max_tokens: int
    pooling: Pooling
    prompts: Prompts
    lowercase: bool  # whether to convert texts to lower case before tokenizing

    @property
    def description(self) -> str:
        """The parameters that a person may want to check."""
        prompts = f"the prompts {self.prompts.definition}" if self.prompts.definition else "no prompts"
        return f"{self.file}, {self.pooling} pooling, up to {self.max_tokens} tokens, {prompts}"

    @property
    def definition(self) -> str:
        """The parameters other than weights and tokenizer that determine the vectors, as text for an identity."""
        case = "lower case" if self.lowercase else ""
        return " ".join(filter(None, (self.file, self.pooling, case, self.prompts.definition)))


def read_graph(folder: Path, name: str, files: Collection[str], wanted: str = "") -> Graph:
    """Return the parameters to run a model. Raises `NotRunnableError` if its files lack them.

    Args:
        folder: The folder with its files. The ONNX file itself may be missing.
        name: The model's name, which determines the prompts if no file has them.
        files: The paths of all ONNX files of the model.
        wanted: The ONNX file to run; empty for the default one.
    """
    file = _choose(name, files, wanted)
    if not (folder / TOKENIZER).is_file():
        raise NotRunnableError(f"it brings {file}, but no {TOKENIZER}")
    max_tokens = max_tokens_of(folder)
    if max_tokens is None:
        raise NotRunnableError("its files do not say how many tokens it reads")
    pooling = _pooling(folder)
    stated = _prompts(folder)
    return Graph(
        file,
        max_tokens,
        pooling,
        stated if stated.definition else prompts_of(name),
        bool(read_object(folder / "sentence_bert_config.json").get("do_lower_case")),
    )


def max_tokens_of(folder: Path) -> int | None:
    """Return the maximum number of tokens of the model in a folder; None if its files do not state it."""
    stated = _lengths(read_object(folder / "sentence_bert_config.json").get("max_seq_length"))
    if stated:
        return stated[0]
    limits = _lengths(
        read_object(folder / "tokenizer_config.json").get("model_max_length"),
        read_object(folder / "config.json").get("max_position_embeddings"),
    )
    return min(limits, default=None)


def read_object(path: Path) -> dict[str, Any]:
    """Return the object in a model's JSON file; empty if it cannot be read."""
    try:
        content = json.loads(files.content(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _lengths(*values: object) -> list[int]:
    # Tokenizers without a limit state a 30-digit number.
    return [value for value in values if isinstance(value, int) and 0 < value < 1 << 30]


def _choose(name: str, files: Collection[str], wanted: str) -> str:
    if wanted:
        if wanted not in files:
            raise NotRunnableError(f"it has no {wanted}, only {', '.join(sorted(files)) or 'other files'}")
        return wanted
    usual = [file for file in _USUAL if file in files]
    if not usual and len(files) > 1:
        raise NotRunnableError(f"it brings several ONNX files; name one, as in {name}/{min(files)}")
    if not files:
        raise NotRunnableError("it brings no ONNX file")
    return usual[0] if usual else next(iter(files))


def _pooling(folder: Path) -> Pooling:
    try:
        modules = json.loads((folder / "modules.json").read_text("utf-8"))
        parts = [module["type"].rpartition(".")[2] for module in modules]
        where = folder / modules[1]["path"] / "config.json" if parts in _PARTS else None
    except OSError:
        raise NotRunnableError(
            "its pooling is unknown, how the vectors of tokens become one: it has no modules.json"
        ) from None
    except (ValueError, TypeError, LookupError, AttributeError):
        raise NotRunnableError("its modules.json is damaged") from None
    if where is None:
        raise NotRunnableError(f"it consists of {', '.join(parts)}, not of Transformer and Pooling")
    config = read_object(where)
    # Before version 6 of the library, each mode had its own switch.
    modes = {
        key.removeprefix("pooling_mode_").removesuffix("_tokens").removesuffix("_token")
        for key, value in config.items()
        if key.startswith("pooling_mode_") and value is True
    }
    mode = config.get("pooling_mode") or "+".join(sorted(modes))
    if mode not in ("mean", "cls"):
        raise NotRunnableError(f"its pooling is {mode or 'unknown'}, and not mean or cls")
    if config.get("include_prompt", True) is not True:
        raise NotRunnableError("its pooling leaves out the prompt")
    return "mean" if mode == "mean" else "cls"


def _prompts(folder: Path) -> Prompts:
    config = read_object(folder / "config_sentence_transformers.json")
    if config.get("truncate_dim") is not None:
        raise NotRunnableError("its vectors are shortened")
    prompts = config.get("prompts")
    known = prompts if isinstance(prompts, dict) else {}
    otherwise = known.get(config.get("default_prompt_name"), "")
    # The library defines these names and their order.
    of_document = (known[key] for key in ("document", "passage", "corpus") if key in known)
    return Prompts(str(known.get("query", otherwise) or ""), str(next(of_document, otherwise) or ""))
