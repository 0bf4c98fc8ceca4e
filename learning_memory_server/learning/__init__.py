"""Learning from experiences: clusters, values, calibration, failures and advice."""
