"""Build what a release consists of, in dist/.

The wheel and the source distribution; an MCPB bundle, which Claude Desktop installs with a click; and server.json, the
entry of the bundle in the MCP registry. Versions come from learning_memory_server/version.py, everything else from
pyproject.toml. The bundle has the same bytes each time, so server.json can name its hash.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from learning_memory_server.server.tools.catalog import TOOLS
from learning_memory_server.version import VERSION

ROOT: Final = Path(__file__).parents[1]
REGISTRY_SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
MANIFEST_VERSION: Final = "0.4"
"""The first with servers of type `uv`: the host installs the dependencies, so one bundle serves every platform."""
_SENTENCE: Final = re.compile(r".+?[.?!](?= |$)")
_OF_THE_PROJECT: Final = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE")
"""What a build of the package needs next to the package itself."""


def main() -> None:
    """Build everything and name the files."""
    target = ROOT / "dist"
    build(target)
    print("\n".join(f"{path.stat().st_size:>12,}  {path.relative_to(ROOT)}" for path in sorted(target.iterdir())))


def build(target: Path) -> None:
    """Write the wheel, the source distribution, the bundle and server.json to a folder."""
    target.mkdir(parents=True, exist_ok=True)
    run = [sys.executable, "-m", "hatchling", "build", "-d", str(target)]
    subprocess.run(run, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    wheel = target / f"learning_memory_server-{VERSION}-py3-none-any.whl"
    bundle = target / f"{project()['name']}-{VERSION}.mcpb"
    write_bundle(wheel, bundle)
    digest = hashlib.sha256(bundle.read_bytes()).hexdigest()
    entry = registry_entry(project(), bundle.name, digest)
    (target / "server.json").write_text(json.dumps(entry, indent=2) + "\n", "utf-8")


def project() -> dict[str, Any]:
    """Return the table `project` of pyproject.toml."""
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return table


def write_bundle(wheel: Path, bundle: Path) -> None:
    """Write an MCPB bundle: the manifest, the files of a wheel's package, and what a build of it needs."""
    with ZipFile(wheel) as source, ZipFile(bundle, "w", ZIP_DEFLATED) as archive:
        contents = {name: (ROOT / name).read_bytes() for name in _OF_THE_PROJECT}
        contents |= {name: source.read(name) for name in source.namelist() if ".dist-info/" not in name}
        contents["manifest.json"] = json.dumps(manifest(project()), indent=2).encode()
        for name, content in sorted(contents.items()):
            # ZipInfo's own date is fixed.
            archive.writestr(ZipInfo(name), content, ZIP_DEFLATED)


def manifest(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest of the bundle.

    Args:
        facts: The table `project` of pyproject.toml.
    """
    name = facts["name"]
    command = ["run", "--project", "${__dirname}", name]
    return {
        "manifest_version": MANIFEST_VERSION,
        "name": name,
        "display_name": "Learning memory",
        "version": VERSION,
        "description": facts["description"],
        "author": {"name": f"The {name} authors"},
        "homepage": facts["urls"]["Homepage"],
        "support": facts["urls"]["Issues"],
        "license": facts["license"],
        "keywords": facts["keywords"],
        "server": {
            "type": "uv",
            "entry_point": "learning_memory_server/__main__.py",
            "mcp_config": {
                "command": "uv",
                "args": command,
                # There is no hub on Windows.
                "platform_overrides": {"win32": {"command": "uv", "args": [*command, "--direct"]}},
            },
        },
        "tools": [{"name": tool.name, "description": _first_sentence(tool.description)} for tool in TOOLS],
        "compatibility": {"platforms": ["darwin", "linux", "win32"], "runtimes": {"python": facts["requires-python"]}},
    }


def registry_entry(facts: dict[str, Any], bundle: str, digest: str) -> dict[str, Any]:
    """Return the content of server.json, for a bundle that is an asset of the release `v` and the version.

    It names the bundle, not a package of an index: this project has none, and one of its name would be another's.

    Args:
        facts: The table `project` of pyproject.toml.
        bundle: The bundle's file name.
        digest: The SHA-256 of the bundle, in hexadecimal.
    """
    home = facts["urls"]["Homepage"]
    return {
        "$schema": REGISTRY_SCHEMA,
        "name": f"{namespace(home)}/{facts['name']}",
        "title": "Learning memory",
        "description": facts["description"],
        "version": VERSION,
        "websiteUrl": home,
        "packages": [
            {
                "registryType": "mcpb",
                "identifier": f"{home}/releases/download/v{VERSION}/{bundle}",
                "version": VERSION,
                "fileSha256": digest,
                "transport": {"type": "stdio"},
            }
        ],
    }


def namespace(home: str) -> str:
    """Return the registry's name for the owner of an address: a GitHub account's, or the host in reverse."""
    parts = urlsplit(home)
    host = parts.hostname or ""
    if host == "github.com":
        return f"io.github.{parts.path.split('/')[1]}"
    return ".".join(reversed(host.split(".")))


def _first_sentence(text: str) -> str:
    """Return the first sentence of a tool's description, on one line."""
    line = " ".join(text.split())
    found = _SENTENCE.match(line)
    return found[0] if found else line


if __name__ == "__main__":
    main()
