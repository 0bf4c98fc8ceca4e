"""The version, and the journal's format, for processes that must not spend time on importing more."""

VERSION = "0.3.0"  # Raised with each release and each change of a format: programs that share data compare it
JOURNAL_FORMAT = 4  # The journal's format that this version reads and writes; see `journal.codec`
