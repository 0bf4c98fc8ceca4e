"""The version, and the journal's format, for processes that must not spend time on importing more."""

VERSION = "0.3.0"
"""Raised with each release, and with each change of a format: programs that share data compare it."""
JOURNAL_FORMAT = 4
"""The format of the journal that this version reads and writes; see `journal.codec`."""
