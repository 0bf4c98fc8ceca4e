"""Sources of candidates at a trigger. A source changes nothing, and does not depend on earlier advice."""
