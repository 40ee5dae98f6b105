"""Judges whether a challenge page is clear enough to publish: as jobs, or over HTTP by the rules only.

It never judges merit; its public process never holds a key or data.
"""
