"""Embedding models other than the packaged one, and re-ranking models."""
