"""The journal: an append-only log on the local disk, and the truth that everything else is rebuilt from."""
