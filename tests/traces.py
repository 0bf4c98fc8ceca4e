"""What was written to files: where a text that must be gone is still to be found."""

import gzip
import os
from pathlib import Path


def files_with(folder: Path, *texts: str) -> list[str]:
    """Return the files under a folder that have one of the texts, compressed or not."""
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            content = written(path)
        except FileNotFoundError:
            # A hub's index has removed it meanwhile.
            continue
        if path.name.endswith(".tar.gz"):
            content += gzip.decompress(content)
        if any(text.encode() in content for text in texts):
            found.append(path.relative_to(folder).as_posix())
    return found


def written(path: Path) -> bytes:
    """Return a file without its holes, which are zeros. The files of an index have a gigabyte of them."""
    parts, end = [], 0
    with path.open("rb") as file:
        number, size = file.fileno(), path.stat().st_size
        while end < size:
            try:
                start = os.lseek(number, end, os.SEEK_DATA)
            except OSError:
                # The rest is a hole.
                break
            end = os.lseek(number, start, os.SEEK_HOLE)
            parts.append(os.pread(number, end - start, start))
    return b"\0".join(parts)
