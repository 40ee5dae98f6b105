"""Failures of a database; for processes without one, too, so that nothing is imported here."""

from enum import Enum


class DatabaseFailure(Enum):
    """Why a database gave no answer."""

    AWAY = "away"
    """It cannot be reached, refuses connections, or says nothing at all."""
    BUSY = "busy"
    """It works, and did not get to this in time: asking another one would only move the load."""
    CONFLICT = "conflict"
    """It undid a statement that was in the way of another transaction, or of what a standby takes in."""


class DatabaseUnavailable(Exception):
    """The database cannot be reached, refuses new connections, or did not answer in time."""

    def __init__(
        self, message: str = "the database did not answer", failure: DatabaseFailure = DatabaseFailure.AWAY
    ) -> None:
        super().__init__(message)
        self.failure = failure
