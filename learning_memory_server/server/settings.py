"""Settings: from `LEARNING_MEMORY_*` variables, else from a TOML file, else by default."""

import difflib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal
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

from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.errors import InvalidSettingsError, did_you_mean
from learning_memory_server.model import limits
from learning_memory_server.redaction.own import OwnPatterns, numbered_patterns
from learning_memory_server.system import locations, paths
from learning_memory_server.system.servers import without_logins


def _user_path(path: Path) -> Path:
    try:
        return Path(locations.expanded(str(path)))
    except RuntimeError as error:
        raise ValueError(str(error)) from error


def _is_http(url: str) -> str:
    if not all(each.strip().startswith(("http://", "https://")) for each in url.split(",")):
        raise ValueError("must begin with http:// or https://")
    return url


def _names_a_host(url: str) -> str:
    try:
        parts = urlsplit(url)
        names_one = bool(parts.hostname) and parts.port != 0
    except ValueError:
        names_one = False  # Its message may quote part of a password
    if not names_one:
        raise ValueError("must name a host, as in http://127.0.0.1:11434")
    return url


def _is_absolute(model: str) -> str:
    if model.startswith("."):
        raise ValueError("must be an absolute path, or a name")  # The hub's working directory is not its sessions'
    is_path = model.startswith(("~", "$", "%")) or locations.placeholder_in(model)
    return str(_user_path(Path(model))) if is_path else model


def _no_boolean(value: object) -> object:
    # Variables are text, so numbers are parsed leniently. Without this check, TOML's `true` would be the number 1.
    if isinstance(value, bool):
        raise ValueError("must be a number, not a boolean")  # noqa: TRY004 - pydantic's protocol
    return value


def _joined(value: object) -> object:
    """Return a list of texts as one text, as a variable holds it, without spaces around its commas."""
    texts = value.split(",") if isinstance(value, str) else value
    if isinstance(texts, list) and all(isinstance(each, str) for each in texts):
        return ",".join(each.strip() for each in texts)
    return value


