"""Forms of sentences that people write as rules, each made into a pattern."""
