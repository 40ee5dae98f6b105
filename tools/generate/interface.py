"""docs/interface.md: the tables of public and signed routes, from the document that the API publishes."""

from collections.abc import Iterator
from typing import Final

from tests.api.contract import Json, Operation, openapi_document, operations
from tools.generate.derived import part, table

_HEALTH: Final = "/healthz"


def _table() -> Iterator[str]:
    rows = [_row(each) for each in operations() if each.signer is None and each.path != _HEALTH]
    yield table("| route | what it is | answer |", rows)


def _signed_table() -> Iterator[str]:
    rows = [_signed_row(each) for each in operations() if each.signer is not None]
    yield table("| route | signed by | what it is | body | answer |", rows)


def _row(operation: Operation) -> str:
    texts = (operation.described["summary"], operation.described.get("description", ""))
    return f"| {_route(operation)} | {_prose(*texts)} | {_answer(operation)} |"


def _signed_row(operation: Operation) -> str:
    signer = _prose(operation.signer or "")
    more = _prose(operation.described["description"]).removeprefix(f"Signed by {signer}.")
    about = _prose(operation.described["summary"], more)
    return f"| {_route(operation)} | {signer} | {about} | {_body(operation)} | {_answer(operation)} |"


def _route(operation: Operation) -> str:
    query = "&".join(f"{name}=" for name in operation.query(required=True))
    return f"`{operation}{'?' if query else ''}{query}`"


def _prose(*texts: str) -> str:
    return " ".join(" ".join(text.split()) for text in texts if text).replace("``", "`")


def _body(operation: Operation) -> str:
    """Return the keys of its body, or the media type of one that is no object; nothing if it takes none."""
    return "" if operation.body_type is None else _keys(operation.body["schema"], operation.body_type)


def _answer(operation: Operation) -> str:
    """Return the keys of its answer, or the media type of one that is no object of a known shape."""
    status = min(each for each in operation.described["responses"] if each.startswith("2"))
    # The last is what a request gets that names none.
    media_type, content = list(operation.described["responses"][status]["content"].items())[-1]
    return _keys(content.get("schema", {}), media_type)


def _keys(schema: Json, media_type: str) -> str:
    if reference := schema.get("$ref"):
        schema = openapi_document()["components"]["schemas"][reference.rpartition("/")[2]]
    return ", ".join(f"`{key}`" for key in schema.get("properties", ())) or f"`{media_type}`"


INTERFACE: Final = part("docs/interface.md", "public-routes", _table)
SIGNED: Final = part("docs/interface.md", "signed-routes", _signed_table)
