"""Texts that people and agents want kept: cut into chunks, stored and found again."""
