"""The shapes of the wire: every body and answer of the interface, each a frozen dataclass defined once.

``reading.py`` reads them, ``to_json`` writes them, and the published document is made of them.
"""
