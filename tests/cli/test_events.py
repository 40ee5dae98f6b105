"""``docs/events.md`` against the commands' own help; every other test checks the events it sees against the page."""

import re

import pytest
from jsonschema import Draft202012Validator
from service_cli.main import COMMANDS

from tests.cli.event_schemas import definitions, problems, schemas, validator
from tests.cli.terminal import Terminal

HASH = "0x" + "ab" * 32


def named_in(text: str) -> set[str]:
    """The events a command's help names, continued ones (``.read_back``) with their prefix."""
    prints = text[text.find("Prints:") : text.find("Refuses:")]
    found, prefix = set(), ""
    for whole, short in re.findall(r"\b([a-z_]+\.[a-z_]+)|(?<![\w.])\.([a-z_]+)", prints):
        prefix = whole.partition(".")[0] if whole else prefix
        found.add(whole or f"{prefix}.{short}")
    return found


def test_page__and_help__name_the_same_events(shell: Terminal) -> None:
    helps = [shell.run(command, "--help").stdout for command in COMMANDS] + [shell.audit("--help").stdout]
    named = set().union(*(named_in(text) for text in helps))
    assert named == set(schemas()) - {"<prefix>"}


def test_page__each_schema__names_its_event_and_closes_its_definitions() -> None:
    assert set(definitions()) == {"address", "bytes32", "hex", "amount", "bounty_id", "seconds", "count"}
    for name, schema in schemas().items():
        properties = schema["properties"]
        assert isinstance(properties, dict)
        assert name == "<prefix>" or properties["event"] == {"const": name}
        Draft202012Validator.check_schema(validator(name).schema)


GOOD: dict[str, object] = {"event": "spec_commitment.derived", "spec_commitment": HASH, "byte_length": 1}


@pytest.mark.parametrize(
    "change",
    [
        {"spec_commitment": HASH.upper()},
        {"spec_commitment": None},
        {"byte_length": "1"},
        {"byte_length": -1},
        {"byte_length": True},
        {"extra": 1},
        {"event": "spec_commitment.unknown"},
    ],
)
def test_validator__an_event_altered_in_one_field__says_so(change: dict[str, object]) -> None:
    assert not problems(GOOD)
    assert problems(GOOD | change)
    assert problems({"event": "x.refused", "code": "a", "message": "b"})
