"""What the outside sees of an entry, a value, a memory, a cluster and a score: the same for tools and commands."""
