"""Chain evidence as JSON and back.

Promises: ``chain_from_json(chain_to_json(e)) == e``; numbers are integers, bytes 0x-hex, ids decimal strings. Refuses,
with ``ValueError``, ``TypeError`` or ``KeyError``, whatever is not of this form.
"""

from collections.abc import Mapping

from service_common.chain.events import Log
from service_common.crypto.beacon_info import BeaconInfo, parse_beacon_key
from service_common.shapes import to_json
from service_common.types import (
    Address,
    BlockNumber,
    Bytes32,
    ChainId,
    UnixSeconds,
    parse_address,
    parse_bounty_id,
    parse_bytes32,
)

from service_cli.audit.evidence import ChainEvidence, FinalizedBlock, Read

FUNCTIONS = {"getBounty", "getRoster", "getVerdict", "getSubmission"}


def chain_to_json(chain: ChainEvidence) -> dict[str, object]:
    """The object that ``chain.json`` of a bundle holds."""
    return {
        "chain_id": chain.chain_id,
        "hub_address": chain.hub_address,
        "bounty_id": str(chain.bounty_id),
        "finalized": {"number": chain.finalized.number, "hash": chain.finalized.hash, "time": chain.finalized.time},
        "logs": [
            {
                "block_number": log.block_number,
                "block_hash": log.block_hash,
                "log_index": log.log_index,
                "tx_hash": log.tx_hash,
                "topics": list(log.topics),
                "data": "0x" + log.data.hex(),
            }
            for log in chain.logs
        ],
        "times": dict(chain.times),
        "reads": [
            {"function": read.function, "arguments": list(read.arguments), "answer": "0x" + read.answer.hex()}
            for read in chain.reads
        ],
        "beacon": None if chain.beacon is None else to_json(chain.beacon),
    }


def chain_from_json(value: Mapping[str, object]) -> ChainEvidence:
    """The evidence of ``chain.json``."""
    hub = _address(value["hub_address"])
    finalized = _object(value["finalized"])
    return ChainEvidence(
        chain_id=ChainId(_integer(value["chain_id"])),
        hub_address=hub,
        bounty_id=parse_bounty_id(_text(value["bounty_id"])),
        finalized=FinalizedBlock(
            BlockNumber(_integer(finalized["number"])),
            _hash(finalized["hash"]),
            UnixSeconds(_integer(finalized["time"])),
        ),
        logs=tuple(_log(each, hub) for each in _list(value["logs"])),
        times={_hash(key): UnixSeconds(_integer(at)) for key, at in _object(value["times"]).items()},
        reads=tuple(_read(each) for each in _list(value["reads"])),
        beacon=None if value["beacon"] is None else _beacon(_object(value["beacon"])),
    )


def _log(value: object, hub: Address) -> Log:
    fields = _object(value)
    return Log(
        address=hub,
        block_number=BlockNumber(_integer(fields["block_number"])),
        block_hash=_hash(fields["block_hash"]),
        log_index=_integer(fields["log_index"]),
        tx_hash=_hash(fields["tx_hash"]),
        topics=tuple(_hash(topic) for topic in _list(fields["topics"])),
        data=_bytes(fields["data"]),
    )


def _read(value: object) -> Read:
    fields = _object(value)
    function = _text(fields["function"])
    if function not in FUNCTIONS:
        raise ValueError("not a view that an audit reads")
    return Read(function, tuple(_text(argument) for argument in _list(fields["arguments"])), _bytes(fields["answer"]))


def _beacon(fields: Mapping[str, object]) -> BeaconInfo:
    period = _integer(fields["period_seconds"])
    if period < 1:
        raise ValueError("not a period")
    key = parse_beacon_key(_text(fields["public_key"]))
    return BeaconInfo(_hash(fields["chain_hash"]), key, UnixSeconds(_integer(fields["genesis_time"])), period)


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise ValueError("not a whole number")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("not text")
    return value


def _hash(value: object) -> Bytes32:
    return parse_bytes32(_text(value))


def _address(value: object) -> Address:
    return parse_address(_text(value))


def _bytes(value: object) -> bytes:
    text = _text(value)
    if not text.startswith("0x"):
        raise ValueError("not bytes")
    return bytes.fromhex(text[2:])


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise TypeError("not a list")
    return value


def _object(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise TypeError("not an object")
    return value
