"""The hub: the process that owns the journal, the index and the model for all sessions of one user."""
