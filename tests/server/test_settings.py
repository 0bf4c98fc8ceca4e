import json
import re
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.errors import InvalidSettingsError
from learning_memory_server.server.settings import Settings, explain_settings_mismatch, load_settings, setting_notices
from learning_memory_server.system.paths import data_directory


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "config.toml"
    path.touch()
    return path


def load(file: Path, **variables: str) -> Settings:
    named = {f"LEARNING_MEMORY_{name.upper()}": value for name, value in variables.items()}
    return load_settings({"LEARNING_MEMORY_CONFIG": str(file), **named})


def test_without_settings_the_defaults_apply(file: Path) -> None:
    settings = load(file)

    assert settings.storage_path == data_directory()
    assert settings.journal_directory == settings.storage_path / "journal"
    assert settings.index_directory == settings.storage_path / "index"
    assert (settings.embedding_backend, settings.embedding_model) == ("sentence-transformers", "all-MiniLM-L6-v2")
    assert (settings.hdbscan_min_samples, settings.log_level) == (3, "info")
    unset = ("reranker_model", "hdbscan_min_cluster_size", "min_experiences", "project")
    assert [getattr(settings, name) for name in (*unset, "qdrant_url", "qdrant_api_key")] == [None] * 6


def test_the_file_overrides_the_defaults_and_a_variable_overrides_the_file(file: Path) -> None:
    file.write_text('min_experiences = 7\nhdbscan_min_samples = 5\nproject = "from-file"')

    settings = load(file, min_experiences="9")

    assert settings.min_experiences == 9
    assert settings.hdbscan_min_samples == 5
    assert settings.project == "from-file"
    assert settings.log_level == "info"


def test_the_given_environment_decides_where_data_goes(tmp_path: Path, file: Path) -> None:
    environment = {"LEARNING_MEMORY_CONFIG": str(file), "XDG_DATA_HOME": str(tmp_path)}

    assert load_settings(environment).storage_path == data_directory(environment)


def test_every_field_can_be_set_by_its_variable(file: Path, tmp_path: Path) -> None:
    given = {
        "storage_path": str(tmp_path / "data"),
        "journal_path": str(tmp_path / "log"),
        "project": "p",
        "qdrant_url": "https://qdrant.example.org",
        "qdrant_api_key": "k",
        "embedding_backend": "hashing",
        "embedding_model": "m",
        "ollama_url": "http://gpu.example.org:11434",
        "reranker_model": "owner/ranks",
        "hdbscan_min_cluster_size": "4",
        "hdbscan_min_samples": "2",
        "min_experiences": "3",
        "log_level": "debug",
    }

    settings = load(file, **given)

    assert given.keys() <= Settings.model_fields.keys()
    assert settings.journal_directory == tmp_path / "log"
    assert settings.qdrant_api_key is not None
    assert settings.qdrant_api_key.get_secret_value() == "k"
    assert settings.hdbscan_min_cluster_size == 4


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("min_experiences", "many", "valid integer"),
        ("min_experiences", "0", "greater than or equal to 1"),
        ("min_experiences", "2.5", "valid integer"),
        ("hdbscan_min_cluster_size", "1", "greater than or equal to 2"),
        ("hdbscan_min_samples", "0", "greater than or equal to 1"),
        ("log_level", "loud", "'debug', 'info', 'warning' or 'error'"),
        ("embedding_backend", "openai", "'sentence-transformers', 'ollama' or 'hashing'"),
        ("embedding_model", "./models/small", "must be an absolute path, or a name"),
        ("reranker_model", "../models/ranks", "must be an absolute path, or a name"),
        ("ollama_url", "localhost:11434", "must begin with http:// or https://"),
        ("ollama_url", "http://", "must name a host"),
        ("ollama_url", "http://localhost:many", "must name a host"),
        ("qdrant_url", "localhost:6333", "must begin with http:// or https://"),
        ("project", "x" * 201, "at most 200 characters"),
    ],
)
def test_an_invalid_value_is_refused_naming_its_source(file: Path, name: str, value: str, said: str) -> None:
    with pytest.raises(InvalidSettingsError, match=f"^LEARNING_MEMORY_{name.upper()}: ") as in_environment:
        load(file, **{name: value})
    assert said in in_environment.value.message

    quoted = value if value.replace(".", "").isdigit() else f'"{value}"'
    file.write_text(f"{name} = {quoted}")
    with pytest.raises(InvalidSettingsError) as in_file:
        load(file)
    assert in_file.value.message.startswith(f"{name} in {file}: ")
    assert said in in_file.value.message


