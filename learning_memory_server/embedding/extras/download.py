"""Downloading a model from the Hugging Face hub. Nothing else does that, and this only on a person's command."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from learning_memory_server.embedding.source import cache_directory, hub_name
from learning_memory_server.errors import EmbeddingUnavailableError
from learning_memory_server.system import timeouts

_PARTS: Final = {"modules.json", "config.json"}
_NOT_NEEDED: Final = ("onnx/*", "openvino/*", "coreml/*", "*.onnx", "*.h5", "*.msgpack", "*.ot", "*.gguf")
"""The same weights for other libraries, often ten times the size of what is used."""


def download_model(model: str, *, show_progress: bool) -> Path:
    """Download a model to the library's local cache, and return its folder there.

    It first asks the hub for the model, so that it fails within seconds without a network. An interrupted download is
    resumed.
    """
    from huggingface_hub import snapshot_download  # noqa: PLC0415 - a sixth of a second
    from huggingface_hub.errors import (  # noqa: PLC0415
        GatedRepoError,
        HFValidationError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
    )
    from huggingface_hub.utils.tqdm import disable_progress_bars  # noqa: PLC0415

    if not show_progress:
        disable_progress_bars()
    try:
        ignored = _not_needed(model)
        return Path(snapshot_download(hub_name(model), cache_dir=cache_directory(), ignore_patterns=ignored))
    except HFValidationError as error:
        raise EmbeddingUnavailableError(
            f"{model!r} is not the name of a model.", hint="A name is OWNER/MODEL, as on huggingface.co."
        ) from error
    except GatedRepoError as error:
        raise EmbeddingUnavailableError(
            f"The publisher of {model} requires you to agree to terms first.",
            hint="Agree on the model's page on huggingface.co, set HF_TOKEN, and try again.",
        ) from error
    except RepositoryNotFoundError as error:
        raise EmbeddingUnavailableError(
            f"The hub has no model {hub_name(model)}, or it is private.",
            hint="Check its name on huggingface.co; for a private model, set HF_TOKEN.",
        ) from error
    except OfflineModeIsEnabled as error:
        raise EmbeddingUnavailableError(
            "HF_HUB_OFFLINE forbids network access.", hint="Unset it for this command."
        ) from error
    except EmbeddingUnavailableError:
        raise
    except Exception as error:  # the client's errors change with releases, as do those of its HTTP library
        reason = " ".join(str(error).split("\n", 1)[0].split())
        raise EmbeddingUnavailableError(
            f"{model} could not be downloaded ({type(error).__name__}: {reason}).",
            hint="Check the network (and HTTPS_PROXY, HF_ENDPOINT) and the disk space, and try again: the download "
            "resumes where it stopped. Or copy a model's folder from elsewhere and set embedding_model to its path.",
        ) from error


def _not_needed(model: str) -> list[str]:
    """Ask the hub for the list of the model's files, and return patterns of those that are not needed."""
    from huggingface_hub import HfApi  # noqa: PLC0415

    found = HfApi().model_info(hub_name(model), timeout=timeouts.DOWNLOAD_CHECK)
    names = {sibling.rfilename for sibling in found.siblings or ()}
    if not names & _PARTS:
        raise EmbeddingUnavailableError(
            f"{model} is not a sentence-transformers model.",
            hint="Choose one with the tag sentence-transformers.",
        )
    has_safetensors = any(name.endswith(".safetensors") for name in names)
    return [*_NOT_NEEDED, *(["*.bin"] if has_safetensors else [])]
