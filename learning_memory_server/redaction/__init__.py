"""Keeping secrets out of what is stored and logged: finding them in texts and replacing their values."""
