"""Two of the changes that CONTRIBUTING.md describes, made in a copy of the package as it says."""

import json
import shutil
from pathlib import Path

import pytest

import learning_memory_server
from tests.processes import python

PACKAGE = Path(learning_memory_server.__file__).parent
CONTRIBUTING = PACKAGE.parent / "CONTRIBUTING.md"
TOOL = '''

@toolset.tool("Count clusters", changes=False)
async def count_clusters(clusterer: ExperienceClusterer, /, *, axis: args.AxisToCompare) -> ClusterList:
    """Say how many clusters there are."""
    found = await clusterer.cluster_axis(axis, None)
    return cast("ClusterList", page("clusters", [], offset=len(found.clusters)))
'''
LISTED = """
import json
from learning_memory_server.server.tools.catalog import TOOLS
print(json.dumps([tool.name for tool in TOOLS]))
"""
SETTING = """    greeting: str = Field(default="hello", description="What is said first.")
    storage_path: UserPath"""
READ = """
from learning_memory_server.server.settings import load_settings
settings = load_settings({"LEARNING_MEMORY_GREETING": "welcome", "LEARNING_MEMORY_CONFIG": "/dev/null"})
print(settings.greeting)
"""

pytestmark = pytest.mark.slow


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PACKAGE, tmp_path / PACKAGE.name, ignore=shutil.ignore_patterns("minilm")))


def section(name: str) -> str:
    return CONTRIBUTING.read_text("utf-8").split(f"### {name}\n")[1].split("\n### ")[0]


def test_a_new_tool_is_a_function_in_one_module(copy: Path) -> None:
    assert "`learning_memory_server/server/tools/`" in section("A new tool")
    module = copy / "server" / "tools" / "learning.py"
    module.write_text(module.read_text("utf-8") + TOOL, "utf-8")

    tools = json.loads(python(LISTED, cwd=copy.parent))

    assert "count_clusters" in tools


def test_a_new_setting_is_a_field_in_one_module(copy: Path) -> None:
    assert "`learning_memory_server/server/settings.py`" in section("A setting")
    module = copy / "server" / "settings.py"
    text = module.read_text("utf-8")
    assert text.count("    storage_path: UserPath") == 1
    module.write_text(text.replace("    storage_path: UserPath", SETTING), "utf-8")

    assert python(READ, cwd=copy.parent) == "welcome\n"
