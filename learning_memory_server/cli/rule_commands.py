"""The group `rule`, whose commands stand in several modules."""

from learning_memory_server.cli import rule_files, ruling
from learning_memory_server.cli.rules import commands

__all__ = ["commands", "rule_files", "ruling"]
