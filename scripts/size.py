"""Install the package as a user does, and say what it takes: `python -m scripts.size [--into FOLDER]`.

The wheel is built and installed, with its default requirements, into a new virtual environment. Printed are the
megabytes and the packages, and for each large one what it is for or which package requires it. More than `LIMIT`
megabytes are an error. Without a package index nothing can be installed: the reason is printed, and it is no error.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = "learning-memory-server"
LIMIT: Final = 650
"""Megabytes of the whole environment. It has no pip, as those that uv and pipx make."""
LARGE: Final = 5.0
"""Megabytes from which a package is listed."""
PURPOSES: Final = {
    PACKAGE: "this package; 27 MB are the default model",
    "onnxruntime": "runs the embedding model",
    "tokenizers": "the model's words, and where texts are divided",
    "numpy": "vectors",
    "scipy": "clusters: sparse graphs and the matching of cluster numbers",
    "hdbscan": "clusters: the groups of dense neighbours",
    "scikit-learn": "clusters: principal components, and HDBSCAN where hdbscan has no wheel",
    "qdrant-edge-py": "the embedded vector engine",
    "qdrant-client": "asks a Qdrant server, where one is set",
    "pystemmer": "word stems of lexical search",
    "mcp": "the protocol",
    "pydantic": "settings and arguments",
}
"""What a package is for; of any other package, the ones that require it are named."""
_UNREACHABLE: Final = re.compile(
    "NewConnectionError|ConnectTimeoutError|NameResolutionError|ReadTimeoutError|ProxyError|SSLError"
)


class _NoIndexError(Exception):
    """No package index can be reached."""


def main() -> None:
    """Install, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, help="a folder for the environment, which is kept")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.into or Path(temporary) / "venv"
        try:
            install(folder, Path(temporary))
        except _NoIndexError as error:
            print(f"The installed size was not measured: {error}")
            return
        total = megabytes(folder)
        sizes = sizes_of_packages(folder)
        show(total, sizes, requirers(folder))
    if total > LIMIT:
        sys.exit(f"{total:.0f} MB are more than {LIMIT}.")


def install(folder: Path, temporary: Path) -> None:
    """Build the wheel, and install it into a new environment.

    Raises:
        _NoIndexError: If no package index can be reached.
        subprocess.CalledProcessError: If pip fails for another reason.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    _pip("wheel", "--no-deps", "--wheel-dir", str(temporary / "wheels"), str(ROOT))
    (wheel,) = (temporary / "wheels").glob("*.whl")
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    _pip("--python", str(folder), "install", str(wheel))


def megabytes(folder: Path) -> float:
    """Return what the files in a folder take on disk."""
    return sum(_disk_use(path) for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def sizes_of_packages(folder: Path) -> dict[str, float]:
    """Return the megabytes of each package of an environment, the largest first."""
    sizes = {
        _name(found.metadata["Name"]): sum(
            _disk_use(path)
            for path in (Path(str(found.locate_file(file))) for file in found.files or ())
            if path.is_file()
        )
        / 1e6
        for found in metadata.distributions(path=_libraries(folder))
    }
    return dict(sorted(sizes.items(), key=lambda item: -item[1]))


def requirers(folder: Path) -> dict[str, list[str]]:
    """Return which packages of an environment require a package, by its name."""
    found: dict[str, list[str]] = {}
    for distribution in metadata.distributions(path=_libraries(folder)):
        for requirement in distribution.requires or ():
            needed = re.match(r"[\w.-]+", requirement)
            if needed:
                note = ", as an extra" if "extra ==" in requirement else ""
                found.setdefault(_name(needed[0]), []).append(_name(distribution.metadata["Name"]) + note)
    return found


def show(total: float, sizes: dict[str, float], required_by: dict[str, list[str]]) -> None:
    """Print the sum, and the large packages with the reason for each."""
    print(f"{total:.0f} MB in {len(sizes)} packages (at most {LIMIT})")
    for name, size in sizes.items():
        if size >= LARGE:
            requiring = sorted(required_by.get(name, ()), key=lambda found: (", as" in found, found))
            # Those that require it in any case say enough.
            plain = [found for found in requiring if ", as" not in found] or requiring
            purpose = PURPOSES.get(name) or f"required by {', '.join(plain) or 'none of them'}"
            print(f"{size:8.1f} MB  {name:22} {purpose}")
    rest = sum(size for size in sizes.values() if size < LARGE)
    print(f"{rest:8.1f} MB  the others")


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--retries", "1", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode == 0:
        return
    output = done.stdout + done.stderr
    if os.environ.get("PIP_NO_INDEX"):
        raise _NoIndexError("PIP_NO_INDEX is set, and pip found no wheel of a requirement.")
    if unreachable := _UNREACHABLE.search(output):
        raise _NoIndexError(f"pip reached no package index ({unreachable[0]}).")
    sys.stderr.write(output)
    done.check_returncode()


def _libraries(folder: Path) -> list[str]:
    return [str(path) for path in (*folder.glob("lib/python*/site-packages"), *folder.glob("Lib/site-packages"))]


def _disk_use(path: Path) -> int:
    status = path.stat()
    # Windows does not count blocks.
    return getattr(status, "st_blocks", 0) * 512 or status.st_size


def _name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    main()
