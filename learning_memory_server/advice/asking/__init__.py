"""Ask an agent, once a session, what it believed when a belief broke."""
