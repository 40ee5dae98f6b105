"""A deployment checked by a program that shares no code with it.

Written from the documents alone (``docs/hub.md``, ``docs/formats.md``, ``docs/interface.md``, ``docs/subgraph.md``): it
decodes the Hub's log, counts money and Verdicts, and derives every public answer again. It imports nothing of the
services, the libraries, the client or the Hub's tools, so that a mistake there is not repeated here;
``tests/architecture/test_checker.py`` holds it to that.
"""
