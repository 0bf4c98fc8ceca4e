"""Search: in the index if it is ready and fast enough (`index.ranking` has the scores), otherwise in the journal."""