def test_a_valid_variable_hides_an_invalid_value_in_the_file(file: Path) -> None:
    file.write_text("min_experiences = 0")

    assert load(file, min_experiences="5").min_experiences == 5


def test_ollama_needs_the_name_of_a_model(file: Path) -> None:
    with pytest.raises(InvalidSettingsError) as caught:
        load(file, embedding_backend="ollama")
    assert caught.value.message.startswith("LEARNING_MEMORY_EMBEDDING_MODEL: ")
    assert "such as nomic-embed-text" in caught.value.message

    settings = load(file, embedding_backend="ollama", embedding_model="nomic-embed-text")
    assert settings.ollama_url == "http://127.0.0.1:11434"


def test_a_model_may_be_in_the_home_folder(file: Path) -> None:
    assert load(file, embedding_model="~/models/small").embedding_model == str(Path.home() / "models" / "small")
    assert load(file, embedding_model="owner/name").embedding_model == "owner/name"
    assert load(file, reranker_model="~/ranks").reranker_model == str(Path.home() / "ranks")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"min_experiences = true", "min_experiences in {file}: must be a number, not a boolean."),
        (b"min_experience = 5", "min_experience in {file} is not a setting. Did you mean min_experiences?"),
        (b"zzz = 5", "zzz in {file} is not a setting."),
        (b"[clustering]\nmin_experiences = 5", "clustering in {file} is not a setting."),
        (b"min_experiences = ", "{file} cannot be read"),
        (b"= 5", "{file} cannot be read"),
        (b"\xff\xfe", "{file} cannot be read"),
        (b"a = 1\na = 2", "{file} cannot be read"),
    ],
)
def test_what_is_wrong_in_the_file_is_refused_with_its_name(file: Path, content: bytes, said: str) -> None:
    file.write_bytes(content)
    with pytest.raises(InvalidSettingsError, match=re.escape(said.format(file=file))):
        load(file)


def test_a_key_that_once_was_a_setting_is_a_warning(file: Path) -> None:
    file.write_text("episodes = false\nadvice_withheld = 0.1\npreferences = false\nmin_experiences = 5\n")

    assert load(file).min_experiences == 5
    assert setting_notices((), {"LEARNING_MEMORY_CONFIG": str(file)}) == [
        f"`episodes` was removed: delete the line in {file}.",
        f"`advice_withheld` was removed: delete the line in {file}.",
        f"`preferences` was removed: delete the line in {file}.",
    ]
    removed = {"LEARNING_MEMORY_ADVICE_WITHHELD": "0.1"}
    assert setting_notices(removed, removed) == ["LEARNING_MEMORY_ADVICE_WITHHELD was removed: unset it."]


def test_an_unknown_variable_is_a_warning_with_a_suggestion(file: Path) -> None:
    environment = {
        "LEARNING_MEMORY_PROJEKT": "p",
        "LEARNING_MEMORY_ZZZ": "z",
        "LEARNING_MEMORY_CONFIG": str(file),
        "LEARNING_MEMORY_PROJECT": "p",
        "PATH": "/bin",
    }

    assert setting_notices(environment, environment) == [
        "LEARNING_MEMORY_PROJEKT is not a setting. Did you mean LEARNING_MEMORY_PROJECT?",
        "LEARNING_MEMORY_ZZZ is not a setting.",
    ]
    assert load_settings(environment).project == "p"


def test_a_missing_file_that_was_named_is_refused(file: Path) -> None:
    file.unlink()

    with pytest.raises(InvalidSettingsError, match=r"The settings file .* does not exist") as caught:
        load(file)

    assert str(file) in caught.value.message


def test_the_default_file_may_be_missing(tmp_path: Path) -> None:
    assert load_settings({"XDG_CONFIG_HOME": str(tmp_path)}).min_experiences is None


def test_a_folder_in_place_of_the_file_is_refused(file: Path) -> None:
    file.unlink()
    file.mkdir()

    with pytest.raises(InvalidSettingsError, match="cannot be read"):
        load(file)


def test_the_api_key_is_never_shown(file: Path) -> None:
    settings = load(file, qdrant_api_key="sesame", qdrant_url="https://q.example.org")

    assert "sesame" not in repr(settings) + str(settings) + settings.model_dump_json()
    file.write_text('qdrant_api_key = ["sesame"]')
    with pytest.raises(InvalidSettingsError) as caught:
        load(file)
    assert "sesame" not in caught.value.message


