"""What in a command forces, deletes, asks for more rights, skips a check or runs what it downloads.

All of the text is read, also what is quoted or behind a pipe: `bash -c "rm -rf ."` deletes no less. What is found in
vain costs a remedy that is not shown.
"""

from __future__ import annotations

import re
from typing import Final

_LONGEST: Final = 1000
"""Characters that are read. No longer command is kept, and some of the expressions take the square of it."""
_WORD: Final = re.compile(r"[^\s'\"`;&|()<>{}$,=\[\]\\]+")
_RIGHTS: Final = frozenset({"sudo", "doas", "su", "pkexec", "runas", "chown", "setenforce"})
_DELETING: Final = frozenset(
    """
    rm rmdir rmi rmtree rd del delete remove remove-item unlink shred truncate dd wipefs erase wipe
    destroy drop prune purge uninstall kill pkill killall taskkill reboot shutdown
    """.split()  # noqa: SIM905 - words read better than a list
)
"""Programs, their commands and options, without dashes before them."""
_FORCING: Final = re.compile(
    r"-+(?:rf|fr|hard|yolo|privileged|insecure|unsafe|allow-root|allow-unauthenticated|auto-approve|"
    r"break-system-packages|trusted-host|ignore-certificate\S*|"
    r"(?:force|no-verify|no-gpg|no-check|no-preserve|no-sandbox|no-strict|skip|dangerously)\b\S*|DskipTests|Dmaven\.test\.skip)",
)
_FETCHING: Final = frozenset({"curl", "wget", "fetch", "iwr", "invoke-webrequest"})
_RUNNING: Final = re.compile(r"(?:ba|z|da|k|fi)?sh|(?:python|node|perl|ruby|php|pwsh)[\d.]*|eval|iex|source")
_PHRASES: Final = tuple(
    re.compile(phrase)
    for phrase in (
        r"\|\s*(?:env\s+)?(?:[\w.-]*/)*(?:ba|z|da|k|fi)?sh\b",  # whatever is piped into a shell
        r"\bmkfs\b|>\s*/dev/(?!null|std|tty|fd|shm)",
        r"\bchmod\b[^;&|\n]*\s(?:0?[0-7]?[0-7]{2}[2367]\b|(?:[ug]*[ao][ugoa]*)?[+=]\w*w)",
        r"\bgit\b[^;&|\n]*\s(?:-[a-zA-Z]*f[a-zA-Z]*(?=\s|$)|clean\b|restore\b|checkout\s+(?:\S+\s+)?(?:--|\.)(?=\s|$)|stash\s+clear\b)",
        r"\bgit push\b[^;&|\n]*\s(?:\+\S|:\S|-d\b|--mirror\b)|\bbranch\b[^;&|\n]*\s-D|\bcommit\b[^;&|\n]*\s-[a-z]*n[a-z]*(?=\s|$)",
        r"\b(?:curl|wget)\b[^;&|\n]*\s-[a-zA-Z]*k",
        r"\b(?:SKIP|HUSKY|GIT_SSL_NO_VERIFY|NODE_TLS_REJECT_UNAUTHORIZED|PYTHONHTTPSVERIFY)=",
        r"(?i:sslverify|stricthostkeychecking|verify)\s*[= ]\s*(?i:no|false|0)\b",
    )
)


def asks_for_rights(command: str) -> bool:
    """Return whether a command asks for more rights than the user has."""
    words = _WORD.findall(command[:_LONGEST])
    return not _RIGHTS.isdisjoint(word.rsplit("/", 1)[-1].lower() for word in words)


def is_risky(command: str) -> bool:
    """Return whether a command does any of the rest."""
    command = command[:_LONGEST]
    if any(phrase.search(command) for phrase in _PHRASES):
        return True
    words = [word.rsplit("/", 1)[-1] for word in _WORD.findall(command)]
    lowered = {word.lower() for word in words}
    return bool(
        not _DELETING.isdisjoint(word.lstrip("-") for word in lowered)
        or any(_FORCING.fullmatch(word) for word in words)
        or (not _FETCHING.isdisjoint(lowered) and any(_RUNNING.fullmatch(word) for word in lowered))
        # Methods of scripts, such as shutil.rmtree.
        or any(word.rsplit(".", 1)[-1] in {"rmtree", "unlink", "unlinksync", "rmsync"} for word in lowered)
    )
