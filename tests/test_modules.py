"""Every module can be imported: type checkers accept names that exist for them alone. Libraries may report nothing."""

import importlib
import os
from importlib import import_module
from pkgutil import walk_packages

import pytest

import learning_memory_server

MODULES = [each.name for each in walk_packages(learning_memory_server.__path__, "learning_memory_server.")]


@pytest.mark.parametrize("module", [name for name in MODULES if not name.endswith("__main__")])
def test_a_module_can_be_imported(module: str) -> None:
    assert import_module(module).__name__ == module


def test_whoever_imports_the_package_switches_telemetry_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "0")
    monkeypatch.delenv("HF_HUB_DISABLE_TELEMETRY", raising=False)
    importlib.reload(learning_memory_server)
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"
    assert os.environ["HF_HUB_DISABLE_TELEMETRY"] == "1"
