"""The version, where a process that may not load package metadata can read it."""

VERSION = "0.1.0"
