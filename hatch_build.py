"""What the package says of itself: the README, with links that also lead somewhere on a package index."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE: Final = re.compile(r"\]\((?![a-z]+:|#)([^)\s]+)\)")


class PackagePage(MetadataHookInterface):
    """Turns the README's relative links into addresses below the project's homepage."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the field `readme`."""
        pages = f"{metadata['urls']['Homepage']}/blob/main"
        text = Path(self.root, "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": _RELATIVE.sub(rf"]({pages}/\1)", text)}
