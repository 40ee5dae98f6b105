"""The committed ABI against the code that reads it."""

from collections.abc import Callable

import pytest
from bounty_protocol.chain.abi import Function, Parameter, hub_abi, snake_case
from bounty_protocol.chain.hub import BountyView, RosterView
from bounty_protocol.chain.reverts import SENTENCES, explain
from bounty_protocol.chain.rpc import RpcRefused
from bounty_protocol.domain.lifecycle.hub_events import EVENT_CLASSES, EVENT_FIELDS, HubConfig
from bounty_protocol.types import Bytes32
from eth_abi.abi import encode
from hypothesis import given
from hypothesis import strategies as st

WORDS: dict[str, Callable[[bytes], object]] = {
    "uint256": int.from_bytes,
    "uint8": lambda word: word[0],
    "address": lambda word: "0x" + word[:20].hex(),
    "bytes32": lambda word: word,
    "bool": lambda word: word[0] > 127,
}
"""A value of each type that is coded without the library, from 32 bytes."""


def of_words(parameters: tuple[Parameter, ...]) -> bool:
    return all(each.type in WORDS for each in parameters)


CALLS = [each for each in hub_abi().functions.values() if of_words(each.inputs)]
ANSWERS = [
    (each, fields)
    for each in hub_abi().functions.values()
    for fields in [each.outputs[0].fields if len(each.outputs) == 1 and each.outputs[0].fields else each.outputs]
    if of_words(fields)
]


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


@given(st.sampled_from(CALLS), st.lists(st.binary(min_size=32, max_size=32), min_size=5, max_size=5))
def test_call_of_words__is_what_the_library_writes(function: Function, words: list[bytes]) -> None:
    kinds = [each.type for each in function.inputs]
    values = [WORDS[kind](word) for kind, word in zip(kinds, words, strict=False)]
    assert function.encode(*values) == function.selector + encode(kinds, values)


@given(st.sampled_from(ANSWERS), st.lists(st.binary(min_size=32, max_size=32), min_size=24, max_size=24))
def test_answer_of_words__is_what_the_library_wrote(
    answer: tuple[Function, tuple[Parameter, ...]], words: list[bytes]
) -> None:
    function, fields = answer
    kinds = [each.type for each in fields]
    values = [WORDS[kind](word) for kind, word in zip(kinds, words, strict=False)]
    read = function.decode(encode(kinds, values))
    shown = tuple("0x" + each.hex() if isinstance(each, bytes) else each for each in values)
    assert read == (shown if fields is function.outputs else (shown,))


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("getBounty", (-1,)),
        ("getBounty", (2**256,)),
        ("getBounty", ("1",)),
        ("getBounty", (True,)),
        ("getBounty", ()),
        ("getBounty", (1, 2)),
        ("getSubmission", (1, "0x" + "11" * 19)),
        ("submit", (1, b"\0" * 31, b"\0" * 32)),
        ("recordVerdict", (1, 256, "0x" + "11" * 20, b"\0" * 32, b"\0" * 32)),
    ],
)
def test_call__with_a_value_of_another_type__is_refused(function: str, arguments: tuple[object, ...]) -> None:
    with pytest.raises(ValueError, match=r"not a|shorter|longer"):
        hub_abi().functions[function].encode(*arguments)


@pytest.mark.parametrize("place", [0, 11, 13])
def test_answer__with_stray_bits_in_a_word__is_refused(place: int) -> None:
    """An account's high bytes, a truth's other bits, a small number's."""
    data = bytearray(32 * 24)
    data[32 * place : 32 * place + 11] = b"\1" * 11
    with pytest.raises(ValueError, match="expected shape"):
        hub_abi().functions["getBounty"].decode(bytes(data))


@pytest.mark.parametrize("others", [0, 1, 3])
def test_log_with_other_topics_is_none_of_the_event(others: int) -> None:
    event, word = hub_abi().event("RosterPublished"), Bytes32("0x" + "11" * 32)
    for topics in ([event.topic, *[word] * others], [word, *[word] * others]):
        with pytest.raises(ValueError, match="not a log of RosterPublished"):
            event.decode(topics, b"")
