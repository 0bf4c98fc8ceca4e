"""Benchmarks, run with `python -m benchmarks.NAME [--json]`. Each compares with a baseline measured in the same run."""
