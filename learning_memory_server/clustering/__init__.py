"""Clusters of similar experiences: how they are found, labelled and tracked over time."""
