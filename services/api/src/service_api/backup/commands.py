"""``service-api store-dump`` and ``fetch-dump``: jobs that end, with exit code 1 and one sentence where they fail."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bounty_protocol.clock import SystemClock
from bounty_protocol.crypto.failures import SealedDataError
from bounty_protocol.errors import ServiceError
from service_common import log
from service_common.config import parse_count
from service_common.entry_point import Environment, Process

from service_api.backup.config import read_fetching_config, read_storing_config
from service_api.backup.dumps import BackupFailed, check_age, fetch_dump, open_dump, store_dumps
from service_api.storage.gcs import GcsStore


def _store(environment: Environment, made: str, kept: str) -> None:
    config = read_storing_config(environment)
    log.configure("backup", config.log_level)
    with _failing():
        store_dumps(Path(made), Path(kept), config.recipients, GcsStore(config.storage), _say)


def _fetch(environment: Environment, target: str, name: str | None, backups: str | None, hours: str | None) -> None:
    config = read_fetching_config(environment)
    log.configure("backup", config.log_level)
    with _failing():
        if backups is not None:
            if name is None:
                raise BackupFailed("--backups needs --name: one of the encrypted dumps in that folder")
            dump = open_dump(Path(backups) / name, Path(target), config.identities)
        else:
            dump = fetch_dump(GcsStore(config.storage), Path(target), config.identities, _say, name=name)
        if hours is not None:
            check_age(dump, SystemClock(), hours=parse_count(hours))
    print(dump)  # noqa: T201


@contextmanager
def _failing() -> Iterator[None]:
    try:
        yield
    except (BackupFailed, SealedDataError, ServiceError, OSError, ValueError) as error:
        sys.exit(str(error))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


STORE: Final = Process(
    "encrypt the dumps of a folder, keep the newest seven, and copy them to the bucket of backups",
    _store,
    {"made": "the folder with plain dumps, which are deleted", "kept": "the folder of the encrypted ones"},
)
FETCH: Final = Process(
    "fetch a dump from the bucket of backups, decrypt it and print its path",
    _fetch,
    {
        "target": "the folder that it is written to",
        "--name": "which one, such as 20270131T021700Z.dump.age; the newest where it is left out",
        "--backups": "take it from this folder instead of the bucket; needs --name",
        "--hours": "fail where it is as old as this",
    },
)
