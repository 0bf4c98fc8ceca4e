"""Secrets in formats that vendors document, each as it would stand in a note or a command, and texts without secrets.

Written from the vendors' documentation without looking at the detectors. `<an:36>` stands for 36 random letters and
digits; what is secret stands between « and ».
"""

import random
import re
import string
from pathlib import Path
from typing import Final

_ALPHABETS: Final = {
    "an": string.ascii_letters + string.digits,
    "al": string.ascii_letters,
    "AN": string.ascii_uppercase + string.digits,
    "ln": string.ascii_lowercase + string.digits,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "d": string.digits,
    "url": string.ascii_letters + string.digits + "_-",
    "b64": string.ascii_letters + string.digits + "+/",
    "b32": string.ascii_uppercase + "234567",
    "bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}

SECRETS: Final = Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
OTHERS: Final = Path(__file__).with_name("no_secrets.txt").read_text("utf-8").splitlines()


def made(line: str, seed: int) -> tuple[str, list[str]]:
    """Return a line with random characters in place of `<an:36>`, and its secrets."""
    chance = random.Random(seed)
    text = re.sub(r"<(\w+):(\d+)>", lambda found: "".join(chance.choices(_ALPHABETS[found[1]], k=int(found[2]))), line)
    return re.sub("[«»]", "", text), re.findall("«(.*?)»", text)
