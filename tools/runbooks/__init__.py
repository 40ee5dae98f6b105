"""Faults that are caused on a local stack, and the runbooks of their alerts followed to the letter, timed."""
