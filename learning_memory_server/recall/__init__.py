"""Search: the index while it is ready and in time (`index.ranking` has the scores), else the journal."""
