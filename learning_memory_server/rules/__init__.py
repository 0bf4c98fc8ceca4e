"""Rules of a person: made from sentences, met at calls, and counted."""
