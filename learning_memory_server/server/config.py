"""Settings: `LEARNING_MEMORY_*` variables over a TOML file over defaults that need no reading."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from learning_memory_server import paths
from learning_memory_server.domain import limits
from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.errors import InvalidSettingsError
from learning_memory_server.server.schema import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def _user_path(path: Path) -> Path:
    try:
        return path.expanduser().absolute()
    except RuntimeError as error:
        raise ValueError(str(error)) from error


def _no_truth_value(value: object) -> object:
    # Variables are text, so numbers are read leniently; but then TOML's `true` would be the number 1.
    if isinstance(value, bool):
        raise ValueError("must be a number, not a truth value")  # noqa: TRY004 - pydantic's protocol
    return value


UserPath = Annotated[Path, AfterValidator(_user_path)]
Number = Annotated[int, BeforeValidator(_no_truth_value)]


class Settings(BaseModel):
    """What can be set. Every field is `LEARNING_MEMORY_` and its name in capitals, or a key of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    storage_path: UserPath = Field(
        default_factory=paths.data_directory, description="Where everything is kept."
    )
    journal_path: UserPath | None = Field(
        default=None, description="Where the journal is kept; by default `journal` in storage_path."
    )
    project: Annotated[str, Field(min_length=1, max_length=limits.PROJECT_MAX)] | None = Field(
        default=None, description="The project's name; by default from the git remote, else the folder."
    )
    qdrant_url: str | None = Field(
        default=None, description="A Qdrant server or cluster; by default the embedded engine is used."
    )
    qdrant_api_key: SecretStr | None = Field(default=None, description="The key for qdrant_url.")
    qdrant_shard_number: Annotated[Number, Field(ge=1)] | None = Field(
        default=None,
        description="How many shards a new collection at qdrant_url has; by default the server decides.",
    )
    qdrant_replication_factor: Annotated[Number, Field(ge=1)] | None = Field(
        default=None, description="How many copies a Qdrant cluster keeps of each shard of a new collection."
    )
    qdrant_write_consistency_factor: Annotated[Number, Field(ge=1)] | None = Field(
        default=None, description="How many of those copies must have taken a write before it counts as done."
    )
    embedding_backend: Literal["sentence-transformers", "ollama", "hashing"] = Field(
        default="sentence-transformers",
        description="What runs the model. `hashing` needs no model and finds shared words only; it is meant for tests.",
    )
    embedding_model: str = Field(
        default=DEFAULT_MODEL,
        validate_default=True,
        description="A sentence-transformers model: the packaged one, a folder's absolute path, or one that "
        "`download-model` has fetched; nothing is fetched by itself. With `ollama`: the name of a model that it has.",
    )
    ollama_url: str = Field(
        default="http://127.0.0.1:11434", description="The Ollama server of the backend `ollama`."
    )
    embedding_dimension: Annotated[Number, Field(ge=1)] | None = Field(
        default=None, description="If set, the model's vectors must have this length."
    )
    reranker_model: str | None = Field(
        default=None,
        description="A cross-encoder that reads the best results of a search once more and orders them: a folder's "
        "absolute path, or one that `download-model` has fetched; by default none does.",
    )
    hdbscan_min_cluster_size: Annotated[Number, Field(ge=2)] | None = Field(
        default=None, description="The smallest cluster; by default it grows with the number of experiences."
    )
    hdbscan_min_samples: Annotated[Number, Field(ge=1)] = Field(
        default=3, description="How dense a cluster must be; more makes more noise."
    )
    min_experiences: Annotated[Number, Field(ge=1)] = Field(
        default=20, description="Clusters are not looked for among fewer experiences than this."
    )
    hub_idle_minutes: Annotated[float, BeforeValidator(_no_truth_value), Field(gt=0)] = Field(
        default=30, description="The hub ends after this time without a session."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="What is logged, to the hub's log file or to stderr."
    )

    @field_validator("qdrant_url", "ollama_url")
    @classmethod
    def _is_http(cls, url: str | None) -> str | None:
        if url is not None and not url.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return url

    @field_validator("ollama_url")
    @classmethod
    def _names_a_host(cls, url: str) -> str:
        # A port that is no number is noticed when it is asked for.
        parts = urlsplit(url)
        if not parts.hostname or parts.port == 0:
            raise ValueError("must name a host, as in http://127.0.0.1:11434")
        return url

    @field_validator("embedding_model")
    @classmethod
    def _is_named(cls, model: str, info: ValidationInfo) -> str:
        if info.data.get("embedding_backend") == "ollama" and model == DEFAULT_MODEL:
            raise ValueError("must name a model of Ollama, such as nomic-embed-text")
        return model

    @field_validator("embedding_model", "reranker_model")
    @classmethod
    def _is_absolute(cls, model: str | None) -> str | None:
        if model and model.startswith("."):
            # The hub works in another folder than its sessions.
            raise ValueError("must be an absolute path, or a name")
        return str(_user_path(Path(model))) if model and model.startswith("~") else model

    @property
    def journal_directory(self) -> Path:
        """Where the journal is kept."""
        return self.journal_path or self.storage_path / "journal"

    @property
    def index_directory(self) -> Path:
        """Where the embedded engine keeps its files."""
        return self.storage_path / "index"

    @property
    def clusters_directory(self) -> Path:
        """Where the last clusters of each axis are kept."""
        return self.storage_path / "clusters"

    @property
    def models_directory(self) -> Path:
        """Where exported models are kept."""
        return self.storage_path / "models"


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings.

    Raises:
        InvalidSettingsError: If the file cannot be read, a key in it is unknown, or a value is wrong; the
            message names the setting and where it was set.
    """
    from_file = paths.settings_from_file(environment)
    for key in from_file:
        if key not in Settings.model_fields:
            raise InvalidSettingsError(
                f"{key} in {paths.config_file(environment)} is not a setting."
                f"{did_you_mean(key, Settings.model_fields)}"
            )
    from_environment = paths.settings_from_environment(environment)
    known = {key: value for key, value in from_environment.items() if key in Settings.model_fields}
    raw = {"storage_path": paths.storage_path({}, environment), **from_file, **known}
    try:
        # Merged here and not by pydantic-settings, so that an error can say which source it comes from, and
        # because its import costs a tenth of a second that every start of the server would pay.
        return Settings.model_validate(raw)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        name = str(problem["loc"][0])
        place = (
            f"{paths.PREFIX}{name.upper()}"
            if name in known or name not in from_file
            else f"{name} in {paths.config_file(environment)}"
        )
        raise InvalidSettingsError(f"{place}: {problem['msg']}.") from None


def unknown_variables(environment: Iterable[str]) -> list[str]:
    """Return a sentence for each `LEARNING_MEMORY_*` variable, of the names given, that means nothing."""
    known = {*Settings.model_fields, "config"}
    # The prefix is left out of the comparison: sharing it makes any two variables look alike.
    unknown = {
        name: difflib.get_close_matches(name.removeprefix(paths.PREFIX).lower(), known, n=1)
        for name in sorted(environment)
        if name.startswith(paths.PREFIX) and name.removeprefix(paths.PREFIX).lower() not in known
    }
    return [
        f"{name} is not a setting." + "".join(f" Did you mean {paths.PREFIX}{key.upper()}?" for key in close)
        for name, close in unknown.items()
    ]
