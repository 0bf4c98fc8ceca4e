"""Keeping secrets out of stored and logged texts: finding them and replacing their values."""
