"""Configuration: read once from the environment, checked whole before anything starts.

Every value may come from ``NAME`` or from the file named by ``NAME_FILE`` (both set is a mistake), and loses the space
around it. All mistakes of a
process are reported together in one ``ConfigurationError``, whose message names variables, never values.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TypeVar, cast
from urllib.parse import urlsplit

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable that a process reads: its row of the reference of settings."""

    name: str
    about: str
    """Its meaning, in Markdown."""
    default: str
    """The value where it is unset, in Markdown; empty if it has to be set."""


class ConfigurationError(Exception):
    """The missing or malformed settings, one line each; ``settings`` are all that were read."""

    def __init__(self, problems: Sequence[str], settings: Sequence[Setting] = ()) -> None:
        super().__init__("configuration is incomplete or wrong:\n" + "\n".join(f"  - {line}" for line in problems))
        self.problems = tuple(problems)
        self.settings = tuple(settings)


class Finding(Exception):
    """What an operator has to know about a setting that was tried, in a sentence without secrets."""


class SettingWrong(Finding):
    """A setting that names something else than it has to: a process does not start with it."""


def parse_count(text: str) -> int:
    """Parse a whole number of at least 1, of at most fifteen digits."""
    if re.fullmatch("[0-9]{1,15}", text) is None or int(text) == 0:
        raise ValueError("a whole number of at least 1")
    return int(text)


def parse_switch(text: str) -> bool:
    """Parse ``on`` or ``off``."""
    if text not in {"on", "off"}:
        raise ValueError("on or off")
    return text == "on"


def within(least: int, most: int) -> Callable[[str], int]:
    """Return a parser of whole numbers from ``least`` to ``most``."""

    def parse(text: str) -> int:
        if re.fullmatch("0|[1-9][0-9]{0,14}", text) is None or not least <= int(text) <= most:
            raise ValueError(f"a whole number from {least} to {most}")
        return int(text)

    return parse


def parse_database_url(text: str) -> str:
    """Parse the address of PostgreSQL."""
    return _url(text, ("postgresql",), "postgresql://ROLE:PASSWORD@HOST:PORT/DATABASE")


def parse_redis_url(text: str) -> str:
    """Parse the address of Redis."""
    return _url(text, ("redis", "rediss", "unix"), "redis://:PASSWORD@HOST:PORT/0, or rediss://")


def _url(text: str, schemes: Collection[str], form: str) -> str:
    try:
        parts = urlsplit(text)
        named = parts.scheme in schemes and bool(parts.hostname or parts.path) and parts.port != 0
    except ValueError:  # a port that is none
        named = False
    if not named:
        raise ValueError(f"an address such as {form}")
    return text


class EnvironmentReader:
    """Reads variables, collects every problem, and raises them together in ``check``."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._problems: list[str] = []
        self._settings: list[Setting] = []

    def optional(self, name: str, parse: Callable[[str], T], default: T, about: str, *, shown: str | None = None) -> T:
        """Return the parsed value, or ``default`` if the variable is unset or empty.

        ``about`` and the default are its row in the reference of settings; ``shown`` describes a default that is
        neither number nor word.
        """
        self._settings.append(Setting(name, about, _shown(default) if shown is None else shown))
        text = self._text(name)
        return default if text is None else self._parsed(name, parse, text, default)

    def required(self, name: str, parse: Callable[[str], T], about: str, *, shown: str = "") -> T:
        """Return the parsed value; an unset one is a problem that ``check`` reports.

        ``shown`` describes the default of a value that has one only in some cases, such as on a chain with a record.
        """
        self._settings.append(Setting(name, about, shown))
        known = len(self._problems)
        text = self._text(name)
        if text is None:
            if len(self._problems) == known:
                self._problems.append(f"{name} is not set (nor {name}_FILE)")
            return cast("T", None)  # never seen: check() raises before the value is used
        return self._parsed(name, parse, text, cast("T", None))

    def recorded(self, name: str, parse: Callable[[str], T], known: T | None, about: str) -> T:
        """Return the parsed value, or that of the deployment's record; required if the record has none."""
        if known is None:
            return self.required(name, parse, about, shown="the record's")
        return self.optional(name, parse, known, about, shown="the record's")

    def secret_file(self, name: str, about: str) -> str:
        """Return a secret from the file that ``NAME_FILE`` names, which other users may not read."""
        self._settings.append(Setting(name, f"{about}; from a file only", ""))
        if self._environment.get(name, "").strip():
            self._problems.append(f"{name} must not be in the environment; put it in a file and set {name}_FILE")
        elif not (file := self._environment.get(f"{name}_FILE", "").strip()):
            self._problems.append(f"{name}_FILE is not set")
        elif _others_can_read(file):
            self._problems.append(
                f"the file named by {name}_FILE can be read by every user; set its mode to 0400 or 0440"
            )
        elif (text := self._text(name)) == "":
            self._problems.append(f"the file named by {name}_FILE is empty")
        else:
            return text or ""
        return ""

    def refuse(self, problem: str) -> None:
        """Add a problem found by the caller, such as two values that disagree."""
        self._problems.append(problem)

    def check(self) -> None:
        """Raise everything found so far as one ``ConfigurationError``, names that are nearly a setting's included."""
        known = {each.name for each in self._settings}
        for name in sorted(self._environment):
            bare = name.removesuffix("_FILE")
            is_ours = bare in known or bare == "SERVICE_INTERNAL_HOST"  # which is read once its port is opened
            if bare.startswith("SERVICE_") and not is_ours and (meant := get_close_matches(bare, known, 1, 0.87)):
                self._problems.append(f"{name} is no setting of this process; is {meant[0]} meant?")
        if self._problems:
            raise ConfigurationError(self._problems, self._settings)

    def _text(self, name: str) -> str | None:
        value, file = (self._environment.get(each, "").strip() for each in (name, f"{name}_FILE"))
        if value and file:
            self._problems.append(f"{name} and {name}_FILE are both set; keep one")
            return None
        if file:
            try:
                return Path(file).read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError):
                self._problems.append(f"the file named by {name}_FILE cannot be read")
                return None
        return value or None

    def _parsed(self, name: str, parse: Callable[[str], T], text: str, default: T) -> T:
        try:
            return parse(text)
        except ValueError as error:
            self._problems.append(f"{name} is malformed: {error}")
            return default


def _shown(default: object) -> str:
    if isinstance(default, bool):
        return "on" if default else "off"
    return f"{default:,}" if isinstance(default, int) and default >= 10_000 else str(default)


def _others_can_read(file: str) -> bool:
    try:
        return bool(Path(file).stat().st_mode & 0o007)
    except OSError:
        return False  # reported when it is read
