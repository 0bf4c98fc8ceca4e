"""The installed size: counted from what an environment really holds."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from scripts.size import ROOT, megabytes, requirers, show, sizes_of_packages

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An environment with two packages, of which one requires the other and offers a third as an extra."""
    libraries = tmp_path / "lib" / "python3.11" / "site-packages"
    for name, size, requires in (
        ("Big_One", 6_000_000, ["small-one>=1", 'third; extra == "more"']),
        ("small-one", 5_000, []),
    ):
        module, info = libraries / f"{name}.py", libraries / f"{name}-1.0.dist-info"
        info.mkdir(parents=True)
        module.write_bytes(b"\n" * size)
        needs = "".join(f"Requires-Dist: {needed}\n" for needed in requires)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}", "utf-8")
        (info / "RECORD").write_text(f"{module.name},,\n{info.name}/METADATA,,\n", "utf-8")
    return tmp_path


def test_each_package_has_the_size_of_its_files_and_the_sum_is_everything(folder: Path) -> None:
    (folder / "bin").mkdir()
    (folder / "bin" / "tool").write_bytes(b"\n" * 2_000_000)

    sizes = sizes_of_packages(folder)

    assert list(sizes) == ["big-one", "small-one"]
    assert sizes["big-one"] == pytest.approx(6, abs=0.1)
    assert megabytes(folder) == pytest.approx(8, abs=0.1)


def test_requirers_are_named_and_extras_are_told_apart(folder: Path) -> None:
    assert requirers(folder) == {"small-one": ["big-one"], "third": ["big-one, as an extra"]}


def test_a_large_package_is_listed_with_who_requires_it(capsys: pytest.CaptureFixture[str]) -> None:
    show(20.0, {"numpy": 9.0, "unheard-of": 8.0, "tiny": 1.0}, {"unheard-of": ["b", "a"]})

    assert capsys.readouterr().out.splitlines() == [
        "20 MB in 3 packages (at most 800)",
        "     9.0 MB  numpy                  vectors",
        "     8.0 MB  unheard-of             required by a, b",
        "     1.0 MB  the others",
    ]


@pytest.mark.slow
def test_without_a_package_index_it_says_why_it_measured_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.size", "--into", str(tmp_path / "new")],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={
            "PIP_NO_INDEX": "1",
            "PIP_CONFIG_FILE": "/dev/null",
            "HOME": str(tmp_path),
            "PATH": "/usr/bin:/bin",
        },
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The installed size was not measured: PIP_NO_INDEX is set")
