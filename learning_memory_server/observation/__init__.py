"""Keeping what agents believed and what happened: the open entries, the resolved ones, their vectors."""
