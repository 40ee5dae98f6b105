"""What a program needs around ``service_cli.client``: a deployment's values from a mapping, and events as objects.

Promises: neither the process's environment nor a ``.env`` file is read, and nothing is written to stdout or stderr.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from service_cli.environment import Environment
from service_cli.output import Sink, redirected
from service_cli.settings import CHAIN_AND_API, Settings, load_settings

Event = dict[str, object]


def settings_of(
    values: Mapping[str, str], network: str | None = None, needs: Sequence[str] | None = CHAIN_AND_API
) -> Settings:
    """The deployment that ``values`` select, by the names of the client's variables (keys included).

    Raises ``service_common.errors.ServiceError`` where a value is missing or malformed.
    """
    with redirected(Sink(lambda _name, _fields: None, lambda _words: None)):
        return load_settings(network, None, needs, environment=Environment(dict(values), {}))


@contextmanager
def collecting(words: Callable[[str], None] = lambda _: None) -> Iterator[list[Event]]:
    """The events of what is called inside, as they come, each with its name under ``event`` (docs/events.md).

    ``words`` gets each sentence that a person would read.
    """
    events: list[Event] = []
    with redirected(Sink(lambda name, fields: events.append({"event": name, **fields}), words)):
        yield events
