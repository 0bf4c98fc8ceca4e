"""The stdio front: a small process for each session, between its client and the shared hub."""
