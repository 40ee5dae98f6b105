"""Judges whether a challenge page is clear enough to publish: as jobs, and by the rules alone over HTTP.

It never judges merit; its public process never holds a key or data.
"""
