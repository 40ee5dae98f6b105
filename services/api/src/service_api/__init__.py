"""The only public service for programs: stores pages, envelopes and Verdicts, and decides who may read them.

It never moves money, nor decides who may do what from its own tables.
"""
