"""Failures of a database; for processes without one, too, so that nothing is imported here."""

from typing import Final

_ANOTHER_ROLE: Final = (
    "does SERVICE_DATABASE_URL have another service's role? Run the command in a pod of its own service"
)
_ANOTHER_SCHEMA: Final = "does SERVICE_DATABASE_URL name another database, or one without this release's schema?"
_NEXT_STEPS: Final = {
    "42501": _ANOTHER_ROLE,  # insufficient_privilege
    "42P01": _ANOTHER_SCHEMA,  # undefined_table
    "42703": _ANOTHER_SCHEMA,  # undefined_column
    "42883": _ANOTHER_SCHEMA,  # undefined_function
    "3F000": _ANOTHER_SCHEMA,  # invalid_schema_name
}
"""What to look at, by what PostgreSQL calls the failure."""


class DatabaseUnavailable(Exception):
    """The database cannot be reached, refuses new connections, or did not answer in time."""

    def __init__(self, message: str = "the database did not answer") -> None:
        super().__init__(message)


def explain(error: BaseException | None) -> str | None:
    """Explain a database's error to the operator who runs a command, with what to check next; None for any other
    error.
    """
    if error is None:
        return None
    driver = getattr(error, "orig", error.__cause__ and getattr(error.__cause__, "orig", None))
    reason = "".join(str(driver or error).strip().splitlines()[:1])
    if isinstance(error, DatabaseUnavailable):
        return f"the database did not answer: {reason}; is it running, and is SERVICE_DATABASE_URL right?"
    step = _NEXT_STEPS.get(getattr(driver, "sqlstate", None) or "")
    return explain(error.__cause__) if step is None else f"the database refused this: {reason}; {step}"
