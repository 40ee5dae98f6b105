"""Copies the Hub's event log into ``hub_index``, repairs reorgs, halts below finality; settles what nobody judged.

It never shares what it writes with another writer.
"""
