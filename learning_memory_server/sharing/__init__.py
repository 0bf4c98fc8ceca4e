"""Lessons in a repository: one immutable file for each change, read only with a person's permission."""
