"""Ask an agent, at most once a session, about a belief that turned out to be wrong."""
