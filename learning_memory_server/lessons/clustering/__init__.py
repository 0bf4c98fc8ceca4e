"""The clustering algorithm: vectors and texts in; clusters, noise and labels out."""
