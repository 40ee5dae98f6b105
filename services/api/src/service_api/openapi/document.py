"""The published OpenAPI 3.1 document: what the routes declare, and an introduction."""

from functools import cached_property
from typing import Any, Final, cast

from flask import Flask, current_app
from service_common.web.operations import DocumentedApi
from service_common.web.versions import DOCUMENT, Version, json_version, text_version

from service_api.openapi.page import docs_page

EXTENSION: Final = "service-document"
_INTRODUCTION: Final = (
    "Bounties on a blockchain: the API stores bytes, validates shapes and gates reads against indexed contract state. "
    "It never authorizes money movement and never decides an outcome. Signed operations take one EIP-712 signature "
    "over the exact request, in the header `Authorization: Service-Approval "
    "<base64(address~signature~blockNumber~blockHash)>`; docs/authentication.md describes it with test vectors. "
    "An unknown path answers 404 `route_not_found`; a wrong method answers 405 `method_not_allowed`."
)
_AUTHORIZATION: Final = {
    "type": "apiKey",
    "in": "header",
    "name": "Authorization",
    "description": "`Service-Approval <base64(address~signature~blockNumber~blockHash)>`: an EIP-712 signature of "
    "struct ApiRequestApproval(endpointId, audience, bodyHash, query, blockNumber, blockHash) in the domain (Service, "
    "1, chain id, Hub), over this exact request and a block of the last five minutes. One signature, one request.",
}
TITLE: Final = "Bounty Escrow Service"
ROOT: Final = {
    "info": {"description": _INTRODUCTION},
    "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
    "components": {"securitySchemes": {"ServiceApproval": _AUTHORIZATION}},
}
"""The parts of the document beside its routes."""


class Published:
    """The document of one app, made when it is first requested."""

    def __init__(self, api: DocumentedApi) -> None:
        self._api = api

    @cached_property
    def document(self) -> dict[str, Any]:
        """The whole document."""
        return dict(self._api.spec.to_dict())

    @cached_property
    def json(self) -> Version:
        """As it is served to programs."""
        return json_version(self.document, DOCUMENT)

    @cached_property
    def page(self) -> Version:
        """As it is served to people."""
        return text_version(docs_page(self.document), "text/html", DOCUMENT)


def install_document(app: Flask, api: DocumentedApi) -> None:
    """Publish what ``api`` knows about the routes of ``app``."""
    app.extensions[EXTENSION] = Published(api)


def published(app: Flask | None = None) -> Published:
    """Return the document of ``app``, or of the app that answers this request."""
    return cast("Published", (app or current_app).extensions[EXTENSION])
