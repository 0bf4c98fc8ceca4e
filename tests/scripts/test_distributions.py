"""What a release consists of: it is complete, described correctly, and works where the checkout is not."""

import hashlib
import json
import re
import subprocess
import sys
import tarfile
import time
from email.message import Message
from email.parser import BytesParser
from pathlib import Path
from typing import Any, Final
from zipfile import ZipFile

import pytest
import readme_renderer.markdown

from learning_memory_server.server.settings import Settings
from learning_memory_server.version import VERSION
from scripts.distributions import ROOT, build, manifest, namespace, project, registry_entry
from tests.acceptance.wire import Wire, environment, running
from tests.support import MINUTES
from tests.tool_names import NAMES

WHEEL: Final = f"learning_memory_server-{VERSION}-py3-none-any.whl"
SDIST: Final = f"learning_memory_server-{VERSION}.tar.gz"
BUNDLE: Final = f"learning-memory-server-{VERSION}.mcpb"
BELIEF: Final = {
    "domain": "debugging",
    "strategy": "check-assumptions",
    "goal": "Make the invoice tests pass on the build machine",
    "hypothesis": "The build machine has an older database driver",
    "action": "Pin the driver's version",
    "prediction": "All invoice tests pass there",
}

MANIFEST: Final = {
    "": "manifest_version name display_name version description author homepage support license keywords "
    "server tools compatibility",
    "server": "type entry_point mcp_config",
    "compatibility": "platforms runtimes",
}
"""The fields that MCPB documents for its manifest 0.4, as far as this project uses them."""
ENTRY: Final = {"$schema", "name", "title", "description", "version", "websiteUrl", "packages"}
PACKAGE: Final = {"registryType", "identifier", "version", "fileSha256", "transport"}
"""The fields that the registry documents in its schema of 2025-12-11, as far as this project uses them."""


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with everything built."""
    folder = tmp_path_factory.mktemp("dist")
    build(folder)
    return folder


def metadata(dist: Path) -> Message:
    with ZipFile(dist / WHEEL) as wheel:
        return BytesParser().parsebytes(wheel.read(f"{WHEEL.removesuffix('-py3-none-any.whl')}.dist-info/METADATA"))


@pytest.mark.slow
def test_wheel_and_source_distribution_hold_the_package_the_licence_and_the_types(dist: Path) -> None:
    ours = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "learning_memory_server").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    plugin = {
        f"learning_memory_server/cli/clients/{path.relative_to(ROOT).as_posix()}"
        for path in (ROOT / "plugins").rglob("*")
        if path.is_file()
    }
    with ZipFile(dist / WHEEL) as wheel, tarfile.open(dist / SDIST) as source:
        packed = set(wheel.namelist())
        root = SDIST.removesuffix(".tar.gz")
        shipped = {name.removeprefix(f"{root}/") for name in source.getnames()}

    assert "learning_memory_server/py.typed" in ours
    assert ours <= packed
    licences = [f"{root}.dist-info/licenses/{name}" for name in project()["license-files"]]
    assert packed.issuperset(licences)
    assert {name for name in packed - ours if ".dist-info/" not in name} == plugin
    assert ours | {"LICENSE", "README.md", "pyproject.toml", "hatch_build.py", "docs/how-to/install.md"} <= shipped


@pytest.mark.slow
def test_the_metadata_has_what_a_package_page_shows(dist: Path) -> None:
    facts = metadata(dist)
    classifiers = facts.get_all("Classifier") or []
    pythons = {
        line.rsplit(" ", 1)[1] for line in classifiers if line.startswith("Programming Language :: Python :: 3.")
    }

    assert (facts["Version"], facts["License-Expression"]) == (VERSION, "MIT AND Apache-2.0")
    assert facts["Requires-Python"] == ">=3.11"
    assert pythons == {"3.11", "3.12", "3.13", "3.14"}
    assert {line.split(", ")[0] for line in facts.get_all("Project-URL") or []} == set(project()["urls"])
    assert facts["Description-Content-Type"] == "text/markdown"
    assert "Typing :: Typed" in classifiers


@pytest.mark.slow
def test_a_package_index_can_render_the_readme(dist: Path) -> None:
    html = readme_renderer.markdown.render(str(metadata(dist).get_payload()))

    assert html is not None
    home = project()["urls"]["Homepage"]
    targets = re.findall(r'href="([^"]+)"', html)

    assert f"{home}/blob/main/docs/how-to/install.md" in targets
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []
    assert html.count("<h1") == 1
    assert html.count("<table") == (ROOT / "README.md").read_text("utf-8").count("\n| ---")


@pytest.mark.slow
def test_the_installed_wheel_runs_the_loop_outside_the_checkout(dist: Path, tmp_path: Path) -> None:
    """In a fresh virtual environment that has this one's packages, but for the project itself."""
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    python = home / "bin" / "python"
    install = ("-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index")
    subprocess.run([sys.executable, *install, dist / WHEEL], check=True)
    packages = next(home.glob("lib/python*/site-packages"))
    others = [path for path in sys.path if path.endswith("site-packages")]
    (packages / "requirements.pth").write_text("\n".join(others), "utf-8")
    data = tmp_path / "data"
    data.mkdir()
    where = "import learning_memory_server as it; print(it.__file__)"
    printed = subprocess.run([python, "-c", where], check=True, capture_output=True, text=True, cwd=data)
    assert printed.stdout.startswith(f"{packages}/")

    program = home / "bin" / "learning-memory-server"
    backend: str = Settings.model_fields["embedding_backend"].default
    try:
        with running(data, command=(program,), embedding_backend=backend) as server:
            tools = [tool["name"] for tool in server.request("tools/list")["tools"]]
            started = server.call("start_ghap", **BELIEF)
            resolved = server.call("resolve_ghap", status="confirmed", result="It did.")
            found = hybrid_search(server, "driver on the build machine")
        # What a release is tried with on other systems.
        tried = (sys.executable, ROOT / "scripts/try_release.py", program, "--direct")
        assert b"kept and found" in subprocess.run(tried, check=True, capture_output=True, cwd=data).stdout
    finally:
        subprocess.run([program, "hub", "stop"], check=True, env=environment(data))

    assert tools == NAMES
    assert resolved["id"] == started["id"]
    assert [result["id"] for result in found["results"]] == [started["id"]]


