"""What the operating system is asked for: paths, files, locks, processes and waiting."""
