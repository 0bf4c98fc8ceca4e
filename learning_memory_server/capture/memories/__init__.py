"""Memories: texts that people and agents want kept, divided into chunks."""
