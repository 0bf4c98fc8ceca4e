"""The hub: the one process that holds the journal, the engine and the model, for every session of its user."""
