"""Past sessions: how often rules would have been broken, and the report about it."""
