"""Sends facts to addresses that anyone registered by signed requests (ADR 20).

It never reaches a private address, nor is reached.
"""
