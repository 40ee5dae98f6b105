"""Failures of a database; for processes without one, too, so that nothing is imported here."""


class DatabaseUnavailable(Exception):
    """The database cannot be reached, refuses new connections, or did not answer in time."""
