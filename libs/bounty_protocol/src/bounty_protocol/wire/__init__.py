"""The shapes of the wire: every body and answer of the interface, each a frozen dataclass defined once.

``schemas.py`` makes of them what reads bodies and what the published document shows; nothing else here needs a
framework.
"""
