"""Advice: past experiences and values that are relevant to an agent's next attempt, shown without a search."""