def _from_json(value: object) -> object:
    """Return what a variable holds as JSON; a file has lists and tables of its own."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError('must be JSON, such as ["acme_[a-z0-9]{20}"]') from None


def _sound(check: Callable[[Any], object]) -> AfterValidator:
    """Return a validator of patterns: `check` raises their faults as those of a setting."""

    def checked(patterns: object) -> object:
        try:
            check(patterns)
        except InvalidSettingsError as error:
            raise ValueError(error.message.removesuffix(".")) from None
        return patterns

    return AfterValidator(checked)


RedactionPatterns = Annotated[tuple[str, ...] | dict[str, str], BeforeValidator(_from_json), _sound(OwnPatterns)]
RedactionAllow = Annotated[
    tuple[str, ...], BeforeValidator(_from_json), _sound(partial(numbered_patterns, "redaction_allow"))
]


def _folder_patterns(patterns: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return tuple(locations.expanded(each).rstrip("/") for each in patterns)
    except RuntimeError as error:
        raise ValueError(str(error)) from error


FolderPatterns = Annotated[tuple[str, ...], BeforeValidator(_from_json), AfterValidator(_folder_patterns)]
REMOVED: Final = frozenset(
    (
        *("advice_withheld", "budget_bytes", "check_in_calls", "commands_start_hub", "embedding_dimension", "episodes"),
        "preferences",
        *("qdrant_replication_factor", "qdrant_shard_number", "qdrant_write_consistency_factor"),
    )
)
"""Keys of the file that once were settings."""
RETIRED: Final = ("refusals.json", "map")
"""Files and folders in the storage folder that earlier versions wrote, and no version reads. A purge removes them."""

_OF_THE_CALLER: Final = frozenset(("project", "log_level", "storage_path", "journal_path", "exclude"))
"""Settings in which a session may differ from its hub, those that have led it there, and what a hub reads anew."""

_KEY: Final = re.compile(r"""(qdrant_api_key["']?\s*[=:]\s*)("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"',}]+)""", re.IGNORECASE)
"""The key in a file of settings, or in a client's: TOML, JSON or a variable."""

UserPath = Annotated[Path, AfterValidator(_user_path)]
Model = Annotated[str, AfterValidator(_is_absolute)]
Number = Annotated[int, BeforeValidator(_no_boolean)]


class Settings(BaseModel):
    """The settings. Each field is a variable, `LEARNING_MEMORY_` and its name in capitals, or a key of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    storage_path: UserPath = Field(default_factory=paths.data_directory, description="Where all data is stored.")
    journal_path: UserPath | None = Field(
        default=None, description="Where the journal is stored; by default `journal` in storage_path."
    )
    project: Annotated[str, Field(min_length=1, max_length=limits.PROJECT_MAX)] | None = Field(
        default=None, description="The project's name; by default, the name of the folder's project."
    )
    qdrant_url: Annotated[str, BeforeValidator(_joined), AfterValidator(_is_http)] | None = Field(
        default=None,
        description="A Qdrant server; by default the embedded engine is used. For a cluster, the URLs of several nodes: "
        "a list, or separated by commas.",
    )
    qdrant_api_key: SecretStr | None = Field(default=None, description="The key for qdrant_url.")
    qdrant_allow_plaintext_key: bool = Field(
        default=False, description="Whether the key may be sent over http:// to another machine than this one."
    )
    embedding_backend: Literal["sentence-transformers", "ollama", "hashing"] = Field(
        default="sentence-transformers",
        description="What runs the model. `hashing` needs no model and finds shared words only; it is meant for tests.",
    )
    embedding_model: Model = Field(
        default=DEFAULT_MODEL,
        validate_default=True,
        description="A sentence-transformers model: the packaged one, a folder's absolute path, or one that "
        "`setup --model` has fetched; nothing is fetched automatically. One that brings no ONNX file needs the extra "
        "`sentence-transformers`. With `ollama`: the name of one of its models.",
    )
    ollama_url: Annotated[str, AfterValidator(_is_http), AfterValidator(_names_a_host)] = Field(
        default="http://127.0.0.1:11434", description="The Ollama server of the `ollama` backend."
    )
    reranker_model: Model | None = Field(
        default=None,
        description="A cross-encoder that re-ranks the best results of a search: a folder's absolute path, or a model "
        "that `setup --model` has fetched; by default results are not re-ranked.",
    )
    hdbscan_min_cluster_size: Annotated[Number, Field(ge=2)] | None = Field(
        default=None, description="The smallest cluster; by default it grows with the number of experiences."
    )
    hdbscan_min_samples: Annotated[Number, Field(ge=1)] = Field(
        default=3, description="How dense a cluster must be; higher values leave more noise."
    )
    min_experiences: Annotated[Number, Field(ge=1)] | None = Field(
        default=None,
        description="The fewest experiences on an axis that are clustered; by default 8 on surprise and root_cause, "
        "20 on full and strategy.",
    )
    advice_scope: Literal["project", "all"] = Field(
        default="project",
        description="Where the past experiences and values come from that `start_ghap` and `update_ghap` show: the "
        "project, or all projects.",
    )
    questions: bool = Field(
        default=True,
        description="Ask an agent, at most once a session, what it believed when its user objects; an answer is an entry.",
    )
    redaction: bool = Field(
        default=True,
        description="Replace secrets (keys, tokens, passwords) in what is stored by a marker such as "
        "`[redacted: github token]`.",
    )
    redaction_patterns: RedactionPatterns = Field(
        default=(),
        description="More secrets: a list of regular expressions, or a table of expressions by kind. A group named "
        "`secret` is replaced, else the whole match. A text on which an expression takes longer than a second is "
        "refused. A variable holds it as JSON.",
    )
    redaction_allow: RedactionAllow = Field(
        default=(),
        description="Harmless texts: a list of regular expressions; their matches are kept. A variable holds it as JSON.",
    )
    exclude: FolderPatterns = Field(
        default=(),
        description='Folders to leave out, as in `["~/clients/*"]`: in them and below, nothing is read, kept or shown. '
        "`*` is any name, `**` any number of folders. A change counts for running sessions, too. A variable holds it as JSON.",
    )
    hub_idle_minutes: Annotated[float, BeforeValidator(_no_boolean), Field(gt=0)] = Field(
        default=30, description="The hub shuts down after this time without a session."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info",
        description="The hub logs to `hub.log` in storage_path, with --direct to stderr. Commands log "
        "only at `debug`, to stderr. A running hub keeps its level. No level logs texts of users.",
    )

    @field_validator("embedding_model")
    @classmethod
    def _is_named(cls, model: str, info: ValidationInfo) -> str:
        if info.data.get("embedding_backend") == "ollama" and model == DEFAULT_MODEL:
            raise ValueError("must name a model of Ollama, such as nomic-embed-text")
        return model

    @property
    def journal_directory(self) -> Path:
        """Where the journal is stored."""
        return self.journal_path or self.storage_path / "journal"

    @property
    def qdrant_key(self) -> str | None:
        """The Qdrant server's key as it is sent. Never log it."""
        return self.qdrant_api_key.get_secret_value() if self.qdrant_api_key else None

    @property
    def index_directory(self) -> Path:
        """Where the embedded engine stores its files."""
        return self.storage_path / "index"

    @property
    def owner_file(self) -> Path:
        """The file with the owner of this storage folder's points on a Qdrant server."""
        return self.storage_path / "qdrant-owner.json"

    @property
    def outdated_file(self) -> Path:
        """The file that names the points of the index that must be rebuilt."""
        return self.storage_path / "outdated-points.json"

    @property
    def scales_file(self) -> Path:
        """The file that keeps the scales of models, each measured once."""
        return self.storage_path / "model-scales.json"

    @property
    def archive_key_file(self) -> Path:
        """The file with the key that marks this store's archives as its own."""
        return self.storage_path / "archive.key"

    @property
    def backups_directory(self) -> Path:
        """Where backups are stored, unless a person names another folder."""
        return self.storage_path / "backups"

    @property
    def retired_files(self) -> list[Path]:
        """The files and folders that are no longer read, and their copies that were set aside."""
        patterns = (pattern for name in RETIRED for pattern in (name, f"{name}.corrupt-*"))
        return sorted(path for pattern in patterns for path in self.storage_path.glob(pattern))


def load_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings, without keys in `REMOVED`. `InvalidSettingsError` names a setting and its place."""
    in_file = paths.settings_from_file(environment)
    from_file = {key: value for key, value in in_file.items() if key not in REMOVED}
    for key in from_file:
        if key not in Settings.model_fields:
            raise InvalidSettingsError(
                f"{key} in {paths.config_file(environment)} is not a setting.{did_you_mean(key, Settings.model_fields)}"
            )
    from_environment = locations.settings_from_environment(environment)
    known = {key: value for key, value in from_environment.items() if key in Settings.model_fields}
    raw = {"storage_path": paths.storage_path({}, environment), **from_file, **known}
    try:
        # Merged here and not by pydantic-settings, so that an error can name the source of a value, and because that
        # import would add a tenth of a second to every start of the server.
        return Settings.model_validate(raw)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        name = str(problem["loc"][0])
        place = (
            f"{paths.PREFIX}{name.upper()}"
            if name in known or name not in from_file
            else f"{name} in {paths.config_file(environment)}"
        )
        raise InvalidSettingsError(f"{place}: {problem['msg'].removeprefix('Value error, ')}.") from None


def explain_settings_mismatch(hub: Settings, others: object) -> str:
    """Return a sentence about a hub with other settings than these raw ones, compared as they would be in use."""
    if not isinstance(others, dict):
        return ""
    compared = Settings.model_fields.keys() - _OF_THE_CALLER
    try:
        theirs = Settings.model_validate({name: others[name] for name in compared & others.keys()})
    except ValidationError as error:
        differing = {str(problem["loc"][0]) for problem in error.errors()}
    else:
        differing = {name for name in compared if getattr(hub, name) != getattr(theirs, name)}
    if not differing:
        return ""
    return (
        f"The running hub was started with other settings ({', '.join(sorted(differing))}) than a session or command "
        "that uses it, and keeps them while a session with its settings does. Run `learning-memory-server hub stop`; the "
        "next call or command starts a hub with its own settings."
    )


def is_secret(name: str, value: object) -> bool:
    """Return whether a setting holds a key, or a URL with a password."""
    return name == "qdrant_api_key" or (name.endswith("_url") and "@" in str(value))


def without_secrets(text: str) -> str:
    """Return a line or a command as it may be printed: `...` stands for a key, and for the login of a URL."""
    return _KEY.sub(r"\1...", without_logins(text, "...@"))


def setting_notices(names: Iterable[str] = os.environ, environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return a sentence for each `LEARNING_MEMORY_*` name that is no setting, and each key of the file in `REMOVED`."""
    known = {*Settings.model_fields, "config"}
    # Compared without the prefix: it would make any two names look alike.
    unknown = {
        name: key
        for name in sorted(map(str, names))
        if name.startswith(paths.PREFIX) and (key := name.removeprefix(paths.PREFIX).lower()) not in known
    }
    notices = []
    for name, key in unknown.items():
        close = difflib.get_close_matches(key, known, n=1)
        if key in REMOVED:
            notices.append(f"{name} was removed: unset it.")
        else:
            meant = "".join(f" Did you mean {paths.PREFIX}{each.upper()}?" for each in close)
            notices.append(f"{name} is not a setting.{meant}")
    # A file that cannot be read is refused elsewhere.
    with suppress(InvalidSettingsError):
        file, keys = paths.config_file(environment), paths.settings_from_file(environment)
        notices += [f"`{key}` was removed: delete the line in {file}." for key in keys if key in REMOVED]
    return notices
