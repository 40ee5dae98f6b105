"""A bucket for backups."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from local_stack.gcs import GcsServer
from service_api.backup.dumps import PREFIX
from service_api.storage.gcs import GcsStore
from service_common.storage_settings import StorageSettings

from tests.servers import gcs_server

__all__ = ["gcs_server"]


@pytest.fixture
def settings(gcs_server: GcsServer) -> StorageSettings:
    return StorageSettings(gcs_server.bucket, gcs_server.url, gcs_server.credentials_file.read_text())


@pytest.fixture
def bucket(settings: StorageSettings) -> Iterator[GcsStore]:
    """Empty at first."""
    store = GcsStore(settings, retry_seconds=1.0)
    for each in list(store.list(PREFIX)):
        store.delete(each.locator, generation=each.generation)
    yield store
    store.close()


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Where dumps are made, kept, and fetched to."""
    made, kept, target = (tmp_path / name for name in ("made", "kept", "target"))
    for each in (made, kept, target):
        each.mkdir()
    return made, kept, target
