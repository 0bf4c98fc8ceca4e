"""What offers candidates at a trigger. A source changes nothing, and does not know what was shown before."""
