"""The page: one HTML file with the data, the styles and every script in it, that asks no network for anything."""

import base64
import hashlib
import json
from functools import cache
from importlib import resources
from typing import Any, Final

from learning_memory_server.system.invisible import shown

VENDORED: Final = ("d3.min.js", "plot.umd.min.js")
"""The scripts of others: d3 7.9.2 and Observable Plot 0.6.17. Their licences and checksums are next to them."""
OWN: Final = (
    *("base.js", "address.js", "decide.js", "entry.js", "chart.js", "keyboard.js"),
    *("overview.js", "search.js", "reviews.js", "entries.js", "shared.js", "failures.js", "clusters.js"),
    *("values.js", "rules.js", "advice.js", "memories.js", "calibration.js", "chat.js", "start.js"),
)
"""Our scripts, in the order in which they are run."""
_PLOT_STYLE: Final = (
    ":where(.plot) {\n  --plot-background: white;\n  display: block;\n  height: auto;\n  height: intrinsic;\n"
    "  max-width: 100%;\n}\n:where(.plot text),\n:where(.plot tspan) {\n  white-space: pre;\n}"
)
"""The style sheet that Plot puts into each chart whose class is `plot`."""
_ESCAPES: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""What could end the element that holds the data, in JSON's own form."""


def as_text(document: dict[str, Any]) -> str:
    """Return a document as JSON text that can stand in a page, with names of characters that would hide something."""
    parts = []
    for name, part in document.items():
        # Piece by piece: other threads run in between.
        pieces = f"[{','.join(map(_piece, part))}]" if isinstance(part, list) else _piece(part)
        parts.append(f"{_piece(name)}:{pieces}")
    return f"{{{','.join(parts)}}}"


def _piece(part: object) -> str:
    # A lone surrogate, which an older import may have left, is not UTF-8.
    text = json.dumps(part, ensure_ascii=False, separators=(",", ":"))
    text = shown(text.encode("utf-8", "replace").decode())
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def page(document: str) -> str:
    """Return the page with the data, from `as_text`."""
    before, after = _frame()
    return f"{before}{document}{after}"


@cache
def _frame() -> tuple[str, str]:
    """Return what stands before and after the data."""
    assets = resources.files(__package__).joinpath("assets")
    files = [*(assets / "vendor" / name for name in VENDORED), *(assets / name for name in OWN)]
    *scripts, style, filled = (each.read_text("utf-8") for each in (*files, assets / "page.css", assets / "page.html"))
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(map(_source, scripts))}",
            f"style-src {_source(style)} {_source(_PLOT_STYLE)}",
            "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    for name, value in {
        "POLICY": policy,
        "STYLE": style,
        "SCRIPTS": "\n".join(f"<script>{script}</script>" for script in scripts),
    }.items():
        filled = filled.replace(f"{{{{{name}}}}}", value)
    before, _, after = filled.partition("{{DATA}}")
    return before, after


def _source(content: str) -> str:
    """Return how a policy allows exactly this content."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
