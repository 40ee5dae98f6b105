"""docs/configuration.md names every variable that a service reads, and no other, with who reads it."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

import pytest
import service_api.backup.config
import service_api.config
import service_api.webhooks.config
import service_delivery.config
import service_indexer.config
import service_reviewer.config
import service_web.config
from service_common.config import ConfigurationError, EnvironmentReader

from .conftest import REPOSITORY


def read_backup_config(environment: Mapping[str, str]) -> None:
    """Both jobs' settings: the one that stores dumps, and the one that fetches them."""
    with suppress(ConfigurationError):
        service_api.backup.config.read_storing_config(environment)
    service_api.backup.config.read_fetching_config(environment)


READERS: dict[str, Callable[[Mapping[str, str]], object]] = {
    "A": service_api.config.read_config,
    "I": service_indexer.config.read_config,
    "R": service_reviewer.config.read_config,
    "D": service_delivery.config.read_config,
    "W": service_web.config.read_config,
    "H": service_api.webhooks.config.read_config,
    "B": read_backup_config,
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
    for names, readers in re.findall(r"^\| (`SERVICE_.*?) \| ([AIRDWHB ]+) \|", page, re.MULTILINE):
        found |= dict.fromkeys(re.findall(r"`(SERVICE_[A-Z_]+)`", names), readers)
    return found


@pytest.mark.parametrize("letter", READERS)
def test_page__of_variables__says_exactly_what_a_service_reads(letter: str) -> None:
    asked = Asked()
    with pytest.raises(ConfigurationError):
        READERS[letter](asked)
    told = {name for name, readers in rows().items() if letter in readers} - OUTSIDE_THE_CONFIGURATION
    assert asked.names - told == set(), f"each needs a row of docs/configuration.md that names {letter}"
    assert told - asked.names == set(), f"{letter} does not read it: correct its row of docs/configuration.md"


def test_page__of_defaults__has_those_of_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is read from the page as the service would read it; a default of several words is described."""
    page = (REPOSITORY / "docs/configuration.md").read_text(encoding="utf-8")
    stated: dict[str, str] = {}
    for names, text in re.findall(r"^\| (`SERVICE_.*?) \| [A-Z ]+ \| (.*?) ?\|", page, re.MULTILINE):
        variables = re.findall(r"`(SERVICE_[A-Z_]+)`", names)
        values = text.split(", ") if len(variables) > 1 else [text.rpartition("else ")[2]]
        stated |= zip(variables, values, strict=False)
    wrong, compared = {}, set()

    def optional(self: EnvironmentReader, name: str, parse: Callable[[str], object], default: object) -> object:
        text = re.sub(r"(?<=\d),(?=\d)", "", stated[name].strip("`"))
        if default is not None and " " not in text:
            compared.add(name)
            with suppress(ValueError):
                if parse(text) == default:
                    return default
            wrong[name] = f"{text} in docs/configuration.md, {default} in the code"
        return default

    monkeypatch.setattr(EnvironmentReader, "optional", optional)
    for read in READERS.values():
        with pytest.raises(ConfigurationError):
            read(Asked())
    assert wrong == {}
    assert len(compared) > 12


def test_page__names_what_is_read_elsewhere() -> None:
    code = "".join(path.read_text() for path in (REPOSITORY / "libs").rglob("*.py"))
    for name in OUTSIDE_THE_CONFIGURATION:
        assert f'"{name}"' in code
        assert name in rows()
