"""The tables of docs that follow from code: the prose around each is written by hand."""

from collections.abc import Iterable, Iterator
from typing import Final, cast

from bounty_protocol.chain.deployment import NETWORKS, deployment_of
from bounty_protocol.chain.world import assumptions
from bounty_protocol.domain.challenge.page import FIELDS
from graphql import GraphQLObjectType, get_named_type
from service_api.subgraph.entities import ENTITIES
from service_api.subgraph.request import MAX_DEPTH, MAX_FIELDS, MAX_INTROSPECTIONS, MAX_SAME_FIELDS, MAX_TOKENS
from service_api.subgraph.rows import MAX_ANSWER_BYTES, MAX_IN, MAX_ROWS
from service_api.subgraph.schema import make_schema

from tests.api.contract import Json, Operation, openapi_document, operations
from tools.generate.derived import Derived, part, table


def _challenge() -> Iterator[str]:
    """Yield what each line of a page fixes."""
    rows = (f"| `{name}` | {'' if each.is_required else 'optional: '}{each.about} |" for name, each in FIELDS.items())
    yield table("| line | what it fixes |", rows)


def _public_routes() -> Iterator[str]:
    public = [each for each in operations() if each.signer is None and each.path != "/healthz"]
    rows = (
        f"| {_route(each)} | {_prose(each.described['summary'], each.described.get('description', ''))} "
        f"| {_answer(each)} |"
        for each in public
    )
    yield table("| route | what it is | answer |", rows)


def _signed_routes() -> Iterator[str]:
    rows = []
    for each in operations():
        if each.signer is not None:
            signer = _prose(each.signer)
            more = _prose(each.described["description"]).removeprefix(f"Signed by {signer}.")
            about = _prose(each.described["summary"], more)
            body = "" if each.body_type is None else _keys(each.body["schema"], each.body_type)
            rows.append(f"| {_route(each)} | {signer} | {about} | {body} | {_answer(each)} |")
    yield table("| route | signed by | what it is | body | answer |", rows)


def _route(operation: Operation) -> str:
    query = "&".join(f"{name}=" for name in operation.query(required=True))
    return f"`{operation}{'?' if query else ''}{query}`"


def _prose(*texts: str) -> str:
    return " ".join(" ".join(text.split()) for text in texts if text).replace("``", "`")


def _answer(operation: Operation) -> str:
    """Return the keys of its answer; of several, those that a request gets that names no type."""
    status = min(each for each in operation.described["responses"] if each.startswith("2"))
    media_type, content = list(operation.described["responses"][status]["content"].items())[-1]
    return _keys(content.get("schema", {}), media_type)


def _keys(schema: Json, media_type: str) -> str:
    """Return the keys of an object, or the media type of what is no object of a known shape."""
    if reference := schema.get("$ref"):
        schema = openapi_document()["components"]["schemas"][reference.rpartition("/")[2]]
    return _names(schema.get("properties", ())) or f"`{media_type}`"


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _limits() -> Iterator[str]:
    """Yield the limits of a query of the subgraph."""
    rows = (
        ("tokens of the query", f"{MAX_TOKENS:,}"),
        ("fields and spread fragments, with every fragment written out", f"{MAX_FIELDS:,}"),
        ("times that one place of the answer, such as `bounties.id`, is named", f"{MAX_SAME_FIELDS:,}"),
        ("levels of fields", f"{MAX_DEPTH:,}"),
        ("`__schema` and `__type` in one query", f"{MAX_INTROSPECTIONS:,}, without aliases inside them"),
        ("rows of all lists together", f"{MAX_ROWS:,}"),
        ("bytes of the answer, estimated from its fields and names", f"{MAX_ANSWER_BYTES // 2**20} MiB"),
        ("values of an `_in` filter", f"{MAX_IN:,}"),
    )
    yield table("| limit | value |", (f"| {what} | {value} |" for what, value in rows))


def _entities() -> Iterator[str]:
    of_every = {"id", "block_number", "block_hash", "tx_hash", "time"}
    rows = []
    for name, entity in ENTITIES.items():
        kind = cast("GraphQLObjectType", make_schema().type_map[name])
        below = [field for field, of in kind.fields.items() if get_named_type(of.type).name in ENTITIES]
        own = [field for field in kind.fields if field not in {*below, *of_every}]
        rows.append(f"| `{name}` | `{entity.plural}` | {kind.description} | {_names(own)} | {_names(below)} |")
    yield table("| entity | list field | shows | fields of its own | rows below it |", rows)


def _world() -> Iterator[str]:
    """Yield what this release assumes about the world."""
    record = deployment_of(NETWORKS["mainnet"])
    if record is None:
        raise RuntimeError("mainnet has no record")
    rows = [f"| {name} | {each.value} | {each.source} | {each.read_on} |" for name, each in assumptions(record).items()]
    yield table("| assumed | value | source | read on |", rows)


PAGES: Final[tuple[Derived, ...]] = (
    part("docs/poster.md", "challenge", _challenge),
    part("docs/interface.md", "public-routes", _public_routes),
    part("docs/interface.md", "signed-routes", _signed_routes),
    part("docs/subgraph.md", "limits", _limits),
    part("docs/subgraph.md", "entities", _entities),
    part("docs/threat-model.md", "world", _world),
)
