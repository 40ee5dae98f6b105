"""docs/interface.md: the table of public routes, from the document that the API publishes."""

from collections.abc import Iterator
from typing import Final

from tests.api.contract import Json, Operation, openapi_document, operations
from tools.generate.derived import part

_HEALTH: Final = "/healthz"


def _table() -> Iterator[str]:
    rows = [_row(each) for each in operations() if each.signer is None and each.path != _HEALTH]
    yield "\n".join(["| route | what it is | answer |\n|---|---|---|", *rows])


def _row(operation: Operation) -> str:
    query = "&".join(f"{name}=" for name in operation.query(required=True))
    route = f"`{operation}{'?' if query else ''}{query}`"
    texts = (operation.described["summary"], operation.described.get("description", ""))
    about = " ".join(" ".join(text.split()) for text in texts if text).replace("``", "`")
    return f"| {route} | {about} | {_answer(operation)} |"


def _answer(operation: Operation) -> str:
    """The keys of its answer, or the media type of one that is no object of a known shape."""
    status = min(each for each in operation.described["responses"] if each.startswith("2"))
    # The last is what a request gets that names none.
    media_type, content = list(operation.described["responses"][status]["content"].items())[-1]
    schema: Json = content.get("schema", {})
    if reference := schema.get("$ref"):
        schema = openapi_document()["components"]["schemas"][reference.rpartition("/")[2]]
    return ", ".join(f"`{key}`" for key in schema.get("properties", ())) or f"`{media_type}`"


INTERFACE: Final = part("docs/interface.md", "public-routes", _table)
