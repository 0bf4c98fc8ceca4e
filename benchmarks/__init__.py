"""Benchmarks: `python -m benchmarks.NAME [--json]`. Ratios against a baseline measured in the same run."""
