"""Servers and load for the figures of HTTP."""
