"""Finding experiences again."""
