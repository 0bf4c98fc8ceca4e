"""The journal: an append-only log on the local disk, from which everything else can be rebuilt."""
