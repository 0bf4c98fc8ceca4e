import os
import sys
from pathlib import Path

import pytest
from platformdirs import user_config_path, user_data_path

from learning_memory_server.system.paths import config_file, data_directory
from tests.processes import python

PRINT_BOTH = """
from platformdirs import user_config_path, user_data_path
from learning_memory_server.system.paths import config_file, data_directory

print(data_directory() == user_data_path("learning-memory-server", appauthor=False))
print(config_file() == user_config_path("learning-memory-server", appauthor=False) / "config.toml")
"""


def test_the_paths_are_those_of_platformdirs() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "LEARNING_MEMORY_CONFIG"}

    assert data_directory(environment) == user_data_path("learning-memory-server", appauthor=False)
    assert config_file(environment) == user_config_path("learning-memory-server", appauthor=False) / "config.toml"


@pytest.mark.skipif(sys.platform != "linux", reason="XDG is Linux's")
@pytest.mark.parametrize("value", ["", "/srv/data"])
def test_they_follow_the_xdg_variables_as_platformdirs_does(value: str) -> None:
    environment = {
        **{name: text for name, text in os.environ.items() if name != "LEARNING_MEMORY_CONFIG"},
        "XDG_DATA_HOME": value,
        "XDG_CONFIG_HOME": value,
    }

    assert python(PRINT_BOTH, env=environment) == "True\nTrue\n"


@pytest.mark.skipif(sys.platform != "linux", reason="XDG is Linux's")
def test_a_relative_xdg_path_is_ignored_as_its_specification_asks() -> None:
    assert data_directory({"XDG_DATA_HOME": "data"}) == data_directory({})
    assert data_directory({"XDG_DATA_HOME": "/srv"}) == Path("/srv/learning-memory-server")
    assert config_file({"XDG_CONFIG_HOME": "etc"}) == config_file({})


@pytest.mark.parametrize(
    ("platform", "data", "config"),
    [
        ("linux", ".local/share", ".config"),
        ("darwin", "Library/Application Support", "Library/Application Support"),
        ("win32", "AppData/Local", "AppData/Local"),
    ],
)
def test_each_system_has_its_own_places(platform: str, data: str, config: str) -> None:
    assert data_directory({}, platform) == Path.home() / data / "learning-memory-server"
    assert config_file({}, platform) == Path.home() / config / "learning-memory-server" / "config.toml"
    elsewhere = {"LOCALAPPDATA": "/home/ann/Local", "XDG_DATA_HOME": "/srv"}
    expected = {"linux": Path("/srv"), "win32": Path("/home/ann/Local")}.get(platform, Path.home() / data)
    assert data_directory(elsewhere, platform) == expected / "learning-memory-server"


def test_the_settings_file_can_be_named() -> None:
    assert config_file({"LEARNING_MEMORY_CONFIG": "/etc/lms.toml"}) == Path("/etc/lms.toml")
    assert config_file({"LEARNING_MEMORY_CONFIG": "~/lms.toml"}) == Path.home() / "lms.toml"
    assert config_file({"LEARNING_MEMORY_CONFIG": ""}) == config_file({})


def test_nothing_but_the_standard_library_is_imported() -> None:
    code = (
        "import sys; before = set(sys.modules); import learning_memory_server.system.paths; "
        "print({name.partition('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names))"
    )
    assert python(code).strip() == "{'learning_memory_server'}"


SANDBOXES = [
    "snap/code/171/.local/share",
    "snap/code/x1/.local/share",
    "snap/code/common/share",
    "snap/code-insiders/current/.local/share",
    ".var/app/com.visualstudio.code/data",
    ".var/app/org.gnome.Builder/config",
]


@pytest.mark.skipif(sys.platform != "linux", reason="XDG is Linux's")
@pytest.mark.parametrize("folder", SANDBOXES)
def test_a_folder_of_a_sandbox_is_not_the_users(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    named = {"XDG_DATA_HOME": f"/home/ann/{folder}", "XDG_CONFIG_HOME": f"/home/ann/{folder}"}
    assert data_directory(named) == Path("/home/ann/.local/share/learning-memory-server")
    assert config_file(named) == Path("/home/ann/.config/learning-memory-server/config.toml")


@pytest.mark.skipif(sys.platform != "linux", reason="XDG is Linux's")
@pytest.mark.parametrize(
    "folder", ["snap/code", "snap/code/data", "snapshots/a/12/x", ".var/data", "data/snap/a/12", "x/.var/app/y"]
)
def test_a_folder_that_only_looks_like_a_sandboxes_is_the_users(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    named = {"XDG_DATA_HOME": f"/home/ann/{folder}"}
    assert data_directory(named) == Path(f"/home/ann/{folder}/learning-memory-server")


@pytest.mark.skipif(sys.platform != "linux", reason="snaps are Linux's")
@pytest.mark.parametrize("revision", ["171", "x1", "common"])
def test_the_home_of_a_snap_is_not_the_users(revision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", f"/home/ann/snap/code/{revision}")
    assert data_directory({}) == Path("/home/ann/.local/share/learning-memory-server")
    assert config_file({"LEARNING_MEMORY_CONFIG": "~/lms.toml"}) == Path("/home/ann/lms.toml")
