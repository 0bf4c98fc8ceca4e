"""Reading base64 in the forms that secrets use."""

from __future__ import annotations

import base64
import binascii


def decoded(value: str) -> bytes:
    """Return what base64 stands for, in either alphabet, with or without padding; nothing if it is not base64."""
    plain = value.strip().rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4))
    except (binascii.Error, ValueError):
        return b""
