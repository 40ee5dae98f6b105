"""Amounts: the money table, the terms that a Poster funds, and how amounts are written."""
