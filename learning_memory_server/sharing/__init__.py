"""Lessons that belong to a repository: one immutable file for each change, read only where a person has said so."""
