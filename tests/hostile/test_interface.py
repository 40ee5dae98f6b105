"""Whatever is asked of the api in its real server gets an answer that the published document announces.

Schemathesis draws requests from the document, valid and not; each is sent as it is, and signed by one of the world.
"""

from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import requests
import schemathesis
from hypothesis import given, settings
from local_stack.ports import HOST as LOCAL
from schemathesis.core.result import Ok

from tests.api.conftest import Service
from tests.api.contract import check_answer, openapi_document
from tests.api.running import RunningApi
from tests.campaign import size

pytestmark = pytest.mark.nightly


class Signature(requests.auth.AuthBase):
    """Signs what is sent, as it is sent."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        parts, body = urlsplit(request.url or ""), request.body or b""
        assert isinstance(body, str | bytes)
        people = self._service.world.people
        named = [each for each in people.everyone() if each.address in (request.url or "")]
        signer = named[0] if named else people.poster
        request.headers["Authorization"] = self._service.authorization(
            signer.wallet.private_key,
            request.method or "",
            unquote(parts.path),
            query=parts.query,
            body=body.encode() if isinstance(body, str) else body,
        )
        return request


SCHEMA = schemathesis.openapi.from_dict(dict(openapi_document()))
OPERATIONS = {each.ok().label: each.ok() for each in SCHEMA.get_all_operations() if isinstance(each, Ok)}
ASKED = [
    (name, mode)
    for name, operation in OPERATIONS.items()
    for mode in schemathesis.GenerationMode
    if mode.is_positive or operation.body or operation.query or operation.path_parameters
]
"""An operation that takes nothing cannot be asked wrongly."""


@pytest.mark.parametrize(("operation", "mode"), ASKED)
def test_api_answers_only_what_its_document_announces(
    running_api: RunningApi, service: Service, operation: str, mode: schemathesis.GenerationMode
) -> None:
    url = f"http://{LOCAL}:{running_api.port}"

    @settings(max_examples=size(10, 1_000))
    @given(OPERATIONS[operation].as_strategy(generation_mode=mode))
    def ask(case: schemathesis.Case[Any]) -> None:
        check(case.call(url))
        check(case.call(url, auth=Signature(service)))

    ask()


def check(answer: schemathesis.Response) -> None:
    """Raise unless the document announces this answer, and it is no failure of the api itself."""
    method, path = answer.request.method or "", unquote(urlsplit(answer.request.url or "").path)
    media_type = answer.headers.get("content-type", [""])[0].partition(";")[0]
    assert answer.status_code != 500, answer.content
    if answer.status_code not in {204, 304} and method != "HEAD":
        check_answer(method, path, answer.status_code, media_type, answer.content)
