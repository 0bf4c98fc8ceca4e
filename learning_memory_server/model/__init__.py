"""The domain model: entries, values, memories and their rules. It imports only the standard library and `errors`."""
