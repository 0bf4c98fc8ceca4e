"""Control sequences of terminals (ECMA-48), and the text that is left of an output without them."""

import re
from typing import Final

_SEQUENCE: Final = re.compile(
    # A control sequence: parameters, intermediate bytes, a final byte.
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*(?P<final>[@-~])"
    # A control string, up to its terminator: a device's command, a title, a link. Within tmux, escapes are doubled.
    r"|(?:\x1b[PX\]^_]|[\x90\x98\x9d-\x9f])(?:[^\x07\x1b\x9c\r\n]|\x1b\x1b)*(?:\x07|\x1b\\|\x9c)"
    # An escape sequence, such as a choice of the character set.
    r"|\x1b[ -/]*[0-~]"
    # A character that another one was struck over, as manual pages do for bold and underlined text.
    r"|[^\x00-\x1f\x7f-\x9f]\x08"
    # All other controls but tabs and those that end a line.
    r"|[\x00-\x08\x0e-\x1b\x1f\x7f\x80-\x84\x86-\x9f]"
)
_FORWARD: Final = "C"  # The final byte of a step to the right: consoles of Windows write it for spaces


def without_controls(text: str) -> str:
    """Return a text as a terminal would show it on paper: without control sequences and other control characters.

    Takes linear time. A sequence that is cut off loses its introducer alone.
    """
    return _SEQUENCE.sub(lambda found: " " if found["final"] == _FORWARD else "", text)
