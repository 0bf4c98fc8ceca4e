"""Advice: past experiences and values that are relevant to what an agent is about to try, shown without a search."""
