"""An answer of exact bytes for one reader alone."""

from flask import Response


def exact_bytes(content: bytes) -> Response:
    """Answer Markdown as it was committed to; nobody keeps it on the way."""
    return Response(content, headers=[("Cache-Control", "no-store")], content_type="text/markdown; charset=utf-8")
