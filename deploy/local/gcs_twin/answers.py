"""Refusals in the shapes that Google has: XML for signed URLs, JSON for the library, OAuth for tokens."""

import json
from xml.sax.saxutils import escape


class ErrorAnswer(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message

    def as_xml(self) -> bytes:
        """Return the XML interface's form."""
        content = f"<Code>{escape(self.code)}</Code><Message>{escape(self.message)}</Message>"
        return f"<?xml version='1.0' encoding='UTF-8'?><Error>{content}</Error>".encode()

    def as_oauth(self) -> bytes:
        """Return the token endpoint's form."""
        return json.dumps({"error": self.code, "error_description": self.message}).encode()

    def as_json(self) -> bytes:
        """Return the JSON interface's form."""
        errors = [{"domain": "global", "reason": self.code, "message": self.message}]
        return json.dumps({"error": {"code": self.status, "message": self.message, "errors": errors}}).encode()


def not_found() -> ErrorAnswer:
    """Return the error for an object that is not there, or not in that generation."""
    return ErrorAnswer(404, "NoSuchKey", "The specified key does not exist.")


def precondition_failed() -> ErrorAnswer:
    """Return the error for another generation than the request insists on."""
    return ErrorAnswer(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold.")
