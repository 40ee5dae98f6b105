"""The service's own rules and formats, pure: no I/O, no framework, nothing slow at import time."""
