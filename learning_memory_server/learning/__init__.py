"""What is learned from experiences: clusters, values, calibration, failures and advice."""
