"""Benchmarks: figures with their references, measured in one run. They report; they never fail a build."""
