"""Merge the hits of searches by terms and by vectors into one ranking."""
