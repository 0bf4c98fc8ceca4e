"""Commands that change, copy or move the stored data."""
