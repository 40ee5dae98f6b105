"""Refusals in the shapes that Google has: XML for signed URLs, JSON for the library, OAuth for tokens."""

import json
from xml.sax.saxutils import escape


class ErrorAnswer(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message

    def as_xml(self) -> bytes:
        """The XML interface's form."""
        content = f"<Code>{escape(self.code)}</Code><Message>{escape(self.message)}</Message>"
        return f"<?xml version='1.0' encoding='UTF-8'?><Error>{content}</Error>".encode()

    def as_oauth(self) -> bytes:
        """The token endpoint's form."""
        return json.dumps({"error": self.code, "error_description": self.message}).encode()

    def as_json(self) -> bytes:
        """The JSON interface's form."""
        errors = [{"domain": "global", "reason": self.code, "message": self.message}]
        return json.dumps({"error": {"code": self.status, "message": self.message, "errors": errors}}).encode()


def not_found() -> ErrorAnswer:
    """Nothing there, or not in that generation."""
    return ErrorAnswer(404, "NoSuchKey", "The specified key does not exist.")


def precondition_failed() -> ErrorAnswer:
    """The generation is not the one the request insists on."""
    return ErrorAnswer(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold.")