def test_the_home_folder_of_a_path_is_expanded(file: Path) -> None:
    settings = load(file, storage_path="~/memory", journal_path="/srv/log")

    assert settings.storage_path == Path.home() / "memory"
    assert settings.journal_directory == Path("/srv/log")


@pytest.mark.parametrize("setting", ["storage_path", "journal_path", "embedding_model", "reranker_model"])
@pytest.mark.parametrize(
    ("given", "right"),
    [
        ("${HOME}/memory", "write ~/memory"),
        ("$HOME/memory", "write ~/memory"),
        ("${userHome}/memory", "write ~/memory"),
        ("${env:HOME}/memory", "write ~/memory"),
        ("%USERPROFILE%/memory", "write ~/memory"),
        ("${workspaceFolder}/.memory", "absolute or from ~/"),
        ("/srv/${USER}/memory", "absolute or from ~/"),
        ("$(pwd)/memory", "absolute or from ~/"),
        ("%APPDATA%\\memory", "absolute or from ~/"),
    ],
)
def test_a_placeholder_that_nothing_fills_in_is_refused_with_the_right_spelling(
    setting: str, given: str, right: str, file: Path
) -> None:
    with pytest.raises(InvalidSettingsError, match=f"LEARNING_MEMORY_{setting.upper()}") as caught:
        load(file, **{setting: given})
    assert "nothing fills in" in caught.value.message
    assert right in caught.value.message


@pytest.mark.parametrize("name", ["/srv/data$", "/srv/a$b/c", "/srv/100%/50%", "/srv/$1", "/srv/%20x%20y", "~/$"])
def test_a_dollar_or_a_percent_sign_of_a_folders_own_name_is_kept(name: str, file: Path) -> None:
    assert load(file, storage_path=name).storage_path == Path(name).expanduser()


@pytest.mark.parametrize("relative", ["memory", "./memory", "../memory", ".", "a/b"])
@pytest.mark.parametrize("setting", ["storage_path", "journal_path"])
def test_a_relative_path_is_refused_with_an_absolute_one(setting: str, relative: str, file: Path) -> None:
    with pytest.raises(InvalidSettingsError, match="is relative") as caught:
        load(file, **{setting: relative})
    assert str(Path.cwd()) in caught.value.message


def test_the_home_folder_of_an_unknown_user_is_an_invalid_value(file: Path) -> None:
    with pytest.raises(InvalidSettingsError, match="LEARNING_MEMORY_STORAGE_PATH"):
        load(file, storage_path="~no-such-user-here/memory")


def test_settings_do_not_change() -> None:
    assert Settings.model_config["frozen"]
    assert Settings.model_config["extra"] == "forbid"


def test_every_setting_is_described() -> None:
    assert all(field.description for field in Settings.model_fields.values())


def test_a_malformed_url_is_refused_without_a_word_of_its_password() -> None:
    for url in ("http://ann:qu#okka@host:1", "http://ann:quokka@host:port", "http://[quokka"):
        with pytest.raises(InvalidSettingsError) as refused:
            load_settings({"LEARNING_MEMORY_OLLAMA_URL": url, "LEARNING_MEMORY_EMBEDDING_BACKEND": "hashing"})
        assert "must name a host" in refused.value.message
        assert not any(part in refused.value.sentence for part in ("qu", "okka", "ann"))


def test_redaction_is_on_and_patterns_come_from_json_or_the_file(file: Path) -> None:
    assert load(file).redaction is True
    settings = load(file, redaction_patterns='{"acme id": "acme-[0-9]{6}"}', redaction_allow='["^test_"]')
    assert settings.redaction_patterns == {"acme id": "acme-[0-9]{6}"}
    assert settings.redaction_allow == ("^test_",)
    file.write_text("redaction = false\nredaction_patterns = ['acme-[0-9]{6}']\n")
    assert (load(file).redaction, load(file).redaction_patterns) == (False, ("acme-[0-9]{6}",))


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("REDACTION_PATTERNS", '["a(b"]', "'a(b' is not a regular expression"),
        ("REDACTION_PATTERNS", '["a*"]', "matches the empty text"),
        ("REDACTION_PATTERNS", '{"Acme Id!": "a"}', "cannot be a kind"),
        ("REDACTION_PATTERNS", "acme-.*", "must be JSON"),
        ("REDACTION_ALLOW", '["[a"]', "'[a' is not a regular expression"),
    ],
)
def test_a_wrong_pattern_is_refused_with_its_setting(name: str, value: str, reason: str, file: Path) -> None:
    with pytest.raises(InvalidSettingsError) as raised:
        load(file, **{name: value})
    assert raised.value.message.startswith(f"LEARNING_MEMORY_{name}")
    assert reason in raised.value.message


