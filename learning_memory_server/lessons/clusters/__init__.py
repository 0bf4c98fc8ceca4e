"""The clusters of experiences: what is fitted and when, their numbers and history, and how they are shown."""
