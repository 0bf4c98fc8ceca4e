"""What agents learned: how near a lesson is, its files, errors and effects, clusters, values and calibration."""
