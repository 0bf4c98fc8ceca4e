"""Settings: `LEARNING_MEMORY_*` variables over a TOML file over defaults that need no reading."""

from __future__ import annotations

import difflib
import os
import tomllib
from pathlib import Path  # noqa: TC003 - pydantic needs it at run time
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from learning_memory_server import paths
from learning_memory_server.domain import limits
from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.errors import InvalidSettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

UserPath = Annotated["Path", AfterValidator(lambda path: path.expanduser().absolute())]


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
    embedding_backend: Literal["sentence-transformers", "hashing"] = Field(
        default="sentence-transformers",
        description="`hashing` needs no model and finds shared words only; it is meant for tests.",
    )
    embedding_model: str = Field(
        default=DEFAULT_MODEL,
        description="A sentence-transformers model: the packaged one, a folder, or one in the local cache.",
    )
    embedding_dimension: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="If set, the model's vectors must have this length."
    )
    hdbscan_min_cluster_size: Annotated[int, Field(ge=2)] | None = Field(
        default=None, description="The smallest cluster; by default it grows with the number of experiences."
    )
    hdbscan_min_samples: Annotated[int, Field(ge=1)] = Field(
        default=3, description="How dense a cluster must be; more makes more noise."
    )
    min_experiences: Annotated[int, Field(ge=1)] = Field(
        default=20, description="Clusters are not looked for among fewer experiences than this."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="What is written to stderr."
    )

    @field_validator("qdrant_url")
    @classmethod
    def _is_http(cls, url: str | None) -> str | None:
        if url is not None and not url.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return url

    @property
    def journal_directory(self) -> Path:
        """Where the journal is kept."""
        return self.journal_path or self.storage_path / "journal"

    @property
    def index_directory(self) -> Path:
        """Where the embedded engine keeps its files."""
        return self.storage_path / "index"


def load_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Return the settings.

    Raises:
        InvalidSettingsError: If the file cannot be read, a key in it is unknown, or a value is wrong; the
            message names the setting and where it was set.
    """
    file = paths.config_file(environment)
    from_file = _read_file(file)
    from_environment = {
        name.removeprefix(paths.PREFIX).lower(): value
        for name, value in (os.environ if environment is None else environment).items()
        if name.startswith(paths.PREFIX)
    }
    known = {key: value for key, value in from_environment.items() if key in Settings.model_fields}
    try:
        # Merged here and not by pydantic-settings, so that an error can say which source it comes from, and
        # because its import costs a tenth of a second that every start of the server would pay.
        return Settings.model_validate({**from_file, **known})
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        name = str(problem["loc"][0])
        place = f"{paths.PREFIX}{name.upper()}" if name in known else f"{name} in {file}"
        raise InvalidSettingsError(f"{place}: {problem['msg']}.") from None


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Return a sentence for each `LEARNING_MEMORY_*` variable that means nothing."""
    known = {f"{paths.PREFIX}{name.upper()}" for name in Settings.model_fields} | {f"{paths.PREFIX}CONFIG"}
    return [
        f"{name} is not a setting.{_did_you_mean(name, known)}"
        for name in sorted(environment)
        if name.startswith(paths.PREFIX) and name not in known
    ]


def _read_file(file: Path) -> dict[str, object]:
    try:
        content = tomllib.loads(file.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidSettingsError(f"The settings file {file} cannot be read: {error}.") from None
    for key in content:
        if key not in Settings.model_fields:
            raise InvalidSettingsError(
                f"{key} in {file} is not a setting.{_did_you_mean(key, set(Settings.model_fields))}"
            )
    return content


def _did_you_mean(name: str, known: set[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean {close[0]}?" if close else ""
