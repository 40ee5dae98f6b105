"""A storage whose answers are malformed: each is one refusal, in time and in bounded memory."""

import json
from collections.abc import Callable

import pytest
from bounty_protocol.errors import ServiceError
from bounty_protocol.types import UnixSeconds
from local_stack import gcs
from service_api.storage import gcs as module
from service_api.storage.gcs import GcsStore
from service_api.storage.port import ObjectInfo
from service_common.storage_settings import StorageSettings

from tests.campaign import size
from tests.hostile.asking import TOOK, Ask, ask_all, check
from tests.hostile.memory import MIB

pytestmark = pytest.mark.nightly

NAME = "submissions/x.age"
STORED = b'{"stored": "bytes"}'
INFO = ObjectInfo(NAME, 1, len(STORED), UnixSeconds(1_893_456_000))
DESCRIBED = {"name": NAME, "size": str(len(STORED)), "generation": "1", "timeCreated": "2030-01-01T00:00:00Z"}
LISTED = {"items": [DESCRIBED]}
CALLS: dict[str, tuple[bytes, Callable[[GcsStore], bool]]] = {
    "stat": (json.dumps(DESCRIBED).encode(), lambda store: store.stat(NAME) == INFO),
    "read": (STORED, lambda store: b"".join(store.read(INFO)) == STORED),
    "list": (json.dumps(LISTED).encode(), lambda store: list(store.list("submissions/")) == [INFO]),
}


@pytest.mark.attack
@pytest.mark.parametrize("call", list(CALLS)[: size(1, len(CALLS))])
def test_gcs_store__over_malformed_answers__is_unavailable(
    twin: gcs.GcsServer, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    key = twin.credentials_file.read_text()
    good, use = CALLS[call]

    def client(seconds: float) -> Ask:
        for name in ("ANSWER_SECONDS", "CALL_SECONDS"):
            monkeypatch.setattr(module, name, seconds)

        def ask(url: str) -> str:
            store = GcsStore(StorageSettings("sealed-work", url, key), retry_seconds=0.01)
            try:
                return TOOK if use(store) else "something else"
            except ServiceError as error:
                return error.code
            finally:
                store.close()

        return ask

    check(ask_all(client, good, 96 * MIB), errors={"storage_unavailable", "something else"})
