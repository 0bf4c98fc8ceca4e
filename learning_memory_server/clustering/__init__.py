"""Groups of experiences that belong together: finding, naming and following them over time."""
