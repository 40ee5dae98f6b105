"""An answer of exact bytes for one reader alone."""

from flask import Response


def exact_bytes(content: bytes) -> Response:
    """Answer the committed Markdown; no cache may keep it."""
    return Response(content, headers=[("Cache-Control", "no-store")], content_type="text/markdown; charset=utf-8")
