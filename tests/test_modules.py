"""Every module can be imported: type checkers accept names that exist for them alone."""

from importlib import import_module
from pkgutil import walk_packages

import pytest

import learning_memory_server

MODULES = [each.name for each in walk_packages(learning_memory_server.__path__, "learning_memory_server.")]


@pytest.mark.parametrize("module", [name for name in MODULES if not name.endswith("__main__")])
def test_a_module_can_be_imported(module: str) -> None:
    assert import_module(module).__name__ == module
