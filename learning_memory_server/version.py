"""The version, and the journal's format, for processes that must not spend time on importing more."""

VERSION = "0.2.0"
"""Raised with each release, and with each change of a format: programs that share data compare it."""
JOURNAL_FORMAT = 4
"""The newest format of the journal that this version reads, which is the one it writes: `journal.formats.CURRENT`."""
