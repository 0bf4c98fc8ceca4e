"""Libraries are forbidden to report what they do, before any of them is imported."""

import importlib
import os

import pytest

import learning_memory_server


def test_whoever_imports_the_package_switches_telemetry_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORT_DISABLE_TELEMETRY", "0")
    monkeypatch.delenv("HF_HUB_DISABLE_TELEMETRY", raising=False)
    importlib.reload(learning_memory_server)
    assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"
    assert os.environ["HF_HUB_DISABLE_TELEMETRY"] == "1"
