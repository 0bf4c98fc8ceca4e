"""Errors of commands that come again, and what helped before."""