def test_a_cluster_has_several_addresses(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('qdrant_url = ["http://a:6333", "https://b"]')
    assert load(file).qdrant_url == "http://a:6333,https://b"
    assert load(file, qdrant_url="http://a, http://b").qdrant_url == "http://a,http://b"
    with pytest.raises(InvalidSettingsError, match="must begin with http"):
        load(file, qdrant_url="http://a,b:6333")


BOOLEANS = ([True, "true", "True", "TRUE", "1", "yes", "on"], [False, "false", "False", "0", "no", "off"])
EQUAL: dict[str, tuple[list[Any], ...]] = {
    "qdrant_url": (
        ["http://a:1,http://b:1", ["http://a:1", "http://b:1"], "http://a:1, http://b:1 "],
        ["http://a:1", ["http://a:1"]],
    ),
    "qdrant_api_key": (["1"], ["1.0"], ["true"]),
    "qdrant_allow_plaintext_key": BOOLEANS,
    "embedding_backend": (["hashing"], ["sentence-transformers"]),
    "embedding_model": (["~/model", str(Path.home() / "model")], ["all-MiniLM-L6-v2"]),
    "ollama_url": (["http://a:1"], ["http://127.0.0.1:11434"]),
    "reranker_model": (["~/model", str(Path.home() / "model")], ["model"]),
    "hdbscan_min_cluster_size": ([5, "5", "5.0"], [6, "6"]),
    "hdbscan_min_samples": ([5, "5", "5.0"], [3, "3"]),
    "min_experiences": ([5, "5", "5.0"], [6, "6"]),
    "advice_scope": (["all"], ["project"]),
    "questions": BOOLEANS,
    "redaction": BOOLEANS,
    "redaction_patterns": ([["a", "b"], '["a", "b"]', '["a","b"]'], [{"a": "b"}, '{"a": "b"}'], [[], "[]"]),
    "redaction_allow": ([["a", "b"], '["a","b"]'], [["b", "a"]], [[], "[]"]),
    "hub_idle_minutes": ([5, "5", "5.0"], [30, 30.0, "30", "3e1"]),
}
"""For each setting, lists of forms with one meaning: as variables and the file may have them."""
OF_THE_CALLER = {"project", "log_level", "storage_path", "journal_path", "exclude"}


def test_each_setting_is_compared_or_of_the_caller_alone() -> None:
    assert EQUAL.keys() | OF_THE_CALLER == Settings.model_fields.keys()
    assert explain_settings_mismatch(Settings(), dict.fromkeys(OF_THE_CALLER, "of the session")) == ""


@pytest.mark.parametrize("name", EQUAL)
def test_what_means_the_same_is_no_other_setting_and_what_does_not_is_one(name: str) -> None:
    meanings = [(number, form) for number, forms in enumerate(EQUAL[name]) for form in forms]
    for own, first in meanings:
        hub = Settings.model_validate({name: first})
        for other, second in meanings:
            # As a hello brings it.
            told = explain_settings_mismatch(hub, json.loads(json.dumps({name: second})))
            assert told == "" if own == other else f"other settings ({name}) than" in told, (first, second)


def test_a_default_that_is_written_out_is_no_other_setting() -> None:
    usual = Settings().model_dump(mode="json", exclude=OF_THE_CALLER, exclude_none=True)
    assert explain_settings_mismatch(Settings(), usual) == ""
    assert explain_settings_mismatch(Settings.model_validate(usual), {}) == ""


@pytest.mark.parametrize("others", [None, "text", [], 1])
def test_a_session_that_tells_no_settings_has_no_others(others: object) -> None:
    assert explain_settings_mismatch(Settings(), others) == ""


def test_an_invalid_setting_is_another_one_and_an_unknown_one_is_none() -> None:
    assert "(min_experiences)" in explain_settings_mismatch(
        Settings(), {"min_experiences": "many", "redaction": "true"}
    )
    assert explain_settings_mismatch(Settings(), {"no_setting": "1", "episodes": True}) == ""
