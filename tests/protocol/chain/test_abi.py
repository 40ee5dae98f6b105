"""The committed ABI against the code that reads it."""

import pytest
from bounty_protocol.chain.abi import hub_abi, snake_case
from bounty_protocol.chain.hub import BountyView, RosterView
from bounty_protocol.chain.reverts import SENTENCES, explain
from bounty_protocol.chain.rpc import RpcRefused
from bounty_protocol.domain.hub_events import EVENT_CLASSES, EVENT_FIELDS, HubConfig
from eth_abi.abi import encode


def test_each_event_of_the_abi_has_a_class() -> None:
    by_name = {event.name: event for event in hub_abi().events.values()}
    assert set(by_name) == set(EVENT_CLASSES)
    for name, event in by_name.items():
        fields = EVENT_FIELDS[EVENT_CLASSES[name]]
        assert set(fields) == {snake_case(parameter.name) for parameter in event.inputs}


def test_deployed_has_the_fields_of_its_class() -> None:
    (config,) = next(event for event in hub_abi().events.values() if event.name == "Deployed").inputs
    assert tuple(HubConfig.__dataclass_fields__) == tuple(snake_case(field.name) for field in config.fields)


def test_views_have_the_fields_of_their_classes() -> None:
    for function, view in (("getBounty", BountyView), ("getRoster", RosterView)):
        (struct,) = hub_abi().functions[function].outputs
        assert set(view.__dataclass_fields__) == {snake_case(field.name) for field in struct.fields}


def test_each_error_has_a_sentence_with_its_values() -> None:
    by_name = {error.name: error for error in hub_abi().errors.values()}
    assert set(by_name) == set(SENTENCES)
    for name, error in by_name.items():
        values = {parameter.name: "x" for parameter in error.inputs}
        message, next_action = SENTENCES[name]
        assert message.format(**values).endswith(".")
        assert next_action.endswith(".")


@pytest.mark.parametrize(
    ("ended", "shown"), [(1_795_759_201, "2026-11-27 06:00:01 UTC"), (2**200, f"{2**200} seconds after 1970")]
)
def test_explain__of_a_refusal_with_a_time__says_when(ended: int, shown: str) -> None:
    error = next(each for each in hub_abi().errors.values() if each.name == "JudgingEnded")
    data = error.selector + encode(["uint256"] * 3, [7, ended, ended + 1])
    assert explain(RpcRefused(3, "execution reverted", data)).message == f"Judging ended at {shown}."


def test_foreign_revert_data_is_not_shown_raw() -> None:
    refusal = explain(RpcRefused(3, "execution reverted: secret text", b"\xde\xad\xbe\xef"))
    assert refusal.code == "reverted"
    assert "secret" not in refusal.message
