"""Memories: texts stored by people and agents, divided into chunks."""
