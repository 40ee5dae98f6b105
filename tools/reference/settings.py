"""The variables of the services, from what each process reads."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import service_api.config
import service_delivery.config
import service_indexer.config
import service_reviewer.config
from service_common.common_settings import read_internal_host
from service_common.config import ConfigurationError, EnvironmentReader, Setting

from tools.generate.derived import table

Read = Callable[[Mapping[str, str]], object]


def _outside(read: Callable[[EnvironmentReader], object]) -> Read:
    """Return the reading of variables that are no part of a process's configuration, or of one that requires none."""

    def read_alone(environment: Mapping[str, str]) -> None:
        reader = EnvironmentReader(environment)
        read(reader)
        reader.refuse("read for its settings")
        reader.check()

    return read_alone


_READERS: Final[tuple[tuple[str, Read], ...]] = (
    ("A", service_api.config.read_config),
    ("I", service_indexer.config.read_config),
    ("R", service_reviewer.config.read_config),
    ("R", _outside(service_reviewer.config.serving_config)),
    ("D", service_delivery.config.read_config),
    *((letter, _outside(read_internal_host)) for letter in "AIRD"),
)
"""By the letter that stands for a process on the page."""
_MOST: Final = {"SERVICE_REVIEW_PROVIDER": "openai"}
"""The environment in which the most is read; it lacks what is required."""


def settings_by_process() -> Iterator[tuple[str, tuple[Setting, ...]]]:
    """Yield the settings of each process, by its letter."""
    for letter, read in _READERS:
        try:
            read(_MOST)
        except ConfigurationError as error:
            yield letter, error.settings
        else:
            raise AssertionError(f"{letter} starts without a setting")


def settings_table(processes: Iterable[tuple[str, Sequence[Setting]]]) -> Iterator[str]:
    """Yield the table of these processes' settings; ``ValueError`` for one that two places describe differently."""
    known: dict[str, Setting] = {}
    letters: dict[str, list[str]] = {}
    for letter, settings in processes:
        for setting in settings:
            if known.setdefault(setting.name, setting) != setting:
                raise ValueError(f"{setting.name} is described twice, and differently: read it by one function")
            if letter not in letters.setdefault(setting.name, []):
                letters[setting.name].append(letter)
    rows = sorted(known.values(), key=lambda setting: -len(letters[setting.name]))
    yield table("| variable | read by | default | what it is |", (_row(row, letters[row.name]) for row in rows))


def _row(setting: Setting, letters: Sequence[str]) -> str:
    cells = (f"`{setting.name}`", " ".join(letters), setting.default, setting.about)
    return " ".join(f"| {cell}".rstrip() for cell in cells) + " |"


def page() -> Iterator[str]:
    """Yield the blocks of the page of settings."""
    yield "# Settings of the services"
    yield (
        "Every process reads its environment once, when it starts, and names everything that is wrong in one message "
        "(exit code 2). Each variable `NAME` may come from a file instead, named by `NAME_FILE`; both at once is a "
        "mistake. A, I, R, D: read by the api, indexer and settler, reviewer, delivery service. "
        "If the deployment record of the chain knows a value, its variable may be left out. "
        "The client's variables are [its own](../client.md#which-deployment)."
    )
    for block in settings_table(settings_by_process()):
        yield block.replace("](", "](../")
