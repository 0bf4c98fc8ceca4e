"""Rules of a person: made from sentences, applied to calls, and counted."""
