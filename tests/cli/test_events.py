"""``docs/events.md`` as a reader has it; every other test checks the events it sees against the page."""

import pytest
from jsonschema import Draft202012Validator

from tests.cli.event_schemas import definitions, problems, schemas, validator
from tests.cli.terminal import Terminal
from tools.generate.events import events_by_command

HASH = "0x" + "ab" * 32


def test_every_event__is_in_its_commands_help(shell: Terminal) -> None:
    for command, events in events_by_command().items():
        text = shell.run(command, "--help").stdout
        assert [event.EVENT for event in events if event.EVENT not in text] == []


def test_page__each_schema__names_its_event_and_closes_its_definitions() -> None:
    assert {"Address", "Bytes32", "Amount", "BountyId"} <= set(definitions())
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