def hybrid_search(server: Wire, query: str) -> dict[str, Any]:
    """Search until the packaged model is ready."""
    deadline = time.monotonic() + MINUTES
    while True:
        found = server.call("search_experiences", query=query)
        if found["mode"] == "hybrid":
            return found
        assert time.monotonic() < deadline, "the model took too long"


@pytest.mark.slow
def test_the_bundle_holds_the_package_what_builds_it_and_its_manifest(dist: Path) -> None:
    with ZipFile(dist / BUNDLE) as bundle, ZipFile(dist / WHEEL) as wheel:
        names = set(bundle.namelist())
        package = {name for name in wheel.namelist() if ".dist-info/" not in name}

        assert names == package | {"manifest.json", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE"}
        assert json.loads(bundle.read("manifest.json"))["server"]["entry_point"] in names
        assert all(bundle.read(name) == wheel.read(name) for name in package)


@pytest.mark.slow
def test_the_registry_entry_names_the_hash_of_a_bundle_with_the_same_bytes_each_time(
    dist: Path, tmp_path: Path
) -> None:
    build(tmp_path)
    entry = json.loads((dist / "server.json").read_text("utf-8"))

    assert (tmp_path / BUNDLE).read_bytes() == (dist / BUNDLE).read_bytes()
    assert entry["packages"][0]["fileSha256"] == hashlib.sha256((dist / BUNDLE).read_bytes()).hexdigest()


def test_the_manifest_has_the_documented_fields() -> None:
    made = manifest(project())

    for part, fields in MANIFEST.items():
        assert (made[part] if part else made).keys() <= set(fields.split()), part
    assert (made["manifest_version"], made["server"]["type"], made["version"]) == ("0.4", "uv", VERSION)
    assert {"command", "args"} >= made["server"]["mcp_config"].keys() - {"platform_overrides"}
    assert set(made["compatibility"]["platforms"]) <= {"darwin", "win32", "linux"}
    assert all(tool.keys() <= {"name", "description"} for tool in made["tools"])
    assert {tool["name"] for tool in made["tools"]} == set(NAMES)
    assert all(tool["description"][-1] in ".?!" for tool in made["tools"])


def test_the_registry_entry_has_the_documented_fields_and_names_no_package_of_an_index() -> None:
    entry = registry_entry(project(), BUNDLE, "0" * 64)

    assert entry.keys() <= ENTRY
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
    assert len(entry["description"]) <= 100
    (package,) = entry["packages"]
    assert package.keys() <= PACKAGE
    assert (package["registryType"], package["transport"]) == ("mcpb", {"type": "stdio"})


@pytest.mark.parametrize(
    ("home", "expected"),
    [
        ("https://github.com/ann/learning-memory-server", "io.github.ann"),
        ("https://memory.example.org/server", "org.example.memory"),
    ],
)
def test_the_namespace_is_the_owners(home: str, expected: str) -> None:
    assert namespace(home) == expected
