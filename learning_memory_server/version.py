"""The version, for processes that must not spend time on loading package metadata."""

VERSION = "0.1.0"
