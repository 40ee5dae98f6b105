"""docs/configuration.md names every variable that a service reads, and no other, with who reads it."""

import re
from collections.abc import Iterator, Mapping

import pytest
import service_api.config
import service_delivery.config
import service_indexer.config
import service_reviewer.config
import service_web.config
from service_common.config import ConfigurationError

from .conftest import REPOSITORY

READERS = {
    "A": service_api.config.read_config,
    "I": service_indexer.config.read_config,
    "R": service_reviewer.config.read_config,
    "D": service_delivery.config.read_config,
    "W": service_web.config.read_config,
}
OUTSIDE_THE_CONFIGURATION = {"SERVICE_INTERNAL_HOST", "SERVICE_WORKERS"}
"""Read where a server starts, by every process that has one."""


class Asked(Mapping[str, str]):
    """An environment that remembers what it was asked for. It selects the provider that reads the most."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def __getitem__(self, name: str) -> str:
        self.names.add(name.removesuffix("_FILE"))
        if name == "SERVICE_REVIEW_PROVIDER":
            return "openai"
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def rows() -> dict[str, str]:
    """Each variable of the page, and who reads it."""
    page = (REPOSITORY / "docs/configuration.md").read_text(encoding="utf-8")
    found: dict[str, str] = {}
    for names, readers in re.findall(r"^\| (`SERVICE_.*?) \| ([AIRDW ]+) \|", page, re.MULTILINE):
        found |= dict.fromkeys(re.findall(r"`(SERVICE_[A-Z_]+)`", names), readers)
    return found


@pytest.mark.parametrize("letter", READERS)
def test_page__of_variables__says_exactly_what_a_service_reads(letter: str) -> None:
    asked = Asked()
    with pytest.raises(ConfigurationError):
        READERS[letter](asked)
    told = {name for name, readers in rows().items() if letter in readers} - OUTSIDE_THE_CONFIGURATION
    assert told == asked.names


def test_page__names_what_is_read_elsewhere() -> None:
    code = "".join(path.read_text() for path in (REPOSITORY / "libs/service_common/src").rglob("*.py"))
    for name in OUTSIDE_THE_CONFIGURATION:
        assert f'"{name}"' in code
        assert name in rows()
