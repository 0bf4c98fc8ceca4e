"""Services of the operating system: paths, files, locks, processes and waiting."""
