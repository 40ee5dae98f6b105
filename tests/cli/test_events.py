"""The client's events as their schemas have them; every other test checks the events it sees against these."""

import pytest
from jsonschema import Draft202012Validator

from tests.cli.event_schemas import schemas, validator
from tests.cli.terminal import Terminal
from tools.reference.events import definitions, events_by_command


def test_every_event__is_in_its_commands_help(shell: Terminal) -> None:
    for command, events in events_by_command().items():
        text = shell.run(command, "--help").stdout
        assert [event.EVENT for event in events if event.EVENT not in text] == []


@pytest.mark.spec(337)
def test_schema_names_its_event() -> None:
    assert {"Address", "Bytes32", "Amount", "BountyId"} <= set(definitions())
    for name, schema in schemas().items():
        properties = schema["properties"]
        assert isinstance(properties, dict)
        assert name == "<prefix>" or properties["event"] == {"const": name}
        Draft202012Validator.check_schema(validator(name).schema)


SPECIFIED = {
    "publish_fund.publication_prepared": (
        "spec_commitment byte_length poster hub_address escrow_amount submission_deadline"
    ),
    "publish_fund.bounty_created": "tx_hash block_number bounty_id spec_commitment",
    "publish_fund.token_approved": "",
    "submit.approval_required": "solver typed_data",
    "submit.ciphertext_uploaded": "bounty_id solver byte_length",
    "submit.submission_prepared": "mode bounty_id solver submission_commitment guardian_roster_hash byte_length",
    "submit.transaction_prepared": "chain_id to value data function_name args",
    "submit.submission_recorded": "tx_hash block_number bounty_id solver submission_commitment guardian_roster_hash",
    "claim.prepared": "bounty_id claimant function_name claimable_amount",
    "claim.transaction_prepared": "chain_id to value data function_name",
}


@pytest.mark.spec(337, 338, 339, 340, 341, 342, 343, 344, 345, 346, 347)
@pytest.mark.parametrize("name", SPECIFIED)
def test_specified_event_has_its_fields(name: str) -> None:
    """Each run of a command in the tests is checked against the schemas; so these are compared."""
    assert {"event", *SPECIFIED[name].split()} <= set(schemas()[name]["required"])  # type: ignore[call-overload]
