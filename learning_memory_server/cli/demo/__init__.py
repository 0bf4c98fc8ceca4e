"""The demo: the whole loop over example entries, by the tools that agents call."""
