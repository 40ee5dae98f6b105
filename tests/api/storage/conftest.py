"""The implementations that the contract suite runs against.

The twin always; beside it the real bucket that SERVICE_TEST_STORAGE_BUCKET names, with
SERVICE_TEST_STORAGE_CREDENTIALS_FILE and SERVICE_TEST_STORAGE_ENDPOINT where they are set.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import urllib3
from local_stack import gcs
from service_api.storage.gcs import GcsStore
from service_api.storage.settings import StorageSettings

EXTERNAL_BUCKET = os.environ.get("SERVICE_TEST_STORAGE_BUCKET")


@pytest.fixture(scope="session")
def twin() -> Iterator[gcs.GcsServer]:
    with gcs.start() as server:
        yield server


def twin_settings(server: gcs.GcsServer) -> StorageSettings:
    return StorageSettings(server.bucket, server.url, server.credentials_file.read_text())


def external_settings(bucket: str) -> StorageSettings:
    key = os.environ.get("SERVICE_TEST_STORAGE_CREDENTIALS_FILE")
    endpoint = os.environ.get("SERVICE_TEST_STORAGE_ENDPOINT")
    return StorageSettings(bucket, endpoint, Path(key).read_text(encoding="utf-8") if key else None)


@pytest.fixture(scope="session", params=["twin", "external"] if EXTERNAL_BUCKET else ["twin"])
def store(request: pytest.FixtureRequest) -> Iterator[GcsStore]:
    if request.param == "twin":
        settings = twin_settings(request.getfixturevalue("twin"))
    else:
        settings = external_settings(EXTERNAL_BUCKET or "")
    store = GcsStore(settings, retry_seconds=1.0)
    yield store
    store.close()


@pytest.fixture(scope="session")
def http() -> Iterator[urllib3.PoolManager]:
    with ExitStack() as closing:
        pool = urllib3.PoolManager(retries=False, timeout=30)
        closing.callback(pool.clear)
        yield pool


@pytest.fixture
def locator(store: GcsStore) -> Iterator[str]:
    """A locator that nobody else uses; what a test leaves there is removed."""
    locator = f"submissions/31337/0x{secrets.token_hex(20)}/1/0x{secrets.token_hex(20)}/{secrets.token_hex(32)}.age"
    yield locator
    if info := store.stat(locator):
        store.delete(locator, generation=info.generation)
