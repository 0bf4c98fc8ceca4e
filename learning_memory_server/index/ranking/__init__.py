"""How hits of words and of meaning become one list."""
