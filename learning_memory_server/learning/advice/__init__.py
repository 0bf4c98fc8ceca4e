"""What an agent is told unasked: past experiences and values that bear on what it is about to try."""
