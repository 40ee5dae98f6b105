"""The committed ABI against the code that reads it."""

import json
from importlib.resources import files
from pathlib import Path

from service_common.chain import events
from service_common.chain.abi import hub_abi, snake_case
from service_common.chain.hub import BountyView, RosterView
from service_common.chain.json_rpc import RpcRefused
from service_common.chain.reverts import _SENTENCES, explain

ARTIFACT = Path(__file__).parents[3] / "contracts" / "artifacts" / "Hub.json"


def test_abi__in_the_package__is_the_contracts_own() -> None:
    packaged = json.loads((files("service_common.chain") / "abi" / "Hub.json").read_text())
    assert packaged == json.loads(ARTIFACT.read_text())["abi"]


def test_events__of_the_abi__each_have_a_class_with_their_fields() -> None:
    by_name = {event.name: event for event in hub_abi().events.values()}
    assert set(by_name) == set(events.EVENT_CLASSES)
    for name, event in by_name.items():
        fields = getattr(events, name).__dataclass_fields__
        assert list(fields) == [snake_case(parameter.name) for parameter in event.inputs]


def test_views__of_the_abi__have_the_fields_of_their_classes() -> None:
    for function, view in (("getBounty", BountyView), ("getRoster", RosterView)):
        (struct,) = hub_abi().functions[function].outputs
        assert list(view.__dataclass_fields__) == [snake_case(field.name) for field in struct.fields]


def test_errors__of_the_abi__each_have_a_sentence_that_their_values_fill() -> None:
    by_name = {error.name: error for error in hub_abi().errors.values()}
    assert set(by_name) == set(_SENTENCES)
    for name, error in by_name.items():
        values = {parameter.name: "x" for parameter in error.inputs}
        message, next_action = _SENTENCES[name]
        assert message.format(**values).endswith(".")
        assert next_action.endswith(".")


def test_explain__of_foreign_revert_data__names_no_raw_data() -> None:
    refusal = explain(RpcRefused(3, "execution reverted: secret text", b"\xde\xad\xbe\xef"))
    assert refusal.code == "reverted"
    assert "secret" not in refusal.message
